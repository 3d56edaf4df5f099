"""An ask whose answer is shown while it is written: snapshots, whole elements, and the value."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from ingot._drive import astream, stream
from ingot._effects import Send
from ingot._forms import Awaited, Blocking
from ingot.errors import InvalidAnswerError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Collection, Generator, Iterator

    from ingot._answer import Answer
    from ingot._drive import Step
    from ingot._question import Question
    from ingot._shape.content import Markdown, Text
    from ingot._shape.partial import Partial

__all__ = ["AsyncStream", "Stream"]

T_co = TypeVar("T_co", covariant=True)
X = TypeVar("X")


_WRITTEN = "write `with ask.stream(…) as s`, and in async code `async with ask.aio.stream(…) as s`"
"""How each form is used."""


class _Listener(Generic[T_co]):
    """What both kinds of stream know: how far the answer is, and what has come of it."""

    def __init__(self, asked: Question) -> None:
        self._name = asked.shape.target.name
        self._state = "not entered"
        self._reading = False
        self._partial = _partial_of(asked)
        self._said: list[str] = []
        self._shown: Any = None
        self._sent: Send | None = None
        self._torn = False
        self._answer: Answer[T_co] | None = None
        self._error: Exception | None = None

    def __repr__(self) -> str:
        state = self._state
        if self._error is not None:
            state = f"failed with {type(self._error).__name__}"
        elif self._answer is not None:
            state = "at its end"
        return f"<stream of {self._name}, {state}>"

    @property
    def snapshot(self) -> Any:
        """
        What is certain of the answer so far, in the form of its type; of prose, the text.

        It stays after an error. None before there is any.
        """
        if self._partial is not None:
            return self._partial.snapshot
        self._said[:] = ["".join(self._said)]  # once for each piece, however often it is asked for
        return self._said[0]

    # What is heard

    def _hear(self, step: Step) -> bool:
        """Take in the next *step*, and say whether it gives anything new to show."""
        if isinstance(step, Send):
            self._begin(step)
            return False
        if not isinstance(step, str):
            self._answer = step
            return False
        if self._partial is None:
            self._said.append(step)
            self._shown = step
            self._keep()  # what was said cannot be unsaid
            return True
        changed = self._partial.feed(step)
        self._shown = self._partial.snapshot
        return changed

    def _begin(self, sent: Send) -> None:
        """Forget what an earlier turn said: it was not the answer."""
        self._sent, self._torn = sent, False
        self._said.clear()
        if self._partial is not None:
            self._partial.restart()

    def _keep(self) -> None:
        if self._sent is not None:
            self._sent.kept = True

    def _elements(self) -> list[Any]:
        """
        Return the elements that are whole and were not returned before.

        One that does not fit ends them: the answer will not fit either, and that is raised.

        Raises:
            TypeError: The type has no elements.
        """
        if self._partial is None:
            raise TypeError("prose has no items; iterating the stream gives pieces of the text")
        if self._torn:
            return []
        try:
            found = self._partial.take_items()
        except InvalidAnswerError:
            self._torn = True
            return []
        if found:
            self._keep()
        return found

    # How far it is

    def _enter(self) -> None:
        if self._state != "not entered":
            raise RuntimeError("this stream was entered before; ask again for another answer")
        self._state = "open"

    def _check(self) -> None:
        """
        Raise what keeps the stream from going on.

        Raises:
            RuntimeError: It is not open.
            Exception: It failed before, with this very error.
        """
        if self._error is not None:
            raise self._error
        if self._state == "not entered":
            raise RuntimeError(f"a stream is used in its block; {_WRITTEN}")
        if self._state == "left" and self._answer is None:
            raise RuntimeError("this stream was left before its end, so there is no answer")

    def _claim(self) -> None:
        """
        Begin a step.

        Raises:
            RuntimeError: It is not open, or another thread or task is reading it.
            Exception: It failed before, with this very error.
        """
        self._check()
        if self._reading:
            raise RuntimeError("this stream is being read by another thread or task; only one can")
        self._reading = True

    def _fail(self, error: BaseException) -> None:
        """Remember *error*, which ended the steps; an interrupt only leaves them."""
        if not isinstance(error, Exception):
            self._state = "left"
        elif not isinstance(error, StopIteration | StopAsyncIteration):
            self._error = error

    def _answered(self) -> Answer[T_co]:
        self._check()
        if self._answer is None:
            raise RuntimeError("the answer is not at its end; await s.finish() waits for it")
        return self._answer


def _partial_of(asked: Question) -> Partial | None:
    """Make what reads the answer while it is written; None for prose, which is text alone."""
    if asked.shape.kind == "prose":
        return None
    from ingot._shape.partial import Partial  # on pydantic, which `import ingot` must not load

    tools = asked.asking.toolbox
    return Partial(asked.shape, None if tools is None else tools.handles)


class Stream(_Listener[T_co], Blocking):
    """
    An ask whose answer can be shown while it is written; made by `ask.stream`.

        with ask.stream(list[str], "Name three colours.") as s:
            for snapshot in s:
                show(snapshot)
        colours = s.value

    Iterating gives **snapshots**: the JSON of the answer as far as it is certain, in the form of
    the type. It is one value that grows; copy it to keep it. For prose, it gives the pieces of the
    text. A snapshot is not a value of the type: nothing in it was validated.

    If the model is asked again, as it called tools or its reply did not fit, snapshots begin anew.
    A request that failed is sent again only if none of its reply was handed on; prose, which cannot
    be taken back, is not repaired, and what is said beside calls of tools is among its pieces.

    Leaving the block closes the connection at once, wherever the answer is.
    """

    _written = _WRITTEN

    def __init__(self, asked: Question) -> None:
        super().__init__(asked)
        self._steps: Generator[Step] = stream(asked.flow, asked.provider)

    def __enter__(self) -> Self:
        self._enter()
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def close(self) -> None:
        """
        Leave the answer where it is, and close the connection.

        While another thread waits for the next piece, that happens when the piece has come.
        """
        self._state = "left"
        if not self._reading:
            self._steps.close()

    @overload
    def __iter__(self: Stream[Text] | Stream[Markdown]) -> Iterator[str]: ...
    @overload
    def __iter__(self) -> Iterator[Any]: ...
    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while not self._step():
            pass
        return self._shown

    def _step(self) -> bool:
        """Hear the next step, and say whether it gives anything new to show."""
        self._claim()
        try:
            return self._hear(next(self._steps))
        except BaseException as error:
            self._fail(error)
            raise
        finally:
            self._reading = False
            if self._state == "left":
                self._steps.close()

    @overload
    def items(self: Stream[Collection[X]]) -> Iterator[X]: ...
    @overload
    def items(self) -> Iterator[Any]: ...
    def items(self) -> Iterator[Any]:
        """
        Give each element of a list as soon as it is whole, validated.

        If the answer fails after that, the error is raised after the elements before; once one was
        given, the model is not told to repair its reply.

        Raises:
            TypeError: The type is no list.
        """
        with suppress(StopIteration):
            while True:
                yield from self._elements()
                self._step()

    @property
    def answer(self) -> Answer[T_co]:
        """
        The value with its usage, cost, model and turns; what is left of it is waited for.

        Raises:
            RuntimeError: The block was left before the end.
            IngotError: What the ask came to; the same each time.
        """
        with suppress(StopIteration):
            while self._answer is None:
                self._step()
        return self._answered()

    @property
    def value(self) -> T_co:
        """The validated value; see `answer`."""
        return self.answer.value


class AsyncStream(_Listener[T_co], Awaited):
    """
    Like `Stream`, for async code; made by `ask.aio.stream`.

        async with ask.aio.stream(list[str], "Name three colours.") as s:
            async for snapshot in s:
                show(snapshot)
        colours = s.value

    A task that is cancelled closes the connection.
    """

    _written = _WRITTEN

    def __init__(self, asked: Question) -> None:
        super().__init__(asked)
        self._steps: AsyncGenerator[Step] = astream(asked.flow, asked.provider)

    async def __aenter__(self) -> Self:
        self._enter()
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.close()

    async def close(self) -> None:
        """
        Leave the answer where it is, and close the connection.

        While another task waits for the next piece, that happens when the piece has come.
        """
        self._state = "left"
        if not self._reading:
            await self._steps.aclose()

    @overload
    def __aiter__(self: AsyncStream[Text] | AsyncStream[Markdown]) -> AsyncIterator[str]: ...
    @overload
    def __aiter__(self) -> AsyncIterator[Any]: ...
    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        while not await self._step():
            pass
        return self._shown

    async def _step(self) -> bool:
        """Hear the next step, and say whether it gives anything new to show."""
        self._claim()
        try:
            return self._hear(await anext(self._steps))
        except BaseException as error:
            self._fail(error)
            raise
        finally:
            self._reading = False
            if self._state == "left":
                await self._steps.aclose()

    @overload
    def items(self: AsyncStream[Collection[X]]) -> AsyncIterator[X]: ...
    @overload
    def items(self) -> AsyncIterator[Any]: ...
    async def items(self) -> AsyncIterator[Any]:
        """Give each element of a list as soon as it is whole, validated; see `Stream.items`."""
        with suppress(StopAsyncIteration):
            while True:
                for element in self._elements():
                    yield element
                await self._step()

    async def finish(self) -> T_co:
        """
        Wait for the end of the answer, and return the value.

        Raises:
            RuntimeError: The block was left before the end.
            IngotError: What the ask came to; the same each time.
        """
        with suppress(StopAsyncIteration):
            while self._answer is None:
                await self._step()
        return self.value

    @property
    def answer(self) -> Answer[T_co]:
        """
        The value with its usage, cost, model and turns.

        Raises:
            RuntimeError: The answer is not at its end.
            IngotError: What the ask came to; the same each time.
        """
        return self._answered()

    @property
    def value(self) -> T_co:
        """The validated value; see `answer`."""
        return self.answer.value
