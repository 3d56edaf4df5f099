"""The decider that counts, and the hands that a decider is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ingot.rill.decider import Counters, DeciderError
from ingot.rill.held import Held
from ingot.rill.wire_codes import Refused

if TYPE_CHECKING:
    from ingot.rill.decider import Decider

FIRST = b'{"decisions":0,"feedback":0,"observations":0,"inspections":0}'


def test_counters_count() -> None:
    """Each kind of question on its own; nothing is chosen, whatever the seed."""
    counters: Decider = Counters()
    said = [
        counters.decide("d", {"arms": ["a", "b"]}, 7),
        counters.feedback("d", 1, 0.5),
        counters.observe(None),
        counters.inspect(),
        counters.inspect(),
    ]

    assert [one["method"] for one in said] == [
        "decide",
        "feedback",
        "observe",
        "inspect",
        "inspect",
    ]
    assert said[-1]["stateCounters"] == {
        "decisions": 1,
        "feedback": 1,
        "inspections": 2,
        "observations": 1,
    }


def test_counters_go_on_from_any_counts() -> None:
    """A count that is not there begins at 0, others are kept, and what is no count is refused."""
    counters = Counters()
    counters.load({"others": 4, "feedback": "x"})
    counters.observe(None)

    assert counters.dump() == {"feedback": "x", "observations": 1, "others": 4}
    with pytest.raises(DeciderError):
        counters.feedback("d", 0, 0.5)
    with pytest.raises(DeciderError):
        counters.load([])
    assert counters.dump() == {"feedback": "x", "observations": 1, "others": 4}


def test_the_state_is_as_it_was_written() -> None:
    """Byte for byte what was restored, until something changes; a reset goes back to the first."""
    held = Held(Counters())
    assert held.state() == FIRST
    held.restore(b'{ "b":1,"a":2 }')
    assert held.state() == b'{ "b":1,"a":2 }'
    held.ask(lambda: held.decider.observe(None))
    assert held.state() == b'{"a":2,"b":1,"observations":1}'
    held.reset()
    assert held.state() == FIRST


def test_a_state_keeps_its_floats() -> None:
    """They are read exactly, other than those of messages: a restart may not change a weight."""
    held = Held(Counters())
    weight = 1.2154864019527699e-262
    held.restore(b'{"weight":%s}' % repr(weight).encode())

    assert held.decider.dump() == {"weight": weight}


def test_a_reason_is_said_in_place_of_the_protocols_text() -> None:
    """As much of it as a message holds; how it is goes by the protocol's text."""

    class Strict(Counters):
        def observe(self, event: Any) -> Any:
            raise DeciderError("invalidEvent", event)

    held = Held(Strict())
    for reason, said in (("no arms", "no arms"), ("é" * 300, "é" * 256)):
        with pytest.raises(Refused) as caught:
            held.ask(lambda reason=reason: held.decider.observe(reason))  # type: ignore[misc]
        assert caught.value.refusal.code == "invalidEnvelope"
        assert caught.value.refusal.message == said
    assert held.fault == "handler rejected the event"


@pytest.mark.parametrize("state", [b"", b"{", b"\xff", b'{"a":NaN}', b"[]", b"[" * 100_000])
def test_what_is_no_state_is_not_taken(state: bytes) -> None:
    """The decider stays as it was, and nothing is said against it."""
    held = Held(Counters())

    with pytest.raises(DeciderError, match="invalidState"):
        held.restore(state)
    assert held.state() == FIRST
    assert held.fault is None


def test_a_state_that_cannot_be_written_is_not_shown() -> None:
    """The decider is at fault."""

    class Odd(Counters):
        odd = False

        def dump(self) -> Any:
            return {1: 2} if self.odd else super().dump()

    odd = Odd()
    held = Held(odd)
    odd.odd = True
    held.ask(odd.inspect)

    with pytest.raises(Refused, match="rejected the current state"):
        held.state()
    assert held.fault == "handler rejected the current state"
