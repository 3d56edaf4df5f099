"""Messages of Rill Runtime IPC v3: what is written, what is read, and which rules they keep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot._json import Unreadable
from ingot._serde import dumps, loads
from ingot.rill.limits import Limits
from ingot.rill.wire import (
    GROWTH,
    PREVIEW_HASH,
    Envelope,
    Response,
    read_envelope,
    read_response,
    write,
)
from ingot.rill.wire_bodies import (
    Body,
    Failed,
    Greeting,
    Inspection,
    ResetDone,
    Result,
    State,
    Vitals,
)
from ingot.rill.wire_codes import CODES, DUPLICATE_DECISION, EXPIRED, UNKNOWN_DECISION, Failure
from ingot.rill.wire_parts import Identity, Surface, parse
from ingot.rill.wire_requests import (
    Decide,
    Feedback,
    Handshake,
    Health,
    Inspect,
    Observe,
    Request,
    Reset,
    Snapshot,
)

REQUESTS: list[tuple[Request, str]] = [
    (Handshake(), '{"method":"handshake"}'),
    (Health(), '{"method":"health"}'),
    (Observe(event=None), '{"method":"observe","event":null}'),
    (Decide(context={"b": 1, "a": 2.0}), '{"method":"decide","context":{"a":2.0,"b":1}}'),
    (Decide(context=1, seed=0), '{"method":"decide","context":1,"deterministicSeed":0}'),
    (
        Feedback(decision="d", arm=3, reward=1, outcome_ms=5, generation=0),
        (
            '{"method":"feedback","decisionId":"d","selectedArm":3,"reward":1.0,'
            '"outcomeTimeMs":5,"generation":0}'
        ),
    ),
    (Inspect(), '{"method":"inspect"}'),
    (Snapshot(), '{"method":"snapshot"}'),
    (Reset(expected_generation=7), '{"method":"reset","expectedStateGeneration":7}'),
]

BODIES: list[tuple[Surface, Body, str]] = [
    (
        "v3",
        Greeting(capabilities=("a", "b"), schema_hash="h", decider_version=2),
        (
            '{"kind":"handshake","capabilities":["a","b"],"featureSchemaHash":"h",'
            '"handlerApiVersion":2}'
        ),
    ),
    (
        "preview",
        Greeting(capabilities=("a",), schema_hash="h", decider_version=2, channel="preview"),
        (
            '{"kind":"handshake","capabilities":["a"],"featureSchemaHash":"h",'
            '"handlerApiVersion":2,"channel":"preview"}'
        ),
    ),
    ("v3", Vitals(healthy=True), '{"kind":"health","healthy":true}'),
    (
        "preview",
        Vitals(healthy=False, status="failed_closed", reasons=("r",)),
        '{"kind":"health","healthy":false,"status":"failed_closed","reasonCodes":["r"]}',
    ),
    ("v3", Result(output=None), '{"kind":"result","output":null}'),
    (
        "preview",
        Result(output={"z": 1, "a": 2}, decision="d", decision_generation=0),
        '{"kind":"result","output":{"a":2,"z":1},"decisionId":"d","decisionGeneration":0}',
    ),
    ("v3", Inspection(summary=[]), '{"kind":"inspection","summary":[]}'),
    (
        "v3",
        State(schema_version=1, checksum="c", state="7b7d"),
        '{"kind":"snapshot","stateSchemaVersion":1,"stateChecksum":"c","state":"7b7d"}',
    ),
    ("v3", ResetDone(reset=True), '{"kind":"reset","reset":true}'),
    (
        "v3",
        Failed(error=Failure(code="internal", message="m", retryable=True)),
        '{"kind":"error","error":{"code":"internal","message":"m","retryable":true}}',
    ),
    (
        "preview",
        Failed(error=Failure(code="unknownDecision", message="m", retryable=True)),
        '{"kind":"error","error":{"code":"unknownDecision","message":"m","retryable":true}}',
    ),
]

WHO = Identity(name="host", version="1.0")
HEAD = '{"requestId":"r","apiVersion":3,"clientIdentity":{"name":"host","version":"1.0"},'
TAIL = '"modelGeneration":1,"stateGeneration":2,"payloadLimit":1048576,"request":'


def envelope(request: Request, **changed: Any) -> Envelope:
    """A request that keeps the rules, but for what is *changed*."""
    asks = not isinstance(request, Handshake | Health)
    made = Envelope(
        request_id="r",
        client=WHO,
        capability="decide" if asks else None,
        schema_hash=PREVIEW_HASH if asks else None,
        model_generation=1,
        state_generation=2,
        request=request,
    )
    return replace(made, **changed)


def response(body: Body) -> Response:
    return Response(request_id="r", runtime=WHO, model_generation=1, state_generation=2, body=body)


# Written and read


@pytest.mark.parametrize(("request_", "text"), REQUESTS)
def test_a_request_is_written_in_the_order_of_the_protocol(request_: Request, text: str) -> None:
    """Fields of the protocol stand in its order, keys of free JSON are sorted."""
    bare = envelope(request_, capability=None, schema_hash=None)

    assert write(bare).decode() == HEAD + TAIL + text + "}"
    assert read_envelope(write(bare)) == bare


@pytest.mark.parametrize(("surface", "body", "text"), BODIES)
def test_an_answer_is_written_as_its_surface_has_it(
    surface: Surface, body: Body, text: str
) -> None:
    """What is read on a surface is what was written on it."""
    written = write(response(body))

    assert written.endswith(f',"response":{text}}}'.encode())
    assert read_response(written, surface) == response(body)


@pytest.mark.parametrize(
    ("surface", "body"), [(surface, body) for surface, body, _ in BODIES if surface == "preview"]
)
def test_the_frozen_surface_knows_nothing_of_the_other(surface: Surface, body: Body) -> None:
    """What `preview` adds is an unknown field, or an unknown code, on `v3`."""
    with pytest.raises(Unreadable, match="unknown field|a code of the protocol"):
        read_response(write(response(body)), "v3")


def test_what_is_optional_stands_where_it_is_given() -> None:
    """An optional field that is not there is left out, and null is as if it were."""
    full = envelope(Inspect(), deadline_ms=0)
    written = write(full).decode()
    nulls = HEAD + '"capability":null,"deadlineUnixMs":null,' + TAIL + '{"method":"health"}}'

    assert (
        f'"capability":"decide","deadlineUnixMs":0,"featureSchemaHash":"{PREVIEW_HASH}"' in written
    )
    assert read_envelope(written.encode()) == full
    assert read_envelope(nulls.encode()) == envelope(Health())


STRICT = [
    ("{", "expecting property name"),
    ("[]", "expected an object, found an array"),
    ("\ufeff{}", "unexpected UTF-8 BOM"),
    (HEAD + TAIL + '{"method":"health"},"more":1}', "unknown field `more`"),
    (HEAD + HEAD[1:] + TAIL + '{"method":"health"}}', "duplicate field `requestId`"),
    (HEAD + TAIL + '{"method":"health","method":"health"}}', "duplicate field `method`"),
    (HEAD + TAIL + '{"method":"health","x":null}}', "in field `request`: unknown field `x`"),
    (HEAD + TAIL + '{"method":"Health"}}', "expected a method of the protocol"),
    (HEAD + TAIL + '"health"}', "expected an object, found a string"),
    (HEAD + TAIL + '{"method":"reset","expectedStateGeneration":1.0}}', "64 bits"),
    ((HEAD + TAIL).replace(":3,", ":4294967296,") + '{"method":"health"}}', "32 bits"),
]


@pytest.mark.parametrize(("text", "fault"), STRICT)
def test_a_request_is_read_strictly(text: str, fault: str) -> None:
    """What is not in the protocol is an error, and the message says where."""
    with pytest.raises(Unreadable, match=f"(?i){fault}"):
        read_envelope(text.encode())


def test_what_is_no_utf_8_is_no_message() -> None:
    """Nothing is guessed."""
    with pytest.raises(Unreadable, match="byte 14 is not UTF-8"):
        read_envelope(b'{"requestId":"\xff"}')


def test_keys_within_free_json_may_stand_twice() -> None:
    """The last one counts, as in the source system."""
    text = HEAD + TAIL + '{"method":"observe","event":{"a":1,"a":2}}}'

    assert read_envelope(text.encode()).request == Observe(event={"a": 2})


# Rules

LONG = "x" * 129
SHORT = {"capability": None, "schema_hash": None}
FEEDBACK = Feedback(decision="d", arm=0, reward=0.5, outcome_ms=0, generation=0)

PROBLEMS: list[tuple[Request, dict[str, Any], str | None]] = [
    (Inspect(), {}, None),
    (Health(), {}, None),
    (Health(), {"schema_hash": "nonsense"}, None),
    (Inspect(), {"request_id": "é" * 64}, None),
    (Inspect(), {"request_id": "é" * 65, "api_version": 9}, "invalid request id"),
    (Inspect(), {"request_id": "", "api_version": 9}, "invalid request id"),
    (Inspect(), {"api_version": 2, "payload_limit": 0}, "incompatible API version"),
    (Inspect(), {"client": Identity(name="", version="1")}, "invalid client identity"),
    (Inspect(), {"client": Identity(name="n", version="1" * 49)}, "invalid client identity"),
    (Inspect(), {"payload_limit": 0, "capability": None}, "invalid payload limit"),
    (Inspect(), {"payload_limit": 2**20 + 1}, "invalid payload limit"),
    (Health(), {"capability": "c"}, "unexpected capability"),
    (Inspect(), {"capability": None, "schema_hash": None}, "missing capability"),
    (Inspect(), {"capability": "c" * 97, "schema_hash": None}, "invalid capability"),
    (Inspect(), {"schema_hash": None}, "missing feature schema hash"),
    (Inspect(), {"schema_hash": "AB" * 32}, "invalid feature schema hash"),
    (replace(FEEDBACK, decision=LONG), {"payload_limit": 9}, "invalid decision id"),
    (replace(FEEDBACK, reward=float("nan")), {"payload_limit": 9}, "reward must be finite"),
    (FEEDBACK, {"payload_limit": 9}, "payload too large"),
]


@pytest.mark.parametrize(("request_", "changed", "problem"), PROBLEMS)
def test_the_first_broken_rule_is_told(
    request_: Request, changed: dict[str, Any], problem: str | None
) -> None:
    """Rules are checked in the order of the source system, lengths in bytes."""
    assert envelope(request_, **changed).problem() == problem


def test_the_size_that_counts_is_that_of_the_text_which_is_written() -> None:
    """White space that was received is not measured, and a number is as long as it is written."""
    small = envelope(Observe(event="x"))
    exact = replace(small, payload_limit=len(write(small)) - 4)  # four digits fewer
    spaced = write(exact).replace(b",", b" ,\n\t")
    grown = read_envelope(write(exact).replace(b'"x"', b"1e9"))

    assert read_envelope(spaced).problem(len(spaced)) is None
    assert grown.problem(len(write(exact))) == "payload too large"


def test_a_request_expires_after_its_deadline() -> None:
    """At the deadline it is still served."""
    late = envelope(Health(), deadline_ms=10)

    assert [late.is_expired(now) for now in (9, 10, 11)] == [False, False, True]
    assert not envelope(Health()).is_expired(2**64)


def test_an_answer_keeps_rules_too() -> None:
    """Capabilities, the message of an error and, on `v3`, what its code says of a retry."""
    twice = Greeting(capabilities=("a", "a"), schema_hash="", decider_version=2)
    silent = Failed(error=Failure(code="internal", message="", retryable=True))
    wrong = Failed(error=Failure(code="internal", message="m", retryable=False))

    assert response(twice).problem("v3") == "invalid capabilities"
    assert response(silent).problem("preview") == "invalid error message"
    assert response(wrong).problem("v3") == "retryable flag does not match error code"
    assert response(wrong).problem("preview") is None
    assert response(Result(output="x" * 2**20)).problem("v3") == "payload too large"


@pytest.mark.parametrize(
    ("surface", "codes"),
    [
        ("v3", [("internal", True), ("internal", True), ("expiredRequest", False)]),
        (
            "preview",
            [("duplicateDecision", True), ("unknownDecision", True), ("expiredRequest", True)],
        ),
    ],
)
def test_each_surface_has_its_codes(surface: Surface, codes: list[tuple[str, bool]]) -> None:
    """And `preview` goes by the code of `v3` where it says what is worth a retry."""
    told = [why.failure(surface) for why in (DUPLICATE_DECISION, UNKNOWN_DECISION, EXPIRED)]

    assert [(failure.code, failure.retryable) for failure in told] == codes
    assert {failure.code for failure in told} <= CODES[surface]


def test_limits_are_read_whole() -> None:
    """They are the source's profile of resources, with its rules."""
    text = dumps(Limits(pending=5, completed=4).to_json())

    assert Limits.read(parse(text.encode())) == Limits(pending=5, completed=4)
    assert Limits().problem() is None
    assert Limits(features=0).problem() == "resource profile contains a zero limit"
    assert Limits(frame_bytes=2**20 + 1).problem() == "resource profile contains a zero limit"
    assert "must hold pending capacity" in (Limits(pending=5, completed=4).problem() or "")
    with pytest.raises(Unreadable, match="missing field"):
        Limits.read(parse(b"{}"))


# Any message

numbers = st.integers(-(2**63), 2**64 - 1) | st.sampled_from([0.5, 1e-7, 1e16, -2.25])
texts = st.text(st.characters(codec="utf-8"), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
literals = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    st.integers(0, 10**25),
    st.sampled_from(["", ".0", ".000001", ".1234567890123456789"]),
    st.sampled_from(["", "e15", "E9", "e-5", "e+99", "e-300"]),
)


@given(texts, values)
def test_what_is_written_is_read(name: str, value: Any) -> None:
    """Any text and any JSON passes through a message; most floats do not, which is serde's way."""
    message = envelope(Observe(event=value), request_id=name)

    assert read_envelope(write(message)) == message


@given(st.lists(literals, min_size=1, max_size=8))
def test_what_is_written_is_at_most_four_times_what_was_read(numbers: list[str]) -> None:
    """Whatever way numbers are written in, which is all that can grow."""
    text = f"[{','.join(numbers)}]"

    assert len(dumps(loads(text))) <= GROWTH * len(text)
