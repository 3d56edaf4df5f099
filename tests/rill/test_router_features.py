"""What a router knows of a question before anyone is asked."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel

from ingot._shape.shape import shape_of
from ingot.provider import Request, ToolDeclaration
from ingot.rill.features import features_of, language_of, own_features


def request(t: Any, prompt: str = "p", **given: Any) -> Request:
    target = shape_of(t, "open").descriptor
    return Request(provider="", model="", target=target, prompt=prompt, **given)


class Leaf(BaseModel):
    word: Literal["a", "b"]
    weight: float | None


class Tree(BaseModel):
    name: str
    leaves: dict[str, list[Leaf]]
    below: list["Tree"]


@pytest.mark.parametrize(
    ("t", "kind", "depth", "fields", "choices"),
    [
        (str, "str", 0, 0, 0),
        ("text", "text", 0, 0, 0),
        (list[int], "list", 1, 0, 0),
        (int | None, "union", 0, 0, 1),
        (tuple[int, list[str]], "tuple", 2, 0, 0),
        (Leaf, "model", 1, 2, 2),
        (list[Leaf], "list", 2, 2, 2),
        (Tree, "model", 4, 5, 2),
    ],
)
def test_types_are_measured(t: Any, kind: str, depth: int, fields: int, choices: int) -> None:
    """How deep they go, and how many fields and choices they have; recursion has an end."""
    seen = features_of(request(t))

    assert [seen[f"type_{name}"] for name in ("kind", "depth", "fields", "choices")] == [
        kind,
        depth,
        fields,
        choices,
    ]


def test_sizes_are_logarithms() -> None:
    """Ten times as long is one more."""
    short, long = (features_of(request(str, "x" * n)) for n in (99, 999))

    assert (short["prompt_size"], long["prompt_size"]) == (2.0, 3.0)
    assert features_of(request(str, context=(("a", "x" * 9),)))["context_size"] == 1.0


def test_what_comes_with_it_is_counted() -> None:
    """Tools are, by their number."""
    tool = ToolDeclaration(name="t", description=None, parameters={}, target="dict")

    assert features_of(request(str, tools=(tool, tool)))["tools"] == 2


def test_no_content_is_among_them() -> None:
    """They are kept with what is learned, and the prompt must not be."""
    secret = "the code is swordfish"

    assert "swordfish" not in repr(features_of(request(str, secret, context=(("c", secret),))))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the capital of France?", "en"),
        ("Wie heißt die Hauptstadt von Frankreich?", "de"),
        ("Quelle est la capitale de la France ?", "fr"),
        ("¿Cuál es la capital de Francia?", "es"),
        ("Qual é a capital da França?", "pt"),
        ("Qual è la capitale della Francia e di che regione è?", "it"),
        ("Wat is de hoofdstad van Frankrijk?", "nl"),
        ("フランスの首都はどこですか？", "ja"),
        ("法国的首都是什么？", "zh"),
        ("프랑스의 수도는 어디입니까?", "ko"),
        ("Столица Франции?", "cyrillic"),
        ("ما هي عاصمة فرنسا؟", "arabic"),
        ("x = 1", "other"),
        ("", "other"),
    ],
)
def test_languages_are_guessed(text: str, language: str) -> None:
    """By their letters, or else by their most frequent words."""
    assert language_of(text) == language


def test_own_features_are_taken_as_they_are() -> None:
    """Numbers, bools and short texts."""
    given = {"tenant": "acme", "urgent": True, "lines": 3, "share": 0.5}

    assert own_features(given) == given


@pytest.mark.parametrize(
    "given",
    [None, ["a"], {"a": [1]}, {"a": None}, {"a": float("nan")}, {"a": "x" * 65}, {"": 1}, {1: 1}]
    + [{"a": "\ud800"}, {"\ud800": 1}, {"a": 10**400}],
)
def test_what_is_no_feature_is_refused(given: Any) -> None:
    """By its name, and never with its value, which may be content."""
    with pytest.raises(TypeError, match="feature"):
        own_features(given)
