"""A cassette as people read it: conversations, each of them a few blocks of text in order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ingot._json import canonical, is_array, is_object
from ingot.cassette.acts import Acts, arguments_of, is_result
from ingot.cassette.rows import call_line, first_line, text_of
from ingot.cassette.typetext import type_line, type_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ingot.cassette.tape import Row, Tape

__all__ = [
    "Block",
    "Conversation",
    "answer_blocks",
    "conversations",
    "formatted",
    "request_blocks",
]

Role = Literal["facts", "type", "system", "context", "user", "assistant", "tool", "answer", "error"]


@dataclass(frozen=True, slots=True)
class Block:
    """
    One piece of a conversation.

    Attributes:
        role: Who says it, or what it is.
        label: What stands above it, such as `context letter`.
        text: What is said.
        form: `prose` for text as it is, `json` for JSON on indented lines, `code` for lines.
        facts: What else is known of it, such as the tokens that it took.
        key: The key of the row that this block is the first of; None within a row.
    """

    role: Role
    label: str
    text: str
    form: Literal["prose", "json", "code"] = "prose"
    facts: tuple[str, ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """
    A first request and all that followed it.

    Attributes:
        rows: Its rows, the first request first.
        type: The type asked for, on one line; empty where there is none.
        blocks: What was said, in order.
    """

    rows: tuple[Row, ...]
    type: str
    blocks: tuple[Block, ...]

    @property
    def title(self) -> str:
        """Where it was asked."""
        return self.rows[0].site or str(self.rows[0].data["kind"])

    @property
    def opening(self) -> str:
        """The first line of what was asked."""
        return first_line(self.rows[0].data)


def formatted(value: Any) -> str:
    """JSON as people read it: short values on one line, others indented."""
    short = json.dumps(value, ensure_ascii=False)
    return short if len(short) <= 60 else json.dumps(value, ensure_ascii=False, indent=2)


def conversations(tape: Tape) -> list[Conversation]:
    """
    Put the rows of *tape* together.

    A turn belongs to the request that it continues, a call and a question to their ask.
    """
    groups: dict[str, list[Row]] = {}
    openings = {row.key: _opening(row.data) for row in tape if row.data["kind"] == "ask"}
    for row in tape:
        asked = openings.get(str(row.data.get("ask")))
        groups.setdefault(asked or _opening(row.data), []).append(row)
    return [_conversation(rows, tape.types) for rows in groups.values()]


def _opening(data: Mapping[str, Any]) -> str:
    return canonical({k: v for k, v in data.items() if k not in ("key", "messages")}) + (
        "" if data.get("kind") == "ask" else str(data.get("key"))
    )


def _conversation(rows: list[Row], types: Mapping[str, Any]) -> Conversation:
    asks = [row for row in rows if row.data["kind"] == "ask"] or rows
    asks.sort(key=lambda row: len(row.data.get("messages", ())))
    acts = Acts(row for row in rows if row not in asks)
    first = asks[0]
    bare = {k: v for k, v in first.data.items() if k != "messages"}
    blocks = list(request_blocks(bare, types))
    told: dict[str, set[int]] = {}
    for number, row in enumerate(asks):
        before = _before(row, asks[:number])
        said: list[Any] = row.data.get("messages", [])
        new = said[len(before.data.get("messages", ())) if before is not None else 0 :]
        if before is not None and before.alike and new[:1] and new[0].get("role") == "assistant":
            new = [_without(turn, told[before.key]) for turn in new[1:]]  # those stand above
        blocks += _from(row, [*_turns(new), *answer_blocks(row)])
        told[row.key] = set()
        for at, done in _led(row, acts):
            blocks += _act(done, types)
            if is_result(done):
                told[row.key].add(at)
    for row in acts.left:
        blocks += _act(row, types)
    named = types.get(first.data.get("type", ""))
    line = type_line(named) if named is not None else str(first.data.get("type", ""))
    ordered = (*asks, *(row for row in rows if row not in asks))
    return Conversation(ordered, line, tuple(blocks))


def _led(row: Row, acts: Acts) -> Iterator[tuple[int, Row]]:
    """What the answers of *row* led to, each with the place of the call among those of its turn."""
    for answer in row.answers.values():
        for at, call in enumerate(answer.get("calls", ())):
            for done in acts.of(call, exact="dialect" not in answer):
                yield at, done


def _act(row: Row, types: Mapping[str, Any]) -> list[Block]:
    return _from(row, [*request_blocks(row.data, types), *answer_blocks(row)])


def _without(turn: Mapping[str, Any], told: set[int]) -> Mapping[str, Any]:
    """*turn* without the results that are told already."""
    if "results" not in turn:
        return turn
    results = [result for at, result in enumerate(turn["results"]) if at not in told]
    return {**turn, "results": results}


def _from(row: Row, blocks: list[Block]) -> list[Block]:
    """*blocks*, the first of which links to *row*."""
    return [_marked(block, row.key) for block in blocks[:1]] + blocks[1:]


def _marked(block: Block, key: str) -> Block:
    return Block(block.role, block.label, block.text, block.form, block.facts, key)


def _before(row: Row, earlier: Iterable[Row]) -> Row | None:
    """The row whose answer the last turns of *row* follow."""
    said = row.data.get("messages", [])
    found = None
    for other in earlier:
        messages = other.data.get("messages", [])
        if len(messages) < len(said) and said[: len(messages)] == messages:
            found = other
    return found


def request_blocks(data: Mapping[str, Any], types: Mapping[str, Any]) -> Iterator[Block]:
    """Write what a row asks as blocks: the settings, the type, and what is said."""
    settings = [str(data["model"])] if "model" in data else []
    settings += [f"{name}={json.dumps(value)}" for name, value in data.get("params", {}).items()]
    settings += [f"{name}={json.dumps(data[name])}" for name in ("sample",) if name in data]
    if settings:
        yield Block("facts", "model", "\n".join(settings), "code")
    if "type" in data:
        described = types.get(data["type"])
        lines = [str(data["type"])] if described is None else type_lines(described)
        yield Block("type", "type", "\n".join(lines), "code")
    for tool in data.get("tools", ()):
        said = text_of(tool["description"]) + "\n" if tool.get("description") else ""
        lines = type_lines(types.get(tool["type"], tool["type"]))
        yield Block("facts", f"tool {tool['name']}", said + "\n".join(lines), "code")
    if data.get("system") is not None:
        yield Block("system", "system", text_of(data["system"]))
    for part in data.get("context", ()):
        label = f"context {part['name']}"
        if "text" in part:
            yield Block("context", label, text_of(part["text"]))
        else:
            yield Block("context", label, formatted(part.get("value")), "json")
    for file in data.get("files", ()):
        told = f"{file['type']}, {file['bytes']:,} bytes\nsha256 {file['sha256']}"
        yield Block("context", "file", told, "code")
    if "prompt" in data:
        yield Block("user", "prompt", text_of(data["prompt"]))
    if "question" in data:
        choices = data.get("choices", ())
        told = "".join(f"\n  ◦ {choice}" for choice in choices)
        yield Block("user", "question to a person", text_of(data["question"]) + told)
    if "tool" in data:
        yield Block("tool", f"call {data['tool']}", formatted(data.get("args", {})), "json")
    if data.get("of") == "ask":
        yield Block("user", "imported", "what was asked is not in such a recording")
    yield from _turns(data.get("messages", ()))


def _turns(messages: Iterable[Mapping[str, Any]]) -> Iterator[Block]:
    for message in messages:
        if "results" in message:
            for result in message["results"]:
                failed = " (failed)" if result.get("failed") else ""
                yield Block("tool", f"result {result['call']}{failed}", text_of(result["text"]))
        elif message.get("role") == "assistant":
            yield from _said("assistant", "assistant", message, ())
        else:
            yield Block("user", "sent back", text_of(message.get("text", "")))


def _said(
    role: Role, label: str, said: Mapping[str, Any], facts: tuple[str, ...]
) -> Iterator[Block]:
    calls = [call_line(c["tool"], arguments_of(c)) for c in said.get("calls", ())]
    if "value" in said:
        yield Block(role, label, formatted(said["value"]), "json", facts)
    elif "text" in said:
        yield Block(role, label, text_of(said["text"]), "prose", facts)
    elif "empty" in said and not calls:
        told = text_of(said["explanation"]) if "explanation" in said else ""
        yield Block(role, f"{label}: no answer, {said['empty']}", told, "prose", facts)
    elif not calls:
        yield Block(role, label, "", "prose", facts)
    if calls:
        taken = () if "value" in said or "text" in said else facts
        yield Block(role, f"{label}: calls", "\n".join(calls), "code", taken)


_ANSWERED: dict[str, tuple[Role, str]] = {
    "tool": ("tool", "result"),
    "human": ("user", "answer of a person"),
}


def answer_blocks(row: Row) -> list[Block]:
    """Write the answers of *row*; equal ones once."""
    answers = row.answers
    out: list[Block] = []
    if len(answers) > 1 and row.alike:
        answers = dict([next(iter(answers.items()))])
    for number, answer in answers.items():
        role, label = _ANSWERED.get(row.of, ("answer", "answer"))
        if len(answers) > 1:
            label = f"{label} {number + 1}"
        elif len(row.answers) > 1:
            label = f"{label}, {len(row.answers)} times the same"
        if row.of == "human" and "value" in answer:
            out.append(Block(role, label, str(answer["value"])))
        elif is_object(answer.get("error")):
            out.append(_error(answer["error"]))
        else:
            out += _said(role, label, answer, tuple(_facts(answer)))
    return out


def _error(told: Mapping[str, Any]) -> Block:
    facts = [f"{k} {told[k]}" for k in ("status", "retry_after", "provider") if k in told]
    message = told.get("message", "")
    text = text_of(message) if is_array(message) else str(message)
    return Block("error", f"error {told.get('class', '')}", text, "prose", tuple(facts))


def _facts(answer: Mapping[str, Any]) -> Iterator[str]:
    if answer.get("served"):
        yield str(answer["served"])
    if "route" in answer:
        yield f"chosen by a router{' to learn' if answer['route'].get('exploring') else ''}"
    usage = answer.get("usage", {})
    if usage:
        cached = usage.get("cache_read_tokens", 0)
        extra = f" (and {cached:,} cached)" if cached else ""
        yield (
            f"{usage.get('input_tokens', 0):,} tokens in{extra}, "
            f"{usage.get('output_tokens', 0):,} out"
        )
    if answer.get("stop") not in (None, "stop", "end_turn"):
        yield f"stopped: {answer['stop']}"
