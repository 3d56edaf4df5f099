"""`ask`: the surface, and how its type is inferred."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ingot._drive import arun, run
from ingot._given import Call, Settings
from ingot._question import Caller, arguments, merged, question
from ingot._signatures import signature

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import Unpack

    from typing_extensions import TypeForm
    from typing_extensions import TypeVar as TypeVarWithDefault

    from ingot._answer import Answer
    from ingot._question import Question

    T = TypeVarWithDefault("T", default=Any)
else:
    T = TypeVar("T")

__all__ = ["Aio", "Configured", "Pending", "ask"]

U = TypeVar("U")


class _Unset:
    def __repr__(self) -> str:
        return "unset"


_UNSET: Any = _Unset()


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


def _caller() -> Caller:
    """Whoever called `ask`."""
    # Two frames up: this function, the method that was called, its caller.
    return Caller(sys._getframe(2))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _blocking(asked: Question) -> Answer[Any]:
    return run(asked.flow, asked.provider)


def _pending(
    args: tuple[Any, ...],
    t: Any,
    bound: Mapping[str, Any],
    given: dict[str, Any],
    caller: Caller,
    *,
    whole: bool,
) -> Pending[Any]:
    """Make an ask ready now and perform it when awaited; faults are raised then."""
    t, prompt = arguments(args, t, _UNSET)
    try:
        asked = question(t, prompt, bound=bound, given=given, caller=caller)
    except Exception as error:  # noqa: BLE001 (whatever is wrong is raised when awaited)
        return Pending(lambda caught=error: _raise(caught))

    async def perform() -> Any:
        answer = await arun(asked.flow, asked.provider)
        return answer if whole else answer.value

    return Pending(perform)


async def _raise(error: Exception) -> Any:
    raise error


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

    def __init__(self, t: Any = _UNSET, bound: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "_t", t)
        object.__setattr__(self, "_bound", bound or {})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a configured ask is immutable; use .using({name}=…)")

    def __repr__(self) -> str:
        from ingot._shape.members import type_name

        typed = "" if self._t is _UNSET else f"[{type_name(self._t)}]"
        shown = ", ".join(
            f"{name}={'…' if name in _UNSHOWN else repr(value)}"
            for name, value in self._bound.items()
        )
        return f"ask{typed}" + (f".using({shown})" if shown else "")

    def __reduce__(self) -> tuple[Any, ...]:
        bound = {name: value for name, value in self._bound.items() if name not in _PRIVATE}
        return (_configured, (None if self._t is _UNSET else (self._t,), bound))

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
        t, prompt = arguments(args, self._t, _UNSET)
        caller = _caller()
        asked = question(t, prompt, bound=self._bound, given=given, caller=caller)
        return _blocking(asked).value

    @overload
    def answer(self, t: TypeForm[U], prompt: str, /, **given: Unpack[Call]) -> Answer[U]: ...
    @overload
    def answer(self, t: str, prompt: str, /, **given: Unpack[Call]) -> Answer[Any]: ...
    @overload
    def answer(self, prompt: str, /, **given: Unpack[Call]) -> Answer[T]: ...
    def answer(self, *args: Any, **given: Any) -> Any:
        """Ask, and return the value with its usage, cost, model and turns."""
        t, prompt = arguments(args, self._t, _UNSET)
        caller = _caller()
        asked = question(t, prompt, bound=self._bound, given=given, caller=caller)
        return _blocking(asked)

    @property
    def aio(self) -> Aio[T]:
        """The same ask for async code."""
        return Aio(self._t, self._bound)

    def using(self, **settings: Unpack[Settings]) -> Configured[T]:
        """Return a copy with settings bound on top of those that are bound; see `ask.using`."""
        from ingot._config import checked

        return Configured(self._t, merged(self._bound, checked(settings)))


def _configured(t: tuple[Any] | None, bound: Mapping[str, Any]) -> Configured[Any]:
    return Configured(_UNSET if t is None else t[0], bound)


class Aio(Generic[T]):
    """`ask` for async code: what is called returns something to await."""

    __slots__ = ("_bound", "_t")

    def __init__(self, t: Any = _UNSET, bound: Mapping[str, Any] | None = None) -> None:
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
        caller = _caller()
        return _pending(args, self._t, self._bound, given, caller, whole=False)

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
        caller = _caller()
        return _pending(args, self._t, self._bound, given, caller, whole=True)

    def using(self, **settings: Unpack[Settings]) -> Aio[T]:
        """Return a copy with settings bound; see `ask.using`."""
        return Configured[T](self._t, self._bound).using(**settings).aio


class _AioDoor:
    """Makes `ask.aio` and `ask[T].aio` know their type."""

    def __get__(self, instance: object, owner: type[ask[T]]) -> Aio[T]:
        return Aio()


class ask(Generic[T]):  # noqa: N801 (it is called like a function)
    """
    Ask a model for a value of a type.

        ask(list[str], "Name three primary colours.")
        ask[list[str]]("Name three primary colours.")      # the same
        await ask.aio(list[str], "Name three primary colours.")

    The type becomes a schema that the model's server holds it to, as far as it can; what comes back
    is read strictly and validated by pydantic. `Text` and `Markdown` are prose, and not
    constrained.

    Args:
        t: The type: whatever pydantic validates and JSON can carry; or an Ingot type name such as
            `"string[]"`.
        prompt: What to say. Values go into `context={"name": value}`, never into the text.
        context: Values by name, each shown to the model as a labelled block before the prompt.
        types: Record declarations, for Ingot type names.
        sample: Tells apart asks that are the same on purpose, in recordings.
        attach: Files whose content is sent along: `Path`, `File`, or what `attachment` made.

    Settings go by name as well; docs/settings.md says what each does: model, system, max_tokens,
    temperature, seed, timeout, retry, repair, constrain, base_url, api_key, cassette, params,
    tools, deps, workspace, budget, policy, approve, on_event, raise_errors.

    Returns:
        A value of the type. `ask.answer` returns it with usage, cost, model and turns.

    Raises:
        UnsupportedTypeError: The type cannot be asked for; before any request.
        NotConfiguredError: There is nothing to ask with; before any request.
        PromptError: There is nothing to say; before any request.
        ProviderError: The request did not get through.
        AnswerError: What came is not an answer: a refusal, a cut or empty text, text that does not
            fit.
    """

    aio = _AioDoor()

    if TYPE_CHECKING:

        @overload
        def __new__(cls, t: TypeForm[T], prompt: str, /, **given: Unpack[Call]) -> T: ...  # type: ignore[misc]
        @overload
        def __new__(cls, t: str, prompt: str, /, **given: Unpack[Call]) -> Any: ...
        @overload
        def __new__(cls, prompt: str, /, **given: Unpack[Call]) -> T: ...  # type: ignore[misc]
        def __new__(cls, *args: Any, **given: Any) -> Any: ...

    else:

        def __new__(cls, *args: Any, **given: Any) -> Any:
            t, prompt = arguments(args, _UNSET, _UNSET)
            caller = _caller()
            asked = question(t, prompt, bound=_NOTHING, given=given, caller=caller)
            return run(asked.flow, asked.provider).value

        def __class_getitem__(cls, t: Any) -> Configured[Any]:
            return Configured(t)

    @overload
    @classmethod
    def answer(cls, t: TypeForm[U], prompt: str, /, **given: Unpack[Call]) -> Answer[U]: ...
    @overload
    @classmethod
    def answer(cls, t: str, prompt: str, /, **given: Unpack[Call]) -> Answer[Any]: ...
    @overload
    @classmethod
    def answer(cls, prompt: str, /, **given: Unpack[Call]) -> Answer[T]: ...
    @classmethod
    def answer(cls, *args: Any, **given: Any) -> Any:
        """Ask, and return the value with its usage, cost, model and turns."""
        t, prompt = arguments(args, _UNSET, _UNSET)
        caller = _caller()
        return _blocking(question(t, prompt, bound=_NOTHING, given=given, caller=caller))

    @classmethod
    def using(cls, **settings: Unpack[Settings]) -> Configured[T]:
        """
        Return an ask with settings bound, which is called like `ask`.

        Settings are given by name; docs/settings.md says what each does: model, system, max_tokens,
        temperature, seed, timeout, retry, repair, constrain, base_url, api_key, cassette, params,
        tools, deps, workspace, budget, policy, approve, on_event, raise_errors.

        Raises:
            TypeError: A keyword is no setting (the nearest one is named), or a value is of the
                wrong kind.
        """
        return Configured[T]().using(**settings)


_NOTHING: Mapping[str, Any] = {}


def _sign() -> None:
    """Show the settings by name to `help` and to completers."""
    two = ("t", "prompt")
    ask.__signature__ = signature(positional=two, named=Call, returns="T")  # type: ignore[attr-defined]
    methods: tuple[tuple[Any, str, str], ...] = (
        (Configured.__call__, "self", "T"),
        (Configured.answer, "self", "Answer[T]"),
        (Aio.__call__, "self", "Pending[T]"),
        (Aio.answer, "self", "Pending[Answer[T]]"),
        (vars(ask)["answer"].__func__, "cls", "Answer[T]"),
    )
    for method, first, returns in methods:
        method.__signature__ = signature(first, positional=two, named=Call, returns=returns)
    usings: tuple[tuple[Any, str], ...] = (
        (Configured.using, "self"),
        (Aio.using, "self"),
        (vars(ask)["using"].__func__, "cls"),
    )
    for method, first in usings:
        method.__signature__ = signature(first, named=Settings, returns="Configured[T]")


_sign()
