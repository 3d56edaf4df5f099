"""One ask, made ready: settings, provider, shape and request; nothing is sent here."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ingot import _registry
from ingot._budget.limits import open_ledgers
from ingot._config import checked, resolve
from ingot._flow import converse
from ingot._json import encoder
from ingot._prompt import say
from ingot._request import UNNAMED, Request, complete
from ingot._retry import Retry
from ingot._spelling import counted
from ingot.errors import PromptError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import TypeAlias

    from ingot._acting import Acting
    from ingot._effects import Flow
    from ingot._provider import Asking
    from ingot._shape.shape import Shape
    from ingot.provider import Provider

    Limit: TypeAlias = Callable[[Provider, Provider], Provider]
    """Takes the provider that was named, and what the ask sees of it."""

__all__ = ["UNSET", "Caller", "Question", "arguments", "check_ask", "merged", "question"]

_RETRY = Retry()


class _Unset:
    def __repr__(self) -> str:
        return "unset"


UNSET: Any = _Unset()
"""Stands for a type that is not bound yet."""


class Caller:
    """Whoever calls `ask`: the names that forward references may use, and the place."""

    __slots__ = ("_frame",)

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame

    def __call__(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return self._frame.f_globals, self._frame.f_locals

    @property
    def site(self) -> str:
        """The place, as `file:function`."""
        code = self._frame.f_code
        return _site(code.co_filename, code.co_qualname)


@lru_cache(maxsize=1024)
def _site(file: str, function: str) -> str:
    name = file.replace("\\", "/").rpartition("/")[2]
    return f"{name}:{function.replace('.<locals>', '')}"


class Question(NamedTuple):
    """
    What a driver needs.

    Attributes:
        flow: The conversation, not begun.
        provider: Who is asked.
        request: The first request.
        shape: How replies are read.
        asking: The ask as it is before it is known who is asked.
    """

    flow: Flow
    provider: Provider
    request: Request
    shape: Shape
    asking: Asking


def question(
    t: Any,
    prompt: Any,
    *,
    bound: Mapping[str, Any],
    given: dict[str, Any],
    caller: Caller,
    limit: Limit | None = None,
) -> Question:
    """
    Make one ask ready.

    Args:
        t: The type, or an Ingot type name.
        prompt: Text or a template string.
        bound: Settings of `using`, checked.
        given: Keywords of the call: settings, *context*, *types*, *sample* and *attach*.
        caller: Who asks.
        limit: Puts what holds requests back before whoever is asked; None for nothing.

    Raises:
        TypeError: A keyword is no setting, or a setting is of the wrong kind.
        PromptError: The prompt is empty or cannot be said.
        UnsupportedTypeError: *t* cannot be asked for.
        NotConfiguredError: There is nothing to ask with.
    """
    asked = _Asked(t, prompt, bound, given, caller, limit)
    chosen = asked.chosen
    recorder = _recorder(chosen)
    provider, shape, request = asked.live() if recorder is None else asked.recorded(recorder)
    if shape.kind == "schema" and not shape.constrained and chosen.get("constrain") == "strict":
        raise shape.refuse()
    complete(
        request,
        provider=provider.name,
        format=shape.format(shown=provider.show_schema),
        max_tokens=chosen.get("max_tokens", provider.default_max_tokens),
    )
    acting = asked.acting
    flow = converse(
        request,
        shape,
        retry=chosen.get("retry", _RETRY),
        repair=chosen.get("repair", 0),
        meter=None if acting is None else acting.meter,
        tools=None if acting is None else acting.tools,
        tell=None if acting is None else acting.tell,
    )
    return Question(flow, provider, request, shape, asked)


def check_ask(
    t: Any, *, bound: Mapping[str, Any], given: Mapping[str, Any], caller: Caller
) -> None:
    """Raise what would be wrong with an ask whatever its prompt is; see `question`."""
    _Asked(t, "?", bound, dict(given), caller).shaped("open")


class _Asked:
    """
    What is asked, before it is known who is asked; see `question`.

    Attributes:
        acting: What an ask that acts has; None for most asks, which do not.
        chosen: The settings in force, by name.
        toolbox: The tools that may be called; None for none.
    """

    __slots__ = (
        "_caller",
        "_keyed",
        "_limit",
        "_sample",
        "_t",
        "_text",
        "_types",
        "_values",
        "acting",
        "chosen",
        "toolbox",
    )

    def __init__(
        self,
        t: Any,
        prompt: Any,
        bound: Mapping[str, Any],
        given: dict[str, Any],
        caller: Caller,
        limit: Limit | None = None,
    ) -> None:
        context, attach = given.pop("context", None), given.pop("attach", None)
        self._t, self._types = t, given.pop("types", None)
        self._sample = given.pop("sample", None)
        self._caller, self._limit = caller, limit
        call = merged(bound, checked(given)) if bound else checked(given)
        if self._sample is not None and not isinstance(self._sample, str | int):
            raise TypeError(f"sample must be a text or a whole number, not {self._sample!r:.80}")
        if isinstance(self._sample, str):
            _check_said("sample", self._sample)
        settings = resolve(call)
        self.chosen, self._keyed = settings.values, settings.chosen
        self.acting = _acting(self.chosen, attach)
        self.toolbox = None if self.acting is None else self.acting.tools
        handles = None if self.toolbox is None else self.toolbox.handles
        self._text, self._values = say(prompt, context, handles)
        if self._values or not self._text.isascii():
            _check_text(self._text, self._values)

    def live(self) -> tuple[Provider, Shape, Request]:
        """Return the provider, T in its dialect, and what it is asked."""
        provider, model = self._found()
        shape = self.shaped(provider.dialect)
        if self.toolbox is not None:
            self.toolbox.dialect = provider.dialect
        request = self._request(provider.name, model, shape, provider.dialect)
        return provider, shape, request

    def recorded(self, recorder: Any) -> tuple[Provider, Shape, Request]:
        """
        Return what stands in front of the provider, T as it reads replies, and what it is asked.

        The key of a recording is that of the request as it was named: no provider is found for it.
        """
        name, model = _named(self.chosen.get("model"))
        shape = self.shaped("open")
        request = self._request(name, model, shape, "open")
        take: Any = recorder.begin(request, self._caller.site, self._found)
        if take.dialect != "open":
            shape = self.shaped(take.dialect)
        if self.toolbox is not None:
            self.toolbox.dialect = take.dialect
            complete(request, tools=self.toolbox.declarations(take.dialect))
        take.shape, take.shaped = shape, self.shaped
        take.tools = self.toolbox
        if take.model is not None and "model" not in request.keyed:
            complete(request, model=take.model)
        return take, shape, request

    def _found(self) -> tuple[Provider, str]:
        get = self.chosen.get
        found, model = _registry.find_provider(
            get("model"), base_url=get("base_url"), api_key=get("api_key")
        )
        seen = found.for_ask(self)
        model = model if seen is found else seen.default_model
        if self._limit is None or found in _registry.in_force():
            return seen, model  # a script that stands in has no limits
        return self._limit(found, seen), model

    @property
    def constrain(self) -> str:
        """Whether the server must hold the model to T."""
        return str(self.chosen.get("constrain", "auto"))

    def described(self) -> Request:
        """Return what is asked, T and the tools in no vendor's dialect."""
        name, model = _named(self.chosen.get("model"))
        return self._request(name, model, self.shaped("open"), "open")

    def shaped(self, dialect: str) -> Shape:
        """Return T in *dialect*."""
        said = "prompt" if self.chosen.get("constrain") == "prompt" else dialect
        files = self.acting is not None and self.acting.files
        return _shapes()(self._t, said, types=self._types, namespace=self._caller, files=files)

    def _request(self, provider: str, model: str, shape: Shape, dialect: str) -> Request:
        get = self.chosen.get
        attached = () if self.acting is None else self.acting.attachments
        return Request(
            provider=provider,
            model=model,
            target=shape.descriptor,
            prompt=self._text,
            system=get("system"),
            context=self._values,
            tools=() if self.toolbox is None else self.toolbox.declarations(dialect),
            attachments=attached,
            max_tokens=get("max_tokens"),
            temperature=get("temperature"),
            seed=get("seed"),
            params=get("params", {}),
            timeout=get("timeout"),
            sample=self._sample,
            keyed=self._keyed,
        )


