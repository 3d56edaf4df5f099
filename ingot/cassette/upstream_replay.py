"""Playing one of Ingot's own cassettes: three lists, each by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ingot.cassette.errors import CassetteFormatError, CassetteMissError

if TYPE_CHECKING:
    from ingot.cassette.upstream import Consultation, Interaction, ToolExchange, UpstreamCassette

__all__ = ["Remaining", "Replay"]

_REVIEW = "re-record the cassette and review the diff"


class Remaining(NamedTuple):
    """
    Rows that were not played.

    Attributes:
        interactions: Questions to models.
        tool_calls: Calls of tools.
        consultations: Questions to persons.
    """

    interactions: int
    tool_calls: int
    consultations: int


class Replay:
    """
    One playing of a cassette, for one thread.

    The n-th request of each of the three kinds meets the n-th row of its kind, and has used it up
    even when it is refused. A recorded answer is not checked against its type here.

    Attributes:
        cassette: What is played.
        lenient: Whether requests may differ from those recorded, as long as types and names of
            tools agree.
        path: The file it was read from, for errors; None when unknown.
    """

    def __init__(
        self, cassette: UpstreamCassette, *, lenient: bool = False, path: str | None = None
    ) -> None:
        self.cassette = cassette
        self.lenient = lenient
        self.path = path
        self._interactions = self._tool_calls = self._consultations = 0

    def skipping(
        self, interactions: int, tool_calls: int | None = None, consultations: int | None = None
    ) -> Replay:
        """
        Return a new playing for a run that goes on where another stopped.

        Args:
            interactions: Rows that were played before, from the first; more than there are is all.
            tool_calls: Likewise; as many as *interactions* when None.
            consultations: Likewise; as many as *interactions* when None.
        """
        made = Replay(self.cassette, lenient=self.lenient, path=self.path)
        made._interactions = interactions
        made._tool_calls = interactions if tool_calls is None else tool_calls
        made._consultations = interactions if consultations is None else consultations
        return made

    @property
    def remaining(self) -> Remaining:
        """Rows that were not played yet; a test fails over those of models and tools."""
        tape = self.cassette
        return Remaining(
            max(0, len(tape.interactions) - self._interactions),
            max(0, len(tape.tool_calls) - self._tool_calls),
            max(0, len(tape.consultations) - self._consultations),
        )

    def complete(self, node: str, response_type: str, digest: str) -> Interaction:
        """
        Play the next answer of a model.

        Args:
            node: The name of the place that asks.
            response_type: Ingot's name of the type that is asked for.
            digest: See `completion_digest`.

        Raises:
            CassetteMissError: There is no next row, or it is of another type or request.
        """
        rows, at = self.cassette.interactions, self._interactions
        if at >= len(rows):
            fact = f"the cassette has {len(rows)} interaction(s) but the run asked for another"
            raise self._miss(f"{fact} at node `{node}`", digest, "re-record it")
        self._interactions += 1
        row = rows[at]
        if row.response_type != response_type:
            fact = f"interaction {at} recorded a `{row.response_type}` response"
            fact += f" but node `{node}` now asks for `{response_type}`"
            raise self._miss(fact, digest, "re-record the cassette")
        if row.request_digest != digest and not self.lenient:
            fact = f"interaction {at} was recorded for a different request at node `{row.node}`"
            raise self._miss(fact, digest, f"the prompt or its context changed since: {_REVIEW}")
        return row

    def invoke(self, tool: str, digest: str) -> ToolExchange:
        """
        Play the next result of a tool, which may be a failure (see `ToolExchange.failed`).

        Args:
            tool: The name of the tool without its origin.
            digest: See `invocation_digest`.

        Raises:
            CassetteMissError: There is no next row, or it is of another tool or call.
            CassetteFormatError: The row has neither a result nor a failure.
        """
        rows, at = self.cassette.tool_calls, self._tool_calls
        if at >= len(rows):
            fact = f"the cassette records {len(rows)} tool call(s) and the run asked for another"
            raise self._miss(f"{fact}: `{tool}`", digest, "re-record it")
        self._tool_calls += 1
        row = rows[at]
        if row.tool != tool:
            fact = f"tool call {at} recorded `{row.tool}` and the run called `{tool}`"
            raise self._miss(fact, digest, "re-record the cassette")
        if row.invocation_digest != digest and not self.lenient:
            fact = f"tool call {at} recorded different arguments for `{tool}`"
            raise self._miss(fact, digest, f"the call changed since: {_REVIEW}")
        if row.value is None and row.error is None:
            fact = f"tool call {at} for `{tool}` recorded neither a value nor an error"
            raise CassetteFormatError(fact, path=self.path, advice="re-record the cassette")
        return row

    def consult(self, node: str, digest: str) -> Consultation:
        """
        Play the next answer of a person.

        Args:
            node: The name of the place that asks.
            digest: See `question_digest`.

        Raises:
            CassetteMissError: There is no next row, or it is of another question.
        """
        rows, at = self.cassette.consultations, self._consultations
        if at >= len(rows):
            fact = f"the cassette records {len(rows)} consultation(s) and the run asked for another"
            raise self._miss(f"{fact} at node `{node}`", digest, "re-record it")
        self._consultations += 1
        row = rows[at]
        if row.question_digest != digest and not self.lenient:
            fact = f"consultation {at} was recorded for a different question at node `{row.node}`"
            advice = f"the question, its choices or its context changed since: {_REVIEW}; "
            raise self._miss(fact, digest, advice + "that means asking somebody again")
        return row

    def _miss(self, reason: str, digest: str, advice: str) -> CassetteMissError:
        return CassetteMissError(reason, path=self.path, key=digest, advice=advice)
