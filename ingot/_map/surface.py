"""`ask.map`: the surface of runs of many asks, and how their types are inferred."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, cast, overload

from ingot._config import OF_A_MAP, SETTINGS, checked
from ingot._given import Call, Many, Prompt, Settings
from ingot._question import UNSET, Caller, arguments, check_ask, merged
from ingot._rate import rate_of
from ingot._signatures import signature
from ingot._spelling import nearest
from ingot.errors import PromptError

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Iterable
    from types import CodeType, FrameType
    from typing import TypeAlias, Unpack

    from typing_extensions import TypeForm
    from typing_extensions import TypeVar as TypeVarWithDefault

    from ingot._map.awaited import AsyncMap
    from ingot._map.blocking import Map
    from ingot._map_errors import Failure
    from ingot._rate import Rate

    T = TypeVarWithDefault("T", default=Any)
    Prompts: TypeAlias = Iterable[str] | Iterable[Prompt] | Iterable[str | Prompt]
    AsyncPrompts: TypeAlias = (
        Prompts | AsyncIterable[str] | AsyncIterable[Prompt] | AsyncIterable[str | Prompt]
    )
else:
    T = TypeVar("T")

__all__ = ["AsyncMapper", "Mapper", "Plan"]

U = TypeVar("U")

CONCURRENCY = 16
"""Asks at a time where nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    What a run does with each of its prompts.

    Attributes:
        t: The type.
        bound: Settings, checked.
        given: What else goes for each ask: *context*, *types*, *sample* and *attach*.
        caller: Who asks.
        concurrency: Asks at a time.
        raises: Whether a failure ends the run.
        ordered: Whether results come in the order of the prompts.
        progress: Whether a bar is shown.
        rate: How fast requests may be sent; None for no bound.
        store: Where answers are kept; None for nowhere.
    """

    t: Any
    bound: Mapping[str, Any]
    given: Mapping[str, Any]
    caller: Caller
    concurrency: int
    raises: bool
    ordered: bool
    progress: bool
    rate: Rate | None
    store: str | PathLike[str] | None

    def given_for(self, index: int, item: Any) -> tuple[Any, dict[str, Any]]:
        """
        Return the text of one prompt, and what else is given for it.

        Raises:
            TypeError: It is a mapping that lacks a prompt, or has what no prompt has.
            PromptError: It is no text.
        """
        if not isinstance(item, Mapping):
            return _text(index, item), {**self.given}
        own = dict(cast("Mapping[str, Any]", item))
        unknown = [name for name in own if name not in Prompt.__annotations__]
        if unknown or "prompt" not in own:
            wrong = (
                f"has {unknown[0]!r}{nearest(str(unknown[0]), Prompt.__annotations__)}"
                if unknown
                else "has no 'prompt'"
            )
            known = ", ".join(Prompt.__annotations__)
            raise TypeError(f"prompt {index} {wrong}; a prompt that is a mapping may have: {known}")
        return _text(index, own.pop("prompt")), {**self.given, **own}


def _text(index: int, prompt: Any) -> Any:
    """
    Return *prompt*.

    Raises:
        PromptError: It is neither text nor a template string.
    """
    if isinstance(prompt, str) or hasattr(prompt, "interpolations"):
        return prompt
    raise PromptError(
        f"prompt {index} must be text, not {type(prompt).__name__}",
        advice="each prompt is a text, or a mapping with 'prompt' and, if need be, 'context'",
    )


def _plan(
    args: tuple[Any, ...],
    t: Any,
    bound: Mapping[str, Any],
    given: dict[str, Any],
    frame: FrameType,
) -> tuple[Plan, Any]:
    """
    Return the plan of a run, and its prompts.

    Raises:
        TypeError: A keyword is no setting, or what is given is of the wrong kind.
    """
    caller = Caller(_kept(frame))
    t, prompts = arguments(args, t, UNSET, of="map")
    if _is_one(prompts):
        found = type(cast("object", prompts)).__name__
        raise TypeError(f"map takes prompts, as a list or whatever gives them, not one {found}")
    unknown = next(iter(given.keys() - SETTINGS.keys() - _All.__annotations__.keys()), None)
    if unknown is not None:
        meant = nearest(_ELSEWHERE.get(unknown, unknown), [*SETTINGS, *_All.__annotations__])
        raise TypeError(f"map takes no {unknown!r}{meant}; see the settings of an ask")
    run = {name: given.pop(name, None) for name in OF_A_MAP}
    common = {name: given.pop(name) for name in _OF_A_CALL & given.keys()}
    bound = merged(bound, checked(given))
    check_ask(t, bound=bound, given=common, caller=caller)
    plan = Plan(
        t=_resolved(t, caller),
        bound=bound,
        given=common,
        caller=caller,
        concurrency=_whole(run["concurrency"]),
        raises=_one_of("on_error", run["on_error"], ("raise", "return")) == "raise",
        ordered=_one_of("ordered", run["ordered"], (True, False)),
        progress=_one_of("progress", run["progress"], (False, True)),
        rate=_rate(run["rate"]),
        store=_path(run["store"]),
    )
    return plan, prompts


class _Kept(NamedTuple):
    """What a run keeps of the frame of its caller, which itself would hold the run."""

    f_code: CodeType
    f_globals: Mapping[str, Any]
    f_locals: Mapping[str, Any]


def _kept(frame: FrameType) -> Any:
    """Return what stands for *frame*; other runs that it holds are not held here."""
    from ingot._map.run import Run

    here: Mapping[str, Any] = frame.f_locals
    if here is not frame.f_globals:
        here = {name: value for name, value in here.items() if not isinstance(value, Run)}
    return _Kept(frame.f_code, frame.f_globals, here)


def _resolved(t: Any, caller: Caller) -> Any:
    """Return *t* without the names that it is written with, or each ask would look them up."""
    from ingot._shape.target import resolved

    return t if isinstance(t, str) else resolved(t, caller)


class _All(Many, total=False):
    on_error: str | None


_ELSEWHERE: dict[str, str] = dict.fromkeys(("max_workers", "n_jobs", "workers"), "concurrency")
"""What other libraries call a keyword of a map."""

_OF_A_CALL = Call.__annotations__.keys() - Settings.__annotations__.keys()


def _is_one(prompts: Any) -> bool:
    """Whether *prompts* is a single one, or none; a template string has parts to iterate over."""
    if isinstance(prompts, str | bytes | bytearray | Mapping) or hasattr(prompts, "interpolations"):
        return True
    return not (hasattr(prompts, "__iter__") or hasattr(prompts, "__aiter__"))


def _whole(concurrency: int | None) -> int:
    if concurrency is None:
        return CONCURRENCY
    if type(concurrency) is not int or concurrency < 1:
        raise TypeError(f"concurrency must be a whole number, at least 1, not {concurrency!r:.80}")
    return concurrency


def _one_of(name: str, value: Any, known: tuple[Any, Any]) -> Any:
    """Return *value*, which is one of two, or the first of them where nothing is said."""
    if value is None:
        return known[0]
    if not any(value is one or (isinstance(one, str) and value == one) for one in known):
        raise TypeError(f"{name} must be {known[0]!r} or {known[1]!r}, not {value!r:.80}")
    return value


def _path(store: Any) -> str | PathLike[str] | None:
    if store is None or isinstance(store, str | PathLike):
        return cast("str | PathLike[str] | None", store)
    raise TypeError(f"store must be the path of a file, not {store!r:.80}")


def _rate(said: Rate | str | None) -> Rate | None:
    try:
        return None if said is None else rate_of(said)
    except ValueError as error:
        raise TypeError(f"rate={said!r:.80}: {error}") from None


class Mapper(Generic[T]):
    """
    `ask.map`: asks for a value of one type with many prompts.

        for label in ask.map(Label, mails, concurrency=8):
            ...
        labels = ask.map(Label, mails, on_error="return").list()

    Args:
        t: The type; see `ask`.
        prompts: Texts, or mappings with `prompt` and what belongs to it alone: `context`,
            `attach`, `sample`. Any iterable; it is drawn as results are taken.
        on_error: `raise`: the first failure ends the run. `return`: a `Failure` stands in its
            place. What no other prompt would fare better with ends it anyway: a key that is turned
            down, a type that cannot be asked for, a store that is lost, a vendor that asks to wait
            for longer than a minute.
        concurrency: Asks at a time, their retries and repairs included; 16 by default.
        progress: Whether to show a bar on a terminal or in a notebook; needs the extra `progress`.
        ordered: Whether results come in the order of the prompts (the default), or as finished.
        rate: Requests in a time, such as `500/min`, or a `Rate`, which is shared with all runs that
            ask the same vendor with the same key and rate. None for what is learnt from replies.
        store: A file in which each answer is kept before it is handed out; a run that is begun
            again takes from there what it was paid for. None for no file.

    All else goes for each ask, by name; see `ask`.

    Returns:
        An iterator of the results, with `list()`, and with what the run took: `done`, `failed`,
        `stored`, `usage` and `cost`.

    Raises:
        TypeError: A keyword is no setting, or a value is of the wrong kind.
        UnsupportedTypeError: The type cannot be asked for; before any request.
        StoreError: The store cannot be used.
        MapError: While results are taken: the run stopped; it has what was completed.
        NotConfiguredError: Likewise: there is nothing to ask with.
    """

    __slots__ = ("_bound", "_t")

    def __init__(self, t: Any, bound: Mapping[str, Any]) -> None:
        self._t = t
        self._bound = bound

    def __repr__(self) -> str:
        return "<map of an ask>"

    @overload
    def __call__(
        self,
        t: TypeForm[U],
        prompts: Prompts,
        /,
        *,
        on_error: Literal["raise"] = ...,
        **given: Unpack[Many],
    ) -> Map[U]: ...
    @overload
    def __call__(
        self,
        t: TypeForm[U],
        prompts: Prompts,
        /,
        *,
        on_error: Literal["return"],
        **given: Unpack[Many],
    ) -> Map[U | Failure]: ...
    @overload
    def __call__(
        self,
        t: str,
        prompts: Prompts,
        /,
        *,
        on_error: Literal["raise", "return"] = ...,
        **given: Unpack[Many],
    ) -> Map[Any]: ...
    @overload
    def __call__(
        self, prompts: Prompts, /, *, on_error: Literal["raise"] = ..., **given: Unpack[Many]
    ) -> Map[T]: ...
    @overload
    def __call__(
        self, prompts: Prompts, /, *, on_error: Literal["return"], **given: Unpack[Many]
    ) -> Map[T | Failure]: ...
    def __call__(self, *args: Any, **given: Any) -> Any:
        """Ask with each of the prompts; see the class."""
        from ingot._map.blocking import Map

        frame = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        plan, prompts = _plan(args, self._t, self._bound, given, frame)
        if not hasattr(prompts, "__iter__"):
            raise TypeError("these prompts are to be awaited; use ask.aio.map")
        return Map[Any](plan, prompts)


class AsyncMapper(Generic[T]):
    """`ask.aio.map`: like `ask.map`, for `async for`; prompts may be an async iterable too."""

    __slots__ = ("_bound", "_t")

    def __init__(self, t: Any, bound: Mapping[str, Any]) -> None:
        self._t = t
        self._bound = bound

    def __repr__(self) -> str:
        return "<map of an ask of async code>"

    @overload
    def __call__(
        self,
        t: TypeForm[U],
        prompts: AsyncPrompts,
        /,
        *,
        on_error: Literal["raise"] = ...,
        **given: Unpack[Many],
    ) -> AsyncMap[U]: ...
    @overload
    def __call__(
        self,
        t: TypeForm[U],
        prompts: AsyncPrompts,
        /,
        *,
        on_error: Literal["return"],
        **given: Unpack[Many],
    ) -> AsyncMap[U | Failure]: ...
    @overload
    def __call__(
        self,
        t: str,
        prompts: AsyncPrompts,
        /,
        *,
        on_error: Literal["raise", "return"] = ...,
        **given: Unpack[Many],
    ) -> AsyncMap[Any]: ...
    @overload
    def __call__(
        self, prompts: AsyncPrompts, /, *, on_error: Literal["raise"] = ..., **given: Unpack[Many]
    ) -> AsyncMap[T]: ...
    @overload
    def __call__(
        self, prompts: AsyncPrompts, /, *, on_error: Literal["return"], **given: Unpack[Many]
    ) -> AsyncMap[T | Failure]: ...
    def __call__(self, *args: Any, **given: Any) -> Any:
        """Ask with each of the prompts; see the class."""
        from ingot._map.awaited import AsyncMap

        frame = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        plan, prompts = _plan(args, self._t, self._bound, given, frame)
        return AsyncMap[Any](plan, prompts)


for _mapper, _returns in ((Mapper, "Map[T]"), (AsyncMapper, "AsyncMap[T]")):
    # What `help` and completers show, of the object as of its call.
    _shown: Any = _mapper
    _shown.__signature__ = signature(positional=("t", "prompts"), named=_All, returns=_returns)
    _shown.__call__.__signature__ = signature(
        "self", positional=("t", "prompts"), named=_All, returns=_returns
    )
