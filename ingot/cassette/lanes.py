"""Who is asking: the order of what one lane asks is its own, that of several is the scheduler's."""

from __future__ import annotations

import itertools
import sys
import threading
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["Order", "lane"]

_numbers = itertools.count()
_of_thread = threading.local()
_of_task: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def lane() -> int:
    """Return the number of this thread, or of the task of asyncio in it; none is given twice."""
    # A program that has not loaded asyncio has no tasks, and it is a heavy thing to load.
    asyncio: Any = sys.modules.get("asyncio")
    running = getattr(asyncio, "_get_running_loop", None)
    task = None if running is None or running() is None else asyncio.current_task()
    if task is not None:
        number = _of_task.get(task)
        if number is None:
            number = _of_task[task] = next(_numbers)
        return number
    try:
        return _of_thread.number  # type: ignore[no-any-return]  # a local has no types
    except AttributeError:
        _of_thread.number = next(_numbers)
        return lane()


class Order:
    """Numbers equal questions in the order in which they are asked; used under a lock."""

    def __init__(self) -> None:
        self._asked: dict[str, int] = {}
        self._lanes: dict[str, int] = {}

    def take(self, key: str) -> int:
        """Return the number, from 0, of the question that is asked here and now."""
        number = self._asked.get(key, 0)
        self._asked[key] = number + 1
        mine = lane()
        if self._lanes.setdefault(key, mine) != mine:
            self._lanes[key] = _SEVERAL
        return number

    def is_mixed(self, key: str) -> bool:
        """Whether more than one lane asked the question, so that its order means nothing."""
        return self._lanes.get(key) == _SEVERAL


_SEVERAL = -1
"""Stands for more than one lane."""
