"""The settings in force: the one place where each is checked and read."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ingot._json import is_object
from ingot._settings import SETTINGS, Setting
from ingot._spelling import nearest
from ingot.errors import NotConfiguredError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["OF_A_MAP", "SETTINGS", "Resolved", "Setting", "checked", "resolve"]


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """
    Check settings that a caller passes; None means not set.

    Raises:
        TypeError: There is no such setting (the nearest one is named), or the value is of the wrong
            kind.
    """
    out: dict[str, Any] = {}
    for name, value in given.items():
        setting = SETTINGS.get(name)
        if name in OF_A_MAP:
            raise TypeError(f"{name} belongs to map: ask.map(T, prompts, {name}=…)")
        if setting is None and name in _OF_A_CALL:
            raise TypeError(f"{name} belongs to a call, ask(T, prompt, {name}=…), not to using")
        if setting is None:
            raise TypeError(
                f"there is no setting {name!r}{nearest(name, [*SETTINGS, *_OF_A_CALL])}; "
                f"values for the prompt go into context={{{name!r}: …}}"
            )
        if value is None:
            continue
        try:
            out[name] = setting.check(value)
        except ValueError as error:
            # A key or password must not be shown even where it is malformed.
            found = "" if name in _SECRET else f", not {value!r:.80}"
            raise TypeError(f"{name} must be {error}{found}") from None
    return out


class Resolved(NamedTuple):
    """
    The settings in force for one ask.

    Attributes:
        values: By name; what nobody set is missing.
        chosen: Names of those that the caller or the project file set, as against the environment.
    """

    values: Mapping[str, Any]
    chosen: frozenset[str]


def resolve(call: Mapping[str, Any]) -> Resolved:
    """
    Return the settings in force: the call's, then the environment's, then the project file's.

    Args:
        call: What the call and `using` set, checked and merged.

    Raises:
        NotConfiguredError: The environment or the file holds a value of the wrong kind; it is
            named.
    """
    file = _file(_here())
    ambient = _environment()
    if not file and not ambient:
        return Resolved(call, frozenset(call))
    if ("base_url" in ambient or "api_key" in ambient) and not _is_meant(ambient, call, file):
        ambient = {k: v for k, v in ambient.items() if k not in ("base_url", "api_key")}
    values = {**file, **ambient, **call}
    chosen = frozenset(call) | (frozenset(file) - frozenset(ambient))
    return Resolved(values, chosen)


def _is_meant(ambient: Mapping[str, Any], call: Mapping[str, Any], file: Mapping[str, Any]) -> bool:
    """
    Whether a key and an address of the environment belong to the model that will be asked.

    Not where the environment names another provider, nor where only a file names one: a folder
    opened by chance must not lead a key to where it was not meant to go.
    """
    ours, asked = ambient.get("model"), call.get("model")
    if asked is None:
        return ours is not None or "model" not in file
    if not isinstance(asked, str) or not isinstance(ours, str):
        return True
    return asked.partition("/")[0] == ours.partition("/")[0]


def _environment() -> dict[str, Any]:
    out: dict[str, Any] = {}
    # To ask `os.environ` for each takes as long as all the rest of an ask that is played.
    raw: Any = getattr(os.environ, "_data", None)
    if raw is not None and raw.keys().isdisjoint(_VARIABLES):
        return out
    for setting in _VARIABLES.values():
        text = os.environ.get(setting.variable or "")
        if setting.parse is None or not text:
            continue
        try:
            parsed = setting.parse(text)
        except ValueError:
            parsed = _MALFORMED
        try:
            out[setting.name] = setting.check(parsed)
        except ValueError as error:
            wanted = f"of type {setting.type}" if parsed is _MALFORMED else str(error)
            found = "" if setting.name in _SECRET else f", not {text!r:.80}"
            raise NotConfiguredError(
                f"the environment variable {setting.variable} must be {wanted}{found}"
            ) from None
    return out


_VARIABLES: dict[Any, Setting] = {
    getattr(os.environ, "encodekey", str)(setting.variable): setting
    for setting in SETTINGS.values()
    if setting.variable is not None
}
"""Settings by their variables, named as `os.environ` does it inside."""

_MALFORMED = object()
"""Stands for the value of a variable that cannot be read as what it should be."""


def _here() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 (a text is the key of a cache)
    except OSError:
        # The folder was deleted under this process.
        return None


@lru_cache(maxsize=64)
def _file(folder: str | None) -> dict[str, Any]:
    """Settings of `[tool.ingot]` in the nearest pyproject.toml at or above *folder*."""
    from pathlib import Path

    if folder is None:
        return {}
    here = Path(folder)
    for parent in (here, *here.parents):
        path = parent / "pyproject.toml"
        # Unlike the method of a path, this is no error where one may not look.
        if os.path.isfile(path):  # noqa: PTH113
            return _read(path)
    return {}


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        tool = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except OSError as error:
        raise NotConfiguredError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise NotConfiguredError(f"{path} is no valid TOML: {error!s:.200}") from None
    table: Any = tool.get("ingot", {}) if is_object(tool) else {}
    out: dict[str, Any] = {}
    allowed = [name for name, setting in SETTINGS.items() if setting.file]
    if not is_object(table):
        raise NotConfiguredError(f"{path}: tool.ingot must be a table")
    for name, value in table.items():
        if name in _OTHER_TABLES:
            continue
        if name in SETTINGS and SETTINGS[name].variable is None and name not in allowed:
            raise NotConfiguredError(
                f"{path}: [tool.ingot] may not set {name}, which no file can hold",
                advice=f"pass {name}=…",
            )
        if name in SETTINGS and name not in allowed:
            raise NotConfiguredError(
                f"{path}: [tool.ingot] may not set {name}: "
                "a folder opened by chance must not redirect a key",
                advice=f"set {SETTINGS[name].variable} in the environment, or pass {name}=…",
            )
        if name not in SETTINGS:
            raise NotConfiguredError(
                f"{path}: [tool.ingot] has no setting {name!r}{nearest(name, allowed)}"
            )
        if name == "model" and str(value).startswith(_RUNS):
            raise NotConfiguredError(
                f"{path}: [tool.ingot] model may not name a program to run: "
                "a folder opened by chance must not run one",
                advice=f"set {SETTINGS[name].variable} in the environment, or pass model=…",
            )
        try:
            out[name] = SETTINGS[name].check(value)
        except ValueError as error:
            raise NotConfiguredError(
                f"{path}: [tool.ingot] {name} must be {error}, not {value!r:.80}"
            ) from None
    return out


_RUNS = "exec/"
"""Begins the models that are programs."""

_SECRET = ("api_key", "base_url")
"""Settings that may hold what must not be shown."""

_OF_A_CALL = ("context", "types", "sample", "attach")
"""What a call takes beside settings."""

OF_A_MAP = ("concurrency", "on_error", "ordered", "progress", "rate", "store")
"""What a map takes beside what a call takes."""

_OTHER_TABLES = frozenset({"cassette", "pytest"})
"""Tables of `[tool.ingot]` that other rooms read."""
