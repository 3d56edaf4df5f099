"""The conversation as a plan without I/O: it yields what is to be done."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ingot._answer import Answer
from ingot._messages import Message
from ingot._response import Outcome
from ingot.errors import (
    ContentFilteredError,
    EmptyAnswerError,
    IngotError,
    InvalidAnswerError,
    MismatchedAnswerError,
    ProviderError,
    ProviderProtocolError,
    RefusedError,
    TruncatedError,
    UnexpectedToolCallError,
)

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import TypeAlias

    from ingot._request import Request
    from ingot._response import Response, Usage
    from ingot._retry import Retry
    from ingot._shape.shape import Shape

    Effect: TypeAlias = "Send | Wait | Settle"
    Flow: TypeAlias = Generator[Effect, Any, Answer[Any]]

__all__ = ["Send", "Settle", "Wait", "converse"]


@dataclass(slots=True)
class Send:
    """
    Send *request*; the plan is sent the `Response`, or is thrown the error.

    The driver writes into *seconds* how long it took, either way.
    """

    request: Request
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait *seconds*."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Settle:
    """Tell the provider what became of *request*."""

    request: Request
    outcome: Outcome


@dataclass(slots=True)
class _Spent:
    """What an ask has cost so far."""

    usage: Usage | None = None
    attempts: int = 0
    seconds: float = 0.0
    turns: list[Response] = field(default_factory=list["Response"])

    def add(self, usage: Usage | None) -> None:
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage


def converse(request: Request, shape: Shape, *, retry: Retry, repair: int) -> Flow:
    """
    Ask until there is an answer or a reason why there is none.

    Args:
        request: The first request.
        shape: How the reply is read.
        retry: When a request that failed is sent again.
        repair: How often the model may be told what is wrong with its reply.
    """
    spent = _Spent()
    first = request
    try:
        while True:
            response, seconds = yield from _exchange(request, retry, spent)
            repaired = request is not first
            try:
                value = _judge(response, request, shape)
            except Exception as error:
                # A fault in a validator of the caller's is settled too: the reply was paid for.
                yield Settle(
                    request,
                    Outcome(
                        valid=False,
                        repaired=repaired,
                        error=error if isinstance(error, IngotError) else None,
                        usage=response.usage,
                        seconds=seconds,
                    ),
                )
                if not isinstance(error, InvalidAnswerError) or len(spent.turns) > repair:
                    raise
                request = replace(first, messages=(*first.messages, *_repair(response, error)))
                continue
            yield Settle(
                request,
                Outcome(valid=True, repaired=repaired, usage=response.usage, seconds=seconds),
            )
            return _answer(value, response, request, shape, spent)
    except IngotError as error:
        error.usage, error.attempts = spent.usage, spent.attempts
        served = spent.turns[-1].model if spent.turns else None
        error.model = f"{request.provider}/{served or request.model}"
        raise


def _answer(
    value: Any, response: Response, request: Request, shape: Shape, spent: _Spent
) -> Answer[Any]:
    shown = request.format is not None and not request.format.constrained
    return Answer(
        value=value,
        model=f"{request.provider}/{response.model or request.model}",
        usage=spent.usage,
        request_id=response.request_id,
        turns=tuple(spent.turns),
        attempts=spent.attempts,
        constrained=request.format is not None and request.format.constrained,
        note="; ".join(shape.obstacles) or None if shown else None,
        seconds=spent.seconds,
    )


def _exchange(
    request: Request, retry: Retry, spent: _Spent
) -> Generator[Effect, Any, tuple[Response, float]]:
    """Send *request* until it gets through; only requests that failed are sent again."""
    attempt, began = 0, spent.seconds
    while True:
        attempt += 1
        spent.attempts += 1
        send = Send(request)
        try:
            response: Response = yield send
        except ProviderError as error:
            spent.seconds += send.seconds
            yield Settle(request, Outcome(valid=False, error=error, seconds=send.seconds))
            delay = retry.delay(attempt, error, spent.seconds - began)
            if delay is None:
                why = retry.gave_up(attempt, error)
                if why is not None:
                    error.advice = f"{error.advice}; {why}" if error.advice else why
                raise
            spent.seconds += delay
            yield Wait(delay)
        else:
            spent.seconds += send.seconds
            spent.turns.append(response)
            spent.add(response.usage)
            return response, send.seconds


def _judge(response: Response, request: Request, shape: Shape) -> Any:
    """Return the value in *response*, or raise why it holds none."""
    facts: dict[str, Any] = {
        "text": response.text,
        "stop_reason": response.stop_reason,
        "request_id": response.request_id,
    }
    reason = response.empty_reason
    if reason == "refusal":
        raise RefusedError(response.explanation, **facts)
    if reason == "content_filter":
        raise ContentFilteredError(response.explanation, **facts)
    if reason == "truncated":
        raise TruncatedError(request.max_tokens, **facts)
    if response.tool_calls:
        raise UnexpectedToolCallError([call.name for call in response.tool_calls], **facts)
    if reason is not None or response.text is None:
        raise EmptyAnswerError(reason or "empty_body", kinds=response.kinds, **facts)
    if response.stop_reason is None:
        raise ProviderProtocolError(
            "the reply does not say why the model stopped, so it may be cut",
            provider=request.provider,
            request_id=response.request_id,
        )
    try:
        return shape.read(response.text)
    except InvalidAnswerError as error:
        error.stop_reason, error.request_id = response.stop_reason, response.request_id
        raise


def _repair(response: Response, error: InvalidAnswerError) -> tuple[Message, Message]:
    """The reply that did not fit and what is wrong with it; older tries are left out."""
    if isinstance(error, MismatchedAnswerError):
        wrong = "\n".join(f"- {problem}" for problem in error.problems[:20])
    else:
        wrong = f"- the reply is not one JSON value: {getattr(error, 'reason', error.message)}"
    said = (
        f"That reply does not fit what was asked for:\n{wrong}\n"
        "Answer again, whole and corrected, as JSON only."
    )
    return (
        Message(role="assistant", text=response.text, blocks=response.blocks),
        Message(role="user", text=said),
    )
