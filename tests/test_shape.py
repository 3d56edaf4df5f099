"""Shapes: what is asked for in each dialect, and that a reply in it reads back as the value."""

from __future__ import annotations

import gc
import io
import json
import re
import threading
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, create_model, field_validator
from shapes import SHAPE_IDS, SHAPES, Cat, Dog, Node, Point, User

from ingot import (
    File,
    Json,
    Markdown,
    MismatchedAnswerError,
    Text,
    UnreadableAnswerError,
    UnsupportedTypeError,
)
from ingot._shape import shape as shape_module
from ingot._shape.dialects import DIALECTS
from ingot._shape.shape import Shape, shape_of

STRICT = ("anthropic", "openai")


def walk(node: Any) -> Iterator[dict[str, Any]]:
    """Each schema node of a schema; names of properties are no nodes."""
    if not isinstance(node, dict):
        return
    yield node
    for keyword, value in node.items():
        if keyword in ("properties", "$defs"):
            for part in value.values():
                yield from walk(part)
        elif keyword in ("anyOf", "prefixItems"):
            for part in value:
                yield from walk(part)
        elif keyword in ("items", "additionalProperties"):
            yield from walk(value)


def schema(t: Any, dialect: str) -> dict[str, Any]:
    shape = shape_of(t, dialect)
    assert shape.wire is not None
    return shape.wire.schema


@pytest.mark.parametrize(("t", "value"), SHAPES, ids=SHAPE_IDS)
def test_what_a_model_would_write_reads_back(t: Any, value: Any) -> None:
    """Each type survives the way out and back in each dialect, with its digits and its class."""
    for dialect in DIALECTS:
        shape = shape_of(t, dialect)

        read = shape.read(shape.encode(value))

        assert value == read, dialect
        assert type(value) is type(read), dialect


@pytest.mark.parametrize("dialect", STRICT)
@pytest.mark.parametrize(("t", "value"), SHAPES, ids=SHAPE_IDS)
def test_strict_dialects_get_only_what_they_take(t: Any, value: Any, dialect: str) -> None:
    """Objects are closed, references stand alone and lead somewhere, each node has a type."""
    shape = shape_of(t, dialect)
    if not shape.constrained:
        assert dialect == "anthropic"
        assert "itself" in str(shape.obstacles)
        return
    root = schema(t, dialect)

    assert root["type"] == "object"
    for node in walk(root):
        assert node.keys() <= {
            *("type", "properties", "required", "additionalProperties", "items", "anyOf"),
            *("$ref", "$defs", "enum", "const", "description", "format", "pattern"),
            *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
            *("minItems", "maxItems"),
        }
        assert "$ref" in node or "anyOf" in node or isinstance(node["type"], str)
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert set(node["required"]) <= node["properties"].keys()
            if dialect == "openai":
                assert list(node["required"]) == list(node["properties"])
        if "$ref" in node:
            assert node.keys() == {"$ref"}
            assert node["$ref"].removeprefix("#/$defs/") in root["$defs"]
        if dialect == "anthropic":
            assert node.keys().isdisjoint({"minimum", "maximum", "multipleOf", "maxItems"})
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", shape.schema_name)


@pytest.mark.parametrize(("t", "value"), SHAPES, ids=SHAPE_IDS)
def test_a_second_shape_is_the_first(t: Any, value: Any) -> None:
    """The schema of a type is built once."""
    if t == typing.Union[int, list["int"]]:
        return  # a name in quotes means what it means where it stands
    assert shape_of(t, "openai") is shape_of(t, "openai")


def test_lists_are_wrapped_and_objects_are_not() -> None:
    """Whether the reply carries `value` is decided by the type."""
    assert schema(list[str], "openai") == {
        "type": "object",
        "properties": {"value": {"type": "array", "items": {"type": "string"}}},
        "required": ["value"],
        "additionalProperties": False,
    }
    assert list(schema(User, "openai")["properties"]) == ["name", "age"]


def test_a_default_may_be_left_out_by_null_where_all_is_required() -> None:
    """OpenAI demands every property; null then says what absence says elsewhere."""
    openai, anthropic = schema(User, "openai"), schema(User, "anthropic")

    assert openai["properties"]["age"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "description": "(null: the default, 3)",
    }
    assert shape_of(User, "openai").read('{"name": "x", "age": null}') == User(name="x")
    assert anthropic["required"] == ["name"]


