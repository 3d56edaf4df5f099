"""Who is asking: the order of what one lane asks is its own, that of several is the scheduler's."""

from __future__ import annotations

import itertools
import sys
import threading
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["lane"]

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
