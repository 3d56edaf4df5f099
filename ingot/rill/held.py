"""A decider in the hands of a runtime: what it answers, its state as bytes, and its faults."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ingot._serde import check_depth, dumps
from ingot.rill.decider import DeciderError
from ingot.rill.wire_codes import FAULTS, SPOILED, Refused, shortened
from ingot.rill.wire_parts import MAX_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot.rill.decider import Decider, Fault

__all__ = ["Held"]

T = TypeVar("T")

_MAX_DEPTH = 120
"""Arrays and objects inside one another in an output; with those around it, 127 can be read."""


class Held:
    """
    Keeps a decider from what would leave its state in doubt.

    A decider says in the protocol's words what it cannot do, and then is as it was. Whatever else
    it raises, or returns that cannot be sent, may have left it half changed. From then on it is
    asked nothing until its state is set anew, and its state is shown to nobody.

    Attributes:
        decider: The decider.
        fault: The last thing that went wrong with it; None while nothing did.
    """

    def __init__(self, decider: Decider) -> None:
        self.decider = decider
        self.fault: str | None = None
        self._spoiled = False
        self._state: bytes | None = None
        self._initial = self.state()

    def ask(self, call: Callable[[], T]) -> T:
        """
        Return what *call* of the decider returns.

        Raises:
            Refused: The decider raised.
        """
        self._check()
        try:
            returned = call()
        except DeciderError as error:
            raise self._refused(error.fault, error.reason) from error
        except Exception as error:
            self._spoiled = True
            raise self._refused("trap") from error
        self._state = None
        return returned

    def sent(self, output: Any) -> Any:
        """
        Return *output* as whoever is sent it reads it, and shares nothing of it with the decider.

        Raises:
            Refused: It is no JSON, too deep, or too long.
        """
        try:
            text = dumps(output)
            check_depth(text, _MAX_DEPTH)
        except (TypeError, ValueError) as error:
            self._spoiled = True
            raise self._refused("invalidOutput") from error
        if len(text.encode()) > MAX_MESSAGE:
            self._spoiled = True
            raise self._refused("outputTooLarge")
        return json.loads(text)

    def state(self) -> bytes:
        """
        Return the state as JSON.

        Raises:
            Refused: It is in doubt, or the decider does not say it.
        """
        self._check()
        if self._state is None:
            try:
                self._state = dumps(self.decider.dump(), sort=False).encode()
            except Exception as error:
                raise self._refused("invalidState") from error
        return self._state

    def reset(self) -> None:
        """
        Set the state to what it was at first.

        Raises:
            Refused: The decider does not take it.
        """
        try:
            self.restore(self._initial)
        except DeciderError as error:
            raise self._refused(error.fault) from error

    def restore(self, state: bytes) -> None:
        """
        Set the state.

        Raises:
            DeciderError: It is none of this decider.
        """
        try:
            # Floats are read exactly: a state that is written and read is the same state.
            value = json.loads(state, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise DeciderError("invalidState") from error
        try:
            self.decider.load(value)
        except DeciderError:
            raise
        except Exception as error:
            self._spoiled = True
            raise DeciderError("invalidState") from error
        self._state = state
        self._spoiled = False

    def _check(self) -> None:
        if self._spoiled:
            raise Refused(SPOILED)

    def _refused(self, fault: Fault, reason: str | None = None) -> Refused:
        """Refuse in the words of the protocol, or for what the decider gives as its *reason*."""
        refusal = FAULTS[fault]
        self.fault = refusal.message
        if reason:
            refusal = replace(refusal, message=shortened(reason))
        return Refused(refusal)


def _no_number(text: str) -> Any:
    raise ValueError(f"JSON has no number for {text}")
