"""One row of a cassette: a request as people read it, and back to the parts of its key."""

from __future__ import annotations

from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ingot._json import canonical, encoder, is_array, is_object
from ingot._request import key_of, target_text
from ingot._shape.descriptor import descriptor_digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._request import Request

__all__ = [
    "call_line",
    "first_line",
    "holds",
    "is_row",
    "key_of_deed",
    "key_of_row",
    "lines",
    "row_of",
    "text_of",
]

_encode = encoder()


def lines(text: str) -> list[str]:
    """Return *text* as the list of its lines, so that a change is one line of a diff."""
    return text.split("\n")


def text_of(value: Any) -> str:
    """Return the text that `lines` took apart."""
    return "\n".join(value) if is_array(value) else str(value)


def first_line(row: Mapping[str, Any]) -> str:
    """Return the first line of what *row* asks, or the call that it tells of."""
    if "prompt" in row or "question" in row:
        said = text_of(row.get("prompt", row.get("question"))).split("\n")
        return next((line for line in said if line.strip()), "")
    if "tool" in row:
        return call_line(row["tool"], row["args"]) if "args" in row else str(row["tool"])
    return str(row.get("type", "")) if row["kind"] == "imported" else ""


def call_line(tool: str, arguments: Any) -> str:
    """Return a call on one line, as it would stand in a program."""
    if is_object(arguments):
        said = [f"{name}={_encode(value)}" for name, value in arguments.items()]
    else:
        said = [_encode(arguments)]
    return f"{tool}({', '.join(said)})"


def row_of(request: Request, key: str, site: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """
    Write *request* as a row without answers.

    Args:
        request: The request.
        key: Its digest.
        site: Where it was asked, as `file:function`.

    Returns:
        The row, and the descriptors of the types in it by name; what is empty is left out.
    """
    parts = request.key_parts()
    types: dict[str, Any] = {}

    def named(target: Any) -> str:
        name = descriptor_digest(target)
        types[name] = target
        return name

    row: dict[str, Any] = {"kind": "ask", "site": site, "key": key, "type": named(parts["target"])}
    row["model"] = parts["model"]
    row["params"] = parts["params"]
    row["system"] = None if parts["system"] is None else lines(parts["system"])
    row["prompt"] = lines(parts["prompt"])
    row["context"] = [_context(name, value) for name, value in parts["context"]]
    row["messages"] = [_message(turn) for turn in parts["messages"]]
    row["tools"] = [
        {
            "name": name,
            **({} if said is None else {"description": lines(said)}),
            "type": named(target),
        }
        for name, said, target in parts["tools"]
    ]
    row["files"] = [
        {"type": kind, "bytes": size, "sha256": digest} for kind, size, digest in parts["files"]
    ]
    row["sample"] = parts["sample"]
    return {name: value for name, value in row.items() if value not in (None, [], {})}, types


def _context(name: str, value: Any) -> dict[str, Any]:
    return {
        "name": name,
        **({"text": lines(value)} if isinstance(value, str) else {"value": value}),
    }


def _message(turn: list[Any]) -> dict[str, Any]:
    role, text, calls, results = turn
    out: dict[str, Any] = {"role": role}
    if text is not None:
        out["text"] = lines(text)
    if calls:
        out["calls"] = [{"call": n, "tool": name, "arguments": args} for n, name, args in calls]
    if results:
        out["results"] = [
            {"call": n, "text": lines(said), **({"failed": True} if failed else {})}
            for n, said, failed in results
        ]
    return out


def key_of_row(row: Mapping[str, Any], types: Mapping[str, Any]) -> str:
    """
    Return the key that the request of *row* has; it is that of the row unless somebody edited it.

    Raises:
        KeyError: A type of the row is not in *types*.
    """
    return key_of(
        {
            "target": types[row["type"]],
            "system": text_of(row["system"]) if "system" in row else None,
            "prompt": text_of(row["prompt"]),
            "context": [
                [part["name"], text_of(part["text"]) if "text" in part else part.get("value")]
                for part in row.get("context", [])
            ],
            "messages": [_turn(message) for message in row.get("messages", [])],
            "tools": [
                [
                    tool["name"],
                    text_of(tool["description"]) if "description" in tool else None,
                    types[tool["type"]],
                ]
                for tool in row.get("tools", [])
            ],
            "files": [[f["type"], f["bytes"], f["sha256"]] for f in row.get("files", [])],
            "model": row["model"],
            "params": row.get("params", {}),
            "sample": row.get("sample"),
        }
    )


def key_of_deed(row: Mapping[str, Any]) -> str:
    """
    Return the key that the call, or the question to a person, in *row* has.

    The key of the ask is in it, and hence all that the model was told of the tool.
    """
    parts = [
        row["kind"],
        row["ask"],
        text_of(row["question"]) if "question" in row else None,
        *(row.get(name) for name in ("tool", "args", "choices", "repeat")),
    ]
    return "k1:" + sha256(canonical(parts).encode()).hexdigest()[:32]


def holds(row: Mapping[str, Any], types: Mapping[str, Any], parts: Mapping[str, Any]) -> bool:
    """
    Whether *row* plainly holds a request of these `key_parts`, which spares a digest.

    If it does not, its key must be looked at: parts that are seldom there are not compared, as
    Python takes numbers for equal that are written otherwise.
    """
    try:
        return (
            row.keys().isdisjoint(_SELDOM)
            and _seldom(parts) == _ABSENT
            and text_of(row["prompt"]) == parts["prompt"]
            and (text_of(row["system"]) if "system" in row else None) == parts["system"]
            and row["model"] == parts["model"]
            and target_text(types[row["type"]]) == target_text(parts["target"])
        )
    except (KeyError, TypeError, AttributeError):  # it is no row that ingot wrote
        return False


_SELDOM = ("context", "messages", "tools", "files", "params", "sample")
_ABSENT: tuple[Any, ...] = ([], [], [], [], {}, None)
_seldom = itemgetter(*_SELDOM)


def _turn(message: Mapping[str, Any]) -> list[Any]:
    return [
        message["role"],
        text_of(message["text"]) if "text" in message else None,
        [[c["call"], c["tool"], c["arguments"]] for c in message.get("calls", [])],
        [
            [r["call"], text_of(r["text"]), r.get("failed", False)]
            for r in message.get("results", [])
        ],
    ]


def is_row(value: Any) -> bool:
    """Whether *value* has what every row has."""
    if not is_object(value):
        return False
    answers = value.get("answers")
    return (
        isinstance(value.get("kind"), str)
        and isinstance(value.get("key"), str)
        and is_array(answers)
        and all(map(_is_answer, answers))
    )


def _is_answer(value: Any) -> bool:
    if not is_object(value):
        return False
    if "n" not in value and "times" not in value:
        return True
    numbers, times = value.get("n", 0), value.get("times", 1)
    return all(type(n) is int for n in [times, *(numbers if is_array(numbers) else [numbers])])
