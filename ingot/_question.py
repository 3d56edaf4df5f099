"""One ask, made ready: settings, provider, shape and request; nothing is sent here."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ingot import _registry
from ingot._config import checked, resolve
from ingot._flow import converse
from ingot._json import encoder
from ingot._prompt import say
from ingot._request import Request, complete
from ingot._retry import Retry
from ingot.errors import PromptError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    from ingot._flow import Flow
    from ingot._shape.shape import Shape
    from ingot.provider import Provider

__all__ = ["Caller", "Question", "question"]

_RETRY = Retry()


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
    """

    flow: Flow
    provider: Provider
    request: Request


def question(
    t: Any,
    prompt: Any,
    *,
    bound: Mapping[str, Any],
    given: dict[str, Any],
    caller: Caller,
) -> Question:
    """
    Make one ask ready.

    Args:
        t: The type, or an Ingot type name.
        prompt: Text or a template string.
        bound: Settings of `using`, checked.
        given: Keywords of the call: settings, *context*, *types* and *sample*.
        caller: Who asks.

    Raises:
        TypeError: A keyword is no setting, or a setting is of the wrong kind.
        PromptError: The prompt is empty or cannot be said.
        UnsupportedTypeError: *t* cannot be asked for.
        NotConfiguredError: There is nothing to ask with.
    """
    context, types = given.pop("context", None), given.pop("types", None)
    sample = given.pop("sample", None)
    call = merged(bound, checked(given)) if given else bound
    if sample is not None and not isinstance(sample, str | int):
        raise TypeError(f"sample must be a text or a whole number, not {sample!r:.80}")
    text, values = say(prompt, context)
    _check_text(text, values)
    settings = resolve(call)
    chosen = settings.values
    named = chosen.get("model")

    def find() -> tuple[Provider, str]:
        return _registry.find_provider(
            named, base_url=chosen.get("base_url"), api_key=chosen.get("api_key")
        )

    # Imported at the first ask: the shape room stands on pydantic, which `import ingot` must not
    # load.
    from ingot._shape.shape import shape_of

    constrain = chosen.get("constrain", "auto")

    def shaped(dialect: str) -> Shape:
        said = "prompt" if constrain == "prompt" else dialect
        return shape_of(t, said, types=types, namespace=caller)

    def made(provider: str, model: str, shape: Shape) -> Request:
        return Request(
            provider=provider,
            model=model,
            target=shape.descriptor,
            prompt=text,
            system=chosen.get("system"),
            context=values,
            max_tokens=chosen.get("max_tokens"),
            temperature=chosen.get("temperature"),
            seed=chosen.get("seed"),
            params=chosen.get("params", {}),
            timeout=chosen.get("timeout"),
            sample=sample,
            keyed=settings.chosen,
        )

    recorder = _recorder(chosen)
    provider: Any
    if recorder is None:
        provider, model = find()
        shape = shaped(provider.dialect)
        request = made(provider.name, model, shape)
    else:
        name, model = _named(named)
        shape = shaped("open")
        request = made(name, model, shape)
        provider = recorder.begin(request, caller.site, find)
        if provider.dialect != "open":
            shape = shaped(provider.dialect)
        provider.shape, provider.shaped = shape, shaped
    if constrain == "strict" and shape.kind == "schema" and not shape.constrained:
        raise shape.refuse()
    complete(
        request,
        provider=provider.name,
        format=shape.format(shown=provider.show_schema),
        max_tokens=chosen.get("max_tokens", provider.default_max_tokens),
    )
    flow = converse(
        request, shape, retry=chosen.get("retry", _RETRY), repair=chosen.get("repair", 0)
    )
    return Question(flow, provider, request)


_encode = encoder()


def _check_text(text: str, values: tuple[tuple[str, Any], ...]) -> None:
    """Refuse what no request can carry."""
    for what, said in (("the prompt", text), *((f"the context value {n!r}", v) for n, v in values)):
        if isinstance(said, str) and said.isascii():
            continue
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
    """Whether it was left to the registry who is asked, and no script stands in."""
    scripted = any(not hasattr(one, "begin") for one in _registry.in_force())
    return not scripted and (model is None or isinstance(model, str))


def _named(model: Any) -> tuple[str, str]:
    """Provider and model as they were named, without finding either."""
    if model is None:
        return "", "default"
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


def arguments(args: tuple[Any, ...], t: Any, unset: object) -> tuple[Any, Any]:
    """
    Tell type and prompt apart in the positional arguments of a call.

    Raises:
        TypeError: There are too few or too many.
    """
    if t is not unset and len(args) == 1:
        return t, args[0]
    if t is unset and len(args) == 2:
        return args[0], args[1]
    wanted = "a prompt" if t is not unset else "a type and a prompt"
    count = f"{len(args)} positional argument{'s' if len(args) != 1 else ''}"
    raise TypeError(
        f"ask takes {wanted}, and settings by name, but got {count}; "
        "write ask(list[str], prompt) or ask[list[str]](prompt)"
    )