def test_an_explicit_null_is_kept_where_the_type_has_one() -> None:
    """Null is mapped back to absence only where T could not hold it."""

    class Note(BaseModel):
        text: str | None = "default"

    assert shape_of(Note, "openai").read('{"text": null}') == Note(text=None)


def test_maps_travel_as_pairs_to_closed_servers_and_as_objects_to_open_ones() -> None:
    """No strict server takes an object with keys of its own."""
    pairs = schema(dict[str, int], "openai")["properties"]["value"]

    assert pairs["items"]["properties"] == {"key": {"type": "string"}, "value": {"type": "integer"}}
    assert schema(dict[str, int], "open") == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
    }


def test_a_key_that_stands_twice_is_an_error_in_every_form() -> None:
    """The last one does not silently win."""
    pairs = '{"value": [{"key": "a", "value": 1}, {"key": "a", "value": 2}]}'

    with pytest.raises(MismatchedAnswerError, match="`a` stands twice"):
        shape_of(dict[str, int], "openai").read(pairs)
    with pytest.raises(UnreadableAnswerError, match="`a` stands twice"):
        shape_of(dict[str, int], "open").read('{"a": 1, "a": 2}')


def test_what_a_vendor_cannot_enforce_is_said_in_words() -> None:
    """And checked here."""
    t = Annotated[int, Field(ge=3, le=9, description="Stars.")]
    node = schema(t, "anthropic")["properties"]["value"]

    assert node == {"type": "integer", "description": "Stars. (at least 3; at most 9)"}
    with pytest.raises(MismatchedAnswerError, match="greater than or equal to 3"):
        shape_of(t, "anthropic").read('{"value": 2}')


def test_recursion_is_shown_in_the_prompt_where_the_server_cannot_hold_to_it() -> None:
    """Anthropic refuses schemas that refer to themselves; OpenAI takes them."""
    assert shape_of(Node, "openai").constrained
    shape = shape_of(Node, "anthropic")

    assert not shape.constrained
    assert shape.format(shown=False).shown
    assert "refers to itself" in str(shape.refuse())


def test_too_many_unions_are_named_with_their_number() -> None:
    """Anthropic takes 16 unions and 24 properties that may be absent."""
    fits = create_model("Fits", **{f"f{i}": (int | str, ...) for i in range(16)})
    over = create_model("Over", **{f"f{i}": (int | str, ...) for i in range(17)})
    wide = create_model("Wide", **{f"f{i}": (str | None, None) for i in range(40)})

    assert shape_of(fits, "anthropic").constrained
    assert "17 unions" in str(shape_of(over, "anthropic").obstacles)
    assert shape_of(wide, "anthropic").constrained


@pytest.mark.parametrize(
    ("t", "path"),
    [
        (bytes, ()),
        (list[bytes], ()),
        (File, ()),
        (list[File], ()),
        (typing.BinaryIO, ()),
        (io.BytesIO, ()),
        (create_model("Holder", scan=(bytes, ...)), ("scan",)),
        (create_model("Deep", inner=(create_model("In", doc=(File, ...)), ...)), ("inner", "doc")),
        (create_model("Maybe", scan=(int | bytes, ...)), ("scan",)),
        (dict[str, list[File]], ()),
    ],
    ids=str,
)
def test_binary_content_cannot_be_asked_for(t: Any, path: tuple[str, ...]) -> None:
    """Neither at the root nor deep inside; the field is named, and the way out."""
    for dialect in DIALECTS:
        with pytest.raises(UnsupportedTypeError, match="a tool write the file") as caught:
            shape_of(t, dialect)
        assert path == caught.value.path


def test_what_has_no_json_names_its_field() -> None:
    """Pydantic alone would not say which field it was."""

    @dataclass
    class Job:
        name: str
        run: Callable[[int], int]

    with pytest.raises(UnsupportedTypeError, match="in field `run`") as caught:
        shape_of(Job, "openai")
    assert caught.value.path == ("run",)


