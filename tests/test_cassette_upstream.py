"""Cassettes of Ingot itself, against what its own runtime does with them."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot import _serde
from ingot._response import Usage
from ingot.cassette import errors
from ingot.cassette.errors import CassetteError, CassetteFormatError, CassetteMissError
from ingot.cassette.upstream import (
    Consultation,
    Interaction,
    Replay,
    ToolExchange,
    UpstreamCassette,
    check,
    completion_digest,
    dumps,
    invocation_digest,
    loads,
    question_digest,
)

SHARED = Path(__file__).resolve().parents[2] / "shared"

ASKED = completion_digest("n0", "Name it.", "string", context=[("of", {"b": 1, "a": 1e-5})])
CALLED = invocation_digest("a.B", "mcp:fs.read", "text", arguments={"path": "x"})
CONSULTED = question_digest("Now?", choices=["yes", "no"])
CASSETTE = UpstreamCassette(
    "a.B",
    interactions=(
        Interaction(
            "n0",
            ASKED,
            response_type="string",
            value="ingot",
            usage=Usage(input_tokens=3, output_tokens=1, cache_read_tokens=2),
            model="stub-1",
        ),
        Interaction(
            "n0",
            ASKED,
            response_type="draft",
            value={"b": [], "a": 1e16},
            usage=Usage(),
            index=1,
        ),
    ),
    inputs={"z": None, "a": "é"},
    tool_calls=(
        ToolExchange("n1", "fs.read", invocation_digest=CALLED, result_type="text", value=""),
        ToolExchange(
            "n1", "fs.read", invocation_digest=CALLED, result_type="text", error="gone", index=1
        ),
    ),
    consultations=(
        Consultation("n2", CONSULTED, question="Now?", answer="yes", choices=("yes", "no")),
        Consultation("n2", CONSULTED, question="Now?", answer="no", index=1),
    ),
)
TEXT = f"""{{
  "cassetteVersion": "0.3",
  "agent": "a.B",
  "inputs": {{
    "a": "é",
    "z": null
  }},
  "interactions": [
    {{
      "index": 0,
      "node": "n0",
      "requestDigest": "{ASKED}",
      "responseType": "string",
      "value": "ingot",
      "usage": {{
        "inputTokens": 3,
        "outputTokens": 1,
        "cacheReadTokens": 2
      }},
      "model": "stub-1"
    }},
    {{
      "index": 1,
      "node": "n0",
      "requestDigest": "{ASKED}",
      "responseType": "draft",
      "value": {{
        "a": 1e+16,
        "b": []
      }},
      "usage": {{
        "inputTokens": 0,
        "outputTokens": 0
      }}
    }}
  ],
  "toolCalls": [
    {{
      "index": 0,
      "node": "n1",
      "tool": "fs.read",
      "invocationDigest": "{CALLED}",
      "resultType": "text",
      "value": ""
    }},
    {{
      "index": 1,
      "node": "n1",
      "tool": "fs.read",
      "invocationDigest": "{CALLED}",
      "resultType": "text",
      "error": "gone"
    }}
  ],
  "consultations": [
    {{
      "index": 0,
      "node": "n2",
      "questionDigest": "{CONSULTED}",
      "question": "Now?",
      "choices": [
        "yes",
        "no"
      ],
      "answer": "yes"
    }},
    {{
      "index": 1,
      "node": "n2",
      "questionDigest": "{CONSULTED}",
      "question": "Now?",
      "answer": "no"
    }}
  ]
}}
"""

FIRST = "invalid cassette: in field `interactions`: at index 0"
USAGE = f"{FIRST}: in field `usage`"
OUTPUT = f"{USAGE}: in field `outputTokens`"
CHOICES = "invalid cassette: in field `consultations`: at index 0: in field `choices`"
EDITS = {
    "not JSON": ("{", "{,", "invalid cassette: expecting property name enclosed in double quotes"),
    "cut off": ('"answer": "no"\n    }\n  ]\n}\n', "", "invalid cassette: "),
    "more after it": ("  ]\n}\n", "  ]\n}\n{}", "invalid cassette: extra data at line 76"),
    "no agent": ('"agent"', '"agents"', "invalid cassette: missing field `agent`"),
    "two agents": (
        '"agent": "a.B",',
        '"agent": "a.B", "agent": "a.B",',
        "invalid cassette: duplicate field `agent`",
    ),
    "a number for a text": (
        '"stub-1"',
        "1",
        f"{FIRST}: in field `model`: expected a string, found a number",
    ),
    "a fraction of a token": (
        '"outputTokens": 1',
        '"outputTokens": 1.0',
        f"{OUTPUT}: expected an unsigned integer of 64 bits, found a number",
    ),
    "true tokens": (
        '"outputTokens": 1',
        '"outputTokens": true',
        f"{OUTPUT}: expected an unsigned integer of 64 bits, found a boolean",
    ),
    "null tokens": (
        '"cacheReadTokens": 2',
        '"cacheReadTokens": null',
        f"{USAGE}: in field `cacheReadTokens`: expected an unsigned integer of 64 bits, found null",
    ),
    "a choice that is no text": (
        '"no"\n      ]',
        "null\n      ]",
        f"{CHOICES}: at index 1: expected a string, found null",
    ),
    "inputs in a row": (
        '"inputs": {\n    "a": "é",\n    "z": null\n  }',
        '"inputs": []',
        "invalid cassette: in field `inputs`: expected an object, found an array",
    ),
    "a future version": (
        '"0.3"',
        '"0.4"',
        "cassette version `0.4` is not supported by this compiler (supported: 0.1, 0.2, 0.3)",
    ),
    "persons before 0.3": (
        '"0.3"',
        '"0.1"',
        "the cassette states version `0.1` and carries consultations, which only 0.3 has",
    ),
    "a merge": (
        '"answer": "no"\n',
        '"answer": "no"\n=======\n"answer": "yes"\n>>>>>>> theirs\n',
        "it holds the marks of a merge that was not settled",
    ),
}


def vectors(name: str) -> list[Any]:
    """The lines of a table of upstream vectors; one skipped case where the table is not at hand."""
    path = SHARED / "vectors" / name
    if not path.is_file():
        return skipped(path)
    lines = path.read_text("utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    return [pytest.param(case, id=f"{n}") for n, case in enumerate(cases, 1)]


def skipped(path: Path) -> list[Any]:
    return [pytest.param(None, marks=pytest.mark.skip(reason=f"no upstream vectors at {path}"))]


def of_op(op: str) -> list[Any]:
    cases = vectors("ingot_cassette.jsonl")
    return [c for c in cases if c.values[0] is None or c.values[0]["input"]["op"] == op]


def canon_digests() -> list[Any]:
    path = SHARED / "vectors" / "ingot_canon.json"
    if not path.is_file():
        return skipped(path)
    return [pytest.param(case) for case in _serde.loads(path.read_text("utf-8"))["digests"]]


def conformance() -> list[Any]:
    paths = sorted((SHARED / "conformance").glob("*/cassette.json"))
    cases = [pytest.param(path, id=path.parent.name) for path in paths]
    return cases or skipped(SHARED / "conformance")


def pairs_of(given: Any) -> list[tuple[str, Any]]:
    """Names and values of a vector, whose values are raw JSON."""
    pairs = given.items() if isinstance(given, dict) else given
    return [(name, _serde.loads(text)) for name, text in pairs]


def digest_of(asked: dict[str, Any]) -> str:
    """The digest of what a vector asks for, whatever it calls the kind."""
    match asked.get("kind", asked.get("op")):
        case "model" | "completion_digest":
            return completion_digest(
                asked["node"],
                asked["prompt"],
                asked["response_type"],
                system=asked["system"],
                context=pairs_of(asked["context"]),
            )
        case "tool" | "invocation_digest":
            return invocation_digest(
                asked["agent"],
                asked["reference"],
                asked["result_type"],
                arguments=dict(pairs_of(asked["arguments"])),
            )
        case _:
            context = pairs_of(asked["context"])
            return question_digest(asked["question"], choices=asked["choices"], context=context)


def played(replay: Replay, step: dict[str, Any]) -> dict[str, Any]:
    """What a step of a vector comes to, laid out as the vectors are; errors as they are."""
    digest = digest_of(step)
    try:
        if step["kind"] == "model":
            row = replay.complete(step["node"], step["response_type"], digest)
            usage = {
                "inputTokens": row.usage.input_tokens,
                "outputTokens": row.usage.output_tokens,
            }
            return {"value": row.value, "usage": usage, "model": row.model or "replay"}
        if step["kind"] == "tool":
            result = replay.invoke(step["name"], digest)
            return {"err": result.error} if result.failed else {"value": result.value}
        return {"value": replay.consult("n0", digest).answer}
    except CassetteMissError as error:
        assert error.key == digest
        return {"err": error.reason, "miss": True}
    except CassetteFormatError as error:
        return {"err": error.reason}


@pytest.mark.parametrize("case", vectors("ingot_digest.jsonl"))
def test_digests_of_upstream(case):
    """Every digest is the runtime's own, byte for byte."""
    asked, expected = case["input"], case["expect"]
    if asked["op"] == "render":
        value = _serde.loads(asked["value_text"])
        actual = {"text": _serde.dumps(value), "pretty": _serde.pretty(value)}
    elif "parse_error" in expected:
        with pytest.raises(ValueError, match="out of range"):
            digest_of(asked)
        return
    else:
        named = asked["op"] == "invocation_digest"
        values = sorted(pairs_of(asked["arguments"])) if named else pairs_of(asked["context"])
        rendered = [f"{n}=" * named + _serde.dumps(value) for n, value in values]
        actual = {"digest": digest_of(asked), "rendered": rendered}

    assert expected == actual


