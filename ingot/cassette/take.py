"""One ask in front of a cassette: a provider that plays, or asks and records."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from ingot._effects import Invocation
from ingot._pieces import sizes_of
from ingot._translation import Translation
from ingot.cassette.answers import (
    answer_of,
    class_of,
    error_of,
    overcome_error,
    replayed_error,
    response_of,
)
from ingot.cassette.errors import (
    CassetteError,
    CassetteMissError,
    CassetteSecretError,
    CassetteSizeError,
)
from ingot.cassette.ledger import Entry, word_of
from ingot.cassette.performed import Deeds, answer_of_deed, inside, run_in
from ingot.cassette.rows import row_of
from ingot.cassette.unfit import misfit, no_placeholder
from ingot.errors import ProviderError
from ingot.provider import Performer, Provider

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from ingot._calls import Toolbox
    from ingot._effects import Consult
    from ingot._request import Request
    from ingot._response import Outcome, Response
    from ingot._shape.shape import Shape
    from ingot.cassette.positional import Place
    from ingot.cassette.recorder import Cassette
    from ingot.errors import IngotError

    Find: TypeAlias = Callable[[], tuple[Provider, str]]

__all__ = ["Take"]


class Take(Provider, Performer):
    """
    What one ask sees of a cassette.

    Attributes:
        shaped: Gives T in a dialect; set before anything is sent.
        shape: How the plan reads replies, which is T in *dialect*; set likewise.
        tools: The tools of the ask, whose calls are read in *dialect*; set likewise.
        model: The model that is asked, where it was found out which; None where it was not.
    """

    shaped: Callable[[str], Shape]
    shape: Shape
    tools: Toolbox | None = None
    model: str | None = None
    # What an ask that is played never sets stands here, which spares it the time.
    _inner: tuple[Provider, str] | None = None
    _first: dict[str, Any] | None = None
    _due: dict[str, Any] | None = None
    _placed: Place | None = None
    _refused: CassetteError | None = None
    _failed: tuple[Request, str, ProviderError] | None = None
    _paid: tuple[Request, str, Response, Sequence[str]] | None = None
    _played: Mapping[str, Any] | None = None
    _deeds: Deeds | None = None

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
        self._asks = cassette.asks(site, key)
        self._inside = inside(cassette)
        self._lost: list[str] = []
        self._begun: dict[int, dict[str, Any]] = {}
        self.name = name
        self._prompt = parts["prompt"][:80].partition("\n")[0]
        self.dialect = self._dialect(parts)

    def _dialect(self, parts: Mapping[str, Any]) -> str:
        """The form of replies: as the provider takes it, or the plainest where none is asked."""
        cassette = self._cassette
        if not self._asks:
            try:
                answer = cassette.play("ask", self._key, self._number, self._key, parts)
                self._first = answer
                if answer is None and cassette.places is not None:
                    self._placed = cassette.places.take(parts, self._key, self._site)
                    if self._placed is not None:
                        answer = self._placed.answer(named=self.name != "")
            except CassetteError as error:
                self._refused = error  # raised when it is sent
                return "open"
            if answer is not None:
                self.name = answer.get("provider", self.name)
                if self._placed is None:
                    self.model = answer.get("served")  # whose price a budget counts with
                return answer.get("dialect", "open")  # type: ignore[no-any-return]  # JSON
            if cassette.mode != "record":
                return "open"
        provider, self.model = self._provider()
        self.name = self.name or provider.name
        self.show_schema = provider.show_schema
        return provider.dialect

    def _provider(self) -> tuple[Provider, str]:
        if self._inner is None:
            self._inner = self._find()
        return self._inner

    def _note(
        self, what: str, key: str, error: IngotError | None = None, kind: str = "ask"
    ) -> None:
        self._cassette.ledger.note(Entry(what, self._site, key, self._prompt, error, kind))

    @contextmanager
    def _noting(self, key: str, kind: str = "ask") -> Generator[None, None, None]:
        """Put an error of the cassette into its ledger, and raise it on."""
        try:
            yield
        except CassetteError as error:
            self._note(word_of(error), key, error, kind)
            raise

    def _key_of(self, request: Request) -> str:
        return self._cassette.veil.request(request).digest() if request.messages else self._key

    def _recorded(self, request: Request, key: str) -> Response | None:
        """Play what is recorded; None where the provider is to be asked."""
        if self._asks:
            return None
        placed, self._placed = self._placed, None
        if placed is not None:
            return self._play_placed(placed, request, key)
        answer = self._taken(request, key) if self._due is None else self._due
        if answer is None:
            return None
        lost = answer.get("retried")
        if lost:
            self._due = {**answer, "retried": lost[1:]}
            raise overcome_error(lost[0])
        self._due = None
        answer = self._cassette.veil.played(answer)
        if "error" in answer:
            raise replayed_error(answer)
        self._played = answer
        return response_of(answer, self.shape)

    def _taken(self, request: Request, key: str) -> dict[str, Any] | None:
        """Take what is recorded; None where the provider is to be asked."""
        cassette = self._cassette
        try:
            if self._refused is not None:
                raise self._refused
            answer = self._first
            if request.messages:
                answer = cassette.play("ask", key, self._number, self._key)
            if answer is None:
                if cassette.mode == "record":
                    return None
                raise self._miss(*row_of(cassette.veil.request(request), key, self._site))
        except CassetteError as error:
            self._note(word_of(error), key, error)
            raise
        self._note("replayed", key)
        return answer

    def _miss(self, row: dict[str, Any], types: Mapping[str, Any]) -> CassetteMissError:
        from ingot.cassette.drift import report_miss

        recorded = len(self._cassette.tape.answers(row["kind"], row["key"]))
        return report_miss(self._cassette, row, types, recorded)

    def _play_placed(self, placed: Place, request: Request, key: str) -> Response:
        """Play an answer that was found by its position; when recording, give it a key."""
        cassette = self._cassette
        answer = placed.answer(named="model" in request.keyed)
        if cassette.mode != "record":
            self._note("replayed", key)
        elif self._write(request, key, answer) and cassette.places is not None:
            cassette.places.adopted(placed)
        return response_of(cassette.veil.played(answer), self.shape)

    def _translation(self) -> Translation:
        """To the dialect of the provider, which may not be that of an answer played before."""
        provider, _ = self._provider()
        return Translation(
            dialect=self.dialect,
            shape=self.shape,
            provider=provider,
            spoken=self.shaped(provider.dialect),
            tools=self.tools,
        )

    def _live(self, request: Request, key: str) -> Request:
        """The request as the provider gets it: with its names, its bound and its dialect."""
        provider, model = self._provider()
        with self._noting(key):
            # What cannot be read or written is found out before an answer is paid for.
            self._cassette.ready()
        bound = request.max_tokens
        bound = provider.default_max_tokens if bound is None else bound
        return self._translation().request(request, model=model, max_tokens=bound)

    def _keep(self, request: Request, key: str, answer: dict[str, Any]) -> None:
        """Record *answer*, or compare it with the recording; name who gave it."""
        if "model" not in request.keyed and "error" not in answer:
            # The row says `default`; what that was is not known where it is played.
            provider, model = self._provider()
            answer = {**answer, "provider": provider.name, "served": answer.get("served", model)}
        if self._lost:
            answer = {**answer, "retried": self._lost}
            self._lost = []
        self._write(request, key, answer)

    def _write(self, request: Request, key: str, answer: dict[str, Any]) -> bool:
        """Record *answer*, or compare it with the recording; return whether it was written."""
        cassette = self._cassette
        hidden = cassette.veil.answer(answer)
        if cassette.mode == "verify":
            self._compare(key, hidden)
            return False
        row, types = row_of(cassette.veil.request(request), key, self._site)
        place = misfit(answer, cassette.veil.played(hidden), self.shape, self.tools)
        return self._put(row, types, hidden, place)

    def _put(
        self,
        row: dict[str, Any],
        types: Mapping[str, Any],
        answer: dict[str, Any],
        unfit: str | None = None,
    ) -> bool:
        """Record *answer*, unless a placeholder is *unfit* in it; return whether it was written."""
        key, kind = row["key"], row["kind"]
        row |= self._inside
        try:
            with self._noting(key, kind):
                if unfit is not None:
                    raise no_placeholder(unfit, path=str(self._cassette.path))
                self._cassette.record(row, types, self._number, self._key, answer)
        except (CassetteSecretError, CassetteSizeError):
            # The answer was paid for and is returned; that it was not written comes out at the end.
            return False
        self._note("recorded", key, kind=kind)
        return True

    def _compare(self, key: str, answer: dict[str, Any]) -> None:
        from ingot.cassette.drift import report_drift

        cassette = self._cassette
        with self._noting(key):
            recorded = cassette.play("ask", key, self._number, self._key)
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
            self._fail(request, key, error)
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
            self._fail(request, key, error)
            raise
        return self._answered(request, key, response)

    def _fail(self, request: Request, key: str, error: ProviderError) -> None:
        self._failed = (request, key, error)
        self._lost.append(class_of(error))

    def _answered(
        self, request: Request, key: str, response: Response, pieces: Sequence[str] = ()
    ) -> Response:
        self._failed = None
        translation = self._translation()
        response = translation.calls(response)
        self._paid = (request, key, response, pieces)
        return translation.text(response)

    def settle(self, request: Request, outcome: Outcome) -> None:
        """Record the reply, now that it is known whether it is an answer; tell the provider."""
        self._record(valid=outcome.valid)
        if self._inner is not None:
            self._inner[0].settle(request, outcome)

    def _record(self, *, valid: bool) -> None:
        if self._paid is None:
            return
        (request, key, response, pieces), self._paid = self._paid, None
        calls = bool(response.tool_calls)
        spoken = self._translation().spoken
        answer = answer_of(response, spoken, self.shaped("open"), valid=valid and not calls)
        if calls and self.dialect != "open":
            answer["dialect"] = self.dialect  # in which their arguments are written
        if pieces and self._cassette.stream == "recorded":
            # As a text, which stays on one line of the file.
            answer["cuts"] = " ".join(map(str, sizes_of(pieces, spaces="value" not in answer)))
        self._keep(request, key, answer)

    def finish(self, error: IngotError | None) -> None:
        """Record the error that the ask ended with, if the provider's request was the last."""
        if self._inner is not None:
            self._inner[0].finish(error)
        failed = self._failed
        if failed is not None and error is failed[2] and getattr(error, "is_reply", True):
            self._lost.pop()  # it is the last of them
            self._keep(failed[0], failed[1], error_of(failed[2]))

    # Tools and people

    def recall(self, asked: Invocation | Consult) -> Any:
        """Play what came of a call or a question; None where it is to be done now."""
        cassette = self._cassette
        human = not isinstance(asked, Invocation)
        if self._deeds is None:
            self._deeds = Deeds(self._key, self._site, cassette.veil)
        row = self._deeds.row(asked)
        answer = None if self._is_anew(human=human) else self._done(row)
        if answer is not None:
            # A tool that runs all the same is played for its arguments, and not recorded again.
            run = cassette.tools == "live" and not human
            return None if run else self._deeds.played(asked, answer)
        if isinstance(asked, Invocation):
            with self._noting(row["key"], "tool"):
                self._deeds.check_files(asked, str(cassette.path))
        if cassette.mode in ("record", "refresh"):
            self._begun[id(asked)] = row
        return None

    def enter(self, asked: Invocation) -> None:
        """Let what this call asks be recorded as a part of it."""
        row = self._begun.get(id(asked))
        if row is not None:
            run_in(self._cassette, row["key"])

    def _is_anew(self, *, human: bool) -> bool:
        """Whether what is recorded of tools, or of people, is not to be played."""
        cassette = self._cassette
        if human and not cassette.human:
            return False  # nobody is asked twice by accident
        return self._asks and cassette.mode == "refresh"

    def _done(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """What is recorded of a call or a question; None where it may be done now."""
        cassette, kind, key = self._cassette, row["kind"], row["key"]
        with self._noting(key, kind):
            answer = cassette.play(kind, key, self._number, self._key)
            if answer is None and not self._asks and cassette.mode != "record":
                raise self._miss(row, {})
        if answer is not None:
            self._note("replayed", key, kind=kind)
        return answer

    def keep(self, asked: Invocation | Consult, result: Any) -> None:
        """Record what came of it, if anything is recorded."""
        row = self._begun.pop(id(asked), None)
        if row is not None:
            self._put(row, {}, answer_of_deed(asked, self._cassette.veil.result(result)))
