"""Between our cassettes and those of Ingot itself: what the one holds, in the form of the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ingot._json import is_object
from ingot._response import Usage
from ingot.cassette.errors import CassetteError
from ingot.cassette.rows import lines, text_of
from ingot.cassette.tape import Tape
from ingot.cassette.typetext import type_line
from ingot.cassette.upstream import Consultation, Interaction, ToolExchange, UpstreamCassette
from ingot.cassette.upstream_digest import completion_digest, invocation_digest, question_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingot.cassette.tape import Row

__all__ = ["export_tape", "import_tape", "imported_key", "ingot_name"]

_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens")


def import_tape(upstream: UpstreamCassette) -> Tape:
    """
    Return the rows of one of Ingot's own cassettes, of the kind `imported`.

    Such a row has a place and a digest, and not what was asked: it cannot explain a drift.
    """
    tape = Tape()
    tape.rest["imported"] = {
        "version": upstream.version,
        "agent": upstream.agent,
        **({"inputs": dict(upstream.inputs)} if upstream.inputs else {}),
    }
    for at, one in enumerate(upstream.interactions):
        counts = {name: count for name in _COUNTS if (count := getattr(one.usage, name))}
        answer: dict[str, Any] = {"at": at, "value": one.value, "usage": counts}
        if one.model is not None:
            answer["served"] = one.model
        _add(tape, "ask", one.node, one.request_digest, answer, type=one.response_type)
    for at, call in enumerate(upstream.tool_calls):
        answer = {"at": at}
        if call.value is not None:
            answer["value"] = call.value
        if call.error is not None:
            answer["error"] = {"class": "ToolError", "message": lines(call.error)}
        named: dict[str, Any] = {"type": call.result_type, "tool": call.tool}
        _add(tape, "tool", call.node, call.invocation_digest, answer, **named)
    for at, one_asked in enumerate(upstream.consultations):
        named = {"question": lines(one_asked.question)}
        if one_asked.choices:
            named["choices"] = list(one_asked.choices)
        answer = {"at": at, "value": one_asked.answer}
        _add(tape, "human", one_asked.node, one_asked.question_digest, answer, **named)
    return tape


def _add(tape: Tape, of: str, node: str, digest: str, answer: dict[str, Any], **more: Any) -> None:
    key = imported_key(of, digest, node)
    data = {"kind": "imported", "site": node, "key": key, "of": of, **more}
    row = tape.row("imported", data["key"])
    tape.add(data, {}, 0 if row is None else len(row.answers), answer)


def imported_key(of: str, digest: str, node: str) -> str:
    """
    Return the key of an imported row.

    One digest may stand at several nodes, for tools and people; a row is of one.

    Args:
        of: The kind of what was recorded: `ask`, `tool` or `human`.
        digest: That of the request; see `ingot.cassette.upstream_digest`.
        node: The name of the place that asked.
    """
    return f"{of}:{digest}:{node}"


def export_tape(tape: Tape, agent: str) -> UpstreamCassette:
    """
    Return the rows of *tape* as one of Ingot's own cassettes, version 0.3.

    Rows stand in the order of the file, since ours have none and Ingot's are played by position;
    imported ones stand where they stood.

    Args:
        tape: What is exported.
        agent: The full name of the agent; empty for that of an imported recording.

    Raises:
        CassetteError: A row holds what 0.3 has no field for.
    """
    told = tape.rest.get("imported")
    origin: Mapping[str, Any] = told if is_object(told) else {}
    asked: list[tuple[int, Interaction]] = []
    called: list[tuple[int, ToolExchange]] = []
    consulted: list[tuple[int, Consultation]] = []
    name = agent or str(origin.get("agent", ""))
    if not name:
        raise CassetteError("the name of the agent is missing", advice="--agent NAME")
    for row in tape:
        _fit(row)
        for answer in row.answers.values():
            at = answer.get("at", len(tape))
            match row.of:
                case "ask":
                    asked.append((at, _interaction(row, answer, tape.types)))
                case "tool":
                    called.append((at, _call(row, answer, name, tape.types)))
                case "human":
                    consulted.append((at, _consultation(row, answer)))
                case other:
                    raise _refused(row, f"it is of the kind `{other}`")
    return UpstreamCassette(
        name,
        inputs=origin.get("inputs", {}),
        interactions=tuple(replace(one, index=n) for n, one in enumerate(_ordered(asked))),
        tool_calls=tuple(replace(one, index=n) for n, one in enumerate(_ordered(called))),
        consultations=tuple(replace(one, index=n) for n, one in enumerate(_ordered(consulted))),
    )


def _ordered(placed: list[tuple[int, Any]]) -> Iterator[Any]:
    return (one for _, one in sorted(placed, key=lambda pair: pair[0]))


def _refused(row: Row, why: str) -> CassetteError:
    return CassetteError(
        f"the row {row.key[:11]} ({row.site}) cannot be exported: {why}, for which Ingot 0.3 "
        "has no field",
        advice="take the row out of a copy of the file, and export that",
    )


def _fit(row: Row) -> None:
    """Refuse what is lost in the other form."""
    for name, what in (
        ("files", "it has attachments"),
        ("sample", "its answers are told apart by `sample` alone"),
        ("messages", "it is a later turn of a conversation"),
        ("tools", "it offers tools to the model"),
    ):
        if row.data.get(name) not in (None, []):
            raise _refused(row, what)
    for answer in row.answers.values():
        if row.of == "ask" and "error" in answer:
            raise _refused(row, f"it ended with {answer['error'].get('class', 'an error')}")
        if row.of == "tool" and "error" not in answer and answer.get("value") is None:
            raise _refused(row, "a tool returned null")
        if answer.get("calls"):
            raise _refused(row, "the model called a tool")
        if "empty" in answer:
            raise _refused(row, f"there was no answer ({answer['empty']})")


def _interaction(row: Row, answer: Mapping[str, Any], types: Mapping[str, Any]) -> Interaction:
    data = row.data
    used = answer.get("usage", {})
    usage = Usage(**{"input_tokens": 0, "output_tokens": 0} | {k: used.get(k, 0) for k in _COUNTS})
    served = answer.get("served")
    if data["kind"] == "imported":
        digest, named = data["key"].split(":")[1], str(data["type"])
        node, value = row.site, answer.get("value")
    else:
        named = _type_name(row, types.get(data["type"]))
        node = row.site.rpartition(":")[2]
        if "value" not in answer and named not in ("text", "markdown", "string"):
            raise _refused(row, "the reply did not fit the type")
        value = answer["value"] if "value" in answer else text_of(answer.get("text", ""))
        digest = completion_digest(
            node,
            text_of(data["prompt"]),
            named,
            system=text_of(data["system"]) if "system" in data else None,
            context=[
                (part["name"], text_of(part["text"]) if "text" in part else part.get("value"))
                for part in data.get("context", [])
            ],
        )
    return Interaction(node, digest, response_type=named, value=value, usage=usage, model=served)


def _call(
    row: Row, answer: Mapping[str, Any], agent: str, types: Mapping[str, Any]
) -> ToolExchange:
    data = row.data
    error = text_of(answer["error"]["message"]) if "error" in answer else None
    if data["kind"] == "imported":
        node, named, digest = row.site, str(data["type"]), data["key"].split(":")[1]
        tool = str(data["tool"])
    else:
        node, reference = row.site.rpartition(":")[2], str(data["tool"])
        tool = reference.rpartition(":")[2]
        named = _type_name(row, types.get(data.get("type", "")))
        digest = invocation_digest(agent, reference, named, arguments=data.get("args", {}))
    return ToolExchange(
        node,
        tool,
        invocation_digest=digest,
        result_type=named,
        value=answer.get("value"),
        error=error,
    )


def _consultation(row: Row, answer: Mapping[str, Any]) -> Consultation:
    data = row.data
    question, choices = text_of(data["question"]), tuple(data.get("choices", ()))
    said = answer["value"] if "value" in answer else text_of(answer.get("text", ""))
    if not isinstance(said, str):
        raise _refused(row, "a person's answer is no text")
    if data["kind"] == "imported":
        node, digest = row.site, data["key"].split(":")[1]
    else:
        node, digest = row.site.rpartition(":")[2], question_digest(question, choices=choices)
    return Consultation(node, digest, question=question, answer=said, choices=choices)


_NAMES = {
    "str": "string",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "text": "text",
    "markdown": "markdown",
    "json": "json",
    "any": "json",
    "file": "file",
}


def ingot_name(described: Any) -> str | None:
    """Return Ingot's name of a type: a word, a record, or a list of these; None if it has none."""
    found = described
    if is_object(found) and "classes" in found:
        found = found["type"]
    if isinstance(found, str):
        return _NAMES.get(found)
    if is_object(found) and set(found) == {"list"}:
        item = ingot_name(found["list"])
        return None if item is None else f"{item}[]"
    if is_object(found) and set(found) == {"ref"}:
        return str(found["ref"])
    return None


def _type_name(row: Row, described: Any) -> str:
    named = ingot_name(described)
    if named is None:
        raise _refused(row, f"its type is {type_line(described)}")
    return named
