"""Playing what holds no requests: an ask gets the recorded answer that stands in its place."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from ingot._json import describe, is_equal
from ingot.cassette.errors import AmbiguousRepeatError, CassetteFormatError, CassetteMissError
from ingot.cassette.interop import imported_key, ingot_name
from ingot.cassette.lanes import lane
from ingot.cassette.rows import lines
from ingot.cassette.typetext import type_line
from ingot.cassette.upstream_digest import completion_digest
from ingot.cassette.upstream_file import import_command, refuse_mode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot.cassette.recorder import Cassette
    from ingot.cassette.tape import Row, Tape

__all__ = ["Place", "Places", "places_of"]

_PROSE = ("text", "markdown")
_WIDTH = 60


class Place(NamedTuple):
    """
    An answer to a model's question in an imported recording.

    Attributes:
        at: Its position among all of them.
        number: Its number in *row*.
        row: The row it is of.
    """

    at: int
    number: int
    row: Row

    @property
    def type(self) -> str:
        """Ingot's name of the type that was asked for."""
        return str(self.row.data["type"])

    @property
    def value(self) -> Any:
        """The JSON that was answered."""
        return self.row.answers[self.number].get("value")

    def answer(self, *, named: bool) -> dict[str, Any]:
        """
        Return the answer in the form of those that ingot records itself.

        Args:
            named: Whether the request names a provider, so that the answer need not.
        """
        content = _content(self.row.answers[self.number])
        value = content.pop("value", None)
        return {
            **({"text": lines(value)} if self.type in _PROSE else {"value": value}),
            # Ingot names no provider, nor always a model, and records only what ended well.
            **({} if named else {"provider": "ingot"}),
            "served": "replay",
            "stop": "stop",
            **content,
        }

    def __str__(self) -> str:
        said = str(self.value).partition("\n")[0][:_WIDTH]
        return f"`{self.type}` at node `{self.row.site}`, answered {said!r}"


def places_of(cassette: Cassette, tape: Tape) -> Places | None:
    """
    Return what of *tape* is played by position; None where nothing is.

    Raises:
        CassetteModeError: The file can only be replayed.
    """
    refuse_mode(tape, cassette.mode, cassette.path)
    found = [
        Place(answer.get("at", 0), number, row)
        for row in tape
        if row.data["kind"] == "imported" and row.of == "ask"
        for number, answer in row.answers.items()
    ]
    if not found and tape.upstream is None:
        return None
    ordered = sorted(found, key=lambda place: place.at)
    return Places(cassette, ordered, strict=tape.upstream is not None)


class Places:
    """
    The answers of an imported recording that nobody asked for yet.

    A file of Ingot's own form is played as Ingot plays it: the n-th ask gets the n-th answer, and
    has used it up even where it is refused. In a file of ours rows with keys may have come in
    between, so there an ask gets the first answer that was recorded for it.

    Args:
        cassette: What is played.
        places: All of them, in order.
        strict: Whether the n-th ask gets the n-th answer.
    """

    def __init__(self, cassette: Cassette, places: list[Place], *, strict: bool) -> None:
        self._cassette = cassette
        self._strict = strict
        self._path = str(cassette.path)
        self._left = places
        self._count = len(places)
        self._taken: set[tuple[str, int]] = set()
        self._lanes: dict[str, int] = {}
        self._askers: set[int] = set()
        self._lock = threading.Lock()

    def take(self, parts: Mapping[str, Any], key: str, site: str) -> Place | None:
        """
        Take the answer that stands in the place of an ask; None where there is none.

        Args:
            parts: The `key_parts` of its request.
            key: The key of its request.
            site: Where it is asked.

        Raises:
            CassetteMissError: By its position it is another's.
            AmbiguousRepeatError: It depends on the scheduler which of several answers it is.
            CassetteFormatError: It can be no answer.
        """
        with self._lock:
            self._askers.add(lane())
            found = self._next(parts, key, site) if self._strict else self._first(parts)
            if found is not None:
                self._check(found, key, site)
            return found

    def _first(self, parts: Mapping[str, Any]) -> Place | None:
        found = next((place for place in self._left if _fits(place, parts)), None)
        if found is not None:
            self._use(found)
        return found

    def _use(self, place: Place) -> None:
        self._left.remove(place)
        self._cassette.play("imported", place.row.key, place.number, "")

    def _next(self, parts: Mapping[str, Any], key: str, site: str) -> Place:
        if not self._left:
            reason = f"the cassette has {self._count} interaction(s) but {site} asks for another"
            raise self._miss(reason, None, parts, key)
        place = self._left[0]
        self._use(place)
        named = _type(parts)
        if place.type != named:
            reason = f"interaction {place.at} recorded a `{place.type}` response but {site} now"
            raise self._miss(f"{reason} asks for `{named}`", place, parts, key)
        if not _fits(place, parts):
            reason = f"interaction {place.at} was recorded for a different request than {site} now"
            raise self._miss(f"{reason} asks", place, parts, key)
        return place

    def _check(self, place: Place, key: str, site: str) -> None:
        row = place.row
        answers = [_content(answer) for answer in row.answers.values()]
        mine = lane()
        if self._lanes.setdefault(row.key, mine) != mine and not all(
            is_equal(answer, answers[0]) for answer in answers
        ):
            raise AmbiguousRepeatError(site, len(answers), path=self._path, key=key)
        if place.type in _PROSE and not isinstance(place.value, str):
            reason = f"interaction {place.at} recorded {describe(place.value)} for a `{place.type}`"
            raise CassetteFormatError(reason, path=self._path, advice="record it again with Ingot")

    def _miss(
        self, reason: str, place: Place | None, parts: Mapping[str, Any], key: str
    ) -> CassetteMissError:
        said = parts["prompt"].partition("\n")[0][:_WIDTH]
        report = [] if place is None else [f"  recorded there:  {place}"]
        report.append(f"  asked:  `{_type(parts)}`, {said!r}")
        if len(self._askers) > 1:
            report.append("  asked from several threads or tasks, but by position the order counts")
        report += [
            "  no request is in this file, so what changed in one cannot be shown",
            "  if the change is meant:  record it again with Ingot, or go on from a copy:",
            f"    {import_command(self._cassette.path)}",
        ]
        shown = "\n".join(map(self._cassette.gate.shown, report))
        return CassetteMissError(reason, path=self._path, key=key, report=shown)

    def told(self) -> str | None:
        """Say what is next; None where nothing is left."""
        if not self._left:
            return None
        place = self._left[0]
        return f"next of {len(self._left)} imported, without requests: {place.at}, {place}"

    def adopted(self, place: Place) -> None:
        """Note that the answer is now written under the key of the request."""
        self._taken.add((place.row.key, place.number))

    def drop_adopted(self, tape: Tape) -> None:
        """Take out of *tape* what stands under the keys of requests now."""
        for key, number in self._taken:
            row = tape.row("imported", key)
            if row is not None:
                row.answers.pop(number, None)
                if not row.answers:
                    del tape.rows["imported", key]


def _type(parts: Mapping[str, Any]) -> str:
    """Ingot's name of the type that is asked for, or ours where Ingot has none."""
    return ingot_name(parts["target"]) or type_line(parts["target"])


def _fits(place: Place, parts: Mapping[str, Any]) -> bool:
    """Whether an answer was recorded for this request, asked at the node that was recorded."""
    node = place.row.site
    digest = completion_digest(
        node, parts["prompt"], _type(parts), system=parts["system"], context=parts["context"]
    )
    return place.row.key == imported_key("ask", digest, node)


def _content(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in answer.items() if name != "at"}
