"""What is there to ask with: a survey that sends nothing and shows no key."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ingot import _registry
from ingot._config import SETTINGS, resolve
from ingot._redact import redact
from ingot.cli import show
from ingot.cli.exits import told
from ingot.cli.extras import DISTRIBUTION, Extra, installed_extras, version_of
from ingot.cli.weights import Weights, weights_of
from ingot.errors import IngotError
from ingot.provider import SDKProvider

__all__ = ["Survey", "show_survey", "survey"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """
    A provider that a plugin announces.

    Attributes:
        name: Its name.
        default_model: The model that is asked when none is named; None if the plugin is broken.
        obstacle: Why it cannot be asked; None when it can.
        keys: Whether each variable of its key is set.
        base_url: Where its variable says that its server is; None for the vendor's own.
    """

    name: str
    default_model: str | None
    obstacle: str | None
    keys: dict[str, bool]
    base_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """
    The model that is asked when a call names none.

    Attributes:
        model: `provider/model`; None when there is none.
        why: Why it is that one.
        obstacle: Why it cannot be asked; None when it can.
    """

    model: str | None
    why: str
    obstacle: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """
    A setting that is set.

    Attributes:
        name: Its name.
        value: Its value as text; that of a key is `set`.
        source: The variable or the file that sets it.
    """

    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """
    What is there to ask with.

    Attributes:
        versions: Of ingot, Python and pydantic.
        extras: All extras.
        providers: All providers that are announced.
        project_file: The file whose `[tool.ingot]` counts; None when there is none.
        settings: What the environment and that file set.
        chosen: The model that is asked when a call names none.
        weights: The weights of the local model.
        ready: Whether `ask` works without further ado.
    """

    versions: dict[str, str]
    extras: tuple[Extra, ...]
    providers: tuple[Announced, ...]
    project_file: str | None
    settings: tuple[InForce, ...]
    chosen: Chosen
    weights: Weights
    ready: bool


def survey() -> Survey:
    """Look around."""
    file = _project_file()
    providers = tuple(_announced(name) for name in sorted(_registry.installed()))
    try:
        resolved = resolve({})
    except IngotError as error:
        settings: tuple[InForce, ...] = ()
        chosen = Chosen(model=None, why="a setting is of the wrong kind", obstacle=told(error))
    else:
        settings = tuple(
            _in_force(name, value, file if name in resolved.chosen else None)
            for name, value in resolved.values.items()
        )
        chosen = _chosen(resolved.values, {one.name: one for one in settings}, providers)
    return Survey(
        versions={
            "ingot": version_of(DISTRIBUTION) or "not installed; this runs from its source",
            "python": platform.python_version(),
            "pydantic": version_of("pydantic") or "not installed",
        },
        extras=installed_extras(),
        providers=providers,
        project_file=file,
        settings=settings,
        chosen=chosen,
        weights=weights_of("smollm2"),
        ready=chosen.obstacle is None,
    )


# Providers


def _announced(name: str) -> Announced:
    try:
        cls = _registry.provider_class(name)
        obstacle, default = cls.obstacle(), cls.default_model
        if name == "local" and obstacle is None:
            obstacle = weights_of("smollm2").obstacle
    except Exception as error:
        return Announced(
            name=name, default_model=None, obstacle=_told(error), keys={}, base_url=None
        )
    variables: tuple[str, ...] = getattr(cls, "key_variables", ())
    url = os.environ.get(getattr(cls, "url_variable", None) or "")
    return Announced(
        name=name,
        default_model=default,
        obstacle=obstacle,
        keys={variable: bool(os.environ.get(variable)) for variable in variables},
        base_url=_address(url) if url else None,
    )


def _chosen(values: Any, settings: dict[str, InForce], providers: tuple[Announced, ...]) -> Chosen:
    named = values.get("model")
    if named is None:
        try:
            model, why = _registry.unnamed()
        except Exception as error:
            return Chosen(model=None, why="none is configured", obstacle=_told(error))
        local = model.startswith("local/")
        return Chosen(
            model=model, why=why, obstacle=weights_of("smollm2").obstacle if local else None
        )
    why = f"named by {settings['model'].source}"
    name, _, rest = str(named).partition("/")
    try:
        provider, _ = _registry.find_provider(
            named, base_url=values.get("base_url"), api_key=values.get("api_key")
        )
        obstacle = next((one.obstacle for one in providers if one.name == name), None)
        if name == "local":
            obstacle = type(provider).obstacle() or weights_of(rest).obstacle
        elif obstacle and isinstance(provider, SDKProvider) and provider.installed():
            # A key of ingot's own variable, or a server that wants none; making a client tells.
            provider.connect(awaiting=False)
            obstacle = None
    except Exception as error:  # a plugin of someone else
        obstacle = _told(error)
    return Chosen(model=str(named), why=why, obstacle=obstacle)


def _told(error: Exception) -> str:
    return told(error) if isinstance(error, IngotError) else f"{type(error).__name__}: {error}"


# Settings


def _project_file() -> str | None:
    try:
        here = Path.cwd()
    except OSError:
        return None
    for folder in (here, *here.parents):
        path = folder / "pyproject.toml"
        if os.path.isfile(path):  # noqa: PTH113 (the method raises where one may not look)
            return str(path)
    return None


def _in_force(name: str, value: Any, file: str | None) -> InForce:
    source = f"[tool.ingot] of {file}" if file else SETTINGS[name].variable or "the environment"
    return InForce(name=name, value=_shown(name, value), source=source)


def _shown(name: str, value: Any) -> str:
    """The value as text, without what might be a secret or fill the screen."""
    if name == "api_key":
        return "set"
    if name == "params":
        return ", ".join(value) or "none"
    if name == "base_url":
        return _address(value)
    if name == "retry":
        return str(value.attempts - 1)
    text = " ".join(redact(str(value)).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def _address(url: str) -> str:
    """The address without user, password and query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "malformed"
    return (
        f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}" if parts.netloc else "set"
    )


