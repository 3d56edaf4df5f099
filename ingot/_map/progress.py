"""The progress bar of a map: done, failed, out of the store, tokens and cost."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ingot.errors import NotConfiguredError

if TYPE_CHECKING:
    from collections.abc import Generator

    from ingot._map.tally import Tally

__all__ = ["Bar", "bar_of"]

_OFTEN = 0.1
"""Seconds between two times that the figures beside the bar are made anew."""


class Bar:
    """
    What is shown of a run.

    Args:
        shown: A bar of tqdm.
        tally: The counts of the run.
    """

    def __init__(self, shown: Any, tally: Tally) -> None:
        self._shown = shown
        self._tally = tally
        self._told = 0.0

    def step(self) -> None:
        """Show that one more was counted."""
        with self._shielded():
            is_stored = self._tally.stored > self._shown.initial
            if time.monotonic() - self._told > _OFTEN:
                self._tell(refresh=is_stored)
            if is_stored:
                self._skip()
            else:
                self._shown.update()

    def _skip(self) -> None:
        """Move on for one that was in the store, which says nothing of the speed."""
        shown = self._shown
        if shown.n == shown.initial:
            shown.unpause()  # the clock starts with the first that is asked
        shown.n += 1
        shown.initial += 1
        shown.last_print_n += 1

    def _tell(self, *, refresh: bool = False) -> None:
        self._told = time.monotonic()
        tally = self._tally
        figures = [f"failed={tally.failed}"]
        if tally.stored:
            figures.append(f"stored={tally.stored}")
        if tally.usage.total_tokens:
            figures.append(f"tokens={tally.usage.total_tokens:,}")
        if tally.cost:
            figures.append(f"cost=${tally.cost:.4f}")
        self._shown.set_postfix_str(" ".join(figures), refresh=refresh)

    def close(self) -> None:
        """Show the last figures, and leave them there."""
        with self._shielded():
            self._tell()
            self._shown.refresh()
            self._shown.close()

    @contextmanager
    def _shielded(self) -> Generator[None]:
        """Keep from the run that the terminal has gone."""
        try:
            yield
        except Exception:  # noqa: BLE001 (whatever a stream raises)
            self._shown.disable = True  # or it would try once more when it is dropped


def bar_of(prompts: Any, tally: Tally) -> Bar | None:
    """
    Return a bar for *prompts*, counted where they have a length; None where nobody could see it.

    Args:
        prompts: What is asked for.
        tally: What the bar shows.

    Raises:
        NotConfiguredError: The extra is missing.
    """
    if find_spec("tqdm") is None:
        raise NotConfiguredError(
            "a progress bar needs tqdm, which is not installed",
            advice="pip install 'ingot-ask[progress]', or leave out progress=True",
        )
    in_notebook = "ipykernel" in sys.modules
    if not in_notebook and not _is_seen(sys.stderr):
        return None
    total = len(prompts) if hasattr(prompts, "__len__") else None
    if in_notebook and find_spec("ipywidgets") is not None:
        # A front end that cannot show widgets gets plain text, as one without them does.
        with suppress(Exception):
            from tqdm.notebook import tqdm_notebook

            return Bar(tqdm_notebook(total=total, unit=" asks"), tally)
    from tqdm.std import tqdm

    return Bar(tqdm(total=total, unit=" asks", dynamic_ncols=not in_notebook), tally)


def _is_seen(stream: Any) -> bool:
    """Whether *stream* is a terminal; some have none, a closed one, or one that cannot say."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False
