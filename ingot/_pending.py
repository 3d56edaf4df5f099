"""An ask of async code: made ready when it is called, performed when it is awaited."""

from __future__ import annotations

import warnings
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from ingot._drive import arun

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ingot._question import Question

__all__ = ["Pending", "pending"]

U = TypeVar("U")


class Pending(Coroutine[Any, Any, U]):
    """
    An ask that was called and is to be awaited, once.

    It is a coroutine for all that asyncio does with one. It has taken its place in a recording when
    it was called, so one that is dropped warns.
    """

    __slots__ = ("_begun", "_inner", "_make")

    def __init__(self, make: Any) -> None:
        self._make = make
        self._inner: Any = None
        self._begun = False

    def _coroutine(self) -> Any:
        if not self._begun:
            self._begun = True
            self._inner = self._make()
        elif self._inner is None:
            raise RuntimeError("this ask was closed before it was awaited")
        return self._inner

    def __await__(self) -> Generator[Any, Any, U]:
        if self._begun:
            raise RuntimeError("this ask was awaited before; call ask.aio again for another answer")
        return self._coroutine().__await__()  # type: ignore[no-any-return]  # foreign coroutine

    def send(self, value: Any, /) -> Any:
        """Go on; asyncio calls this."""
        return self._coroutine().send(value)

    def throw(self, *error: Any) -> Any:
        """Raise inside; asyncio calls this."""
        return self._coroutine().throw(*error)

    def close(self) -> None:
        """Give up."""
        if self._inner is not None:
            self._inner.close()
        self._begun = True

    def __repr__(self) -> str:
        return f"<ask {'begun' if self._begun else 'not yet awaited'}>"

    def __del__(self) -> None:
        if not getattr(self, "_begun", True):
            self._begun = True
            warnings.warn(
                "an ask.aio(…) was never awaited", RuntimeWarning, stacklevel=2, source=self
            )


def pending(make: Callable[[], Question], *, whole: bool) -> Pending[Any]:
    """
    Make an ask ready now and perform it when awaited; faults are raised then.

    Args:
        make: Makes it ready.
        whole: Whether the answer is returned instead of its value alone.
    """
    try:
        asked = make()
    except Exception as error:  # noqa: BLE001 (whatever is wrong is raised when awaited)
        return Pending(lambda caught=error: _raise(caught))

    async def perform() -> Any:
        answer = await arun(asked.flow, asked.provider)
        return answer if whole else answer.value

    return Pending(perform)


async def _raise(error: Exception) -> Any:
    raise error