@pytest.mark.parametrize(
    "t",
    [3, "", "list[Nowhere]", list["Nowhere"], object(), ...],  # noqa: F821
    ids=lambda t: type(t).__name__,
)
def test_what_is_no_type_is_refused_in_words(t: Any) -> None:
    """One clear error, whatever was passed."""
    with pytest.raises(UnsupportedTypeError, match="cannot ask for"):
        shape_of(t, "openai")


def test_names_in_quotes_are_those_of_the_caller() -> None:
    """A forward reference means what it means where it is written, each time."""

    def here(item: type) -> Shape:
        names = {"Item": item}
        return shape_of(list["Item"], "openai", namespace=lambda: ({}, names))  # noqa: F821

    assert here(int).read('{"value": [1]}') == [1]
    assert here(str).read('{"value": ["a"]}') == ["a"]


def test_prose_is_not_json() -> None:
    """Text and Markdown at the root are plain completions."""
    for t in (Text, Markdown):
        shape = shape_of(t, "openai")
        assert shape.format(shown=True) is None
        assert shape.read('{"value": 1}') == '{"value": 1}'
        assert type(shape.read("x")) is t


@pytest.mark.parametrize("t", [Json, Any, object], ids=str)
def test_free_json_is_read_and_not_constrained(t: Any) -> None:
    """Whatever JSON holds; what JSON does not hold is an error."""
    shape = shape_of(t, "openai")

    assert shape.format(shown=False).schema is None
    assert shape.read("```json\n[1, {}]\n```") == [1, {}]
    with pytest.raises(UnreadableAnswerError):
        shape.read("[1] and more")
    with pytest.raises(MismatchedAnswerError):
        shape.read("[NaN]")


def test_free_parts_are_json_text_where_no_schema_may_be_open() -> None:
    """Decided by the type: a text inside stays a text."""
    shape = shape_of(list[Any], "openai")

    assert shape.read(json.dumps({"value": ['"5"', "5", "[null]"]})) == ["5", 5, [None]]


def test_a_member_of_defaults_does_not_swallow_what_is_meant_for_another() -> None:
    """A union reads an object as the member that accounts for its keys, or not at all."""

    class Defaults(BaseModel):
        note: str = "x"

    class Needs(BaseModel):
        count: int

    shape = shape_of(Defaults | Needs, "open")

    assert shape.read('{"value": {"count": 1}}') == Needs(count=1)
    with pytest.raises(MismatchedAnswerError, match="expected `int`, found a string"):
        shape.read('{"value": {"count": "many"}}')


def test_members_that_look_alike_are_told_apart_by_their_tag() -> None:
    """Here by a literal."""
    shape = shape_of(Cat | Dog, "openai")

    assert shape.read('{"value": {"kind": "dog", "breed": null}}') == Dog()


