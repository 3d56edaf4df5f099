"""The blocking and the awaited form of one thing: each refuses the other's syntax, with a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["Awaited", "Blocking"]


class Blocking:
    """What code that blocks uses: it cannot be awaited."""

    __slots__ = ()
    _written: ClassVar[str]
    """What to write instead, in both forms."""

    if not TYPE_CHECKING:
        # Hidden from type checkers, which find the mistake by themselves.

        def __aenter__(self) -> NoReturn:
            raise TypeError(f"this is the form that blocks; {self._written}")

        __aexit__ = __aiter__ = __await__ = __aenter__


class Awaited:
    """What async code uses: it cannot block."""

    __slots__ = ()
    _written: ClassVar[str]
    """What to write instead, in both forms."""

    if not TYPE_CHECKING:
        # Hidden from type checkers, which find the mistake by themselves.

        def __enter__(self) -> NoReturn:
            raise TypeError(f"this is the form for async code; {self._written}")

        __exit__ = __iter__ = __await__ = __enter__
