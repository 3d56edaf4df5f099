"""Messages of the exec protocol: what is written, what is read, and what is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot._json import Unreadable
from ingot._serde import dumps
from ingot.exec import (
    AssertReply,
    AssertRequest,
    Call,
    Failure,
    GenerateReply,
    GenerateRequest,
    Offer,
    ProviderReply,
    ProviderRequest,
    TestRef,
    Tokens,
)
from ingot.exec.wire import Envelope, WireReply, WireRequest, parse, read_request, write

PROVIDER = Envelope(kind="provider")
ASSERT = Envelope(kind="assert")

WRITTEN: list[tuple[WireRequest | WireReply, str]] = [
    (
        ProviderRequest(envelope=PROVIDER, test=TestRef(id="t")),
        (
            '{"domarinn":{"protocol":1,"kind":"provider"},"vars":null,"params":null,'
            '"test":{"id":"t","tags":[]}}'
        ),
    ),
    (
        ProviderRequest(
            envelope=PROVIDER,
            prompt={"text": "hi"},
            vars={"z": 1, "a": 2.0},
            params={},
            test=TestRef(id="t", tags=("smoke",)),
            tools=(Offer(name="w"), Offer(name="v", description="", input_schema={"b": 1, "a": 2})),
        ),
        (
            '{"domarinn":{"protocol":1,"kind":"provider"},"prompt":{"text":"hi"},'
            '"vars":{"z":1,"a":2.0},"params":{},"test":{"id":"t","tags":["smoke"]},'
            '"tools":[{"name":"w","input_schema":null},'
            '{"name":"v","description":"","input_schema":{"b":1,"a":2}}]}'
        ),
    ),
    (ProviderReply(output="hi"), '{"output":"hi"}'),
    (
        ProviderReply(
            output=None,
            usage=Tokens(output_tokens=2, cache_write_1h_tokens=0),
            cost_usd=1,
            error=Failure(message="m", error_class="provider_auth", retry_after_ms=5),
            metadata=[],
            stop_reason="s",
            empty_reason="e",
            reasoning="r",
            model="m",
            tool_calls=(Call(name="n", id="c", arguments={"b": 1}),),
        ),
        (
            '{"output":null,"usage":{"input_tokens":0,"output_tokens":2,"cache_write_1h_tokens":0},'
            '"cost_usd":1.0,"error":{"message":"m","retriable":false,"class":"provider_auth",'
            '"retry_after_ms":5},"metadata":[],"stop_reason":"s","empty_reason":"e","reasoning":"r",'
            '"model":"m","tool_calls":[{"id":"c","name":"n","arguments":{"b":1}}]}'
        ),
    ),
    (
        AssertRequest(
            envelope=ASSERT,
            output=[1],
            test=TestRef(id="t"),
            prompt="p",
            provider="p",
            tool_calls=(Call(name=""),),
        ),
        (
            '{"domarinn":{"protocol":1,"kind":"assert"},"output":[1],"test":{"id":"t","tags":[]},'
            '"prompt":"p","provider":{"id":"p"},"config":null,"vars":null,'
            '"tool_calls":[{"name":"","arguments":null}]}'
        ),
    ),
    (AssertReply(passed=True), '{"pass":true}'),
    (
        AssertReply(passed=False, score=-1, reason="", details={}),
        '{"pass":false,"score":-1.0,"reason":"","details":{}}',
    ),
    (
        GenerateRequest(envelope=Envelope(kind="generate_tests")),
        '{"domarinn":{"protocol":1,"kind":"generate_tests"},"config":null}',
    ),
    (GenerateReply(tests=({"id": "a"}, 1, None)), '{"tests":[{"id":"a"},1,null]}'),
]


@pytest.mark.parametrize(("message", "document"), WRITTEN, ids=lambda v: type(v).__name__)
def test_what_is_written_is_read_again(message: Any, document: str) -> None:
    """Fields stand in the order of the protocol, and an optional one is left out."""
    assert write(message) == document
    assert type(message).read(parse(document)) == message


UNREAD: list[tuple[Any, str, str]] = [
    (ProviderReply, "{}", "missing field `output`"),
    (ProviderReply, '{"output":1,"output":2}', "duplicate field `output`"),
    (ProviderReply, '{"output":"","usage":{"input_tokens":1.0}}', "in field `usage`"),
    (ProviderReply, '{"output":"","usage":{"input_tokens":null}}', "found null"),
    (ProviderReply, '{"output":"","usage":{"input_tokens":true}}', "found a boolean"),
    (ProviderReply, '{"output":"","cost_usd":"1"}', "expected a number, found a string"),
    (ProviderReply, '{"output":"","tool_calls":null}', "expected an array, found null"),
    (ProviderReply, '{"output":"","tool_calls":[{}]}', "missing field `name`"),
    (ProviderReply, '{"output":"","error":{}}', "in field `error`: missing field `message`"),
    (ProviderReply, '["hi"]', "expected an object, found an array"),
    (ProviderReply, "", "expecting value"),
    (ProviderReply, '{"output":NaN}', "JSON has no number for NaN"),
    (ProviderReply, '{"output":"\\ud800"}', "half of a surrogate pair"),
    (AssertReply, '{"pass":1}', "expected a boolean, found a number"),
    (AssertReply, '{"score":1}', "missing field `pass`"),
    (GenerateReply, '{"tests":{}}', "expected an array, found an object"),
    (TestRef, '{"id":"t","tags":null}', "expected an array, found null"),
    (TestRef, '{"id":"t","tags":[1]}', "at index 0"),
    (Envelope, '{"protocol":1,"kind":"Provider"}', "expected `provider`, `assert` or"),
    (Envelope, '{"protocol":4294967296,"kind":"provider"}', "of 32 bits"),
]


@pytest.mark.parametrize(("message", "document", "fault"), UNREAD)
def test_what_is_no_message_is_said(message: Any, document: str, fault: str) -> None:
    """With the place, and no content."""
    with pytest.raises(Unreadable, match=fault):
        message.read(parse(document))


def test_null_and_what_is_not_known_are_as_if_absent() -> None:
    """Which is how the protocol grows without a new version."""
    document = '{"output":"hi","usage":null,"error":null,"metadata":null,"invented":{"a":1}}'

    assert ProviderReply.read(parse(document)) == ProviderReply(output="hi")


def test_a_free_value_keeps_its_order_and_the_last_of_two_keys() -> None:
    """At the place of the first."""
    reply = ProviderReply.read(parse('{"output":{"k":1,"j":2,"k":3}}'))

    assert write(reply) == '{"output":{"k":3,"j":2}}'


def test_white_space_of_unicode_may_stand_around_a_document() -> None:
    """But no byte-order mark, and none of the four controls that Python takes for white space."""
    assert ProviderReply.read(parse('\xa0{"output":1}\u2003\n')).output == 1
    for mark in ("\ufeff", "\x1c"):
        with pytest.raises(Unreadable):
            parse(f'{mark}{{"output":1}}')


def test_a_request_is_read_by_its_kind() -> None:
    """Whatever the program is asked."""
    for message, document in WRITTEN:
        if isinstance(message, WireRequest):
            assert read_request(document) == message


def test_a_request_of_another_version_is_refused() -> None:
    """It may mean something else by the same fields."""
    with pytest.raises(Unreadable, match="of protocol 2; this program speaks protocol 1"):
        read_request('{"domarinn":{"protocol":2,"kind":"provider"},"test":{"id":"t"}}')


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
COUNT = st.integers(0, 2**64 - 1)
REPLIES = st.builds(
    ProviderReply,
    output=JSON,
    usage=st.none() | st.builds(Tokens, input_tokens=COUNT, cache_read_tokens=st.none() | COUNT),
    cost_usd=st.none() | st.sampled_from([0.0, 0.25, 1.5]),
    metadata=JSON,
    stop_reason=st.none() | st.text(),
    tool_calls=st.lists(
        st.builds(Call, name=st.text(), arguments=JSON, id=st.none() | st.text())
    ).map(tuple),
)


@given(REPLIES)
def test_any_reply_survives_the_way(reply: ProviderReply) -> None:
    """What one end writes, the other reads; and any JSON reader reads it too."""
    document = write(reply)

    assert ProviderReply.read(parse(document)) == reply
    assert dumps(json.loads(document)) == dumps(reply.to_json())
