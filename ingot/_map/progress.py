"""The progress bar of a map: done, failed, tokens and cost."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ingot._price import price
from ingot._response import Usage
from ingot.errors import NotConfiguredError

if TYPE_CHECKING:
    from collections.abc import Generator

    from ingot._answer import Answer

__all__ = ["Bar", "bar_of"]

_OFTEN = 0.1
"""Seconds between two times that the figures beside the bar are made anew."""


class Bar:
    """
    What is shown of a run.

    Args:
        shown: A bar of tqdm.
    """

    def __init__(self, shown: Any) -> None:
        self._shown = shown
        self._failed = 0
        self._used: dict[str, Usage] = {}
        self._told = 0.0

    def add(self, answer: Answer[Any] | None) -> None:
        """Count one that is done; None for one that failed."""
        if answer is None:
            self._failed += 1
        elif answer.usage is not None:
            self._used[answer.model] = self._used.get(answer.model, Usage()) + answer.usage
        with self._shielded():
            if time.monotonic() - self._told > _OFTEN:
                self._tell()
            self._shown.update()

    def _tell(self) -> None:
        self._told = time.monotonic()
        figures = [f"failed={self._failed}"]
        if self._used:
            tokens = sum(used.total_tokens for used in self._used.values())
            figures.append(f"tokens={tokens:,}")
        costs = [price(model, used) for model, used in self._used.items()]
        known = [cost for cost in costs if cost is not None]
        if known and len(known) == len(costs):
            figures.append(f"cost=${sum(known):.4f}")
        self._shown.set_postfix_str(" ".join(figures), refresh=False)

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


def bar_of(prompts: Any) -> Bar | None:
    """
    Return a bar for *prompts*, counted where they have a length; None where nobody could see it.

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

            return Bar(tqdm_notebook(total=total, unit=" asks"))
    from tqdm.std import tqdm

    return Bar(tqdm(total=total, unit=" asks", dynamic_ncols=not in_notebook))


def _is_seen(stream: Any) -> bool:
    """Whether *stream* is a terminal; some have none, a closed one, or one that cannot say."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False
