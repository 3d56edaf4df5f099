"""An ask of a durable run: its answer comes out of the store, or is kept there when it is paid."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from ingot._answer import Answer
from ingot._drive import arun
from ingot._map.store import HELD
from ingot.cassette.answers import answer_of, response_of
from ingot.cassette.secrets import Scanner
from ingot.errors import InvalidAnswerError

if TYPE_CHECKING:
    from ingot._map.store import Store
    from ingot._question import Question

__all__ = ["Durable"]


class Durable:
    """
    Performs the asks of one run with a store.

    What is kept is what a cassette would hold of the answer, without what was asked. An answer that
    holds a secret is handed out and not kept.

    Args:
        store: Where answers are kept.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asked: Counter[int] = Counter()
        self._scanner = Scanner(os.environ)

    def place(self, asked: Question) -> tuple[str, int]:
        """Give an ask its key, and its number among equal ones; in the order of the prompts."""
        key = asked.asking.described().digest()
        mark = int(key[-16:], 16)  # of a million prompts, whole keys would take twice the memory
        number = self._asked[mark]
        self._asked[mark] += 1
        return key, number

    async def perform(self, asked: Question, place: tuple[str, int]) -> Answer[Any] | None:
        """Return the answer; None where it is to be looked for again after a while."""
        kept = await self._store.claim(*place)
        if kept is HELD:
            return None
        if kept is not None:
            try:
                return _restored(kept, asked)
            except InvalidAnswerError:  # the type has learned to refuse it
                await self._store.forget(*place, kept)
                return None
        try:
            answer = await arun(asked.flow, asked.provider)
        except Exception:
            await self._store.release(*place)
            raise
        written = _written(answer, asked)
        found = self._scanner.find(written)
        if found is None:
            await self._store.keep(*place, written)
        else:
            await self._store.release(*place)
            warnings.warn(
                f"an answer of the run is not kept in its store, because it holds {found.kind}",
                stacklevel=2,
            )
        return answer


def _written(answer: Answer[Any], asked: Question) -> dict[str, Any]:
    """Write *answer* as a cassette does, and the handles of files that it may name."""
    plain = asked.asking.shaped("open")
    written = answer_of(answer.turns[-1], asked.shape, plain, valid=True)
    box = asked.asking.toolbox
    files = [] if box is None else [file.to_dict() for file in box.handles.produced]
    return {**written, "files": files} if files else written


def _restored(kept: dict[str, Any], asked: Question) -> Answer[Any]:
    """Return the answer that was kept; it costs nothing now, so it tells of no tokens."""
    shape = asked.asking.shaped(kept.get("dialect", "open"))
    box = asked.asking.toolbox
    handles = None if box is None else box.handles
    if handles is not None:
        handles.restore(kept.get("files", ()))
    response = response_of(kept, shape)
    assert response.text is not None, "an answer has a text"
    request = asked.request
    return Answer(
        value=shape.read(response.text, handles),
        model=f"{request.provider}/{response.model or request.model}",
        attempts=0,
    )