# Showing


def show_survey(found: Survey, *, whole: bool) -> None:
    """
    Print *found*.

    Args:
        found: What was found.
        whole: Print it as JSON.
    """
    if whole:
        show.tree(asdict(found))
        return
    show.table("Versions", (), list(found.versions.items()))
    if found.extras:
        show.table("Extras", (), [_extra_row(extra) for extra in found.extras])
    if found.providers:
        show.table("Providers", (), [_provider_row(one) for one in found.providers])
    else:
        show.table("Providers", (), [("none", f"is announced; pip install {DISTRIBUTION}")])
    rows = [(one.name, one.value, one.source) for one in found.settings]
    where = f"no {'other ' if rows else ''}setting in the environment"
    where += f" or in [tool.ingot] of {found.project_file}" if found.project_file else ""
    show.table("Settings", (), [*rows, ("–", where, "")])
    show.table(
        "Weights of the local model", (), [(found.weights.path or found.weights.obstacle or "",)]
    )
    show.table("Asked when no model is named", (), _chosen_rows(found.chosen))


def _extra_row(extra: Extra) -> tuple[str, str, str]:
    there = ", ".join(f"{name} {there}" for name, there in extra.packages.items() if there)
    return (
        extra.name,
        there or "–",
        f"{extra.lacking}: {extra.command}" if extra.lacking else "ok",
    )


def _provider_row(one: Announced) -> tuple[str, str, str]:
    keys = ", ".join(f"{name} {'set' if there else 'not set'}" for name, there in one.keys.items())
    more = [keys, f"at {one.base_url}" if one.base_url else ""]
    return (one.name, one.obstacle or "ready", "; ".join(filter(None, more)))


def _chosen_rows(chosen: Chosen) -> list[tuple[str]]:
    rows = [(f"{chosen.model or 'nothing'}: {chosen.why}",)]
    return rows if chosen.obstacle is None else [*rows, (f"cannot be asked: {chosen.obstacle}",)]