@cache
def _shapes() -> Callable[..., Shape]:
    """Give `shape_of`: it stands on pydantic, which `import ingot` must not load."""
    from ingot._shape.shape import shape_of

    return shape_of


_ACTS = frozenset(
    ("tools", "deps", "workspace", "budget", "policy", "approve", "on_event", "raise_errors")
)


def _acting(chosen: Mapping[str, Any], attach: Any) -> Acting | None:
    if attach is None and _ACTS.isdisjoint(chosen) and not open_ledgers():
        return None
    from ingot._acting import acting  # which most asks do without

    return acting(chosen, attach)


_encode = encoder()


def _check_text(text: str, values: tuple[tuple[str, Any], ...]) -> None:
    """Refuse what no request can carry."""
    for what, said in (("the prompt", text), *((f"the context value {n!r}", v) for n, v in values)):
        if isinstance(said, str) and said.isascii():
            continue
        _check_said(what, said)


def _check_said(what: str, said: Any) -> None:
    try:
        (said if isinstance(said, str) else _encode(said)).encode()
    except UnicodeEncodeError:
        raise PromptError(f"{what} holds half of a surrogate pair, which is no text") from None
    except RecursionError:
        raise PromptError(f"{what} is nested too deeply") from None


def _recorder(chosen: Mapping[str, Any]) -> Any:
    """The cassette in force: the one that was set, else the one that is open and not covered."""
    given = chosen.get("cassette")
    stack = _registry.in_force()
    if isinstance(given, str) and any(getattr(one, "whole_path", None) == given for one in stack):
        given = None  # a test's own, which its children find in the environment
    if given is None and stack and hasattr(stack[-1], "begin"):
        given = stack[-1]
        if given.automatic and not _is_nameable(chosen.get("model")):
            return None
    if isinstance(given, str):
        from ingot.cassette.ambient import cassette_at

        given = cassette_at(given)
    return None if given is None or given.mode == "live" else given