@pytest.mark.parametrize("case", canon_digests())
def test_digests_of_plain_values(case):
    """The second table of digests, whose values are not raw text."""
    make = {
        "request": lambda node, prompt, response_type, **rest: completion_digest(
            node, prompt, response_type, **rest
        ),
        "invocation": invocation_digest,
        "question": lambda question, **rest: question_digest(question, **rest),
    }[case["kind"]]

    assert case["sha256"] == make(**case["args"])


@pytest.mark.parametrize("case", of_op("cassette"))
def test_files_of_upstream(case):
    """A file is read and written again, or refused, as the runtime does."""
    expected = case["expect"]
    if "ok" in expected:
        assert expected["ok"] == dumps(loads(case["input"]["text"]))
        return
    with pytest.raises(CassetteFormatError) as caught:
        loads(case["input"]["text"])
    said = "; ".join(filter(None, (caught.value.reason, caught.value.advice)))
    if not expected["err"].startswith("invalid cassette: "):
        assert said.startswith(expected["err"])
        return
    fact = re.search(r"(missing|duplicate) field `\w+`", expected["err"])

    assert said.startswith("invalid cassette: ")
    assert fact is None or said.endswith(fact[0])


@pytest.mark.parametrize("case", of_op("replay"))
def test_replays_of_upstream(case):
    """Every step plays what the runtime plays, or is refused for the same reason."""
    asked, expected = case["input"], case["expect"]
    replay = Replay(loads(asked["cassette"]), lenient=asked.get("lenient", False))
    replay = replay.skipping(asked.get("skip", 0))
    steps = [played(replay, step) for step in asked["steps"]]

    assert tuple(expected["remaining"]) == replay.remaining
    assert len(expected["steps"]) == len(steps)
    for wanted, step in zip(expected["steps"], steps, strict=True):
        if "err" not in wanted:
            assert wanted == step
            continue
        failed = wanted["err"].startswith("the tool failed: ")
        malformed = "neither a value nor an error" in wanted["err"]
        assert step["err"] in wanted["err"]
        assert (not failed and not malformed) == step.get("miss", False)


