"""Requests for a rill runtime that is made for a test, and what it answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ingot.rill.decider import Counters
from ingot.rill.engine import Engine
from ingot.rill.wire import PREVIEW_CAPABILITIES, PREVIEW_HASH, Envelope, write
from ingot.rill.wire_parts import Identity
from ingot.rill.wire_requests import Decide, Feedback, Handshake, Health, Observe

if TYPE_CHECKING:
    from ingot.rill.decider import Decider
    from ingot.rill.wire_requests import Request

__all__ = ["Caller", "engine_of", "feedback"]


def engine_of(decider: Decider | None = None, **options: Any) -> Engine:
    """A runtime that counts unless it is told otherwise."""
    return Engine(
        decider or Counters(),
        identity=Identity(name="rt", version="9"),
        **{
            "surface": "preview",
            "capabilities": PREVIEW_CAPABILITIES,
            "feature_schema_hash": PREVIEW_HASH,
            **options,
        },
    )


def feedback(decision: str, *, reward: float = 0.5, generation: int = 0) -> Feedback:
    """A feedback for the first arm."""
    return Feedback(decision=decision, arm=0, reward=reward, outcome_ms=5, generation=generation)


class Caller:
    """Asks an engine as a host that keeps up with it would, and keeps the lines it sent."""

    def __init__(self, engine: Engine, now: int = 1000) -> None:
        self.engine = engine
        self.now = now
        self.sent: list[tuple[int, bytes]] = []

    def ask(self, request: Request, id_: str = "r", **changed: Any) -> Any:
        """The body of the answer to *request*."""
        asks = not isinstance(request, Handshake | Health)
        fields: dict[str, Any] = {
            "capability": PREVIEW_CAPABILITIES[0] if asks else None,
            "schema_hash": PREVIEW_HASH if asks else None,
            "model_generation": 0,
            "state_generation": self.engine.state_generation,
            **changed,
        }
        client = Identity(name="test", version="1")
        line = write(Envelope(request_id=id_, client=client, request=request, **fields))
        before = self.engine.state_generation
        answer = json.loads(self.engine.answer(line, self.now))
        if self.engine.state_generation != before:
            self.sent.append((self.now, line))
        assert answer["requestId"] == id_
        assert answer["stateGeneration"] == self.engine.state_generation
        return answer["response"]

    def word(self, request: Request, id_: str = "r", **changed: Any) -> str:
        """The code of the error, or the kind of the answer where there is none."""
        body = self.ask(request, id_, **changed)
        word: str = body["error"]["code"] if body["kind"] == "error" else body["kind"]
        return word

    def decide(self, id_: str) -> str:
        """Ask for a decision."""
        return self.word(Decide(context=None), id_)

    def observe(self, event: Any = None) -> str:
        """Tell of an event."""
        return self.word(Observe(event=event))
