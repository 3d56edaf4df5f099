"""The exec protocol as its source system speaks it, by vectors that were made with that system."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ingot import Retry, Text, ask
from ingot._json import Unreadable
from ingot._program import argv_of
from ingot._row import Row, collect
from ingot._serde import dumps, loads
from ingot.errors import NotConfiguredError, ProviderError
from ingot.exec import (
    AssertReply,
    AssertRequest,
    Call,
    Exec,
    Failure,
    GenerateReply,
    GenerateRequest,
    Offer,
    ProviderReply,
    ProviderRequest,
    TestRef,
    Tokens,
    generate_tests,
)
from ingot.exec.errors import ExecStartError
from ingot.exec.host import read_tests, read_verdict
from ingot.exec.program import Program
from ingot.exec.wire import PROTOCOL, VARIABLE, Envelope, parse, write
from ingot.exec.words import clamped, class_of, empty_reason, failure_of, stop_word

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "vectors"
ABSENT = "the vectors of shared/ are not beside this checkout"

MESSAGES: dict[str, Any] = {
    "AssertReq": AssertRequest,
    "AssertResp": AssertReply,
    "Envelope": Envelope,
    "GenerateReq": GenerateRequest,
    "GenerateResp": GenerateReply,
    "ProtocolError": Failure,
    "ProviderReq": ProviderRequest,
    "ProviderResp": ProviderReply,
    "TestRef": TestRef,
    "ToolCall": Call,
    "ToolDef": Offer,
    "Usage": Tokens,
}

SPAWN = "definitely-not-a-real-binary-xyz"
"""A program that is not there."""


def vectors(name: str) -> list[Any]:
    """A parameter for each vector of a file; one that is skipped where there is none."""
    path = VECTORS / f"{name}.jsonl"
    if not path.is_file():
        return [pytest.param({}, marks=pytest.mark.skip(reason=ABSENT), id="absent")]
    found = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    kinds = [one["input"].get("type") or one["input"]["op"] for one in found]
    return [pytest.param(one, id=f"{n}-{kinds[n]}") for n, one in enumerate(found)]


# The wire


def wire_of(kind: str, text: str) -> str:
    """Read *text* as a message of *kind*, and write it again."""
    value = loads(text, object_pairs_hook=collect)
    if kind == "Kind":
        return dumps(Envelope.read(Row({"protocol": 1, "kind": value}, ())).kind)
    if kind == "ProviderRef":
        return dumps({"id": Row(value, ()).text("id")})
    return dumps(MESSAGES[kind].read(Row(value, ())).to_json(), sort=False)


@pytest.mark.parametrize("vector", vectors("domarinn"))
def test_a_message_is_read_and_written_as_the_source_does(vector: Any) -> None:
    """Field by field and byte for byte; an array in place of an object is refused here."""
    given, expected = vector["input"], vector["expect"]
    if given["type"] == "consts":
        assert {"PROTOCOL_ENV": VARIABLE, "PROTOCOL_VERSION": PROTOCOL} == expected
        return
    positional = given["raw"].startswith("[") or '{"provider":null}' in given["raw"].replace(
        " ", ""
    )
    if "ok" in expected and not positional:
        assert wire_of(given["type"], given["raw"]) == expected["ok"]
        return
    with pytest.raises(Unreadable):
        wire_of(given["type"], given["raw"])


# The host, without a program


def outcome_of(document: str) -> dict[str, Any]:
    """What a host of the source system would say of *document*."""
    try:
        reply = ProviderReply.read(parse(document))
    except Unreadable:
        return {"kind": "fatal", "class": "exec_failed"}
    if reply.error is not None:
        error = failure_of(reply.error, reply.metadata, "sut", ())
        wait = None if error.retry_after is None else round(error.retry_after * 1000)
        return {
            "class": class_of(reply.error),
            "details": error.details,
            "kind": "retriable" if error.retryable else "fatal",
            "message": reply.error.message,
            "retry_after_ms": wait,
        }
    text = isinstance(reply.output, str)
    return {
        "output": {"text" if text else "json": reply.output},
        "usage": reply.usage and reply.usage.to_json(),
        "cost_usd": reply.cost_usd,
        "stop_reason": reply.stop_reason,
        "final_empty_reason": empty_reason(reply),
        "reasoning": reply.reasoning,
        "model": reply.model,
        "metadata": reply.metadata,
        "tool_calls": [call.to_json() for call in reply.tool_calls],
    }


def check_parse_response(given: Any, expected: Any) -> None:
    actual = outcome_of(given["raw"])
    if "bad_json" in expected or given["raw"] == '["hi"]':
        assert actual == {"kind": "fatal", "class": "exec_failed"}
        return
    found = expected["err"] if "err" in expected else expected["ok"]

    assert actual == {name: found[name] for name in actual}


def check_parse_tests(given: Any, expected: Any) -> None:
    if "err" in expected:
        with pytest.raises(Unreadable):
            read_tests(given["raw"])
    else:
        assert read_tests(given["raw"]) == expected["ok"]


def check_assert_response(given: Any, expected: Any) -> None:
    if "ok" not in expected or given["raw"].startswith("["):
        with pytest.raises(Unreadable):
            read_verdict(given["raw"])
        return
    verdict = read_verdict(given["raw"])

    assert {
        "pass": verdict.passed,
        "score": verdict.score,
        "reason": verdict.reason,
        "details": verdict.details,
    } == expected["ok"]


def asked(given: Any) -> ProviderRequest:
    """The request of a vector, whose gaps are filled as the source system does it."""
    test = given.get("test", {"id": "t"})
    return ProviderRequest(
        envelope=Envelope(kind="provider"),
        prompt=given.get("prompt"),
        vars=dict(sorted(given.get("vars", {}).items())),
        params=given.get("params", {}),
        test=TestRef.read(Row(test, ())),
        tools=tuple(Offer.read(Row(tool, ())) for tool in given.get("tools", ())),
    )


def check_stdin(given: Any, expected: Any) -> None:
    document = write(asked(given["request"]))

    assert document == expected["stdin"]
    if expected["canonical"] is None:
        return
    said = loads(document)
    del said["test"]
    named = json.loads(expected["canonical"]).get("env_digest")  # BLAKE3, which Python has not
    request = {
        "transport": "exec",
        "command": given["command"][0],
        "args": given["command"][1:],
        "stdin": said,
        **({"env_digest": named} if named else {}),
    }
    salts = {
        "provider_salt": given.get("cache_salt"),
        "case_salt": given["request"].get("case_salt"),
    }
    keyed = {
        "request": request,
        "repeat": given.get("repeat", 0),
        **{name: salt for name, salt in salts.items() if salt is not None},
    }

    assert dumps(request) == expected["canonical"]
    assert "sha256:" + sha256(dumps(keyed).encode()).hexdigest() == expected["key"]


def check_canonical(given: Any, expected: Any) -> None:
    text = dumps(loads(given["raw"]))

    assert text == expected["canonical"]
    assert "sha256:" + sha256(text.encode()).hexdigest() == expected["key"]


def check_backoff(given: Any, expected: Any) -> None:
    """Ingot waits as long, within a quarter of a second, and never so long that it is no use."""
    if given["initial_ms"] != 500 or "retry_after_ms" in given:
        return
    error = ProviderError("m")
    error.retryable = True
    delay = Retry(attempts=100).delay(given["attempt"], error, 0.0)

    assert delay is not None
    assert 0 <= delay - expected["ms"] / 1000 <= 0.25


# The host, with a program


def program_of(given: Any) -> Program:
    return Program(
        argv=argv_of(given["command"]),
        env=given.get("env"),
        cwd=given.get("cwd"),
        timeout=given.get("timeout_ms", 10_000) / 1000,
    )


def check_call(given: Any, expected: Any) -> None:
    if given["command"] == []:
        with pytest.raises(NotConfiguredError, match="empty"):
            program_of(given)
        return
    try:
        document = program_of(given).run(write(asked(given["request"])), str)
    except ProviderError as error:
        assert (error.code, expected["err"]["class"]) == ("exec_failed", "exec_failed")
        if not isinstance(error, ExecStartError):
            assert error.retryable == (expected["err"]["kind"] == "retriable")
        return
    check_parse_response({"raw": document}, expected)


def check_call_retry(given: Any, expected: Any) -> None:
    timeout = given.get("timeout_ms", 10_000) / 1000
    provider = Exec(given["command"], timeout=timeout)
    retry = Retry(attempts=given["policy"].get("max", 2) + 1, wait=lambda _: 0.0, ceiling=120.0)
    said = ask.using(model=provider, retry=retry)
    if "ok" in expected:
        answer = said.answer(Text, "hi")

        assert answer.value == expected["ok"]["output"]["text"]
        assert answer.attempts == 1
        return
    with pytest.raises(ProviderError) as caught:
        said(Text, "hi")
    error = caught.value
    attempts = 1 if isinstance(error, ExecStartError) else expected["attempts"]

    assert error.attempts == attempts
    assert (error.type or error.code) == expected["err"]["class"]
    assert error.details == expected["err"]["details"]


def check_generate(given: Any, expected: Any) -> None:
    if "err" in expected:
        with pytest.raises(ProviderError):
            generate_tests(given["command"], given.get("config"))
    else:
        assert generate_tests(given["command"], given.get("config")) == expected["ok"]


CHECKS = {
    "assert_response": check_assert_response,
    "backoff": check_backoff,
    "call": check_call,
    "call_retry": check_call_retry,
    "canonical": check_canonical,
    "clamped": lambda given, expected: same(clamped(given["raw"]), expected["v"]),
    "generate": check_generate,
    "parse_response": check_parse_response,
    "parse_tests": check_parse_tests,
    "stdin": check_stdin,
    "stop_reason": lambda given, expected: same(stop_word(given["raw"]), expected["reason"]),
}


def same(actual: Any, expected: Any) -> None:
    assert actual == expected


@pytest.mark.parametrize("vector", vectors("domarinn_host"))
def test_a_host_does_what_the_source_does(vector: Any) -> None:
    """But for what stands in the table of differences in docs/reference/exec.md."""
    CHECKS[vector["input"]["op"]](vector["input"], vector["expect"])
