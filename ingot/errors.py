"""
Every error that ingot raises, in one tree.

    IngotError
    ├── NotConfiguredError            nothing to ask with: no key, extra, model …
    ├── PromptError                   nothing to say, or it cannot be said (a ValueError)
    ├── UnsupportedTypeError          T cannot be asked for (also a TypeError)
    │   └── TypeExpressionError       a text that should name a type does not
    ├── FileAccessError               a file that cannot be used, or must not be (an OSError)
    ├── BudgetExceededError           a budget does not cover the next request
    │   └── TurnLimitError            the model took as many turns as it may
    ├── PolicyError                   a policy denies what a tool does
    ├── ToolDefinitionError           a function cannot be a tool (also a TypeError)
    ├── ToolResultError               a tool returned what a model cannot be told (a TypeError)
    ├── ToolError                     a tool failed, and its errors are to be raised
    ├── MapError                      a run of many asks stopped; has what was completed
    ├── StoreError                    the store of a run cannot be used
    ├── ProviderError                 the other end failed; `retryable`: try later
    │   ├── ProviderAuthError         the key, the account or its credit was turned down
    │   ├── ProviderRateLimitError    too many requests or tokens for now
    │   ├── ProviderTimeoutError      no reply in time
    │   ├── ProviderUnavailableError  unreachable, overloaded or broken for now
    │   └── ProviderProtocolError     a request refused, or a reply against the protocol
    └── AnswerError                   a reply came that is not an answer
        ├── RefusedError              the model declined
        ├── ContentFilteredError      the vendor held the text back
        ├── TruncatedError            the text ends before the answer does
        ├── EmptyAnswerError          there is no text
        ├── UnexpectedToolCallError   the model called a tool that nobody offered
        └── InvalidAnswerError        the text does not hold a T
            ├── UnreadableAnswerError     it is not one JSON value
            └── MismatchedAnswerError     it is JSON and does not fit T

Catch a base, read the leaf. The constructors take facts and keep them as attributes; the sentence
is what happened, then what was expected or available, then the way out. The words in `code` are
those of the exec protocol where it has one. No text of an answer, key or file stands in a message:
what the model said is in `text`, for the program to use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ingot._acting_errors import (
    BudgetExceededError,
    FileAccessError,
    PolicyError,
    ToolDefinitionError,
    ToolError,
    ToolResultError,
    TurnLimitError,
)
from ingot._error import IngotError
from ingot._map_errors import MapError, StoreError
from ingot._problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AnswerError",
    "BudgetExceededError",
    "ContentFilteredError",
    "EmptyAnswerError",
    "FileAccessError",
    "IngotError",
    "InvalidAnswerError",
    "MapError",
    "MismatchedAnswerError",
    "NotConfiguredError",
    "PolicyError",
    "Problem",
    "PromptError",
    "ProviderAuthError",
    "ProviderError",
    "ProviderProtocolError",
    "ProviderRateLimitError",
    "ProviderTimeoutError",
    "ProviderUnavailableError",
    "RefusedError",
    "StoreError",
    "ToolDefinitionError",
    "ToolError",
    "ToolResultError",
    "TruncatedError",
    "TurnLimitError",
    "TypeExpressionError",
    "UnexpectedToolCallError",
    "UnreadableAnswerError",
    "UnsupportedTypeError",
]

_SHOWN = 20
"""Problems of one answer that a message spells out; the rest is counted."""


class NotConfiguredError(IngotError):
    """A key, an extra, a provider, a model or a valid setting is missing."""

    code = "not_configured"


class PromptError(IngotError, ValueError):
    """What was given to say is empty, or holds something that cannot be said to a model."""

    code = "prompt"


class UnsupportedTypeError(IngotError, TypeError):
    """
    A type that cannot be asked for.

    Attributes:
        target: The type as text.
        path: Field names that lead to the part that cannot be asked for; empty at the root.
        reason: Why not.
    """

    code = "unsupported_type"

    def __init__(
        self, target: str, reason: str, *, path: Sequence[str] = (), advice: str | None = None
    ) -> None:
        self.target = target
        self.path = tuple(path)
        self.reason = reason
        where = "".join(f"in field `{step}`: " for step in self.path)
        super().__init__(f"cannot ask for `{target}`: {where}{reason}", advice=advice)


class TypeExpressionError(UnsupportedTypeError):
    """
    A text that should name a type and does not.

    Attributes:
        position: Offset in characters at which reading stopped; None when the whole is meant.
    """

    code = "type_expression"

    def __init__(
        self, target: str, reason: str, *, position: int | None = None, advice: str | None = None
    ) -> None:
        self.position = position
        at = "" if position is None else f"at character {position + 1}: "
        super().__init__(target, at + reason, advice=advice)


class ProviderError(IngotError):
    """
    The other end of the line failed.

    Attributes:
        provider: Name of the provider that failed.
        retryable: Whether the same request may succeed later.
        replayed: Whether it comes from a recording; then it is not tried again.
        overcome: Whether, in that recording, a later request got through.
        status: HTTP status, or None when there was none.
        retry_after: Seconds that the other end asked to wait; None when it did not say.
        request_id: The vendor's id of the exchange, or None.
        type: The vendor's own word for the error, or None.
        details: What the other end says of it beside words, as JSON; None when nothing.
    """

    code = "provider_error"
    retryable: bool = False
    replayed: bool = False
    overcome: bool = False
    details: Any = None

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
        type: str | None = None,
        advice: str | None = None,
    ) -> None:
        self.provider = provider
        self.status = status
        self.retry_after = retry_after
        self.request_id = request_id
        self.type = type
        super().__init__(f"{provider}: {message}" if provider else message, advice=advice)


class ProviderAuthError(ProviderError):
    """The key, the account or its credit was turned down; trying again cannot help."""

    code = "provider_auth"


class ProviderRateLimitError(ProviderError):
    """Too many requests or tokens for now."""

    code = "provider_rate_limit"
    retryable = True


class ProviderTimeoutError(ProviderError, TimeoutError):
    """No reply in time."""

    code = "provider_timeout"
    retryable = True


class ProviderUnavailableError(ProviderError):
    """The provider cannot be reached, is overloaded, or failed in a way that may pass."""

    code = "provider_unavailable"
    retryable = True


class ProviderProtocolError(ProviderError):
    """The request was refused as malformed, or the reply is not what the protocol says."""

    code = "provider_protocol"


class AnswerError(IngotError):
    """
    The model replied, and the reply is not an answer.

    Attributes:
        text: What the model wrote, whole; None when it wrote nothing. Never part of the message.
        stop_reason: Why the model stopped, in the vendor's word; None when unknown.
        request_id: The vendor's id of the exchange, or None.
    """

    code = "no_answer"

    def __init__(
        self,
        message: str,
        *,
        text: str | None = None,
        stop_reason: str | None = None,
        request_id: str | None = None,
        advice: str | None = None,
    ) -> None:
        self.text = text
        self.stop_reason = stop_reason
        self.request_id = request_id
        super().__init__(message, advice=advice)


class _NoAnswerMeantError(AnswerError):
    what: ClassVar[str]

    def __init__(self, explanation: str | None = None, **facts: Any) -> None:
        self.explanation = explanation
        said = f": {explanation[:500]}" if explanation else ""
        advice = "rephrase the request, or ask another model"
        super().__init__(f"{self.what}{said}", advice=advice, **facts)


class RefusedError(_NoAnswerMeantError):
    """
    The model declined to answer.

    Attributes:
        explanation: The vendor's or the model's words on why, or None.
    """

    code = "refused"
    what = "the model refused"


class ContentFilteredError(_NoAnswerMeantError):
    """
    The vendor's filter held the answer back.

    Attributes:
        explanation: The vendor's words on why, or None.
    """

    code = "content_filtered"
    what = "the vendor's content filter held the answer back"


class TruncatedError(AnswerError):
    """
    The text ends before the answer does.

    Attributes:
        limit: The token limit that was in force, or None when it is not known.
    """

    code = "truncated"

    def __init__(self, limit: int | None = None, **facts: Any) -> None:
        self.limit = limit
        at = f" at max_tokens={limit}" if limit is not None else ""
        why = f" ({facts['stop_reason']})" if facts.get("stop_reason") else ""
        super().__init__(
            f"the answer was cut off{at}{why}",
            advice="raise max_tokens, or ask for less; the part that came is in `.text`",
            **facts,
        )


class EmptyAnswerError(AnswerError):
    """
    The reply has no text.

    Attributes:
        reason: `tool_use_only`, `thinking_only`, `no_content_blocks`, `empty_body` or `blank`.
        kinds: Types of the blocks that did come.
    """

    code = "empty"

    def __init__(self, reason: str, *, kinds: Sequence[str] = (), **facts: Any) -> None:
        self.reason = reason
        self.kinds = tuple(kinds)
        seen = f"; it holds only: {', '.join(dict.fromkeys(self.kinds))}" if self.kinds else ""
        advice = None
        if reason == "thinking_only":
            advice = (
                "the model thought and did not answer: raise max_tokens, lower its effort, "
                "or fix a server that puts the answer in its reasoning field"
            )
        super().__init__(f"the reply has no text ({reason}){seen}", advice=advice, **facts)


class UnexpectedToolCallError(AnswerError):
    """
    The model called a tool that was not offered.

    Attributes:
        names: The tools it called.
    """

    code = "unexpected_tool_call"

    def __init__(self, names: Sequence[str], **facts: Any) -> None:
        self.names = tuple(names)
        called = ", ".join(f"`{name}`" for name in self.names)
        super().__init__(f"the model called {called}, which was not offered to it", **facts)


class InvalidAnswerError(AnswerError):
    """
    The text does not hold a T.

    Attributes:
        target: T as text.
        problems: Each place that does not fit, as `Problem`; empty when the text is no JSON.
    """

    code = "invalid_answer"

    def __init__(
        self, message: str, *, target: str, problems: Sequence[Problem] = (), **facts: Any
    ) -> None:
        self.target = target
        self.problems = tuple(problems)
        super().__init__(message, **facts)

    def errors(self) -> list[dict[str, Any]]:
        """The problems as JSON: a list of `{"path": [...], "message": "..."}`."""
        return [problem.to_dict() for problem in self.problems]


class UnreadableAnswerError(InvalidAnswerError):
    """The text is not one JSON value; *reason* says why, and where."""

    def __init__(self, reason: str, *, target: str, **facts: Any) -> None:
        self.reason = reason
        facts.setdefault("advice", "the reply is in `.text`; repair=1 lets the model try again")
        message = f"the reply is not JSON for `{target}`: {reason}"
        super().__init__(message, target=target, **facts)


class MismatchedAnswerError(InvalidAnswerError):
    """The text is JSON, and it does not fit T."""

    def __init__(self, problems: Sequence[Problem], *, target: str, **facts: Any) -> None:
        shown = "; ".join(str(problem) for problem in problems[:_SHOWN])
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        message = f"the reply does not fit `{target}`: {shown}{more}"
        super().__init__(message, target=target, problems=problems, **facts)


for _name in __all__:
    globals()[_name].__module__ = __name__  # where to import it from, in tracebacks and pickles
