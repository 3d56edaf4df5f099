"""Rows: a request as people read it keeps its key, and every part of it counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from keyed import FULL, IMAGE, REQUESTS, TOOL, TURNS, Label, golden, keys
from pydantic import BaseModel, Field

from ingot._messages import Message, ToolCall, ToolResult
from ingot._shape.descriptor import descriptor_of
from ingot.cassette.rows import holds, key_of_row, lines, row_of, text_of
from ingot.provider import Request

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n\na", "a\r\nb\r", " a \u2028 b"])
def test_a_text_is_its_lines(text: str) -> None:
    """Nothing is lost when a text is taken apart, and only line feeds part it."""
    assert text_of(lines(text)) == text
    assert len(lines(text)) == text.count("\n") + 1


@pytest.mark.parametrize("name", REQUESTS)
def test_a_row_has_the_key_of_its_request(name: str) -> None:
    """Also after it was written and read."""
    request = REQUESTS[name]
    row, types = row_of(request, request.digest(), "a.py:f")
    row, types = json.loads(json.dumps([row, types]))

    assert key_of_row(row, types) == request.digest()


def test_keys_are_what_they_were() -> None:
    """A key that changes makes every recording of every user worthless."""
    assert keys() == golden()
    assert len(golden()) >= 60


def keys_in_a_child(**environ: str) -> Any:
    """The keys as another process makes them."""
    code = "import json, keyed; print(json.dumps(keyed.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environ},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_keys_do_not_hang_on_the_hash_seed(seed: str) -> None:
    """In a process with another order of sets, keys are the same."""
    assert keys_in_a_child(PYTHONHASHSEED=seed) == golden()


def lowest() -> str:
    """The oldest pydantic that ingot takes, as pip reads it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = next(one for one in project["dependencies"] if one.startswith("pydantic>"))
    return str(needed).partition(",")[0].replace(">=", "==")


@pytest.mark.slow
@pytest.mark.parametrize("which", ["lowest", "newest"])
def test_keys_do_not_hang_on_the_version_of_pydantic(tmp_path: Path, which: str) -> None:
    """A recording outlives an upgrade: the oldest and the newest pydantic make the same keys."""
    wanted = lowest() if which == "lowest" else "pydantic"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "--target", str(tmp_path), wanted], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{wanted} cannot be had here: {done.stderr.strip()[-200:]}")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    code = "import pydantic; print(pydantic.__file__)"
    env = {"PYTHONPATH": path}
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)

    assert found.stdout.startswith(str(tmp_path))
    for seed in ("1", "2"):
        assert keys_in_a_child(PYTHONHASHSEED=seed, PYTHONPATH=path) == golden()


class Label2(BaseModel):
    """How a ticket is filed."""

    kind: Literal["billing", "bug"]
    urgency: Annotated[int, Field(ge=1, le=5)] = 3
    lang: str = "en"


def label(doc: str | None, kind: Any, level: Any, **more: Any) -> Any:
    """A class like `Label`."""
    space = {"__annotations__": {"kind": kind, "urgency": level}, "__doc__": doc, **more}
    return type("Label", (BaseModel,), {"__module__": __name__, **space})


DOC = "How a ticket is filed."
KIND = Literal["billing", "bug"]
BOUNDS = Annotated[int, Field(ge=1, le=5)]
TYPES: dict[str, Any] = {
    "a field more": type(
        "Label",
        (Label,),
        {"__annotations__": {"lang": str}, "__module__": __name__, "__doc__": DOC},
    ),
    "a field less": type(
        "Label",
        (BaseModel,),
        {"__annotations__": {"kind": KIND}, "__module__": __name__, "__doc__": DOC},
    ),
    "a field of another type": label(DOC, KIND, Annotated[float, Field(ge=1, le=5)], urgency=3),
    "a value of an enum more": label(DOC, Literal["billing", "bug", "x"], BOUNDS, urgency=3),
    "another bound": label(DOC, KIND, Annotated[int, Field(ge=1, le=6)], urgency=3),
    "another description": label(
        DOC, KIND, Annotated[int, Field(ge=1, le=5, description="How soon")], urgency=3
    ),
    "another default": label(DOC, KIND, BOUNDS, urgency=4),
    "no default": label(DOC, KIND, BOUNDS),
    "another docstring": label("How a ticket is kept.", KIND, BOUNDS, urgency=3),
    "a list of it": list[Label],
    "or none": Label | None,
}

