"""The base of every error of ingot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from decimal import Decimal

    from ingot._messages import Message
    from ingot._response import Usage

__all__ = ["IngotError"]


def _rebuild(cls: type[IngotError], args: tuple[Any, ...], facts: dict[str, Any]) -> IngotError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class IngotError(Exception):
    """
    Base of all errors of ingot.

    Attributes:
        message: What happened, in one sentence.
        advice: The way out, or None where there is none to name.
        usage: Tokens of all attempts of the ask that failed; None when none were counted.
        attempts: Requests that were sent for the ask that failed.
        model: The model that was asked, as `provider/model`; None before one was chosen.
        transcript: The turns after the prompt so far, tool calls and their results included.
    """

    code: ClassVar[str] = "ingot"
    usage: Usage | None = None
    attempts: int = 0
    model: str | None = None
    transcript: tuple[Message, ...] = ()

    def __init__(self, message: str, *, advice: str | None = None) -> None:
        self.message = message
        self.advice = advice
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.message}; {self.advice}" if self.advice else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.args, dict(self.__dict__)))

    @property
    def cost(self) -> Decimal | None:
        """US dollars of all attempts, by the installed price table; None when unknown."""
        from ingot._price import price

        return price(self.model, self.usage)
