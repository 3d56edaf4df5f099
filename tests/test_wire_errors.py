"""From a vendor's word, status or exception to the error of ours that says what may be done."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import openai
import pytest

from ingot import errors
from ingot._wire_errors import failure, retry_after, translate

NOW = 1_800_000_000.0
"""Fri, 15 Jan 2027 08:00:00 GMT."""

AUTH = errors.ProviderAuthError
LIMIT = errors.ProviderRateLimitError
LATE = errors.ProviderTimeoutError
DOWN = errors.ProviderUnavailableError
WRONG = errors.ProviderProtocolError

STATUS = {
    400: WRONG,
    401: AUTH,
    402: AUTH,
    403: AUTH,
    404: WRONG,
    408: LATE,
    409: DOWN,
    412: WRONG,
    413: WRONG,
    418: WRONG,
    422: WRONG,
    429: LIMIT,
    431: WRONG,
    499: WRONG,
    500: DOWN,
    501: DOWN,
    502: DOWN,
    503: DOWN,
    504: LATE,
    529: DOWN,
    599: DOWN,
    None: WRONG,
    200: WRONG,
}


@pytest.mark.parametrize(("status", "expected"), STATUS.items())
def test_a_status_without_a_word(status: int | None, expected: type[Exception]) -> None:
    """The status decides where the vendor's words are new to us."""
    for words in ((), (None,), ("unheard_of",)):
        assert type(failure("no", provider="p", status=status, words=words)) is expected


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        # Limits that no waiting lifts
        (["insufficient_quota"], 429, AUTH),
        (["credit_balance_exhausted"], 429, AUTH),
        (["monthly_spend_limit_exceeded"], 429, AUTH),
        (["organization_usage_limit_exceeded"], 429, AUTH),
        (["enforced_spend_limit_reached"], 429, AUTH),
        (["contract_spend_limit_reached", "rate_limit_error"], 429, AUTH),
        # Limits that pass
        (["rate_limit_exceeded", "tokens"], 429, LIMIT),
        (["rate_limit_error"], 200, LIMIT),
        (["slow_down"], 503, LIMIT),
        # Overload, under whatever status
        (["overloaded_error"], 529, DOWN),
        (["overloaded_error"], 500, DOWN),
        (["overloaded_error"], 400, DOWN),
        (["overloaded_error"], 200, DOWN),
        (["api_error"], 200, DOWN),
        (["server_error"], None, DOWN),
        (["timeout_error"], 504, LATE),
        # The request or the key
        (["authentication_error"], 401, AUTH),
        (["permission_error"], 403, AUTH),
        (["billing_error"], 402, AUTH),
        (["invalid_api_key", "invalid_request_error"], 401, AUTH),
        (["invalid_request_error"], 400, WRONG),
        (["invalid_request_error"], 200, WRONG),
        (["not_found_error"], 404, WRONG),
        (["request_too_large"], 413, WRONG),
        # A word too general to outweigh the status
        (["invalid_request_error"], 401, AUTH),
        (["invalid_request_error"], 429, LIMIT),
        (["invalid_request_error"], 500, DOWN),
        # The most telling first; unknown ones are passed over
        ([None, "invalid_request_error"], 400, WRONG),
        (["model_not_found", "invalid_request_error"], 404, WRONG),
        (["unheard_of", "overloaded_error"], 200, DOWN),
    ],
)
def test_a_word_outweighs_the_status(
    words: list[str | None], status: int | None, expected: type[Exception]
) -> None:
    """What the vendor calls it decides, as far as it says more than the status."""
    error = failure("no", provider="p", status=status, words=words)

    assert type(error) is expected
    assert error.type == next(word for word in words if word)
    assert error.status == status


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": " 2.5 "}, 2.5),
        ({"retry-after": "3600"}, 3600.0),
        ({"retry-after": "1e308"}, 1e9),
        ({"retry-after-ms": "1e308"}, 1e9),
        ({"retry-after-ms": "150"}, 0.15),
        ({"retry-after-ms": "0", "retry-after": "5"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "50"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "5"}, 5.0),
        ({"retry-after-ms": "-1", "retry-after": "5"}, 5.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:02 GMT"}, 2.0),
        ({"retry-after": "Fri, 15 Jan 2027 09:00:00 GMT"}, 3600.0),
        ({"retry-after": "Fri, 15 Jan 2027 10:00:01 +0200"}, 1.0),
        ({"retry-after": "Friday, 15-Jan-27 08:00:03 GMT"}, 3.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:59:59 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "-inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Wed, 99 Foo 2026"}, None),
        ({"retry-after": "Fri, 15 Jan 99999 08:00:00 GMT"}, None),
        ({"retry-after-ms": "nan"}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], expected: float | None) -> None:
    """Milliseconds, seconds or a date; nonsense is as if nothing were said."""
    assert retry_after(httpx2.Headers(headers), NOW) == expected


def response(
    status: int, body: Any = None, headers: dict[str, str] | None = None, text: str | None = None
) -> httpx2.Response:
    """A response as the HTTP library has it."""
    request = httpx2.Request("POST", "https://api.example.org/v1/x")
    if text is not None:
        return httpx2.Response(status, headers=headers, text=text, request=request)
    return httpx2.Response(status, headers=headers, json=body, request=request)


OWN = openai.OpenAI(api_key="x")
OTHER = anthropic.Anthropic(api_key="x")


def raised(client: Any, answer: httpx2.Response) -> Exception:
    """What the SDK raises for *answer*."""
    return client._make_status_error_from_response(answer)  # type: ignore[no-any-return]


