"""Errors of asks that act: files, budgets, policies and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ingot._error import IngotError
from ingot._spelling import counted

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = [
    "BudgetExceededError",
    "FileAccessError",
    "PolicyError",
    "ToolDefinitionError",
    "ToolError",
    "ToolResultError",
    "TurnLimitError",
    "words_of",
]

_LONGEST = 500
"""Characters of another exception's text that a message shows."""


class FileAccessError(IngotError, OSError):
    """
    A file that is missing, is no plain file, or lies where it must not be opened.

    Attributes:
        handle: The path as it was given, without the folders of an absolute one.
        reason: Why it cannot be used.
    """

    code = "file"

    def __init__(self, handle: str, reason: str, *, advice: str | None = None) -> None:
        self.handle = handle
        self.reason = reason
        super().__init__(f"the file {handle!r} cannot be used: {reason}", advice=advice)


class BudgetExceededError(IngotError):
    """
    A budget does not cover the next request, or left too little of it for the answer.

    Attributes:
        limit: What ran out: `turns`, `tokens`, `cost` or `seconds`.
        allowed: The budget, in that unit; a cost is a Decimal of US dollars.
        spent: What was spent of it before.
        needed: What the request might have taken at the most; None where nothing is left at all.
    """

    code = "budget"

    def __init__(
        self,
        limit: Literal["turns", "tokens", "cost", "seconds"],
        *,
        allowed: Decimal | float,
        spent: Decimal | float,
        needed: Decimal | float | None = None,
    ) -> None:
        self.limit = limit
        self.allowed = allowed
        self.spent = spent
        self.needed = needed
        message, advice = self._words()
        super().__init__(message, advice=advice)

    def _words(self) -> tuple[str, str]:
        budget, gone = _amount(self.limit, self.allowed), _amount(self.limit, self.spent)
        raised = f"raise Budget({self.limit}=…)"
        if self.needed is None:
            return f"the budget of {budget} is spent: {gone}", raised
        needed = _amount(self.limit, self.needed)
        message = f"the budget of {budget} does not cover the request, which may take {needed}"
        return f"{message}: {gone} spent so far", f"{raised}, lower max_tokens, or say less"


def _amount(limit: str, value: Decimal | float) -> str:
    """A number with its unit, for a message."""
    if limit == "cost":
        return f"${value:f}"
    if limit == "seconds":
        return f"{value:.1f} s"
    return counted(int(value), limit.removesuffix("s"))


class TurnLimitError(BudgetExceededError):
    """The model took as many turns as it may, and there is no answer."""

    def __init__(self, *, allowed: int, spent: int) -> None:
        super().__init__("turns", allowed=allowed, spent=spent)

    def _words(self) -> tuple[str, str]:
        turns = counted(int(self.allowed), "model turn")
        return (
            f"the limit of {turns} is reached, and there is no answer",
            "raise Budget(turns=…), or see in .transcript what the model keeps doing",
        )


class PolicyError(IngotError):
    """
    A policy denies what a tool does.

    Attributes:
        tool: Name of the tool.
        effect: The effect that is denied.
        rule: `deny`, or None where the policy has no rule for *effect*, which denies it.
    """

    code = "policy"

    def __init__(
        self, tool: str, effect: str, rule: str | None = None, *, advice: str | None = None
    ) -> None:
        self.tool = tool
        self.effect = effect
        self.rule = rule
        why = "has no rule for it" if rule is None else f"says {rule!r}"
        super().__init__(
            f"the tool {tool!r} has the effect {effect!r}, and the policy {why}", advice=advice
        )


class ToolDefinitionError(IngotError, TypeError):
    """
    A function that cannot be offered to a model as a tool.

    Attributes:
        tool: Name of the tool.
        parameter: The parameter that is at fault; None where it is the function itself.
        reason: Why not.
    """

    code = "tool_definition"

    def __init__(
        self, tool: str, reason: str, *, parameter: str | None = None, advice: str | None = None
    ) -> None:
        self.tool = tool
        self.parameter = parameter
        self.reason = reason
        where = "" if parameter is None else f"parameter `{parameter}`: "
        super().__init__(f"`{tool}` cannot be a tool: {where}{reason}", advice=advice)


class ToolResultError(IngotError, TypeError):
    """
    A tool returned what a model cannot be told.

    Attributes:
        tool: Name of the tool.
        reason: Why not.
    """

    code = "tool_result"

    def __init__(self, tool: str, reason: str) -> None:
        self.tool = tool
        self.reason = reason
        super().__init__(
            f"the result of the tool {tool!r} cannot be told to a model: {reason}",
            advice="return what JSON can carry; let bytes be written to a file, and return a File",
        )


class ToolError(IngotError):
    """
    A tool failed; raised where `raise_errors` is set, instead of telling the model.

    The exception of the tool is the `__cause__`.

    Attributes:
        tool: Name of the tool.
        type: Name of the exception's class.
    """

    code = "tool"

    def __init__(self, tool: str, cause: BaseException) -> None:
        self.tool = tool
        self.type = type(cause).__name__
        said = " ".join(words_of(cause).split())
        if len(said) > _LONGEST:
            said = f"{said[:_LONGEST]} …"
        super().__init__(f"the tool {tool!r} failed: {self.type}" + (f": {said}" if said else ""))
        self.__cause__ = cause


def words_of(error: BaseException) -> str:
    """Return what *error* says, as text that can be sent; empty where it cannot say anything."""
    try:
        return str(error).encode(errors="replace").decode()
    except Exception:  # noqa: BLE001 (an exception may have any fault itself)
        return ""
