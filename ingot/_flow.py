"""The conversation as a plan without I/O: it yields what is to be done."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ingot._answer import Answer
from ingot._effects import Send, Settle, Wait
from ingot._messages import Message
from ingot._request import UNNAMED
from ingot._response import Outcome
from ingot._route import ROUTER
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

    from ingot._budget.meter import Meter
    from ingot._calls import Toolbox
    from ingot._effects import Effect, Flow
    from ingot._request import Request
    from ingot._response import Response, Usage
    from ingot._retry import Retry
    from ingot._shape.shape import Shape
    from ingot._telling import Teller

__all__ = ["converse"]

_PAUSE = 0.05
"""Seconds until it is looked again whether other asks left something of a shared budget."""


def converse(
    request: Request,
    shape: Shape,
    *,
    retry: Retry,
    repair: int,
    meter: Meter | None = None,
    tools: Toolbox | None = None,
    tell: Teller | None = None,
) -> Flow:
    """
    Ask until there is an answer or a reason why there is none.

    Args:
        request: The first request.
        shape: How the reply is read.
        retry: When a request that failed is sent again.
        repair: How often the model may be told what is wrong with its reply.
        meter: What the ask may spend; None for no bound.
        tools: What the model may call; None for nothing.
        tell: Tells of events; None where nobody listens.
    """
    return _Ask(request, request, shape, retry, repair, meter, tools, tell).held()


@dataclass(slots=True)
class _Ask:
    """One conversation: who takes part, what is sent next, and what it has cost so far."""

    request: Request
    kept: Request
    """What a repair builds on: older tries are left out."""
    shape: Shape
    retry: Retry
    repair: int
    meter: Meter | None
    tools: Toolbox | None
    tell: Teller | None
    sent: Send = field(init=False)
    usage: Usage | None = None
    attempts: int = 0
    seconds: float = 0.0
    repairs: int = 0
    turns: list[Response] = field(default_factory=list["Response"])

    def held(self) -> Flow:
        """Take turns until there is an answer, or a reason why there is none."""
        try:
            while True:
                response = yield from self._exchange()
                if self.tools is not None and self._acts(response):
                    yield from self._settled(response)
                    yield from self._act(response)
                    continue
                try:
                    value = _judge(response, self.request, self.shape, self.tools, self.meter)
                except Exception as error:
                    # A fault in a validator of the caller's, too: the reply was paid for.
                    yield from self._settled(response, error)
                    if not (yield from self._tried_again(response, error)):
                        raise
                else:
                    yield from self._settled(response)
                    answer = self._answer(value, response)
                    if self.tell is not None:
                        yield from self.tell.answered(len(self.turns), answer)
                    return answer
        except IngotError as error:
            self._sign(error)
            if self.tell is not None:
                yield from self.tell.failed(len(self.turns), error)
            raise

    def _settled(
        self, response: Response, error: Exception | None = None
    ) -> Generator[Effect, Any, None]:
        """Have *response* recorded, which was paid for; then tell of it, as a listener may fail."""
        outcome = Outcome(
            valid=error is None,
            repaired=self.request is not self.kept,
            error=error if isinstance(error, IngotError) else None,
            usage=response.usage,
            seconds=self.sent.seconds,
        )
        yield Settle(self.request, outcome)
        if self.tell is not None:
            yield from self.tell.ended(len(self.turns), response, self.meter)

    # What comes after a reply

    def _acts(self, response: Response) -> bool:
        """Whether *response* is whole and calls tools; a call that is cut must not run."""
        whole = response.empty_reason in (None, "tool_use_only") and response.stop_reason
        return bool(self.request.tools and whole and response.tool_calls)

    def _act(self, response: Response) -> Generator[Effect, Any, None]:
        """Run what *response* calls, and tell the results next."""
        assert self.tools is not None, "it acts"
        self._go_on(self.request, _said(response))
        if self.meter is not None:
            self.meter.check()  # what nobody can be told must not be done
        results = yield from self.tools.answered(response.tool_calls, len(self.turns))
        self._go_on(self.request, Message(role="user", tool_results=results))

    def _tried_again(self, response: Response, error: Exception) -> Generator[Effect, Any, bool]:
        """Whether the model is asked once more after *response*, with which *error* was found."""
        if self.sent.kept:
            return False
        if response.draft and isinstance(error, InvalidAnswerError | EmptyAnswerError):
            said = (_said(response),) if isinstance(error, InvalidAnswerError) else ()
            self._go_on(replace(self.request, tools=()), *said, _NOW)
            return True
        if not isinstance(error, InvalidAnswerError) or self.repairs == self.repair:
            return False
        self.repairs += 1
        if self.tell is not None:
            yield from self.tell.repair(len(self.turns), error)
        self.request = _continued(self.kept, _said(response), _repair(error))
        return True

    def _go_on(self, request: Request, *messages: Message) -> None:
        """Let the next request be *request* with *messages*, which later repairs keep."""
        self.kept = self.request = _continued(request, *messages)

    def _answer(self, value: Any, response: Response) -> Answer[Any]:
        form = self.request.format
        constrained = form is not None and form.constrained
        shown = form is not None and not form.constrained
        return Answer(
            value=value,
            model=_served(self.request, response),
            usage=self.usage,
            request_id=response.request_id,
            turns=tuple(self.turns),
            attempts=self.attempts,
            repairs=self.repairs,
            constrained=constrained,
            note="; ".join(self.shape.obstacles) or None if shown else None,
            seconds=self.seconds,
        )

    def _sign(self, error: IngotError) -> None:
        """Write on *error* what the ask has cost, who was asked and what was said."""
        error.usage, error.attempts = self.usage, self.attempts
        error.transcript = self.request.messages
        error.model = f"{self.request.provider}/{self.request.model}"
        if self.turns:
            error.model = _served(self.request, self.turns[-1])

    # One turn

    def _exchange(self) -> Generator[Effect, Any, Response]:
        """Send the request until it gets through; only requests that failed are sent again."""
        attempt, began, meter = 0, self.seconds, self.meter
        if self.tell is not None:
            yield from self.tell.started(len(self.turns) + 1)
        while True:
            attempt += 1
            request = self.request
            allowed = request if meter is None else (yield from _allowed(request, meter))
            self.sent = sent = Send(allowed, check=None if meter is None else meter.watch)
            self.attempts += 1
            try:
                response: Response = yield sent
            except BaseException as error:
                self.seconds += sent.seconds
                if meter is not None:
                    meter.release(sent.told)
                if not isinstance(error, ProviderError):
                    raise
                yield from self._lost(error, attempt, self.seconds - began)
            else:
                return self._received(response)

    def _lost(
        self, error: ProviderError, attempt: int, seconds: float
    ) -> Generator[Effect, Any, None]:
        """Wait until the request may be sent again that failed with *error*, or raise it."""
        sent = self.sent
        yield Settle(self.request, Outcome(valid=False, error=error, seconds=sent.seconds))
        delay = None if sent.told else self.retry.delay(attempt, error, seconds)
        if delay is None:
            why = self.retry.gave_up(attempt, error)
            if why is not None:
                why = _TOLD if sent.told else why
                error.advice = f"{error.advice}; {why}" if error.advice else why
            raise error
        if self.tell is not None:
            yield from self.tell.retry(len(self.turns) + 1, attempt, error, delay)
        yield from self._wait(delay)

    def _wait(self, seconds: float) -> Generator[Effect, Any, None]:
        """Wait *seconds*, or until there is no time left."""
        left = None if self.meter is None else self.meter.seconds_left
        seconds = seconds if left is None else min(seconds, left)
        self.seconds += seconds
        yield Wait(seconds)

    def _received(self, response: Response) -> Response:
        """Count *response*, and return it."""
        self.seconds += self.sent.seconds
        if response.tool_calls:
            response = _nameable(response)
        self.turns.append(response)
        if response.usage is not None:
            self.usage = response.usage if self.usage is None else self.usage + response.usage
        if self.meter is not None:
            self.meter.after(response.usage, _served(self.request, response))
        return response


_TOLD = "it was not sent again, as pieces of the reply were handed on already"

_NOW = Message(role="user", text="Give the answer now, as JSON and nothing else.")
"""Said where a server can either offer tools or hold a model to a type, not both at once."""


def _said(response: Response) -> Message:
    return Message(
        role="assistant",
        text=response.text,
        tool_calls=response.tool_calls,
        blocks=response.blocks,
    )


def _nameable(response: Response) -> Response:
    """Return *response* without halves of surrogate pairs in names of tools; no tool has such."""
    if all(call.name.isascii() for call in response.tool_calls):
        return response
    calls = (
        replace(call, name=call.name.encode(errors="replace").decode())
        for call in response.tool_calls
    )
    return replace(response, tool_calls=tuple(calls))


def _continued(request: Request, *messages: Message) -> Request:
    return replace(request, messages=(*request.messages, *messages))


def _allowed(request: Request, meter: Meter) -> Generator[Effect, Any, Request]:
    """*request* with the bounds that are left of a budget."""
    # In front of a cassette, a router's choice is not known.
    known = request.provider not in ("", ROUTER) and request.model != UNNAMED
    model = f"{request.provider}/{request.model}" if known else None
    while True:
        allowed = meter.before(request, model)
        if allowed is not None:
            return allowed
        yield Wait(_PAUSE)


def _served(request: Request, response: Response) -> str:
    if response.route is None:
        return f"{request.provider}/{response.model or request.model}"
    provider, _, model = response.route.arm.partition("/")
    return f"{provider}/{response.model or model}"


def _judge(
    response: Response,
    request: Request,
    shape: Shape,
    tools: Toolbox | None = None,
    meter: Meter | None = None,
) -> Any:
    """Return the value in *response*, or raise why it holds none."""
    reason = response.empty_reason
    if reason == "refusal":
        raise RefusedError(response.explanation, **_facts(response))
    if reason == "content_filter":
        raise ContentFilteredError(response.explanation, **_facts(response))
    if reason == "truncated":
        beyond = None if meter is None else meter.cut()
        raise beyond or TruncatedError(request.max_tokens, **_facts(response))
    if response.tool_calls and not request.tools:
        raise UnexpectedToolCallError(
            [call.name for call in response.tool_calls], **_facts(response)
        )
    if (reason is not None or response.text is None) and not response.tool_calls:
        raise EmptyAnswerError(reason or "empty_body", kinds=response.kinds, **_facts(response))
    if response.stop_reason is None or response.text is None:
        raise ProviderProtocolError(
            "the reply does not say why the model stopped, so it may be cut",
            provider=request.provider,
            request_id=response.request_id,
        )
    try:
        return shape.read(response.text, None if tools is None else tools.handles)
    except InvalidAnswerError as error:
        error.stop_reason, error.request_id = response.stop_reason, response.request_id
        raise


def _facts(response: Response) -> dict[str, Any]:
    """What an error says of *response*."""
    return {
        "text": response.text,
        "stop_reason": response.stop_reason,
        "request_id": response.request_id,
    }


def _repair(error: InvalidAnswerError) -> Message:
    """What is wrong with the reply before, in words for the model."""
    if isinstance(error, MismatchedAnswerError):
        wrong = "\n".join(f"- {problem}" for problem in error.problems[:20])
    else:
        wrong = f"- the reply is not one JSON value: {getattr(error, 'reason', error.message)}"
    said = (
        f"That reply does not fit what was asked for:\n{wrong}\n"
        "Answer again, whole and corrected, as JSON only."
    )
    return Message(role="user", text=said)