@pytest.mark.parametrize("client", [OWN, OTHER], ids=["openai", "anthropic"])
def test_a_status_error_of_an_sdk(client: Any) -> None:
    """The vendor's message, word, id and wait are kept."""
    body = {"error": {"type": "rate_limit_error", "message": "Slow down", "code": None}}
    headers = {"retry-after": "7", "x-request-id": "req_1"}
    error = translate(raised(client, response(429, body, headers)), provider="p")

    assert isinstance(error, LIMIT)
    assert (error.message, error.type, error.request_id) == (
        "p: Slow down",
        "rate_limit_error",
        "req_1",
    )
    assert (error.status, error.retry_after) == (429, 7.0)


@pytest.mark.parametrize("client", [OWN, OTHER], ids=["openai", "anthropic"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html><body>Bad Gateway</body></html>", "p: HTTP 502 with an HTML page"),
        ("<!DOCTYPE html><p>", "p: HTTP 502 with an HTML page"),
        ("upstream failed", "p: HTTP 502: upstream failed"),
        ("", "p: HTTP 502"),
        ("[1]", "p: HTTP 502"),
        ("null", "p: HTTP 502"),
        ('{"error": "boom"}', "p: HTTP 502: boom"),
        ('{"error": {"message": 5}}', "p: HTTP 502"),
        ('{"detail": "Not Found"}', "p: HTTP 502: Not Found"),
        ('{"message": "plain"}', "p: plain"),
    ],
)
def test_an_error_that_is_not_the_vendors(client: Any, text: str, message: str) -> None:
    """Proxies and other servers write what they like; a page is named, not shown."""
    error = translate(raised(client, response(502, text=text)), provider="p")

    assert isinstance(error, DOWN)
    assert error.message.rstrip(": ") == message


REQUEST = httpx2.Request("POST", "https://api.example.org")


def caused(error: Exception, cause: Exception) -> Exception:
    """*error* with its cause."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (openai.APITimeoutError(REQUEST), LATE),
        (anthropic.APITimeoutError(REQUEST), LATE),
        (httpx2.ReadTimeout("slow"), LATE),
        (httpx2.PoolTimeout("slow"), LATE),
        (openai.APIConnectionError(request=REQUEST), DOWN),
        (caused(anthropic.APIConnectionError(request=REQUEST), OSError("reset")), DOWN),
        (caused(anthropic.APIConnectionError(request=REQUEST), httpx2.ConnectError("no")), DOWN),
        (httpx2.ReadError("reset"), DOWN),
        (httpx2.RemoteProtocolError("gone"), DOWN),
        (
            openai.APIError("failed", REQUEST, body={"code": "server_error", "message": "failed"}),
            DOWN,
        ),
        (openai.APIError("limit", REQUEST, body={"code": "rate_limit_exceeded"}), LIMIT),
        (openai.APIError("what", REQUEST, body=None), WRONG),
        (openai.OpenAIError("The api_key client option must be set"), errors.NotConfiguredError),
        (TypeError("Could not resolve authentication method."), errors.NotConfiguredError),
    ],
)
def test_other_exceptions_of_an_sdk(error: Exception, expected: type[Exception]) -> None:
    """Timeouts are no connection errors, whose subclass they are; no key is a missing setting."""
    assert type(translate(error, provider="p")) is expected


@pytest.mark.parametrize(
    "error",
    [
        ValueError("mine"),
        TypeError("unexpected keyword"),
        KeyError("k"),
        RuntimeError("bug"),
        OSError(5),
    ],
)
def test_what_is_no_sdks_is_left_alone(error: Exception) -> None:
    """A fault of the program is not dressed up as the vendor's."""
    assert translate(error, provider="p") is None


def test_a_double_that_raises_is_not_hidden() -> None:
    """Anthropic's SDK wraps whatever its transport raises; an assertion of a test stays one."""

    class OwnError(AssertionError):
        pass

    for own in (OwnError("not in this test"), AssertionError("no"), RuntimeError("bug")):
        error = caused(anthropic.APIConnectionError(request=REQUEST), own)

        assert translate(error, provider="p") is own


def test_an_address_is_named() -> None:
    """A server that cannot be reached is told with where it was looked for."""
    error = translate(openai.APIConnectionError(request=REQUEST), provider="p", url="http://h:1/v1")

    assert "http://h:1/v1" in str(error)
    assert "server is up" in str(error)


@pytest.mark.parametrize(
    ("message", "secrets", "expected"),
    [
        ("Incorrect API key provided: sk-abc***xyz.", [], "p: Incorrect API key provided: [key]"),
        ("no access for my-own-token", ["my-own-token"], "p: no access for [key]"),
        ("header Authorization: Bearer abc.def", [], "p: header Authorization: [key]"),
        ("task-force and org-charts are fine", [], "p: task-force and org-charts are fine"),
        ("", [], "p: no message"),
        ("x" * 3000, [], "p: " + "x" * 2000),
    ],
)
def test_no_key_in_a_message(message: str, secrets: list[str], expected: str) -> None:
    """Keys, and what looks like one, are replaced; the rest is cut at a bound."""
    assert failure(message, provider="p", secrets=secrets).message == expected


@pytest.mark.parametrize(
    ("message", "status", "hint"),
    [
        ("The compiled grammar is too large", 400, "constrain="),
        ("Schemas contains too many parameters with union types (23)", 400, "constrain="),
        ("Schema is too complex for compilation", 400, "constrain="),
        ("Invalid schema for response_format 'R'", 400, "constrain="),
        ("model: claude-9", 404, "base_url"),
        ("nope", 401, "key"),
        ("Credit balance too low", 402, "credit"),
    ],
)
def test_a_way_out(message: str, status: int, hint: str) -> None:
    """Where there is something to do about it, the error says what."""
    assert hint in str(failure(message, provider="p", status=status))