@pytest.mark.parametrize("path", conformance())
def test_conformance_cassettes(path):
    """The public cases are written back as they stand."""
    text = path.read_bytes().decode()

    assert text == dumps(loads(text, path=str(path)))


def test_digests_without_vectors():
    """Three digests that were made by the runtime."""
    expected = (
        "418e498e43f1b935b9e2fe423dd57b7c78dc4b3a16d64e4d49a594ab9d7cda43",
        "dd16f457280a08fab39d804f8528d5b0a3d2ad5398397b1b8ef6e570670bf94a",
        "dfb79ee277e56fbe8d8a64d96c8f0c14f5c355a856f8d8e0f2cfefa0e0093025",
    )
    context = [("document", "hello")]
    actual = (
        completion_digest("n0", "Summarise this", "markdown", system="", context=context),
        invocation_digest(
            "test.Agent", "mcp:fs.read_file", "text", arguments={"path": "README.md"}
        ),
        question_digest(
            "Which framing?", choices=["technical", "executive"], context=[("draft", "text")]
        ),
    )

    assert expected == actual


def test_texts_without_utf8_have_no_digest():
    """Half of a surrogate pair has no bytes."""
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        completion_digest("n0", "\ud83d", "text")
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        question_digest("?", context=[("a", ["\ud83d"])])


