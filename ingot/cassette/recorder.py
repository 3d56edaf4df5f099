"""`Cassette`: stands before a provider, plays what was recorded, and records what was not."""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from ingot import _registry
from ingot._request import key_of
from ingot.cassette.errors import AmbiguousRepeatError, CassetteKeyError
from ingot.cassette.gate import Gate
from ingot.cassette.lanes import Order
from ingot.cassette.ledger import Ledger
from ingot.cassette.modes import MODES, Mode, check_ways, is_meant, mode_of
from ingot.cassette.store import Journal, load, recover, save
from ingot.cassette.take_streamed import StreamedTake
from ingot.cassette.tape import Tape, is_same
from ingot.cassette.veil import Veil

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from decimal import Decimal
    from types import TracebackType

    from ingot._request import Request
    from ingot.cassette.ledger import Entry
    from ingot.cassette.positional import Places
    from ingot.cassette.take import Find
    from ingot.cassette.tape import Row

__all__ = ["MODES", "Cassette", "Mode"]

F = TypeVar("F", bound="Callable[..., Any]")


class Cassette:
    """
    A recording, as a context manager (sync and async), a decorator, or `ask.using(cassette=…)`.

        with Cassette("answers.json"):
            ask(list[str], "Name three primary colours.")

    Args:
        path: The file.
        mode: `replay` (the default, everywhere): answers come from the file, or the ask fails and
            says what changed. `record`: what is missing is asked and recorded. `refresh`: all is
            asked anew, and the file replaced if the block ends well. `verify`: all is asked, and
            compared with the recording; nothing is written. `live`: as if there were no cassette.
            None for what `INGOT_CASSETTE_MODE` says, else `replay`.
        only: With `refresh`, patterns of sites or keys, with `|` between them: only what one of
            them matches is asked anew.
        human: Whether `refresh` drops what people answered, too, so that they are asked anew.
        unused: What becomes of recorded answers that nobody asked for: `ignore` or `fail`.
        repeats: What becomes of a question that is asked more often than it was answered: it is
            not recorded (`fail`), or the last answer is played again (`last`).
        tools: Whether recorded results of tools stand for their calls (`replay`), or they are run
            (`live`).
        stream: In what pieces an answer comes that is streamed from a recording: `whole`, `words`,
            or as it was `recorded`.
        patterns: Regular expressions of texts that must never be written, beside those known.
        redact: Placeholders such as `<EMAIL>`, and the regular expression of what each replaces in
            what is recorded, and in what keys are made of; the provider is sent the text as it is.
        restore: Placeholders, and the environment variable whose value each is replaced by in an
            answer that is played.
        max_bytes: Largest file; recording beyond it is refused.
        in_ci: Whether recording is allowed where the variable `CI` is set.

    Attributes:
        ledger: What happened to each question.
        automatic: Whether nobody named it: then it stands aside for whatever provider is passed.
        shared: Whether others use the file too, so that `refresh` drops nothing that is not asked.
        left_to_parent: Whether another process writes what this one records.
        about: What is written at the head of the file, such as the test that it belongs to.
        places: What of the recording is played by its position, once it was read; None for nothing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: Mode | None = None,
        *,
        only: str | None = None,
        human: bool = False,
        unused: Literal["ignore", "fail"] = "ignore",
        repeats: Literal["fail", "last"] = "fail",
        tools: Literal["replay", "live"] = "replay",
        stream: Literal["whole", "words", "recorded"] = "whole",
        patterns: tuple[str, ...] = (),
        redact: Mapping[str, str] | None = None,
        restore: Mapping[str, str] | None = None,
        max_bytes: int = 2 * 1024 * 1024,
        in_ci: bool = False,
    ) -> None:
        check_ways(unused=unused, repeats=repeats, tools=tools, stream=stream)
        self.path = Path(path)
        self.mode: Mode = mode_of(mode, in_ci=in_ci)
        self.only = only
        self.human = human
        self.on_unused: Literal["ignore", "fail"] = unused
        self.repeats: Literal["fail", "last"] = repeats
        self.tools: Literal["replay", "live"] = tools
        self.stream: Literal["whole", "words", "recorded"] = stream
        self.ledger = Ledger()
        self.automatic = False
        self.shared = False
        self.left_to_parent = False
        self.about: dict[str, Any] = {}
        self.places: Places | None = None
        self.gate = Gate(self.path, patterns, max_bytes)
        self.veil = Veil(redact, restore)
        self._lock = threading.RLock()
        self._tape: Tape | None = None
        self._fresh = Tape()
        self._journal: Journal | None = None
        self._order = Order()
        self._played: Counter[tuple[str, str]] = Counter()

    def __repr__(self) -> str:
        return f"<Cassette {self.path.name}: {self.mode}; {self.ledger}>"

    # Opening and closing

    def __enter__(self) -> Self:
        _registry.enter(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        _registry.leave(self)
        self.close(failed=kind is not None)
        if error is None:
            self.check()
        else:
            for other in self.ledger.errors:
                if other not in (error, error.__cause__):
                    error.add_note(f"before that, {other}")

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *ended: Any) -> None:  # noqa: PYI036 (handed on)
        self.__exit__(*ended)

    def __call__(self, function: F) -> F:
        """Decorate *function*: each call runs in a cassette of its own at the same path."""
        from ingot.cassette.decorated import in_cassette

        return cast("F", in_cassette(function, self))

    @property
    def rows(self) -> list[Row]:
        """What is recorded, as it was when this cassette was first used."""
        return list(self.tape)

    @property
    def asked(self) -> list[Entry]:
        """What happened to each question, in the order of the answers."""
        return self.ledger.entries

    @property
    def cost(self) -> Decimal | None:
        """What the answers that were played or recorded cost once; None if it is not known."""
        from ingot.cassette.costs import cost_of

        with self._lock:
            return cost_of(self.tape, self._fresh, self._played)

    @property
    def tape(self) -> Tape:
        """What is recorded, as it was when this cassette was first used."""
        if self._tape is None:
            with self._lock:
                if self._tape is None:
                    if self.mode in ("record", "refresh") and not self.left_to_parent:
                        recover(self.path)
                    tape = load(self.path)
                    if "imported" in tape.rest:
                        from ingot.cassette.positional import places_of

                        self.places = places_of(self, tape)
                    self._tape = tape
        return self._tape

    def ready(self) -> None:
        """
        Make ready to record.

        Raises:
            CassetteError: The file cannot be read, or nothing can be written.
        """
        with self._lock:
            _ = self.tape
            if self.mode != "verify" and (self._journal is None or not self._journal.is_ours):
                self._journal = Journal(self.path, trial=self.mode == "refresh")

    def close(self, *, failed: bool = False) -> None:
        """
        Write what was recorded.

        Args:
            failed: Whether what was run ended badly. Then `refresh` leaves the file as it was;
                `record` keeps every answer that was paid for.
        """
        with self._lock:
            if self.mode in ("record", "refresh") and not self.left_to_parent:
                recover(self.path, self._adopt)  # processes started meanwhile have left theirs
            journal, self._journal = self._journal, None
            if journal is None or not journal.is_ours:
                return
            keep = self.left_to_parent
            refreshed = self.mode == "refresh" and not failed and not self.ledger.errors
            try:
                if not keep and (refreshed or (self.mode != "refresh" and len(self._fresh))):
                    save(self.path, self._refreshed if refreshed else self._united)
            except BaseException:
                keep = self.mode == "record"
                raise
            finally:
                journal.close(keep=keep)

    def _adopt(self, entry: dict[str, Any]) -> None:
        """Take over an answer that a process of this test recorded."""
        self.ready()
        if self._journal is not None:
            self._journal.append(entry)
        self._fresh.add(entry["row"], entry["types"], entry["n"], entry["answer"])

    def _united(self, before: Tape) -> Tape:
        before.unite(self._fresh)
        if self.places is not None:
            self.places.drop_adopted(before)
        before.rest = {**before.rest, **self.about}
        return before

    def _refreshed(self, before: Tape) -> Tape:
        for place, row in list(before.rows.items()):
            anew = self.is_refreshed(row.site, before.first_key(row))
            ours = place in self._fresh.rows or not self.shared
            if anew and ours and (self.human or row.of != "human"):
                del before.rows[place]
        return self._united(before)

    def check(self) -> None:
        """
        Raise what must not pass unseen, though the program may have swallowed it.

        Raises:
            CassetteError: A question had no recording, or was ambiguous; a secret was not written;
                an answer differs from its recording; with `unused="fail"`, one was not asked for.
        """
        if self.ledger.errors:
            raise self.ledger.errors[0]
        self.ledger.warn_of_left()
        left = self.unused() if self.on_unused == "fail" else []
        if left:
            from ingot.cassette.drift import report_unused

            raise report_unused(self, left)

    def unused(self) -> list[Row]:
        """Rows that have answers which nobody asked for; all are spoken for while refreshing."""
        if self.mode in ("live", "verify", "refresh"):
            return []
        with self._lock:
            return [row for row in self.tape if self._is_unused(row)]

    def _is_unused(self, row: Row) -> bool:
        if self.times_played(row) >= len(row.answers):
            return False
        # Where the call of a tool was played, what it had asked is not asked.
        return not any(map(self.times_played, self.tape.around(row)))

    def times_played(self, row: Row) -> int:
        """How many answers of *row* were played."""
        return self._played[row.data["kind"], row.key]

    def credit(self, kind: str, key: str) -> None:
        """Count an answer as played that another process played."""
        with self._lock:
            self._played[kind, key] += 1

    # One ask

    def begin(self, request: Request, site: str, find: Find) -> StreamedTake:
        """
        Take the number of one ask, in the order of the calls.

        Args:
            request: The first request, without its format.
            site: Where it is asked, as `file:function`.
            find: Finds the provider that is asked where nothing is recorded.
        """
        request = self.veil.request(request)
        parts = request.key_parts()
        key = key_of(parts)
        with self._lock:
            number = self._order.take(key)
        return StreamedTake(self, parts, key, number, site, find, name=request.provider)

    def is_refreshed(self, site: str, key: str) -> bool:
        """Whether a question is asked anew, by the pattern of `only`."""
        return self.only is None or is_meant(self.only, site, key)

    def asks(self, site: str, key: str) -> bool:
        """Whether a question goes to the provider, whatever is recorded."""
        return self.mode == "verify" or (self.mode == "refresh" and self.is_refreshed(site, key))

    def play(
        self,
        kind: str,
        key: str,
        number: int,
        first: str,
        parts: Mapping[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        """
        Take the recorded answer that is due; None if there is none.

        Args:
            kind: The kind of row.
            key: The key of the request.
            number: The number of the ask that the request belongs to.
            first: The key of the first request of that ask.
            parts: The parts of the key, which make it quick to check the row.

        Raises:
            AmbiguousRepeatError: It depends on the scheduler which of several answers is due.
            CassetteKeyError: The row was edited.
        """
        tape = self.tape
        place = kind, key
        row = tape.rows.get(place)
        if row is None:
            return None
        with self._lock:
            if not row.verified and not tape.is_genuine(row, parts):
                raise CassetteKeyError(key, tape.actual_key(row), path=str(self.path))
            played = self._played.get(place, 0)
            answer = self._due(row, played, number, first)
            if answer is not None:
                self._played[place] = played + 1
            return answer

    def _due(self, row: Row, played: int, number: int, first: str) -> dict[str, Any] | None:
        answers = row.answers
        if len(answers) < 2 or row.alike:
            left = played < len(answers) or self.repeats == "last"
            return next(iter(answers.values()), None) if left else None
        if self._order.is_mixed(first):
            raise AmbiguousRepeatError(row.site, len(answers), path=str(self.path), key=row.key)
        last = max(answers)
        return answers.get(last if self.repeats == "last" and number > last else number)

    def record(
        self,
        row: dict[str, Any],
        types: Mapping[str, Any],
        number: int,
        first: str,
        answer: dict[str, Any],
    ) -> None:
        """
        Put an answer on disk; it is there when this returns.

        Args:
            row: What was asked, without answers.
            types: The types in it.
            number: The number of the ask that it belongs to.
            first: The key of the first request of that ask.
            answer: The answer.

        Raises:
            AmbiguousRepeatError: It differs from another answer of the same request, and the two
                were asked for at the same time.
        """
        kind, key, site = row["kind"], row["key"], row["site"]
        with self._lock:
            self.gate.check(row, types, answer)
            others = self._fresh.answers(kind, key)
            if self.mode == "record":
                others = {**others, **self.tape.answers(kind, key)}
            if self._order.is_mixed(first) and not all(
                is_same(answer, other) for other in others.values()
            ):
                raise AmbiguousRepeatError(site, len(others) + 1, path=str(self.path), key=key)
            if number in others:  # equal answers were played in another order
                number = next(n for n in itertools.count() if n not in others)
            self.ready()
            if self._journal is not None:
                self._journal.append({"row": row, "types": types, "n": number, "answer": answer})
            self._fresh.add(row, types, number, answer)
