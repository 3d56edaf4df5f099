"""
Cassettes of Ingot itself, versions 0.1 to 0.3.

A row has a place and a digest, and no request: it is played by position, and its digest says only
that something changed, not what.
"""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

from ingot._json import Unreadable
from ingot._response import Usage
from ingot._row import Row, collect
from ingot._serde import Ordered, pretty
from ingot._serde import loads as read
from ingot.cassette.errors import CassetteError, CassetteFormatError
from ingot.cassette.upstream_digest import completion_digest, invocation_digest, question_digest
from ingot.cassette.upstream_replay import Replay

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "VERSIONS",
    "Consultation",
    "Interaction",
    "Replay",
    "ToolExchange",
    "UpstreamCassette",
    "check",
    "completion_digest",
    "dumps",
    "invocation_digest",
    "loads",
    "question_digest",
]

VERSIONS = ("0.1", "0.2", "0.3")
"""Versions that can be read; a recording is written in the last."""

_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})(?: |$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Interaction:
    """
    A question to a model and its answer.

    Attributes:
        node: The name of the place that asked.
        request_digest: See `completion_digest`.
        response_type: Ingot's name of the type that was asked for.
        value: The answer, any JSON value.
        usage: Tokens; only input, output and what was read from a cache are stored.
        model: The model that answered; None when that was not stored.
        index: The position that the row states; nothing depends on it.
    """

    node: str
    request_digest: str
    _: KW_ONLY
    response_type: str
    value: Any
    usage: Usage
    model: str | None = None
    index: int = 0


@dataclass(frozen=True, slots=True)
class ToolExchange:
    """
    A call of a tool and its result.

    Attributes:
        node: The name of the place that called.
        tool: The name of the tool without its origin.
        invocation_digest: See `invocation_digest`.
        result_type: Ingot's name of the type of the result.
        value: The result; None when there is none, because the format cannot tell null from none.
        error: The tool's own words for its failure; does not count where there is a value.
        index: The position that the row states; nothing depends on it.
    """

    node: str
    tool: str
    _: KW_ONLY
    invocation_digest: str
    result_type: str
    value: Any = None
    error: str | None = None
    index: int = 0

    @property
    def failed(self) -> bool:
        """Whether the tool failed."""
        return self.value is None and self.error is not None


@dataclass(frozen=True, slots=True)
class Consultation:
    """
    A question to a person and the answer.

    Attributes:
        node: The name of the place that asked.
        question_digest: See `question_digest`.
        question: The question as it was shown.
        choices: The answers that were offered; empty when any was welcome.
        answer: What the person said.
        index: The position that the row states; nothing depends on it.
    """

    node: str
    question_digest: str
    _: KW_ONLY
    question: str
    answer: str
    choices: tuple[str, ...] = ()
    index: int = 0


@dataclass(frozen=True, slots=True)
class UpstreamCassette:
    """
    One recorded run of an agent.

    Attributes:
        agent: The full name of the agent.
        inputs: What the run was started with, JSON values by name.
        interactions: Questions to models, in order.
        tool_calls: Calls of tools, in order.
        consultations: Questions to persons, in order.
        version: One of `VERSIONS`.
    """

    agent: str
    _: KW_ONLY
    interactions: tuple[Interaction, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tool_calls: tuple[ToolExchange, ...] = ()
    consultations: tuple[Consultation, ...] = ()
    version: str = VERSIONS[-1]


def loads(text: str, *, path: str | None = None) -> UpstreamCassette:
    """
    Read a cassette; fields that are not known are left out.

    Args:
        text: The whole file.
        path: Its name, for the error.

    Raises:
        CassetteFormatError: *text* is no cassette, of a version that is not known, or holds rows
            that its version has no field for.
    """
    try:
        made = _cassette(Row(read(text, object_pairs_hook=collect), ()))
    except Unreadable as error:
        if _CONFLICT.search(text):
            raise CassetteFormatError(
                "it holds the marks of a merge that was not settled",
                path=path,
                advice="take one side of the merge, or record it again",
            ) from None
        raise CassetteFormatError(f"invalid cassette: {error.reason}", path=path) from None
    stated = f"the cassette states version `{made.version}` and carries"
    if made.version not in VERSIONS:
        reason = f"cassette version `{made.version}` is not supported by this compiler"
        raise CassetteFormatError(
            f"{reason} (supported: {', '.join(VERSIONS)})",
            path=path,
            advice="a newer ingot may read it; or record it again",
        )
    if made.version != VERSIONS[-1] and made.consultations:
        reason = f"{stated} consultations, which only {VERSIONS[-1]} has a field for"
        raise CassetteFormatError(reason, path=path, advice="re-record it")
    if made.version == VERSIONS[0] and made.tool_calls:
        reason = f"{stated} tool calls, which {VERSIONS[0]} has no field for"
        raise CassetteFormatError(reason, path=path, advice="re-record it")
    return made


def dumps(cassette: UpstreamCassette) -> str:
    """
    Write a cassette byte for byte as Ingot does, whatever `loads` can read.

    See `check` for what a recording may not hold beyond that.

    Raises:
        TypeError: A value is no JSON.
        ValueError: A value holds a number that JSON has not, or a text half of a surrogate pair.
    """
    rows = Ordered(cassetteVersion=cassette.version, agent=cassette.agent)
    if cassette.inputs:
        rows["inputs"] = dict(cassette.inputs)
    rows["interactions"] = [_interaction_row(row) for row in cassette.interactions]
    if cassette.tool_calls:
        rows["toolCalls"] = [_tool_row(row) for row in cassette.tool_calls]
    if cassette.consultations:
        rows["consultations"] = [_consultation_row(row) for row in cassette.consultations]
    return pretty(rows) + "\n"


def check(cassette: UpstreamCassette) -> None:
    """
    Refuse what a recorder must not write, although a reader lets it pass.

    Raises:
        CassetteError: The version is not the last, a row does not state its own position, or a tool
            has both a result and a failure, or neither (a result of null is none).
    """
    if fault := _fault(cassette):
        raise CassetteError(f"the cassette must not be written: {fault}")


def _fault(cassette: UpstreamCassette) -> str | None:
    if cassette.version != VERSIONS[-1]:
        return f"it states version `{cassette.version}`; expected `{VERSIONS[-1]}`"
    for kind, rows in _lists(cassette).items():
        for position, row in enumerate(rows):
            if row.index != position:
                return f"{kind} {position} states the index {row.index}; expected its position"
    for position, row in enumerate(cassette.tool_calls):
        if (row.value is None) == (row.error is None):
            found = "neither a value nor" if row.error is None else "both a value and"
            return f"tool call {position} for `{row.tool}` has {found} an error; expected one"
    return None


def _lists(
    cassette: UpstreamCassette,
) -> dict[str, tuple[Interaction | ToolExchange | Consultation, ...]]:
    return {
        "interaction": cassette.interactions,
        "tool call": cassette.tool_calls,
        "consultation": cassette.consultations,
    }


def _interaction_row(row: Interaction) -> Ordered:
    usage = Ordered(inputTokens=row.usage.input_tokens, outputTokens=row.usage.output_tokens)
    if row.usage.cache_read_tokens:
        usage["cacheReadTokens"] = row.usage.cache_read_tokens
    made = Ordered(
        index=row.index,
        node=row.node,
        requestDigest=row.request_digest,
        responseType=row.response_type,
        value=row.value,
        usage=usage,
    )
    if row.model is not None:
        made["model"] = row.model
    return made


def _tool_row(row: ToolExchange) -> Ordered:
    made = Ordered(
        index=row.index,
        node=row.node,
        tool=row.tool,
        invocationDigest=row.invocation_digest,
        resultType=row.result_type,
    )
    if row.value is not None:
        made["value"] = row.value
    if row.error is not None:
        made["error"] = row.error
    return made


def _consultation_row(row: Consultation) -> Ordered:
    made = Ordered(
        index=row.index, node=row.node, questionDigest=row.question_digest, question=row.question
    )
    if row.choices:
        made["choices"] = list(row.choices)
    made["answer"] = row.answer
    return made


def _cassette(row: Row) -> UpstreamCassette:
    has = row.fields
    return UpstreamCassette(
        row.text("agent"),
        interactions=tuple(map(_interaction, row.rows("interactions"))),
        inputs=row.object("inputs") if "inputs" in has else {},
        tool_calls=tuple(map(_tool, row.rows("toolCalls"))) if "toolCalls" in has else (),
        consultations=tuple(map(_consultation, row.rows("consultations")))
        if "consultations" in has
        else (),
        version=row.text("cassetteVersion"),
    )


def _interaction(row: Row) -> Interaction:
    usage = Row(row.required("usage"), (*row.at, "usage"))
    cached = usage.count("cacheReadTokens") if "cacheReadTokens" in usage.fields else 0
    return Interaction(
        row.text("node"),
        row.text("requestDigest"),
        response_type=row.text("responseType"),
        value=row.required("value"),
        usage=Usage(
            input_tokens=usage.count("inputTokens"),
            output_tokens=usage.count("outputTokens"),
            cache_read_tokens=cached,
        ),
        model=row.optional_text("model"),
        index=row.count("index"),
    )


def _tool(row: Row) -> ToolExchange:
    return ToolExchange(
        row.text("node"),
        row.text("tool"),
        invocation_digest=row.text("invocationDigest"),
        result_type=row.text("resultType"),
        value=row.optional("value"),
        error=row.optional_text("error"),
        index=row.count("index"),
    )


def _consultation(row: Row) -> Consultation:
    return Consultation(
        row.text("node"),
        row.text("questionDigest"),
        question=row.text("question"),
        answer=row.text("answer"),
        choices=row.texts("choices") if "choices" in row.fields else (),
        index=row.count("index"),
    )