def test_a_recording_is_written_and_read():
    """The fields stand in their own order, maps are sorted, what is empty is left out."""
    check(CASSETTE)

    assert TEXT == dumps(CASSETTE)
    assert CASSETTE == loads(TEXT)


def test_of_a_free_key_that_stands_twice_the_last_counts():
    """Only the format's own fields must stand once."""
    twice = TEXT.replace('"z": null', '"z": 1, "z": null, "a": "é"')

    assert TEXT == dumps(loads(twice))


@pytest.mark.parametrize(("old", "new", "reason"), EDITS.values(), ids=EDITS)
def test_what_is_refused(old, new, reason):
    """The error says what is wrong, where, and in which file."""
    assert old in TEXT
    with pytest.raises(CassetteFormatError) as caught:
        loads(TEXT.replace(old, new, 1), path="a.json")

    assert reason == caught.value.reason[: len(reason)]
    assert "a.json" == caught.value.path
    assert str(caught.value).startswith(f"a.json: the cassette cannot be read: {reason}")


@pytest.mark.parametrize("value", ["[]", "null", '["0.3", "a.B", {}, []]', "", "\ufeff{}"])
def test_what_is_no_object_is_refused(value):
    """A list of fields in order, which serde would take, is none either."""
    with pytest.raises(CassetteFormatError, match="invalid cassette"):
        loads(value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": "0.2"}, "it states version `0.2`; expected `0.3`"),
        (
            {"interactions": CASSETTE.interactions[1:]},
            "interaction 0 states the index 1; expected its position",
        ),
        (
            {"tool_calls": (replace(CASSETTE.tool_calls[0], value=None),)},
            "tool call 0 for `fs.read` has neither a value nor an error; expected one",
        ),
        (
            {"tool_calls": (replace(CASSETTE.tool_calls[0], error="e"),)},
            "tool call 0 for `fs.read` has both a value and an error; expected one",
        ),
    ],
)
def test_what_a_recorder_must_not_write(change, reason):
    """Files that only a reader lets pass are not made."""
    with pytest.raises(CassetteError) as caught:
        check(replace(CASSETTE, **change))

    assert f"the cassette must not be written: {reason}" == str(caught.value)


def test_three_lists_are_played_by_position():
    """Each has a cursor of its own, which a refused request moves too."""
    replay = Replay(CASSETTE, path="a.json")

    assert "ingot" == replay.complete("n0", "string", ASKED).value
    assert "" == replay.invoke("fs.read", CALLED).value
    assert "yes" == replay.consult("n2", CONSULTED).answer
    with pytest.raises(CassetteMissError) as caught:
        replay.complete("n0", "draft", "0" * 64)
    assert (0, 1, 1) == replay.remaining
    assert "a.json" == caught.value.path
    assert "interaction 1 was recorded for a different request at node `n0`" == caught.value.reason
    assert replay.invoke("fs.read", CALLED).failed
    with pytest.raises(CassetteMissError, match=re.escape("has 2 interaction(s)")):
        replay.complete("n0", "draft", ASKED)
    assert (0, 0, 1) == replay.remaining


def test_types_and_tools_are_compared_before_digests():
    """A lenient playing overlooks other digests, never another type or tool."""
    for lenient in (False, True):
        replay = Replay(CASSETTE, lenient=lenient)
        with pytest.raises(CassetteMissError, match="recorded a `string` response but"):
            replay.complete("n0", "int", "0")
        with pytest.raises(CassetteMissError, match="the run called `fs.write`"):
            replay.invoke("fs.write", "0")

    lenient = Replay(CASSETTE, lenient=True)

    assert "ingot" == lenient.complete("n9", "string", "0").value
    assert "" == lenient.invoke("fs.read", "0").value
    assert "yes" == lenient.consult("n9", "0").answer


