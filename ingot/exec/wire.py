"""
Messages of the exec protocol, version 1, and their JSON: no program is run here.

One request goes to the program, one document comes back; the protocol has three kinds of both. A
message writes its fields in the order of the protocol, leaves an optional field out rather than
writing null, and keeps the order of keys within free JSON values. A reader ignores fields that it
does not know, which is how the protocol grows: the version stays 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from ingot._json import Unreadable
from ingot._record import record
from ingot._row import Row, collect
from ingot._serde import dumps, loads
from ingot.exec.wire_parts import (
    Call,
    Failure,
    Offer,
    TestRef,
    Tokens,
    present,
    read_many,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "PROTOCOL",
    "VARIABLE",
    "AssertReply",
    "AssertRequest",
    "Envelope",
    "GenerateReply",
    "GenerateRequest",
    "Kind",
    "ProviderReply",
    "ProviderRequest",
    "WireRequest",
    "parse",
    "read_request",
    "trimmed",
    "write",
]

PROTOCOL = 1
"""The version that is spoken here."""

VARIABLE = "DOMARINN_PROTOCOL"
"""Tells a program the version, in its environment."""

Kind = Literal["provider", "assert", "generate_tests"]

_U32 = 2**32 - 1


@record
class Envelope:
    """
    What every request begins with, under the key `domarinn`.

    Attributes:
        kind: What the program is asked to be.
        protocol: The version of the protocol.
    """

    kind: Kind
    protocol: int = PROTOCOL

    @classmethod
    def read(cls, row: Row) -> Envelope:
        """Read it; versions that are not known are read too."""
        protocol = row.count("protocol")
        if protocol > _U32:
            raise row.unexpected("an unsigned integer of 32 bits", protocol, "protocol")
        kind = row.text("kind")
        for known in get_args(Kind):
            if kind == known:
                return cls(kind=known, protocol=protocol)
        raise row.unexpected("`provider`, `assert` or `generate_tests`", kind, "kind")

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return {"protocol": self.protocol, "kind": self.kind}


@record
class ProviderRequest:
    """
    A program is asked to answer a prompt.

    Attributes:
        envelope: Version and kind.
        prompt: `{"text": …}`, `{"messages": […]}`, or any JSON; None where there is no prompt.
        vars: Variables of the case, as JSON.
        params: Settings of the call, as JSON.
        test: What it is asked for.
        tools: Tools that the model may call.
    """

    envelope: Envelope
    prompt: Any = None
    vars: Any = None
    params: Any = None
    test: TestRef
    tools: tuple[Offer, ...] = ()

    @property
    def text(self) -> str:
        """What is asked, as one text: of the prompt, or the variable `user_input`."""
        from ingot.exec.child_prompt import text_of

        return text_of(self)

    @classmethod
    def read(cls, row: Row) -> ProviderRequest:
        """Read it."""
        return cls(
            envelope=Envelope.read(row.row("domarinn")),
            prompt=row.optional("prompt"),
            vars=row.optional("vars"),
            params=row.optional("params"),
            test=TestRef.read(row.row("test")),
            tools=read_many(Offer, row, "tools"),
        )

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return {
            "domarinn": self.envelope.to_json(),
            **present(prompt=self.prompt),
            "vars": self.vars,
            "params": self.params,
            "test": self.test.to_json(),
            **written(tools=self.tools),
        }


@record
class ProviderReply:
    """
    What a program answers to a prompt.

    Attributes:
        output: The answer: text, or any other JSON value.
        usage: Tokens; None when it did not say.
        cost_usd: US dollars; None when it did not say.
        error: Why there is no answer; then *output* does not count.
        metadata: Any JSON.
        stop_reason: Why the model stopped, in the vendor's word.
        empty_reason: Why there is nothing in *output*, when there is nothing.
        reasoning: What the model thought.
        model: The model that served.
        tool_calls: Calls that the model asks for, in order.
    """

    output: Any
    usage: Tokens | None = None
    cost_usd: float | None = None
    error: Failure | None = None
    metadata: Any = None
    stop_reason: str | None = None
    empty_reason: str | None = None
    reasoning: str | None = None
    model: str | None = None
    tool_calls: tuple[Call, ...] = ()

    @classmethod
    def read(cls, row: Row) -> ProviderReply:
        """Read it; *output* must be there, even beside an error."""
        return cls(
            output=row.required("output"),
            usage=Tokens.read(row.row("usage")) if row.optional("usage") is not None else None,
            cost_usd=row.optional_number("cost_usd"),
            error=Failure.read(row.row("error")) if row.optional("error") is not None else None,
            metadata=row.optional("metadata"),
            stop_reason=row.optional_text("stop_reason"),
            empty_reason=row.optional_text("empty_reason"),
            reasoning=row.optional_text("reasoning"),
            model=row.optional_text("model"),
            tool_calls=read_many(Call, row, "tool_calls"),
        )

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return {
            "output": self.output,
            **present(
                usage=self.usage and self.usage.to_json(),
                cost_usd=None if self.cost_usd is None else float(self.cost_usd),
                error=self.error and self.error.to_json(),
                metadata=self.metadata,
                stop_reason=self.stop_reason,
                empty_reason=self.empty_reason,
                reasoning=self.reasoning,
                model=self.model,
            ),
            **written(tool_calls=self.tool_calls),
        }


@record
class AssertRequest:
    """
    A program is asked to judge an output.

    Attributes:
        envelope: Version and kind.
        output: What is to be judged, any JSON.
        test: What it was asked for.
        prompt: What was asked; None when that is not told.
        provider: Name of what answered.
        config: Settings of the judgement, as JSON.
        vars: Variables of the case, as JSON.
        tool_calls: Calls that the model made, in order.
    """

    envelope: Envelope
    output: Any
    test: TestRef
    prompt: Any = None
    provider: str
    config: Any = None
    vars: Any = None
    tool_calls: tuple[Call, ...] = ()

    @classmethod
    def read(cls, row: Row) -> AssertRequest:
        """Read it."""
        return cls(
            envelope=Envelope.read(row.row("domarinn")),
            output=row.required("output"),
            test=TestRef.read(row.row("test")),
            prompt=row.optional("prompt"),
            provider=row.row("provider").text("id"),
            config=row.optional("config"),
            vars=row.optional("vars"),
            tool_calls=read_many(Call, row, "tool_calls"),
        )

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return {
            "domarinn": self.envelope.to_json(),
            "output": self.output,
            "test": self.test.to_json(),
            **present(prompt=self.prompt),
            "provider": {"id": self.provider},
            "config": self.config,
            "vars": self.vars,
            **written(tool_calls=self.tool_calls),
        }


@record
class AssertReply:
    """
    What a program makes of an output.

    Attributes:
        passed: Whether it is right; `pass` on the wire.
        score: How right, of any range; None leaves it to *passed*.
        reason: Why, in words.
        details: Any JSON.
    """

    passed: bool
    score: float | None = None
    reason: str | None = None
    details: Any = None

    @classmethod
    def read(cls, row: Row) -> AssertReply:
        """Read it."""
        return cls(
            passed=row.flag("pass"),
            score=row.optional_number("score"),
            reason=row.optional_text("reason"),
            details=row.optional("details"),
        )

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        score = None if self.score is None else float(self.score)
        return {
            "pass": self.passed,
            **present(score=score, reason=self.reason, details=self.details),
        }


@record
class GenerateRequest:
    """
    A program is asked for test cases.

    Attributes:
        envelope: Version and kind.
        config: Settings of the generator, as JSON.
    """

    envelope: Envelope
    config: Any = None

    @classmethod
    def read(cls, row: Row) -> GenerateRequest:
        """Read it."""
        return cls(envelope=Envelope.read(row.row("domarinn")), config=row.optional("config"))

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return {"domarinn": self.envelope.to_json(), "config": self.config}


@record
class GenerateReply:
    """
    Test cases, in the form of one object; lines of JSON are the other form.

    Attributes:
        tests: The cases, any JSON each.
    """

    tests: tuple[Any, ...]

    @classmethod
    def read(cls, row: Row) -> GenerateReply:
        """Read it."""
        return cls(tests=tuple(row.array("tests")))

    def to_json(self) -> dict[str, Any]:
        """The message as JSON."""
        return {"tests": list(self.tests)}


WireRequest = ProviderRequest | AssertRequest | GenerateRequest
WireReply = ProviderReply | AssertReply | GenerateReply

_REQUESTS: Mapping[str, type[WireRequest]] = {
    "provider": ProviderRequest,
    "assert": AssertRequest,
    "generate_tests": GenerateRequest,
}


def parse(text: str) -> Row:
    """
    Read one document.

    White space may stand around it, that of Unicode too, and nothing else.

    Raises:
        Unreadable: It is not one JSON object.
    """
    return Row(loads(trimmed(text), object_pairs_hook=collect), ())


_SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""White space by Unicode; Python's own strips four control characters more."""


def trimmed(text: str) -> str:
    """Return *text* without the white space around it."""
    return text.strip(_SPACES)


def read_request(text: str) -> WireRequest:
    """
    Read whatever a program is asked.

    Raises:
        Unreadable: It is no request, or of a version that is not spoken here.
    """
    row = parse(text)
    envelope = Envelope.read(row.row("domarinn"))
    if envelope.protocol != PROTOCOL:
        raise Unreadable(
            f"the request is of protocol {envelope.protocol}; "
            f"this program speaks protocol {PROTOCOL}"
        )
    return _REQUESTS[envelope.kind].read(row)


def write(message: WireRequest | WireReply) -> str:
    """
    Return the document of *message*, on one line without a line break.

    Raises:
        TypeError: It holds what JSON has no form for.
        ValueError: It holds NaN, an infinity or half of a surrogate pair.
    """
    return dumps(message.to_json(), sort=False)
