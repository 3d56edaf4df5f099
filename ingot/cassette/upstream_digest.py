"""The digests by which Ingot's own cassettes tell whether a request is the one recorded."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ingot._serde import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["completion_digest", "invocation_digest", "question_digest"]


def completion_digest(
    node: str,
    prompt: str,
    response_type: str,
    *,
    system: str | None = None,
    context: Iterable[tuple[str, Any]] = (),
) -> str:
    """
    Return the digest of what a model is asked.

    Args:
        node: The name of the place that asks.
        prompt: The prompt, its values inserted.
        response_type: Ingot's name of the type that is asked for.
        system: None and an empty text have one digest.
        context: Names and JSON values, in the order in which they were given. A value that came
            from a text must have been read by Ingot's rules (`ingot.typenames.loads`).

    Raises:
        TypeError: A value of the context is no JSON.
        ValueError: A text holds half of a surrogate pair, or a value a number that JSON has not.
    """
    return _digest([node, system or "", prompt, response_type], context)


def invocation_digest(
    agent: str, reference: str, result_type: str, *, arguments: Mapping[str, Any]
) -> str:
    """
    Return the digest of a call of a tool.

    Args:
        agent: The full name of the agent that calls.
        reference: The tool with its origin, such as `mcp:web.search`.
        result_type: Ingot's name of the type of the result.
        arguments: JSON values by name; their order does not count.

    Raises:
        TypeError: See `completion_digest`.
        ValueError: See `completion_digest`.
    """
    return _digest([agent, reference, result_type], sorted(arguments.items()))


def question_digest(
    question: str, *, choices: Iterable[str] = (), context: Iterable[tuple[str, Any]] = ()
) -> str:
    """
    Return the digest of what a person is asked.

    Args:
        question: The question as it is shown.
        choices: The answers that are offered, in order.
        context: Names and JSON values that are shown with it, in order.

    Raises:
        TypeError: See `completion_digest`.
        ValueError: See `completion_digest`.
    """
    return _digest([question, *choices], context)


def _digest(parts: list[str], values: Iterable[tuple[str, Any]]) -> str:
    for name, value in values:
        parts += (name, dumps(value))
    try:
        return sha256("\0".join(parts).encode()).hexdigest()
    except UnicodeEncodeError:
        raise ValueError("a text holds half of a surrogate pair") from None
