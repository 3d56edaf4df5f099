"""Which provider a model string means, and which model is asked when none is named."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ingot._spelling import nearest
from ingot.errors import NotConfiguredError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from ingot.provider import Provider

__all__ = [
    "GROUP",
    "announced",
    "enter",
    "find_provider",
    "in_force",
    "installed",
    "leave",
    "parts_of",
    "provider_class",
    "unnamed",
]

GROUP = "ingot.providers"
"""The entry-point group in which plugins announce their providers."""

_PREFERRED = ("anthropic", "openai", "local")
"""Order in which providers are considered when no model is named."""

_KEPT = 64

_lock = threading.Lock()
_made: OrderedDict[tuple[str, str | None, str | None], Provider] = OrderedDict()
stand_ins: list[Any] = []
"""Scripts, which stand in for all providers, and cassettes, which stand before them; last first."""

_entered: ContextVar[tuple[Any, ...]] = ContextVar("ingot_entered", default=())


def enter(stand_in: Any) -> None:
    """Let *stand_in* stand in from now on."""
    stand_ins.append(stand_in)
    _entered.set((*_entered.get(), stand_in))


def leave(stand_in: Any) -> None:
    """Let *stand_in* stand in no more."""
    stand_ins.remove(stand_in)
    _entered.set(tuple(one for one in _entered.get() if one is not stand_in))


def in_force() -> list[Any]:
    """
    Return what stands in here, the one that is asked last.

    What this thread or task opened, or the one that started it, goes before what others did: a
    worker that opened nothing finds what is open, and two that opened each their own find that.
    """
    own = list(_entered.get())
    if not own or own == stand_ins:
        return stand_ins
    own = [one for one in own if one in stand_ins]
    return [*(one for one in stand_ins if one not in own), *own]


@lru_cache(maxsize=1)
def installed() -> dict[str, EntryPoint]:
    """Entry points of all installed providers, by name."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


def announced(name: str) -> EntryPoint:
    """
    Return the entry point of the provider *name*.

    Raises:
        NotConfiguredError: No plugin announced it.
    """
    points = installed()
    if name not in points:
        known = ", ".join(sorted(points)) or "none"
        raise NotConfiguredError(
            f"there is no provider {name!r}{nearest(name, points)}", advice=f"installed: {known}"
        )
    return points[name]


def provider_class(name: str) -> Any:
    """
    Return what the plugin announced as *name*.

    Raises:
        NotConfiguredError: No plugin did, or it does not import.
    """
    point = announced(name)
    try:
        return point.load()
    except Exception as error:
        raise NotConfiguredError(
            f"the plugin of provider {name!r} does not load: {type(error).__name__}: {error}"
        ) from error


def find_provider(
    model: str | Provider | None, *, base_url: str | None = None, api_key: str | None = None
) -> tuple[Provider, str]:
    """
    Return the provider that *model* means, and the model in the vendor's word.

    Args:
        model: `provider/model`; or a provider, whose default model is asked; or None for the
            default of what is configured here.
        base_url: Where the server is; None for the vendor's.
        api_key: The key; None for the vendor's environment variable.

    Raises:
        NotConfiguredError: There is no such provider, the text is malformed, or nothing is
            configured.
    """
    found = next((one for one in reversed(in_force()) if not hasattr(one, "begin")), None)
    if found is not None:
        return found, model.partition("/")[2] if isinstance(model, str) else found.default_model
    if model is None:
        model, _ = unnamed()
    if not isinstance(model, str):
        return model, model.default_model
    name, rest = parts_of(model)
    key = (name, base_url, api_key)
    provider = _made.get(key)
    if provider is None:
        with _lock:
            provider = _made.get(key)
            if provider is None:
                provider = provider_class(name)(base_url=base_url, api_key=api_key)
                _made[key] = provider
                while len(_made) > _KEPT:
                    _made.popitem(last=False)
    return provider, rest


def parts_of(model: str) -> tuple[str, str]:
    """
    Return the provider's name in *model*, and the model in the vendor's word.

    Raises:
        NotConfiguredError: The text is malformed.
    """
    name, slash, rest = model.partition("/")
    if not slash or not name or not rest.strip():
        known = installed()
        example = f"{name}/…" if name in known else "openai/gpt-5.4-mini"
        raise NotConfiguredError(
            f"{model!r} does not name a model; write provider/model, such as {example!r}",
            advice=f"installed providers: {', '.join(sorted(known)) or 'none'}",
        )
    return name, rest


def unnamed() -> tuple[str, str]:
    """
    Return the model that is asked when none is named, and why it is that one.

    Raises:
        NotConfiguredError: Nothing is configured; the ways out are listed.
    """
    obstacles: list[str] = []
    ready: list[str] = []
    for name in _PREFERRED:
        if name not in installed():
            continue
        cls = provider_class(name)
        obstacle = cls.obstacle()
        if obstacle is None:
            ready.append(name)
        else:
            obstacles.append(f"{name}: {obstacle}")
    if ready:
        name = ready[0]
        return f"{name}/{provider_class(name).default_model}", _why(name, ready)
    raise NotConfiguredError(
        "no model is named and none is configured "
        f"({'; '.join(obstacles) or 'no provider is installed'})",
        advice=(
            "set ANTHROPIC_API_KEY or OPENAI_API_KEY and install the vendor's extra, or "
            "pip install 'ingot-ask[local]' and run `ingot model pull`, "
            "or pass model='provider/model'"
        ),
    )


def _why(name: str, ready: list[str]) -> str:
    if name == "local":
        return "no vendor's key is in the environment, and the local model's extra is installed"
    others = [other for other in ready[1:] if other != "local"]
    also = f" (that of {', '.join(others)} too; {name} goes first)" if others else ""
    return f"its key is in the environment{also}"
