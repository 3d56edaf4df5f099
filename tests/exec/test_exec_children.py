"""What programs of the source system's examples were asked and said, at both of our ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ingot._json import Unreadable
from ingot.errors import ProviderAuthError, ProviderRateLimitError
from ingot.exec import (
    AssertReply,
    Call,
    ExecExitError,
    Failure,
    ProviderReply,
    Tokens,
    generate_tests,
    run_assert,
)
from ingot.exec.child import Child
from ingot.exec.program import MAX_OUTPUT, Program
from ingot.exec.wire import parse
from ingot.exec.words import class_of, empty_reason

PLAYER = ("sh", "-c", 'cat >/dev/null; printf %s "$SAID"; exit "$CODE"')
"""A program that says what it is told to say."""

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "vectors" / "domarinn_children.jsonl"
ABSENT = pytest.mark.skip(reason="the vectors of shared/ are not beside this checkout")


def vectors(*, documents: bool = False) -> list[Any]:
    """
    A parameter for each vector; one that is skipped where there are none.

    Args:
        documents: Only those of programs that wrote a document, as a handler of ours always does.
    """
    if not VECTORS.is_file():
        return [pytest.param({}, marks=ABSENT, id="absent")]
    found = [json.loads(line) for line in VECTORS.read_text("utf-8").splitlines()]
    return [
        pytest.param(one, id=f"{n}-{one['input']['example']}")
        for n, one in enumerate(found)
        if not documents or {"ok", "err"} & (one["expect"]["parsed"] or {}).keys()
    ]


@pytest.mark.parametrize("vector", vectors())
def test_what_a_program_says_is_understood(vector: Any) -> None:
    """The host makes of its stdout what the source system makes of it."""
    raw, expected = vector["expect"]["raw"], vector["expect"]["parsed"]
    env = {"SAID": raw.get("stdout", ""), "CODE": "7" if "err" in raw else "0"}
    player = Program(argv=PLAYER, env=env, cwd=None, timeout=20, max_output=MAX_OUTPUT)
    if "err" in raw:
        with pytest.raises(ExecExitError):
            player.run("{}", str)
        return
    kind = vector["input"]["kind"]
    if kind == "assert":
        verdict = run_assert(PLAYER, "", env=env)
        said = {"pass": verdict.passed, "score": verdict.score, "reason": verdict.reason}
        assert {**said, "details": verdict.details} == expected["ok"]
    elif kind == "generate_tests":
        assert generate_tests(PLAYER, env=env) == expected["ok"]
    else:
        check_reply(player.run("{}", str), expected)


def check_reply(document: str, expected: Any) -> None:
    """See whether what a provider said is read as *expected*."""
    if "bad_json" in expected:
        with pytest.raises(Unreadable):
            parse(document)
        return
    reply = ProviderReply.read(parse(document))
    if reply.error is not None:
        told = expected["err"]
        assert class_of(reply.error) == told["class"]
        assert reply.error.retriable == (told["kind"] == "retriable")
        assert (reply.error.message, reply.error.details) == (told["message"], told["details"])
        assert reply.error.retry_after_ms == told["retry_after_ms"]
        return
    told = expected["ok"]
    assert empty_reason(reply) == told["final_empty_reason"]
    assert reply == reply_of(expected)


@pytest.mark.parametrize("vector", vectors(documents=True))
def test_a_program_of_ours_says_the_same(vector: Any) -> None:
    """Handlers that return and raise what these programs mean write documents that say it."""
    raw, parsed = vector["expect"]["raw"], vector["expect"]["parsed"]
    child = Child()
    child.provider(lambda request: reply_of(parsed))
    child.assert_(lambda request: {k: v for k, v in parsed["ok"].items() if v is not None})
    child.generate(lambda request: parsed["ok"])
    written = parse(child.answer(json.dumps(vector["input"]["request"])))
    wanted = parse(raw["stdout"])
    kind = vector["input"]["kind"]
    if kind == "generate_tests":
        assert written.fields == wanted.fields
    elif kind == "assert":
        assert AssertReply.read(written) == AssertReply.read(wanted)
    else:
        reply = ProviderReply.read(wanted)
        if reply.error is not None:
            reply.output = None  # which does not count
        assert ProviderReply.read(written) == reply


_KNOWN = {"provider_rate_limit": ProviderRateLimitError, "provider_auth": ProviderAuthError}


def reply_of(parsed: Any) -> Any:
    """What a handler returns to say *parsed*; an error that ingot knows is raised."""
    if "err" in parsed:
        told = parsed["err"]
        wait = told["retry_after_ms"]
        if told["class"] in _KNOWN and told["details"] is None:
            after = None if wait is None else wait / 1000
            raise _KNOWN[told["class"]](told["message"], retry_after=after)
        failure = Failure(
            message=told["message"],
            retriable=told["kind"] == "retriable",
            details=told["details"],
            error_class=None if told["class"] == "exec_failed" else told["class"],
            retry_after_ms=wait,
        )
        return ProviderReply(output=None, error=failure)
    said = dict(parsed["ok"])
    (output,) = said.pop("output").values()
    del said["final_empty_reason"]
    usage, calls = said.pop("usage"), said.pop("tool_calls")
    return ProviderReply(
        output=output,
        usage=usage and Tokens(**usage),
        tool_calls=tuple(Call(**call) for call in calls),
        **said,
    )
