"""Cassettes whose test is gone; silent wherever that cannot be known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingot._pytest.options import Options
    from ingot._pytest.places import Places

__all__ = ["Collected"]

_PARTIAL = ("keyword", "markexpr", "lf", "failedfirst", "stepwise", "deselect", "pyargs")
"""Options with which less is collected than there is, or by which one looks for something else."""


class Collected:
    """
    What was collected, before anything was deselected.

    Attributes:
        items: The tests.
        modules: Node ids of the modules that were imported and asked for their tests.
        is_whole: Whether nothing kept pytest from collecting all there is.
    """

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []
        self.modules: set[str] = set()
        self.is_whole = True

    def note(self, report: pytest.CollectReport) -> None:
        """Learn how the collection of one node went."""
        if report.failed:
            self.is_whole = False
        elif report.passed and report.nodeid and "::" not in report.nodeid:
            self.modules.add(report.nodeid)

    def orphans(
        self, session: pytest.Session, options: Options, places: Places, named: Iterable[Path]
    ) -> list[tuple[Path, str]]:
        """
        Return cassettes whose test is gone, each with the test that it was made for.

        Args:
            session: The run.
            options: What holds for it.
            places: The files of its tests.
            named: Files that several tests share.
        """
        folders = self._folders(session.config)
        if folders is None or session.shouldstop or session.shouldfail:
            return []
        if not options.base.is_dir():
            return []
        known = {places.test(item) for item in self.items} | set(named)
        known |= {places.module(module) for module in self.modules}
        modules = {places.folder(module) for module in self.modules}
        fixtures = self._fixtures(session)
        found: list[tuple[Path, str]] = []
        for path in sorted(options.base.rglob("*.json")):
            if path in known:
                continue
            test, fixture = _head(path)
            if test is None or (fixture is not None and (fixtures is None or fixture in fixtures)):
                continue
            module = options.root / test.partition("::")[0]
            if not any(module.is_relative_to(folder) for folder in folders):
                continue
            if path.parent in modules or not module.exists():
                found.append((path, test if fixture is None else f"{test}, fixture {fixture}"))
        return found

    def _folders(self, config: pytest.Config) -> list[Path] | None:
        """The folders that were collected whole; None if anything else was asked for."""
        given: Any = config.option
        if not self.is_whole or any(getattr(given, name, None) for name in _PARTIAL):
            return None
        here = config.invocation_params.dir
        folders = [Path(str(here / arg.partition("::")[0])) for arg in config.args]
        whole = all("::" not in arg for arg in config.args)
        return folders if whole and all(folder.is_dir() for folder in folders) else None

    def _fixtures(self, session: pytest.Session) -> set[str] | None:
        """Names of all fixtures; None if this pytest does not tell."""
        manager = getattr(session, "_fixturemanager", None)
        known: Any = getattr(manager, "_arg2fixturedefs", None)
        return None if known is None else set(known)


def _head(path: Path) -> tuple[str | None, str | None]:
    """The test, and the fixture, that a cassette says it was made for."""
    try:
        value: Any = json.loads(path.read_bytes())
        test, fixture = value.get("test"), value.get("fixture")
    except (OSError, ValueError, AttributeError):
        return None, None
    return test if isinstance(test, str) else None, fixture if isinstance(fixture, str) else None
