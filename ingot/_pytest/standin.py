"""What stands before the providers while a test runs; it becomes a cassette when first asked."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ingot import _registry

if TYPE_CHECKING:
    from pathlib import Path

    from ingot._pytest.options import Mark, Options
    from ingot._request import Request
    from ingot.cassette.ledger import Entry
    from ingot.cassette.recorder import Cassette
    from ingot.cassette.take import Find, Take

__all__ = ["StandIn"]

_VARIABLES = ("INGOT_CASSETTE", "INGOT_CASSETTE_MODE", "INGOT_CASSETTE_LEDGER")
_NAMED = "ingot.cassette.ambient"
"""The module of cassettes that are named by a path; imported when the first of them is."""

_MOST = 2 * 1024 * 1024
_DRIFTED = {"missed": "drifted", "ambiguous": "drifted", "drifted": "drifted", "secret": "refused"}


class StandIn:
    """
    The cassette of one test, fixture or module, made when it is first needed.

    Attributes:
        is_used: Whether it was needed.
        counts: How often what happened.
        entries: The questions.

    Args:
        path: Its file.
        mode: Its mode.
        about: What is written at its head.
        options: What holds for the whole run.
        only: With `refresh`, what is asked anew.
        mark: What the marker of the test says; None where there is no test.
    """

    automatic = True
    """It stands aside for whatever provider is passed; see `ingot._question`."""

    def __init__(
        self,
        path: Path,
        mode: str,
        about: dict[str, str],
        options: Options,
        *,
        only: str | None = None,
        mark: Mark | None = None,
    ) -> None:
        self.path = path
        self.whole_path = str(path)
        self.mode = mode
        self.about = about
        self.shared = mark is not None and mark.cassette is not None
        self._mark = mark
        self._only = only
        self._human = options.human
        self._most = max(_MOST, options.large)
        self._cassette: Cassette | None = None
        self._lock = threading.Lock()
        self._before: list[str | None] | None = None
        self._ledger = os.path.join(  # noqa: PTH118 (once for each test)
            tempfile.gettempdir(), f"ingot-{os.getpid()}-{id(self):x}"
        )
        self._told = 0
        self._seen = 0
        self._own: list[Entry] = []
        self.is_used = False
        self.counts: Counter[str] = Counter()
        self.entries: list[Entry] = []

    # While it stands

    def enter(self) -> None:
        """Stand before the providers, of this process and of those that it starts."""
        _registry.stand_ins.append(self)
        environ = os.environ
        self._before = [environ.get(name) for name in _VARIABLES]
        environ[_VARIABLES[0]] = self.whole_path
        environ[_VARIABLES[1]] = self.mode
        environ[_VARIABLES[2]] = self._ledger
        if self.mode == "live":
            del environ[_VARIABLES[0]]

    def leave(self) -> None:
        """Stand no longer; to do so twice does no harm."""
        if self._before is None:
            return
        _registry.stand_ins.remove(self)
        for name, value in zip(_VARIABLES, self._before, strict=True):
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._before = None

    def begin(self, request: Request, site: str, find: Find) -> Take:
        """Take the number of one ask; see `Cassette`."""
        return self.cassette.begin(request, site, find)

    @property
    def cassette(self) -> Cassette:
        """The cassette."""
        if self._cassette is None:
            with self._lock:
                if self._cassette is None:
                    self._cassette = self._made()
        return self._cassette

    def _made(self) -> Cassette:
        from ingot.cassette.children import SharedLedger
        from ingot.cassette.recorder import Cassette

        made = Cassette(
            self.path,
            self.mode,  # type: ignore[arg-type]  # checked where it was read
            only=self._only,
            human=self._human,
            max_bytes=self._most,
            in_ci=True,
            **({} if self._mark is None else self._mark.settings),
        )
        made.automatic = True
        made.shared = self.shared
        made.about = {} if self.shared else dict(self.about)
        made.ledger = SharedLedger(self._ledger, os.getpid())
        self._own = made.ledger.entries
        self.is_used = True
        return made

    # What came of it

    def news(self) -> list[Entry]:
        """
        Return what happened since the last call, in this process and in its children.

        What happened in cassettes that the program named by their paths is told likewise.
        """
        fresh: list[Entry] = []
        if os.path.exists(self._ledger):  # noqa: PTH110 (once for each test)
            from ingot.cassette.children import told

            entries = told(self._ledger)
            fresh += entries[self._told :]
            for entry in fresh:
                cassette = self.cassette  # which takes over what they recorded
                if entry.what in ("replayed", "recorded"):
                    cassette.credit(entry.kind, entry.key)
            self._told = len(entries)
        own = self._own[self._seen :]
        self._seen += len(own)
        fresh += own
        named = sys.modules.get(_NAMED)
        elsewhere: list[Entry] = [] if named is None else named.news()
        if elsewhere and self.mode != "live":
            self.is_used = True
            fresh += elsewhere
        for entry in fresh:
            self.counts[_DRIFTED.get(entry.what, entry.what)] += 1
        self.entries += fresh
        return fresh

    def unused(self) -> list[dict[str, Any]]:
        """Each row that has answers which nobody asked for, and how many of them were played."""
        if self.mode not in ("replay", "record"):
            return []
        if self._cassette is None and not os.path.exists(self.path):  # noqa: PTH110 (likewise)
            return []
        cassette = self.cassette
        return [
            {
                "site": row.site,
                "key": row.key,
                "prompt": row.first_line,
                "played": cassette.times_played(row),
            }
            for row in cassette.unused()
        ]

    def close(self, *, failed: bool) -> int:
        """
        Write what was recorded.

        Args:
            failed: Whether what was run ended badly.

        Returns:
            The size of the file if it was written, else 0.
        """
        try:
            return self._close(failed=failed)
        finally:
            self._cassette = None  # its rows are many
            with suppress(FileNotFoundError):
                os.unlink(self._ledger)  # noqa: PTH108 (it is no path)
            named = sys.modules.get(_NAMED)
            if named is not None and self._mark is not None:
                named.close_all(failed=failed)

    def _close(self, *, failed: bool) -> int:
        if self._cassette is None:
            if self.mode == "refresh" and not failed and not self.shared:
                self._drop()
            return 0
        self._cassette.close(failed=failed)
        return self.path.stat().st_size if self.counts["recorded"] and self.path.exists() else 0

    def _drop(self) -> None:
        """Remove a recording of which nothing is asked for any more, unless a person is in it."""
        if self._only is None and self.path.exists():
            tape = self.cassette.tape
            if self._human or all(row.of != "human" for row in tape):
                self.path.unlink()