@pytest.mark.parametrize(
    ("t", "text", "message"),
    [
        (int, '{"value": "x"}', "in field `value`: expected `int`, found a string"),
        (list[int], '{"value": [1, "x"]}', "in field `value`: at index 1: expected `int`, found"),
        (User, '{"age": 3}', "missing field `name`"),
        (User, '{"name": 5}', "in field `name`: expected `string`, found a number"),
        (User, "[]", "expected `User`, found an array"),
        (int | list[str], '{"value": true}', "expected `int` or `list`, found a boolean"),
        (Literal["a", "b"], '{"value": "c"}', "expected 'a' or 'b', found a string"),
        (int, "[1]", "expected an object with the one field `value`, found an array"),
        (int, '{"answer": 1}', "found an object with `answer`"),
        (int, '{"value": NaN}', "in field `value`: NaN is not a JSON number"),
        (float, '{"value": 1e400}', "in field `value`: 1e400 is beyond the range of a float"),
        (Point, '{"value": [1, 2]}', "expected an object, found an array"),
    ],
    ids=str,
)
def test_mismatches_say_where_and_what(t: Any, text: str, message: str) -> None:
    """In ingot's words, with the path."""
    with pytest.raises(MismatchedAnswerError) as caught:
        shape_of(t, "open").read(text)

    assert message in str(caught.value)
    assert caught.value.text == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ('{"value": 1', "it ends in the middle"),
        ('{"value": 1} {"value": 2}', "more text follows the value"),
        ('{"value": 1, "value": 2}', "the key `value` stands twice"),
        ('{"value": "\\ud83d"}', "in field `value`: a string holds half of a surrogate pair"),
        ("{'value': 1}", "line 1, column 2"),
        ("Sure! Here it is.", "it is prose"),
        ("<html><body>busy</body></html>", "it is an HTML page"),
        ('{"value": ' + "9" * 5000 + "}", "an integer of too many digits"),
        ("[" * 100_000, "nested too deeply"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_json_says_where(text: str, reason: str) -> None:
    """And shows nothing of the text."""
    with pytest.raises(UnreadableAnswerError) as caught:
        shape_of(int, "open").read(text)

    assert reason in str(caught.value)
    assert caught.value.text == text


def test_what_stands_around_the_json_and_says_nothing_is_taken_off() -> None:
    """One fence, one byte-order mark, one block of reasoning; nothing else, and not in between."""
    shape = shape_of(int, "open")

    assert shape.read('\n```json\n{"value": 1}\n```\n') == 1
    assert shape.read('\ufeff{"value": 1}') == 1
    assert shape.read('<think>{"value": 3}?</think>\n{"value": 1}') == 1
    with pytest.raises(UnreadableAnswerError):
        shape.read('Here:\n```json\n{"value": 1}\n```')
    with pytest.raises(UnreadableAnswerError):
        shape.read('```\n{"value": 1}\n```\n```\n{"value": 2}\n```')


def test_a_quoted_array_is_read_once_and_only_where_no_text_is_allowed() -> None:
    """Some models quote a list once too often."""
    assert shape_of(list[int], "openai").read('{"value": "[1, 2]"}') == [1, 2]
    assert shape_of(str | list[int], "openai").read('{"value": "[1, 2]"}') == "[1, 2]"
    with pytest.raises(MismatchedAnswerError):
        shape_of(list[int], "openai").read(json.dumps({"value": json.dumps("[1, 2]")}))


def test_a_fault_in_a_validator_of_the_caller_is_the_callers() -> None:
    """It passes as it is, with a note."""

    class Odd(BaseModel):
        name: str

        @field_validator("name")
        @classmethod
        def look_up(cls, value: str) -> str:
            return {"a": "b"}[value]

    with pytest.raises(KeyError) as caught:
        shape_of(Odd, "openai").read('{"name": "x"}')
    assert "validator" in caught.value.__notes__[0]


def test_the_order_of_a_union_is_part_of_what_is_asked() -> None:
    """`int | str` equals `str | int`, and is sent in its own order."""
    first = schema(int | str, "openai")["properties"]["value"]
    second = schema(str | int, "openai")["properties"]["value"]

    assert [n["type"] for n in first["anyOf"]] == ["integer", "string"]
    assert [n["type"] for n in second["anyOf"]] == ["string", "integer"]


def test_types_made_at_run_time_do_not_pile_up() -> None:
    """The cache of shapes is bounded."""
    for number in range(600):
        shape_of(create_model("Step", n=(int, number)), "openai")
    gc.collect()

    assert len(shape_module._shapes) <= 512
    assert len(shape_module._written) <= 512


def test_threads_share_one_shape() -> None:
    """However many ask at once for a type that nobody asked for before."""
    made = create_model("Shared", n=(int, ...))
    found: list[Shape] = []
    barrier = threading.Barrier(8)

    def look() -> None:
        barrier.wait()
        found.append(shape_of(made, "openai"))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({id(shape) for shape in found}) == 1


def test_ingots_own_names_are_types() -> None:
    """`string[]`, and records that the call declares."""
    types = {"hit": {"fields": [{"name": "title", "type": "string"}]}}

    assert shape_of("string[]", "openai").read('{"value": ["a"]}') == ["a"]
    assert shape_of("hit[]", "openai", types=types).read('{"value": [{"title": "t"}]}') == [
        {"title": "t"}
    ]


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_maps_of_different_keys_may_stand_at_one_place(dialect: str) -> None:
    """A key that is no number belongs to the map whose keys are text."""
    shape = shape_of(dict[int, str] | dict[str, int], dialect)

    assert shape.read(shape.encode({"a": 1})) == {"a": 1}