def _is_nameable(model: Any) -> bool:
    """Whether it is the registry that finds who is asked, and no script stands in."""
    scripted = any(not hasattr(one, "begin") for one in _registry.in_force())
    return not scripted and (model is None or isinstance(model, str) or model.is_named)


def _named(model: Any) -> tuple[str, str]:
    """Provider and model as they were named, without finding either."""
    if model is None:
        return "", UNNAMED
    if not isinstance(model, str):
        return model.name, model.default_model
    provider, _, name = model.partition("/")
    return provider, name


def merged(bound: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return *bound* overlaid with *given*; vendor-specific extras are merged by name."""
    out = {**bound, **given}
    if "params" in bound and "params" in given:
        out["params"] = {**bound["params"], **given["params"]}
    return out


def arguments(args: tuple[Any, ...], t: Any, unset: object, *, of: str = "ask") -> tuple[Any, Any]:
    """
    Tell type and prompt apart in the positional arguments of a call of `ask`, or of `map`.

    Raises:
        TypeError: There are too few or too many.
    """
    if t is not unset and len(args) == 1:
        return t, args[0]
    if t is unset and len(args) == 2:
        return args[0], args[1]
    prompt, written = _WRITTEN[of]
    wanted = prompt if t is not unset else f"a type and {prompt}"
    count = counted(len(args), "positional argument")
    raise TypeError(f"{of} takes {wanted}, and settings by name, but got {count}; write {written}")


_WRITTEN = {
    "ask": ("a prompt", "ask(list[str], prompt) or ask[list[str]](prompt)"),
    "map": ("prompts", "ask.map(list[str], prompts) or ask[list[str]].map(prompts)"),
}
