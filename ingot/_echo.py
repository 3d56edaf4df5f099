"""What a model wrote: kept to the digit, and made fit to be sent back."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import count
from math import isfinite
from typing import TYPE_CHECKING, Any

from ingot._json import Number, is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["as_arguments", "as_input", "exact", "paired", "read_exactly", "sendable", "with_ids"]


def read_exactly(text: str | bytes) -> Any:
    """
    Read JSON as any server may write it, each fraction with the digits it was written with.

    Raises:
        ValueError: It is no JSON, or holds an integer of too many digits.
        RecursionError: It is nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    return _decode(text)


_decode = json.JSONDecoder(parse_float=Number).decode
"""Made once: `json.loads` would make a decoder for each text."""


def exact(value: Any) -> str:
    """Return *value* as JSON text, fractions with the digits they were read with."""
    if isinstance(value, Number):
        return value.text
    if is_object(value):
        return "{" + ", ".join(f"{_plain(k)}: {exact(v)}" for k, v in value.items()) + "}"
    if is_array(value):
        return "[" + ", ".join(exact(item) for item in value) + "]"
    return _plain(value)


def _plain(value: Any) -> str:
    # Half of a surrogate pair can only be written as an escape.
    return json.dumps(value, ensure_ascii=isinstance(value, str) and not _is_whole(value))


def _is_whole(text: str) -> bool:
    """Whether *text* can be sent, which takes whole surrogate pairs."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def sendable(value: Any) -> Any:
    """
    Return *value* with all that no request body can hold replaced.

    A number that is none (NaN, an infinity, or one out of a float's range) becomes the text it was
    written as, half of a surrogate pair a question mark.
    """
    if isinstance(value, str):
        return value if _is_whole(value) else value.encode(errors="replace").decode()
    if isinstance(value, float) and not isfinite(value):
        return exact(value)
    if is_object(value):
        return {sendable(name): sendable(item) for name, item in value.items()}
    if is_array(value):
        return [sendable(item) for item in value]
    return value


def paired(value: Any) -> Any:
    """Return *value* with halves of surrogate pairs that met in a text made the characters."""
    if isinstance(value, str):
        if _is_whole(value):
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if is_object(value):
        return {name: paired(item) for name, item in value.items()}
    if is_array(value):
        return [paired(item) for item in value]
    return value


def as_arguments(written: Any) -> str:
    """Return the arguments of a tool call as JSON text: a text as it is, an object to the digit."""
    if isinstance(written, str):
        return written
    return "" if written is None else exact(written)


def as_input(arguments: Any) -> dict[str, Any]:
    """
    Return the arguments of a tool call, a JSON text or value, as the object that must be echoed.

    Blank ones are none; what is no object stands under `unreadable`.
    """
    value = arguments
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            value = read_exactly(arguments.strip() or "{}")
    return value if is_object(value) else {"unreadable": value}


def with_ids(
    blocks: Sequence[Mapping[str, Any]], key: str, *, kind: str | None = None
) -> list[dict[str, Any]]:
    """
    Return the blocks of a reply, each call with an id of its own, by which its result is known.

    Calls without an id, and all but the first of those that share one, are named `call_1`, ….

    Args:
        blocks: The blocks.
        key: What a call's id is called.
        kind: The type of those that are calls; None for all.
    """
    taken = {str(block.get(key)) for block in blocks}
    free = (name for n in count(1) if (name := f"call_{n}") not in taken)
    seen: set[str] = set()
    made: list[dict[str, Any]] = []
    for block in blocks:
        its_id = block.get(key)
        if kind is not None and block.get("type") != kind:
            made.append({**block})
            continue
        if not isinstance(its_id, str) or not its_id or its_id in seen:
            its_id = next(free)
        seen.add(its_id)
        made.append({**block, key: its_id})
    return made
