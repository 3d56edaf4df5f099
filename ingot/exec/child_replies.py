"""What a program in Python returned or raised, as the document that its host reads."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ingot._answer import Answer
from ingot._echo import as_input
from ingot._price import price
from ingot._response import Response
from ingot._row import Row
from ingot.errors import (
    AnswerError,
    ContentFilteredError,
    EmptyAnswerError,
    IngotError,
    InvalidAnswerError,
    ProviderError,
    RefusedError,
    TruncatedError,
)
from ingot.exec.jsonable import plain
from ingot.exec.wire import AssertReply, GenerateReply, ProviderReply
from ingot.exec.wire_parts import Call, Failure, Tokens

if TYPE_CHECKING:
    from decimal import Decimal

    from ingot._response import Usage

__all__ = ["answered", "failed", "generated", "judged", "response_reply"]


def answered(result: Any) -> ProviderReply:
    """
    Return the document for what a provider returned.

    Args:
        result: The output, text or any value that JSON has a form for; or an `Answer`, a `Response`
            or a `ProviderReply`.

    Raises:
        TypeError: It is None.
    """
    if isinstance(result, ProviderReply):
        return result
    if isinstance(result, Response):
        return response_reply(result)
    if isinstance(result, Answer):
        return _answer_reply(cast("Any", result))
    if result is None:
        raise TypeError("the provider returned None; return its output, such as a text")
    return ProviderReply(output=plain(result))


def _answer_reply(answer: Answer[Any]) -> ProviderReply:
    return ProviderReply(
        output=plain(answer.value),
        usage=_tokens(answer.usage),
        cost_usd=_dollars(answer.cost),
        stop_reason=answer.turns[-1].stop_reason if answer.turns else None,
        model=answer.model,
    )


def response_reply(response: Response, provider: str | None = None) -> ProviderReply:
    """
    Return the document for what a model said.

    Args:
        response: What it said.
        provider: Name of the provider that was asked, whose prices hold; None where none do.
    """
    priced = f"{provider}/{response.model}" if provider and response.model else None
    cost = price(priced, response.usage) if response.cost is None else response.cost
    return ProviderReply(
        output=response.text or response.explanation or "",
        usage=_tokens(response.usage),
        cost_usd=_dollars(cost),
        metadata={"request_id": response.request_id} if response.request_id else None,
        stop_reason=response.stop_reason,
        empty_reason=response.empty_reason,
        model=response.model,
        tool_calls=tuple(
            Call(name=call.name, arguments=as_input(call.arguments), id=call.id)
            for call in response.tool_calls
        ),
    )


def failed(error: IngotError) -> ProviderReply:
    """
    Return the document for an error of ingot that a provider raised.

    A reply that is no answer (refused, held back, cut, empty) is an empty output with its reason;
    all else is an error, whose class is the error's `code`.
    """
    facts: dict[str, Any] = {"usage": _tokens(error.usage), "cost_usd": _dollars(error.cost)}
    if isinstance(error, AnswerError):
        facts["stop_reason"] = error.stop_reason
    reason = _empty_reason(error)
    if reason is not None:
        return ProviderReply(output=None, empty_reason=reason, model=error.model, **facts)
    return ProviderReply(output=None, error=_failure(error), **facts)


def _failure(error: IngotError) -> Failure:
    said, word = str(error), error.code
    if isinstance(error, InvalidAnswerError) and error.problems:
        return Failure(message=said, error_class=word, details={"problems": error.errors()})
    if not isinstance(error, ProviderError):
        return Failure(message=said, error_class=word)
    wait = error.retry_after
    return Failure(
        message=said,
        retriable=error.retryable,
        details=error.details,
        error_class=word,
        retry_after_ms=None if wait is None else round(wait * 1000),
    )


_EMPTY: dict[type[IngotError], str] = {
    RefusedError: "refusal",
    ContentFilteredError: "content_filter",
    TruncatedError: "truncated",
}


def _empty_reason(error: IngotError) -> str | None:
    return error.reason if isinstance(error, EmptyAnswerError) else _EMPTY.get(type(error))


def judged(result: Any) -> AssertReply:
    """
    Return the document for what an assert returned.

    Args:
        result: A bool, an object with `pass` as on the wire, or an `AssertReply`; or the
            `AssertionError` that it raised.

    Raises:
        TypeError: It is something else.
        Unreadable: It is an object that is no verdict.
    """
    if isinstance(result, AssertReply):
        return result
    if isinstance(result, bool):
        return AssertReply(passed=result)
    if isinstance(result, Mapping):
        return AssertReply.read(Row(plain(dict(cast("Mapping[str, Any]", result))), ()))
    if isinstance(result, AssertionError):
        return AssertReply(passed=False, reason=_said(result))
    raise TypeError(
        f"the assert returned a {type(result).__name__}; "
        "return True or False, or {'pass': …, 'reason': …}"
    )


def generated(result: Any) -> GenerateReply:
    """
    Return the document for what a generator returned.

    Args:
        result: Test cases, as any iterable; or a `GenerateReply`.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(result, GenerateReply):
        return result
    if isinstance(result, str | bytes | Mapping) or not hasattr(result, "__iter__"):
        kind = type(cast("object", result)).__name__
        raise TypeError(f"the generator returned a {kind}; return a list of test cases")
    return GenerateReply(tests=tuple(map(plain, result)))


def _said(error: AssertionError) -> str:
    """What the assertion says; the line of code where it says nothing."""
    lines = traceback.extract_tb(error.__traceback__)
    return str(error) or (lines[-1].line if lines else None) or "it does not hold"


def _tokens(usage: Usage | None) -> Tokens | None:
    if usage is None:
        return None
    return Tokens(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
        cache_write_1h_tokens=usage.cache_write_1h_tokens or None,
    )


def _dollars(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)
