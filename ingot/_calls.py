"""One turn of tool calls as a plan: what is refused, what a person decides, what is run."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ingot._context import Context
from ingot._effects import Call, Consult, Invocation, RecalledError, Returned
from ingot._messages import ToolResult
from ingot._people import Approval, Consultant
from ingot.errors import InvalidAnswerError, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from ingot._budget.meter import Meter
    from ingot._effects import Effect
    from ingot._handles import Handles
    from ingot._messages import ToolCall
    from ingot._policy import Policy
    from ingot._request import ToolDeclaration
    from ingot._telling import Teller
    from ingot._tool import Tool

__all__ = ["Toolbox"]

PARALLEL = 8
"""Tools that run at the same time."""


@dataclass(slots=True, kw_only=True)
class Toolbox:
    """
    The tools of one ask and the rules that they run under.

    Attributes:
        tools: By name.
        handles: The files that are known, and where they lie.
        meter: What the ask may spend.
        tell: Tells of events.
        deps: What the caller hands to tools.
        policy: What the effects of tools are allowed; None for everything.
        approve: Decides what the policy leaves to a person; None where nobody can.
        raise_errors: Exceptions of tools that end the ask instead of being told to the model.
        dialect: The form in which the model writes arguments.
    """

    tools: Mapping[str, Tool]
    handles: Handles
    meter: Meter
    tell: Teller
    deps: Any = None
    policy: Policy | None = None
    approve: Callable[[Approval], Any] | None = None
    raise_errors: tuple[type[Exception], ...] = ()
    dialect: str = "open"
    _calls: int = 0

    def declarations(self, dialect: str) -> tuple[ToolDeclaration, ...]:
        """Return what a model is told of the tools, in the dialect of its provider."""
        return tuple(tool.declaration(dialect) for tool in self.tools.values())

    def translated(
        self, calls: Iterable[ToolCall], source: str, target: str
    ) -> tuple[ToolCall, ...]:
        """Return *calls* as a model would write them in another dialect."""
        return tuple(
            replace(call, arguments=self.tools[call.name].rewritten(call.arguments, source, target))
            if call.name in self.tools
            else call
            for call in calls
        )

    # A turn of calls

    def answered(
        self, calls: Sequence[ToolCall], turn: int
    ) -> Generator[Effect, Any, tuple[ToolResult, ...]]:
        """
        Give each of *calls*, which the model made in *turn*, its one result, in order.

        Raises:
            ToolError: A tool raised what `raise_errors` names; the first in order, once all have
                ended.
        """
        numbered = [(self._calls + n, call) for n, call in enumerate(calls, 1)]
        self._calls += len(calls)
        planned: list[Invocation | Returned] = []
        for number, call in numbered:
            planned.append((yield from self._planned(call, turn, number)))
        results = yield from self._performed(planned)
        for (number, call), result in zip(numbered, results, strict=True):
            self.handles.restore(result.files)
            yield from self.tell.returned(turn, call.name, number, result)
        for call, result in zip(calls, results, strict=True):
            if result.error is not None and RecalledError.is_of(result.error, self.raise_errors):
                raise ToolError(call.name, result.error)
        return tuple(
            ToolResult(id=call.id, text=result.text, failed=result.failed)
            for call, result in zip(calls, results, strict=True)
        )

    def _planned(
        self, call: ToolCall, turn: int, number: int
    ) -> Generator[Effect, Any, Invocation | Returned]:
        """Return what *call* is to run, or the result of one that is not to run."""
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(self.tools)
            return Returned.refusal(f"there is no tool {call.name!r:.80}; there is: {known}")
        try:
            one = self._read(tool, call, turn, number)
        except InvalidAnswerError as error:
            return Returned.refusal(error.message)
        except Exception as error:  # noqa: BLE001 (a fault in a validator of the caller's)
            return Returned.raised(error)
        if not (yield from self._allowed(one)):
            return Returned.refusal("a person was asked, and declined this call")
        if isinstance(tool.function, Consultant):
            return (yield from self._consulted(one, tool.function))
        return one

    def _read(self, tool: Tool, call: ToolCall, turn: int, number: int) -> Invocation:
        return Invocation(
            tool=tool,
            call=call,
            arguments=tool.read(call.arguments, self.dialect, self.handles),
            tree=tool.tree(call.arguments, self.dialect),
            context=Context(
                deps=self.deps,
                workspace=self.handles.workspace,
                handles=self.handles,
                ledger=self.meter.ledger,
                tool=tool.name,
                call_id=call.id,
                turn=turn,
            ),
            number=number,
        )

    def _performed(
        self, planned: Sequence[Invocation | Returned]
    ) -> Generator[Effect, Any, list[Returned]]:
        """Run what is to be run, all at once, and return the results of all in order."""
        batch = tuple(self._bounded(one) for one in planned if isinstance(one, Invocation))
        for one in batch:
            yield from self.tell.called(one)
        done = iter((yield Call(batch, PARALLEL)) if batch else ())
        return [next(done) if isinstance(one, Invocation) else one for one in planned]

    def _bounded(self, one: Invocation) -> Invocation:
        """Return *one* with the seconds that it may take."""
        bounds = [s for s in (one.tool.timeout, self.meter.seconds_left) if s is not None]
        return replace(one, seconds=min(bounds, default=None))

    # People

    def _allowed(self, one: Invocation) -> Generator[Effect, Any, bool]:
        """Return whether *one* may run; a person decides where the policy says so."""
        # What the policy denies was refused before anything was asked.
        if self.policy is None or self.policy.decide(one.tool.effects).rule == "allow":
            return True
        assert self.approve is not None, "seen to before anything was asked"
        name = one.tool.name
        # A copy: whoever is asked may change it, and what is called and recorded stays.
        arguments, effects = deepcopy(one.tree), tuple(sorted(one.tool.effects))
        asked = Approval(tool=name, arguments=arguments, effects=effects)
        yield from self.tell.approval(one, asked)
        allowed: bool = yield Consult(asked, self.approve)
        yield from self.tell.decided(one, allowed=allowed)
        return allowed

    def _consulted(
        self, one: Invocation, consultant: Consultant
    ) -> Generator[Effect, Any, Returned]:
        """Return what a person says to the question of *one*."""
        asked = consultant.consultation(**one.arguments)
        yield from self.tell.consultation(one, asked)
        answer: str = yield Consult(asked, consultant.person)
        yield from self.tell.consulted(one, answer)
        return Returned(text=answer)