CHANGED: dict[str, Request] = {
    "a character of the prompt": replace(FULL, prompt="One.\nTwo!"),
    "a space of the prompt": replace(FULL, prompt="One.\nTwo. "),
    "a character of the system": replace(FULL, system="Be brief!"),
    "no system": replace(FULL, system=None),
    "a text in context": replace(FULL, context=(("doc", "abd"), FULL.context[1])),
    "a value in context": replace(FULL, context=(FULL.context[0], ("d", {"a": [1, 3]}))),
    "a kind of number": replace(FULL, context=(FULL.context[0], ("d", {"a": [1, 2.0]}))),
    "a name in context": replace(FULL, context=(("docs", "abc"), FULL.context[1])),
    "the order of the context": replace(FULL, context=FULL.context[::-1]),
    "less context": replace(FULL, context=FULL.context[:1]),
    "a turn's text": replace(FULL, messages=(replace(TURNS[0], text="Hm!"), TURNS[1])),
    "a call's arguments": replace(
        FULL,
        messages=(
            replace(TURNS[0], tool_calls=(ToolCall(id="c7", name="f", arguments="{ }"),)),
            TURNS[1],
        ),
    ),
    "a result": replace(
        FULL,
        messages=(TURNS[0], Message(role="user", tool_results=(ToolResult(id="c7", text="1"),))),
    ),
    "a turn less": replace(FULL, messages=TURNS[:1]),
    "a tool's name": replace(FULL, tools=(replace(TOOL, name="find2"),)),
    "a tool's words": replace(FULL, tools=(replace(TOOL, description="Finds!"),)),
    "a tool's arguments": replace(FULL, tools=(replace(TOOL, target=descriptor_of(int)),)),
    "a tool more": replace(FULL, tools=(TOOL, TOOL)),
    "a byte of a file": replace(FULL, attachments=(replace(IMAGE, sha256="ac" * 32),)),
    "a file's type": replace(FULL, attachments=(replace(IMAGE, media_type="image/gif"),)),
    "the model": replace(FULL, model="gpt-5-mini"),
    "the provider": replace(FULL, provider="openai-chat"),
    "max_tokens": replace(FULL, max_tokens=10),
    "temperature": replace(FULL, temperature=0.6),
    "no temperature": replace(FULL, temperature=None),
    "seed": replace(FULL, seed=2),
    "a vendor's parameter": replace(FULL, params={"top_p": 2}),
    "sample": replace(FULL, sample=2),
    "sample as text": replace(FULL, sample="1"),
    "no sample": replace(FULL, sample=None),
    **{f"type: {name}": replace(FULL, target=descriptor_of(t)) for name, t in TYPES.items()},
}

SAME: dict[str, Request] = {
    "timeout": replace(FULL, timeout=1.0),
    "ids of calls": replace(
        FULL,
        messages=(
            replace(TURNS[0], tool_calls=(ToolCall(id="x", name="f", arguments="{}"),)),
            Message(role="user", tool_results=(ToolResult(id="x", text='"no"', failed=True),)),
        ),
    ),
    "a vendor's own blocks": replace(
        FULL, messages=(replace(TURNS[0], blocks=({"type": "thinking"},)), TURNS[1])
    ),
    "a file's name": replace(FULL, attachments=(replace(IMAGE, name="b.png"),)),
    "a tool's schema": replace(FULL, tools=(replace(TOOL, parameters={"type": "object"}),)),
    "the order of parameters": replace(FULL, params=dict(reversed(FULL.params.items()))),
    "the same type": replace(FULL, target=descriptor_of(label(DOC, KIND, BOUNDS, urgency=3))),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_decides_the_answer_is_in_the_key(name: str) -> None:
    """One change, and the key is another."""
    assert CHANGED[name].digest() != FULL.digest()


def test_each_change_has_a_key_of_its_own() -> None:
    """No two of them meet."""
    keys = [request.digest() for request in CHANGED.values()]

    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_decide_is_not_in_the_key(name: str) -> None:
    """Such a change keeps the recording."""
    assert SAME[name].digest() == FULL.digest()


@pytest.mark.parametrize("name", ["model", "provider", "system", "max_tokens", "temperature"])
def test_what_the_caller_did_not_choose_is_absent(name: str) -> None:
    """A default, or what the environment says, is another machine's affair."""
    other = {"max_tokens": 5, "temperature": 0.1}.get(name, "other")
    bare = replace(FULL, keyed=frozenset())

    assert replace(bare, **{name: other}).digest() == bare.digest()


@pytest.mark.parametrize("part", ["prompt", "system", "context", "model", "params", "sample"])
def test_an_edited_row_has_another_key(part: str) -> None:
    """Whoever edits a request in the file gives it a key that it does not claim."""
    row, types = row_of(FULL, FULL.digest(), "a.py:f")
    row = {k: v for k, v in row.items() if k != part} if part != "prompt" else row | {part: ["x"]}
    row.setdefault("model", "default")

    assert key_of_row(row, types) != FULL.digest()


@pytest.mark.parametrize("name", CHANGED)
def test_a_row_does_not_plainly_hold_another_request(name: str) -> None:
    """What is compared part by part is no laxer than the key."""
    row, types = row_of(FULL, FULL.digest(), "a.py:f")

    assert not holds(row, types, CHANGED[name].key_parts())


PLAIN = Request(
    provider="",
    model="default",
    target=descriptor_of(Literal[1]),
    prompt="One.\nTwo.",
    system="Be brief.",
    keyed=frozenset({"system"}),
)


def test_a_row_plainly_holds_its_request() -> None:
    """Also after it was written and read; that spares most rows a digest."""
    row, types = json.loads(json.dumps(row_of(PLAIN, PLAIN.digest(), "a.py:f")))

    assert holds(row, types, PLAIN.key_parts())


@pytest.mark.parametrize("edited", [True, 1.0, "1", 2], ids=repr)
def test_a_row_whose_type_was_edited_does_not_hold_its_request(edited: Any) -> None:
    """Python takes 1, 1.0 and true for equal; a key does not."""
    row, types = row_of(PLAIN, PLAIN.digest(), "a.py:f")
    text = json.dumps(types)
    assert text.count("[1]") == 1
    types = json.loads(text.replace("[1]", json.dumps([edited])))

    assert not holds(row, types, PLAIN.key_parts())
    assert key_of_row(row, types) != PLAIN.digest()


@pytest.mark.parametrize(
    "part", [{"sample": 0}, {"sample": ""}, {"params": {"seed": 0}}, {"system": []}], ids=repr
)
def test_a_row_to_which_something_was_added_does_not_hold_its_request(part: Any) -> None:
    """Nor does one that something was taken from."""
    row, types = row_of(PLAIN, PLAIN.digest(), "a.py:f")
    taken = replace(PLAIN, sample=0)

    assert not holds(row | part, types, PLAIN.key_parts())
    assert not holds(row, types, taken.key_parts())
