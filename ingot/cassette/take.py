"""One ask in front of a cassette: a provider that plays, or asks and records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ingot.cassette.answers import answer_of, error_of, replayed_error, response_of
from ingot.cassette.errors import (
    AmbiguousRepeatError,
    CassetteError,
    CassetteMissError,
    CassetteSecretError,
    CassetteSizeError,
)
from ingot.errors import ProviderError
from ingot.provider import Provider

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ingot._request import Request
    from ingot._response import Outcome, Response
    from ingot._shape.shape import Shape
    from ingot.cassette.recorder import Cassette
    from ingot.errors import IngotError

    Find: TypeAlias = Callable[[], tuple[Provider, str]]

__all__ = ["Take"]


class Take(Provider):
    """
    What one ask sees of a cassette.

    Attributes:
        shaped: Gives T in a dialect; set before anything is sent.
        shape: How the plan reads replies, which is T in *dialect*; set likewise.
    """

    shaped: Callable[[str], Shape]
    shape: Shape

    def __init__(
        self,
        cassette: Cassette,
        parts: Mapping[str, Any],
        key: str,
        number: int,
        site: str,
        find: Find,
        *,
        name: str,
    ) -> None:
        self._cassette = cassette
        self._key = key
        self._number = number
        self._site = site
        self._find = find
        self._inner: tuple[Provider, str] | None = None
        self._failed: tuple[Request, str, ProviderError] | None = None
        self._paid: tuple[Request, str, Response] | None = None
        self._asks = cassette.asks(site, key)
        self._named = self.name = name
        self._prompt = parts["prompt"][:80].partition("\n")[0]
        self.dialect = self._dialect(parts)

    def _dialect(self, parts: Mapping[str, Any]) -> str:
        """The form of replies: as the provider takes it, or the plainest where none is asked."""
        cassette = self._cassette
        if not self._asks:
            try:
                answer = cassette.look("ask", self._key, self._number, self._key, parts)
            except CassetteError:
                return "open"  # raised when it is sent
            if answer is not None:
                self.name = self.name or answer.get("provider", "")
                return answer.get("dialect", "open")  # type: ignore[no-any-return]  # JSON
            if cassette.mode != "record":
                return "open"
        provider = self._provider()[0]
        self.name = self.name or provider.name
        self.show_schema = provider.show_schema
        return provider.dialect

    def _provider(self) -> tuple[Provider, str]:
        if self._inner is None:
            self._inner = self._find()
        return self._inner

    def _note(self, what: str, key: str, error: IngotError | None = None) -> None:
        self._cassette.ledger.note(what, site=self._site, key=key, prompt=self._prompt, error=error)

    def _key_of(self, request: Request) -> str:
        return self._cassette.veil.request(request).digest() if request.messages else self._key

    def _recorded(self, request: Request, key: str) -> Response | None:
        """Play what is recorded; None where the provider is to be asked."""
        if self._asks:
            return None
        cassette = self._cassette
        try:
            answer, count = cassette.play("ask", key, self._number, self._key)
            if answer is None:
                if cassette.mode == "record":
                    return None
                raise cassette.miss(request, key, self._site, count)
        except CassetteError as error:
            self._note(_word(error), key, error)
            raise
        self._note("replayed", key)
        if "error" in answer:
            raise replayed_error(cassette.veil.played(answer))
        return response_of(cassette.veil.played(answer), self.shape)

    def _spoken(self) -> Shape:
        """T in the dialect of the provider, which may not be that of an answer played before."""
        shape = self.shaped(self._provider()[0].dialect)
        return self.shape if shape.dialect == self.shape.dialect else shape

    def _live(self, request: Request, key: str) -> Request:
        """The request as the provider gets it: with its names, its bound and its dialect."""
        provider, model = self._provider()
        try:
            # What cannot be read or written is found out before an answer is paid for.
            self._cassette.ready()
        except CassetteError as error:
            self._note(_word(error), key, error)
            raise
        bound = request.max_tokens
        if bound is None:
            bound = provider.default_max_tokens
        spoken = self._spoken()
        form = request.format
        if spoken is not self.shape:
            form = spoken.format(shown=provider.show_schema)
        return replace(request, provider=provider.name, model=model, max_tokens=bound, format=form)

    def _keep(self, request: Request, key: str, answer: dict[str, Any]) -> None:
        """Record *answer*, or compare it with the recording."""
        cassette = self._cassette
        provider = self._provider()[0].name
        if provider != self._named and "error" not in answer:
            answer["provider"] = provider
        answer = cassette.veil.answer(answer)
        try:
            if cassette.mode == "verify":
                self._compare(key, answer)
                return
            cassette.record(request, key, self._site, self._number, self._key, answer)
        except (CassetteSecretError, CassetteSizeError) as error:
            # The answer was paid for and is returned; that it was not written comes out at the end.
            self._note("secret", key, error)
        except CassetteError as error:
            self._note(_word(error), key, error)
            raise
        else:
            self._note("recorded", key)

    def _compare(self, key: str, answer: dict[str, Any]) -> None:
        from ingot.cassette.drift import report_drift

        cassette = self._cassette
        recorded, _ = cassette.play("ask", key, self._number, self._key)
        error = report_drift(cassette.path, self._site, key, recorded, answer)
        self._note("live" if error is None else "drifted", key, error)

    # The provider

    def send(self, request: Request) -> Response:
        """Play, or ask and record."""
        key = self._key_of(request)
        played = self._recorded(request, key)
        if played is not None:
            return played
        live = self._live(request, key)
        try:
            response = self._provider()[0].send(live)
        except ProviderError as error:
            self._failed = (request, key, error)
            raise
        return self._answered(request, key, response)

    async def asend(self, request: Request) -> Response:
        """Play, or ask and record."""
        key = self._key_of(request)
        played = self._recorded(request, key)
        if played is not None:
            return played
        live = self._live(request, key)
        try:
            response = await self._provider()[0].asend(live)
        except ProviderError as error:
            self._failed = (request, key, error)
            raise
        return self._answered(request, key, response)

    def _answered(self, request: Request, key: str, response: Response) -> Response:
        self._failed = None
        spoken = self._spoken()
        self._paid = (request, key, response)
        if spoken is not self.shape and response.text is not None:
            fits, tree = spoken.natural(response.text)
            if fits:
                return replace(response, text=self.shape.to_wire(tree))
        return response

    def settle(self, request: Request, outcome: Outcome) -> None:
        """Record the reply, now that it is known whether it is an answer; tell the provider."""
        self._record(valid=outcome.valid)
        if self._inner is not None:
            self._inner[0].settle(request, outcome)

    def _record(self, *, valid: bool) -> None:
        if self._paid is None:
            return
        (request, key, response), self._paid = self._paid, None
        answer = answer_of(response, self._spoken(), self.shaped("open"), valid=valid)
        self._keep(request, key, answer)

    def finish(self, error: IngotError | None) -> None:
        """Record the error that the ask ended with, if the provider's request was the last."""
        if self._failed is not None and error is self._failed[2]:
            request, key, failed = self._failed
            self._keep(request, key, error_of(failed))


def _word(error: CassetteError) -> str:
    """What the ledger calls *error*."""
    if isinstance(error, CassetteMissError):
        return "missed"
    return "ambiguous" if isinstance(error, AmbiguousRepeatError) else "failed"
