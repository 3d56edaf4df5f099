"""An ask with settings bound to it, for blocking and for async code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ingot._drive import run
from ingot._given import Call, Settings
from ingot._map.surface import AsyncMapper, Mapper
from ingot._pending import pending
from ingot._question import UNSET, Caller, arguments, merged, question
from ingot._signatures import signature
from ingot._stream import AsyncStream, Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Unpack

    from typing_extensions import TypeForm
    from typing_extensions import TypeVar as TypeVarWithDefault

    from ingot._answer import Answer
    from ingot._pending import Pending
    from ingot._question import Question

    T = TypeVarWithDefault("T", default=Any)
else:
    T = TypeVar("T")

__all__ = ["UNSET", "Aio", "Configured", "answered", "caller", "made"]

U = TypeVar("U")


def caller() -> Caller:
    """Whoever called the function that calls this."""
    return Caller(sys._getframe(2))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def made(
    args: tuple[Any, ...], t: Any, bound: Mapping[str, Any], given: dict[str, Any], who: Caller
) -> Callable[[], Question]:
    """
    Return what makes one ask ready.

    Args:
        args: What was given by position: the type, unless *t* is one, and the prompt.
        t: The type that is bound, or `UNSET`.
        bound: The settings that are bound.
        given: What was given by name.
        who: Who asks.
    """
    t, prompt = arguments(args, t, UNSET)
    return lambda: question(t, prompt, bound=bound, given=given, caller=who)


def answered(asked: Question) -> Answer[Any]:
    """Perform *asked* in this thread."""
    return run(asked.flow, asked.provider)


_PRIVATE = ("api_key", "base_url")
"""Settings that are in no repr and no pickle."""

_UNSHOWN = (*_PRIVATE, "deps")
"""Settings that are in no repr; what is handed to tools may hold anything."""


class Configured(Generic[T]):
    """
    An ask with settings, and perhaps a type, bound to it; immutable; pickled without its key.

    Made by `ask.using(…)` and `ask[T]`. Call it as `ask` is called.
    """

    __slots__ = ("_bound", "_t")
    _t: Any
    _bound: Mapping[str, Any]

    def __init__(self, t: Any = UNSET, bound: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "_t", t)
        object.__setattr__(self, "_bound", bound or {})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a configured ask is immutable; use .using({name}=…)")

    def __repr__(self) -> str:
        from ingot._shape.members import type_name

        typed = "" if self._t is UNSET else f"[{type_name(self._t)}]"
        shown = ", ".join(
            f"{name}={'…' if name in _UNSHOWN else repr(value)}"
            for name, value in self._bound.items()
        )
        return f"ask{typed}" + (f".using({shown})" if shown else "")

    def __reduce__(self) -> tuple[Any, ...]:
        bound = {name: value for name, value in self._bound.items() if name not in _PRIVATE}
        return (_configured, (None if self._t is UNSET else (self._t,), bound))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configured):
            return NotImplemented
        return bool(self._t == other._t and self._bound == other._bound)

    __hash__ = None  # type: ignore[assignment]  # settings may hold dicts

    def __getitem__(self, t: TypeForm[U], /) -> Configured[U]:
        return Configured(t, self._bound)

    @overload
    def __call__(self, t: TypeForm[U], prompt: str, /, **given: Unpack[Call]) -> U: ...
    @overload
    def __call__(self, t: str, prompt: str, /, **given: Unpack[Call]) -> Any: ...
    @overload
    def __call__(self, prompt: str, /, **given: Unpack[Call]) -> T: ...
    def __call__(self, *args: Any, **given: Any) -> Any:
        """Ask, and return the value; see `ask`."""
        return answered(made(args, self._t, self._bound, given, caller())()).value

    @overload
    def answer(self, t: TypeForm[U], prompt: str, /, **given: Unpack[Call]) -> Answer[U]: ...
    @overload
    def answer(self, t: str, prompt: str, /, **given: Unpack[Call]) -> Answer[Any]: ...
    @overload
    def answer(self, prompt: str, /, **given: Unpack[Call]) -> Answer[T]: ...
    def answer(self, *args: Any, **given: Any) -> Any:
        """Ask, and return the value with its usage, cost, model and turns."""
        return answered(made(args, self._t, self._bound, given, caller())())

    @overload
    def stream(self, t: TypeForm[U], prompt: str, /, **given: Unpack[Call]) -> Stream[U]: ...
    @overload
    def stream(self, t: str, prompt: str, /, **given: Unpack[Call]) -> Stream[Any]: ...
    @overload
    def stream(self, prompt: str, /, **given: Unpack[Call]) -> Stream[T]: ...
    def stream(self, *args: Any, **given: Any) -> Any:
        """Ask, and show the answer while it is written; see `Stream`."""
        return Stream[Any](made(args, self._t, self._bound, given, caller())())

    @property
    def map(self) -> Mapper[T]:
        """Ask with many prompts; see `Mapper`."""
        return Mapper(self._t, self._bound)

    @property
    def aio(self) -> Aio[T]:
        """The same ask for async code."""
        return Aio(self._t, self._bound)

    def using(self, **settings: Unpack[Settings]) -> Configured[T]:
        """Return a copy with settings bound on top of those that are bound; see `ask.using`."""
        from ingot._config import checked

        return Configured(self._t, merged(self._bound, checked(settings)))


def _configured(t: tuple[Any] | None, bound: Mapping[str, Any]) -> Configured[Any]:
    return Configured(UNSET if t is None else t[0], bound)


class Aio(Generic[T]):
    """`ask` for async code: what is called returns something to await."""

    __slots__ = ("_bound", "_t")

    def __init__(self, t: Any = UNSET, bound: Mapping[str, Any] | None = None) -> None:
        self._t = t
        self._bound = bound or {}

    def __repr__(self) -> str:
        return f"{Configured(self._t, self._bound)!r}.aio"

    def __getitem__(self, t: TypeForm[U], /) -> Aio[U]:
        return Aio(t, self._bound)

    @overload
    def __call__(self, t: TypeForm[U], prompt: str, /, **given: Unpack[Call]) -> Pending[U]: ...
    @overload
    def __call__(self, t: str, prompt: str, /, **given: Unpack[Call]) -> Pending[Any]: ...
    @overload
    def __call__(self, prompt: str, /, **given: Unpack[Call]) -> Pending[T]: ...
    def __call__(self, *args: Any, **given: Any) -> Any:
        """Ask; await the result for the value."""
        return pending(made(args, self._t, self._bound, given, caller()), whole=False)

    @overload
    def answer(
        self, t: TypeForm[U], prompt: str, /, **given: Unpack[Call]
    ) -> Pending[Answer[U]]: ...
    @overload
    def answer(self, t: str, prompt: str, /, **given: Unpack[Call]) -> Pending[Answer[Any]]: ...
    @overload
    def answer(self, prompt: str, /, **given: Unpack[Call]) -> Pending[Answer[T]]: ...
    def answer(self, *args: Any, **given: Any) -> Any:
        """Ask; await the result for the value with its usage, cost, model and turns."""
        return pending(made(args, self._t, self._bound, given, caller()), whole=True)

    @overload
    def stream(self, t: TypeForm[U], prompt: str, /, **given: Unpack[Call]) -> AsyncStream[U]: ...
    @overload
    def stream(self, t: str, prompt: str, /, **given: Unpack[Call]) -> AsyncStream[Any]: ...
    @overload
    def stream(self, prompt: str, /, **given: Unpack[Call]) -> AsyncStream[T]: ...
    def stream(self, *args: Any, **given: Any) -> Any:
        """Ask, and show the answer while it is written; see `AsyncStream`."""
        return AsyncStream[Any](made(args, self._t, self._bound, given, caller())())

    @property
    def map(self) -> AsyncMapper[T]:
        """Ask with many prompts; see `Mapper`."""
        return AsyncMapper(self._t, self._bound)

    def using(self, **settings: Unpack[Settings]) -> Aio[T]:
        """Return a copy with settings bound; see `ask.using`."""
        return Configured[T](self._t, self._bound).using(**settings).aio


def _sign() -> None:
    """Show the settings by name to `help` and to completers."""
    methods: tuple[tuple[Any, str], ...] = (
        (Configured.__call__, "T"),
        (Configured.answer, "Answer[T]"),
        (Configured.stream, "Stream[T]"),
        (Aio.__call__, "Pending[T]"),
        (Aio.answer, "Pending[Answer[T]]"),
        (Aio.stream, "AsyncStream[T]"),
    )
    for method, returns in methods:
        method.__signature__ = signature(
            "self", positional=("t", "prompt"), named=Call, returns=returns
        )
    usings: tuple[tuple[Any, str], ...] = (
        (Configured.using, "Configured[T]"),
        (Aio.using, "Aio[T]"),
    )
    for method, returns in usings:
        method.__signature__ = signature("self", named=Settings, returns=returns)


_sign()