def test_a_run_that_goes_on_skips_what_was_played():
    """Each list has its own count, and one that is too large skips all."""
    replay = Replay(CASSETTE).skipping(1, 0, 99)

    assert (1, 2, 0) == replay.remaining
    assert {"b": [], "a": 1e16} == replay.complete("n0", "draft", ASKED).value
    with pytest.raises(CassetteMissError, match=re.escape("records 2 consultation(s)")):
        replay.consult("n2", CONSULTED)


def test_a_value_counts_before_an_error():
    """A row with both is a success, one with neither no cassette's."""
    both = replace(CASSETTE.tool_calls[0], error="gone")
    neither = replace(CASSETTE.tool_calls[0], value=None)
    replay = Replay(replace(CASSETTE, tool_calls=(both, neither)))

    assert not replay.invoke("fs.read", CALLED).failed
    with pytest.raises(CassetteFormatError, match="neither a value nor an error"):
        replay.invoke("fs.read", CALLED)


ERRORS = [
    errors.CassetteFormatError("it ends", path="a.json", advice="restore it"),
    errors.CassetteKeyError("k1:a", "k1:b", path="a.json"),
    errors.CassetteMissError("nothing", path="a.json", key="k1:a", report="- a\n+ b"),
    errors.AmbiguousRepeatError("a.py:f", 2, path="a.json", key="k1:a"),
    errors.CassetteSecretError("rows[0].prompt[3]", "an API key", path="a.json"),
    errors.CassetteSizeError(2_097_152, "a.py:f", path="a.json"),
    errors.CassetteModeError("rec", "there is no such mode", advice="use record"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.code)
def test_errors_of_cassettes_cross_processes(error):
    """An error keeps its facts when it is pickled."""
    copy = pickle.loads(pickle.dumps(error))

    assert (type(error), str(error), vars(error)) == (type(copy), str(copy), vars(copy))


def test_errors_of_cassettes_are_told_apart_by_code():
    """Each class has a word of its own, and the tree names every class."""
    classes = [getattr(errors, name) for name in errors.__all__]
    codes = {cls.code for cls in classes}

    assert len(classes) == len(codes)
    assert {type(error) for error in ERRORS} == set(classes) - {CassetteError}
    assert all(issubclass(cls, CassetteError) and cls.__name__ in errors.__doc__ for cls in classes)


def test_a_miss_ends_with_its_report():
    """The sentence is followed by what changed."""
    error = CassetteMissError("nothing", path="a.json", report="- a\n+ b", advice="record it")

    assert "a.json: nothing; record it\n- a\n+ b" == str(error)


texts = st.text(max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
counts = st.integers(0, 2**64 - 1)


@given(
    st.builds(
        UpstreamCassette,
        texts,
        inputs=st.dictionaries(texts, values, max_size=3),
        interactions=st.lists(
            st.builds(
                Interaction,
                texts,
                texts,
                response_type=texts,
                value=values,
                usage=st.builds(
                    Usage, input_tokens=counts, output_tokens=counts, cache_read_tokens=counts
                ),
                model=st.none() | texts,
                index=counts,
            ),
            max_size=2,
        ).map(tuple),
        tool_calls=st.lists(
            st.builds(
                ToolExchange,
                texts,
                texts,
                invocation_digest=texts,
                result_type=texts,
                value=values,
                error=st.none() | texts,
                index=counts,
            ),
            max_size=2,
        ).map(tuple),
        consultations=st.lists(
            st.builds(
                Consultation,
                texts,
                texts,
                question=texts,
                answer=texts,
                choices=st.lists(texts, max_size=2).map(tuple),
                index=counts,
            ),
            max_size=2,
        ).map(tuple),
    )
)
def test_what_is_written_is_read(cassette):
    """Nothing that the format holds is lost on the way."""
    assert cassette == loads(dumps(cassette))
