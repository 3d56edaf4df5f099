"""From a vendor's word, status or exception to the error that says what may be done about it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ingot._fields import as_object, as_text
from ingot._redact import public_url, redact
from ingot.errors import (
    NotConfiguredError,
    ProviderAuthError,
    ProviderError,
    ProviderProtocolError,
    ProviderRateLimitError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["failure", "failure_in_body", "retry_after", "translate"]

_WORDS: dict[str, type[ProviderError]] = {
    "authentication_error": ProviderAuthError,
    "permission_error": ProviderAuthError,
    "billing_error": ProviderAuthError,
    "invalid_api_key": ProviderAuthError,
    # Limits that no waiting lifts: somebody has to pay, or to raise them.
    "insufficient_quota": ProviderAuthError,
    "credit_balance_exhausted": ProviderAuthError,
    "organization_usage_limit_exceeded": ProviderAuthError,
    "enforced_spend_limit_reached": ProviderAuthError,
    "contract_spend_limit_reached": ProviderAuthError,
    "rate_limit_error": ProviderRateLimitError,
    "rate_limit_exceeded": ProviderRateLimitError,
    "slow_down": ProviderRateLimitError,
    "timeout_error": ProviderTimeoutError,
    "overloaded_error": ProviderUnavailableError,
    "api_error": ProviderUnavailableError,
    "server_error": ProviderUnavailableError,
    "invalid_request_error": ProviderProtocolError,
    "not_found_error": ProviderProtocolError,
    "request_too_large": ProviderProtocolError,
}

_STATUS: dict[int, type[ProviderError]] = {
    401: ProviderAuthError,
    402: ProviderAuthError,
    403: ProviderAuthError,
    408: ProviderTimeoutError,
    409: ProviderUnavailableError,
    429: ProviderRateLimitError,
    504: ProviderTimeoutError,
}


def failure(
    message: str,
    *,
    provider: str,
    status: int | None = None,
    words: Iterable[str | None] = (),
    secrets: Iterable[str] = (),
    **facts: Any,
) -> ProviderError:
    """
    Return the error of our own for what a vendor said.

    Args:
        message: The vendor's message.
        provider: Name of the provider.
        status: HTTP status; None when there was none.
        words: The vendor's words for the error, the most telling first; they outweigh the status,
            except that a request called invalid with a status of its own (401, 429, 500) is judged
            by the status.
        secrets: Texts that must not be shown.
        facts: More attributes of `ProviderError`.
    """
    known = [word for word in words if word]
    cls = next((_by_word(word) for word in known if _by_word(word)), None)
    if cls is None or (cls is ProviderProtocolError and status not in (None, 200, 400)):
        cls = _by_status(status) or cls
    facts.setdefault("type", known[0] if known else None)
    said = redact(message, secrets).strip()[:2000] or "no message"
    error = (cls or ProviderProtocolError)(said, provider=provider, status=status, **facts)
    if error.advice is None:
        error.advice = _advice(error, said)
    return error


def failure_in_body(error: Any, *, provider: str, request_id: str | None) -> ProviderError:
    """Return the error of our own for an error object that came with status 200."""
    inner = as_object(error) or {"message": str(error)}
    code = inner.get("code")
    # Some gateways give the status that they would have answered with.
    is_status = isinstance(code, int) and 400 <= code < 600
    return failure(
        str(inner.get("message") or "an error without a message"),
        provider=provider,
        status=code if is_status else 200,
        words=[as_text(inner.get("code")), as_text(inner.get("type"))],
        request_id=request_id,
    )


def _by_word(word: str) -> type[ProviderError] | None:
    if word.endswith("_spend_limit_exceeded"):
        return ProviderAuthError
    return _WORDS.get(word)


def _by_status(status: int | None) -> type[ProviderError] | None:
    if status is None or status < 400:
        return None
    return _STATUS.get(status) or (
        ProviderUnavailableError if status >= 500 else ProviderProtocolError
    )


def _advice(error: ProviderError, said: str) -> str | None:
    low = said.lower()
    if isinstance(error, ProviderProtocolError):
        if "grammar" in low or "too complex" in low or "union types" in low:
            return (
                "the type has too many optional or union fields for this vendor's grammar; "
                'make some required, or pass constrain="prompt"'
            )
        if "schema" in low:
            return 'constrain="prompt" shows the schema instead, and validates as strictly'
        if "context" in low and ("exceed" in low or "too long" in low or "maximum" in low):
            return "shorten the prompt or its context, or ask a model that reads more"
        if error.status == 404:
            return "see whether the model exists and base_url is right"
    if isinstance(error, ProviderAuthError):
        return "see whether the key is right, and the account has credit and access to the model"
    return None


_FOR_EVER = 1e9
"""Seconds that outlast whoever waits, and that a clock can still count."""


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """
    Return the seconds that *headers* ask to wait; None when they do not say, or say nonsense.

    Read are `retry-after-ms`, then `retry-after` as seconds or as an HTTP date, which is taken from
    *now* (seconds since 1970; None for the clock's). A date in the past asks for no wait.
    """
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return min(millis / 1000, _FOR_EVER)
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or not text:
        return None if seconds is None else min(seconds, _FOR_EVER)
    from email.utils import parsedate_to_datetime

    try:
        when = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, when - (time.time() if now is None else now))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


_IN_VAIN = {"TooManyRedirects", "UnsupportedProtocol", "LocalProtocolError"}
"""What the HTTP library says of a request that would fail the same way again."""


def translate(
    error: Exception, *, provider: str, secrets: Iterable[str] = (), url: str | None = None
) -> Exception | None:
    """
    Return the error of our own for an exception of a vendor's SDK, or of the HTTP library under it.

    Both SDKs name their classes alike, so the names in the class's ancestry decide; neither has to
    be imported. None for an exception that is neither's; one that the SDK merely wrapped, such as
    the assertion of a double, is returned as it was.
    """
    names = {cls.__name__ for cls in type(error).__mro__}
    home = type(error).__module__.partition(".")[0]
    where = public_url(url) if url else "the vendor"
    if "APITimeoutError" in names or (home.startswith("http") and "TimeoutException" in names):
        return ProviderTimeoutError("no reply in time", provider=provider, advice="raise timeout")
    if "APIStatusError" in names:
        return _status(error, provider, secrets)
    if home.startswith("http") and "RequestError" in names:
        # No SDK stands between, as it does while a request is sent: a reply was under way.
        why = redact(str(error), secrets)[:200] or type(error).__name__
        said = f"the connection to {where} was lost in the middle of the reply ({why})"
        return ProviderUnavailableError(said, provider=provider)
    if "APIConnectionError" in names:
        cause = error.__cause__ or error
        if not isinstance(cause, OSError) and not _of_wire(cause):
            return cause if isinstance(cause, Exception) else None
        vain = _IN_VAIN & {cls.__name__ for cls in type(cause).__mro__}
        kind = ProviderProtocolError if vain else ProviderUnavailableError
        return kind(
            f"cannot reach {where} ({redact(str(cause), secrets)[:200] or type(cause).__name__})",
            provider=provider,
            advice="see whether the server is up and base_url is right",
        )
    if "APIError" in names:
        body = getattr(error, "body", None)
        words = [getattr(error, "code", None), getattr(error, "type", None)]
        return failure(str(error) or str(body), provider=provider, words=words, secrets=secrets)
    said = str(error)
    if home in ("openai", "anthropic") or "Could not resolve authentication" in said:
        return NotConfiguredError(f"{provider}: {redact(said, secrets)[:300]}")
    return None


def _of_wire(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0].startswith(("http", "openai", "anthropic"))


def _status(error: Any, provider: str, secrets: Iterable[str]) -> ProviderError:
    response = error.response
    body: Any = error.body
    part = as_object(body).get("error", body)
    inner = as_object(part)
    said = as_text(inner.get("detail")) or as_text(part)
    message = as_text(inner.get("message"))
    if message is None:
        message = _page(said, error) if said else f"HTTP {error.status_code}"
    headers = response.headers
    return failure(
        message,
        provider=provider,
        status=error.status_code,
        words=[
            as_text(getattr(error, "error_code", None)),
            as_text(inner.get("code")),
            as_text(inner.get("type")),
        ],
        secrets=secrets,
        retry_after=retry_after(headers),
        request_id=headers.get("x-request-id") or headers.get("request-id"),
    )


def _page(body: str, error: Any) -> str:
    if "<html" in body[:500].lower() or "<!doctype" in body[:100].lower():
        return f"HTTP {error.status_code} with an HTML page"
    return f"HTTP {error.status_code}: {body[:300]}"
