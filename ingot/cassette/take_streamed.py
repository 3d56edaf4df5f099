"""One ask in front of a cassette, streamed: recorded as if it came whole, played in pieces."""

from __future__ import annotations

from contextlib import aclosing, closing, contextmanager
from typing import TYPE_CHECKING, Any

from ingot._pieces import of_sizes, words
from ingot.cassette.take import Take
from ingot.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterator, Mapping

    from ingot._request import Request
    from ingot._response import Response
    from ingot.cassette.errors import CassetteMissError

__all__ = ["StreamedTake"]


class StreamedTake(Take):
    """
    What one ask, which may stream, sees of a cassette.

    A row does not tell how its answer came: streamed and whole asks play each other's recordings.
    An answer that breaks off, or that nobody waited for, is not recorded.
    """

    _streams = _whole = False

    def stream(self, request: Request) -> Generator[str | Response]:
        """Play in pieces, or ask and record."""
        self._streams = True
        key = self._key_of(request)
        played = self._recorded(request, key)
        if played is not None:
            yield from self._pieces(played)
            return
        live, rewrites = self._live(request, key), self._translation().rewrites
        told: list[str] = []
        with self._watched(request, key), closing(self._provider()[0].stream(live)) as pieces:
            for piece in pieces:
                if not isinstance(piece, str):
                    yield from self._last(request, key, piece, told)
                elif not rewrites:
                    told.append(piece)
                    yield piece

    async def astream(self, request: Request) -> AsyncGenerator[str | Response]:
        """Play in pieces, or ask and record."""
        self._streams = True
        key = self._key_of(request)
        played = self._recorded(request, key)
        if played is not None:
            for each in self._pieces(played):
                yield each
            return
        live, rewrites = self._live(request, key), self._translation().rewrites
        told: list[str] = []
        with self._watched(request, key):
            async with aclosing(self._provider()[0].astream(live)) as pieces:
                async for piece in pieces:
                    if not isinstance(piece, str):
                        for each in self._last(request, key, piece, told):
                            yield each
                    elif not rewrites:
                        told.append(piece)
                        yield piece

    def _miss(self, row: dict[str, Any], types: Mapping[str, Any]) -> CassetteMissError:
        error = super()._miss(row, types)
        if self._streams:
            error.report += "\n  (an answer that is left before its end is not recorded)"
        return error

    @contextmanager
    def _watched(self, request: Request, key: str) -> Generator[None]:
        """Note how a stream ends that is neither played nor whole."""
        self._whole = False
        try:
            yield
        except ProviderError as error:
            self._fail(request, key, error)
            raise
        except Exception:
            raise
        except BaseException:  # whoever listened has left
            if not self._whole and self._cassette.mode != "verify":
                self._note("left", key)
            raise

    def _last(
        self, request: Request, key: str, response: Response, told: list[str]
    ) -> Iterator[str | Response]:
        """Have *response* recorded; a text that had to be rewritten comes only now, and whole."""
        response = self._answered(request, key, response, told)
        if response.text and not told:
            yield response.text
        self._whole = True
        yield response

    def _pieces(self, played: Response) -> Iterator[str | Response]:
        """A recorded reply in the pieces that the cassette is set to."""
        how, text, answer = self._cassette.stream, played.text or "", self._played or {}
        if how == "words":
            yield from words(text)
        else:
            cuts = answer.get("cuts", "") if how == "recorded" else ""
            yield from of_sizes(text, map(int, cuts.split()), spaces="value" not in answer)
        yield played
