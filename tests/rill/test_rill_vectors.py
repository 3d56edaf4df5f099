"""Rill Runtime IPC v3 as its source system speaks it, by vectors made with that system."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ingot._json import Unreadable
from ingot._serde import Ordered, dumps
from ingot.rill.decider import Counters, DeciderError, Fault
from ingot.rill.engine import Engine
from ingot.rill.limits import Limits
from ingot.rill.snapshot import Snapshot, SnapshotError
from ingot.rill.wire import (
    PREVIEW_CAPABILITIES,
    PREVIEW_HASH,
    read_envelope,
    read_response,
)
from ingot.rill.wire_codes import Failure, is_retryable
from ingot.rill.wire_parts import Identity, Surface, parse
from ingot.rill.wire_requests import Feedback

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "vectors"
ABSENT = "the vectors of shared/ are not beside this checkout"

ARRAYS = "serde reads an array as a struct, field by field; we read objects alone"
LIVE = (
    "a decider of the source is handed a copy of its state, which is measured after each call; "
    "ours lives, is measured when a snapshot is made, and is asked nothing more once it returned "
    "what cannot be sent"
)
STAGES = "no message of the protocol stages, promotes or rolls back a state; we restore snapshots"

DIFFERENCES: dict[str, dict[str, str]] = {
    "rill_request": {
        "65": ARRAYS,
        "191": ARRAYS,
        "192": ARRAYS,
        "204": ARRAYS,
        "233": ARRAYS,
    },
    "rill_response": {"96": ARRAYS},
    "rill_engine": {
        "handler output and state limits": LIVE,
        "profile state limit below the ABI limit": LIVE,
        "staging, promotion, rollback": STAGES,
        "construction: caps differ from the handler": "a decider of ours has no capabilities",
        "construction: caps order differs": "a decider of ours has no capabilities",
        "construction: bad state": "a decider of ours begins with a state of its own",
    },
}
"""What differs, by the number of a vector or by its note, and why; all else is the same."""

AGREED = {"handler output and state limits": 2, "profile state limit below the ABI limit": 1}
"""How many steps of a session are the same before it differs, where it is one that we can run."""

ROLLBACK = ('"rollbackAvailable":true', '"rollbackAvailable":false')
"""What an inspection of ours says otherwise: the source always has a state to go back to."""

FAULTS: dict[str, Fault] = {
    "InvalidModel": "internal",
    "InvalidEvent": "invalidEvent",
    "InvalidState": "invalidState",
    "IncompatibleVersion": "invalidState",
    "DuplicateFeedback": "duplicateFeedback",
    "Timeout": "timeout",
    "Trap": "trap",
    "OutputTooLarge": "outputTooLarge",
    "InvalidOutput": "invalidOutput",
    "MetadataMismatch": "internal",
    "Internal": "internal",
}
"""The faults that the vectors make a decider have, in our words."""


def vectors(name: str) -> list[Any]:
    """A parameter for each vector of a file; one that is skipped where there is none."""
    path = VECTORS / f"{name}.jsonl"
    if not path.is_file():
        return [pytest.param({}, None, marks=pytest.mark.skip(reason=ABSENT), id="absent")]
    found = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    return [
        pytest.param(one, reason_of(name, number, one), id=str(number))
        for number, one in enumerate(found)
    ]


def reason_of(name: str, number: int, vector: dict[str, Any]) -> str | None:
    """Why a vector differs; None where it does not."""
    known = DIFFERENCES.get(name, {})
    note = vector.get("note") or ""
    return known.get(str(number)) or known.get(note.partition(" (")[0])


def bytes_of(given: dict[str, Any], field: str = "raw") -> bytes:
    """The text of a vector, with what is repeated in it."""
    if "raw_hex" in given:
        return bytes.fromhex(given["raw_hex"])
    repeated = re.compile("@@REP:(.*?):([0-9]+)@@", re.DOTALL)
    text = repeated.sub(lambda found: found[1] * int(found[2]), given[field])
    return text.encode()


# The wire


def said_of(message: Any, problem: str | None) -> dict[str, Any]:
    """What the vectors say of a message that was read."""
    text = dumps(message.to_json())
    data = text.encode()
    long = {"len": len(data), "sha256": sha256(data).hexdigest()}
    return {
        "reser": text if len(data) <= 4096 else long,
        "reser_len": len(data),
        "validate": {"ok": True} if problem is None else {"display": problem},
    }


def request(given: dict[str, Any]) -> dict[str, Any]:
    raw = bytes_of(given)
    envelope = read_envelope(raw)
    said = said_of(envelope, envelope.problem(len(raw)))

    assert envelope.problem() == envelope.problem(len(raw))
    return {**said, "expired": envelope.is_expired(given["now"])} if "now" in given else said


def response(given: dict[str, Any]) -> dict[str, Any]:
    message = read_response(bytes_of(given), "v3")
    return said_of(message, message.problem("v3"))


def preview_response(given: dict[str, Any]) -> dict[str, Any]:
    said = said_of(read_response(bytes_of(given), "preview"), None)
    return {name: said[name] for name in ("reser", "reser_len")}


def identity(given: dict[str, Any]) -> dict[str, Any]:
    read = Identity.read(parse(bytes_of(given)))
    return said_of(read, read.problem())


def error(given: dict[str, Any]) -> dict[str, Any]:
    read = Failure.read(parse(bytes_of(given)), "v3")
    return said_of(read, read.problem("v3"))


def code(given: dict[str, Any], surface: Surface = "v3") -> dict[str, Any]:
    failure = Ordered(code=given["code"], message="m", retryable=False)
    read = Failure.read(parse(dumps(failure).encode()), surface)
    return {"retryable": is_retryable(read.code, surface)}


def preview_code(given: dict[str, Any]) -> dict[str, Any]:
    return code(given, "preview")


def feedback_reward(given: dict[str, Any]) -> dict[str, Any]:
    reward = float(given["reward"])
    feedback = Feedback(decision="d1", arm=0, reward=reward, outcome_ms=1, generation=1)
    problem = feedback.problem()
    return {"validate": {"ok": True} if problem is None else {"display": problem}}


def profile_default(given: dict[str, Any]) -> dict[str, Any]:
    return Limits().to_json()


def profile(given: dict[str, Any]) -> dict[str, Any]:
    problem = Limits.read(parse(bytes_of(given))).problem()
    return {"validate": {"ok": True} if problem is None else {"err": problem}}


OPERATIONS: dict[str, Any] = {
    each.__name__: each
    for each in (
        request,
        response,
        preview_response,
        identity,
        error,
        code,
        preview_code,
        feedback_reward,
        profile_default,
        profile,
    )
}


@pytest.mark.parametrize(("vector", "differs"), vectors("rill_request") + vectors("rill_response"))
def test_a_message_is_read_and_written_as_the_source_does(vector: Any, differs: str | None) -> None:
    """Field by field, byte for byte, and with the first fault that the source finds."""
    given, expected = vector["input"], vector["expect"]
    operation = OPERATIONS[given["op"]]
    if differs or "parse_error" in expected:
        with pytest.raises(Unreadable):
            operation(given)
        return
    said = operation(given)
    if "display" in expected.get("validate", {}):
        expected["validate"].pop("err")

    assert said == {name: expected[name] for name in said}


# The engine


class Scripted(Counters):
    """Counts, and does what `__do` of an event or a context says."""

    bulk: str | None = None

    def decide(self, decision: str, context: Any, seed: int | None) -> Any:
        message = Ordered(method="decide", context=context)
        if seed is not None:
            message["deterministicSeed"] = seed
        return self._do(context, message, seed) or super().decide(decision, context, seed)

    def observe(self, event: Any) -> Any:
        return self._do(event, Ordered(method="observe", event=event)) or super().observe(event)

    def dump(self) -> Any:
        return super().dump() if self.bulk is None else self.bulk

    def load(self, state: Any) -> None:
        super().load(state)
        self.bulk = None

    def _do(self, told: Any, message: Any, seed: int | None = None) -> Any:
        what, _, size = (told.get("__do", "") if isinstance(told, dict) else "").partition(":")
        if what in FAULTS:
            raise DeciderError(FAULTS[what])
        if what == "echo":
            return {"event_text": dumps(message), "seed": seed}
        if what == "bigout":
            return "x" * (int(size) - 2)
        if what == "bigstate":
            self.bulk = "s" * (int(size) - 2)
        return None


def engine_of(given: dict[str, Any]) -> Engine:
    """The runtime that a vector asks for, at the generation that it begins with."""
    bounds = {**Limits().to_json(), **given.get("profile", {})}
    engine = Engine(
        Scripted(),
        surface="preview" if given.get("preview") else "v3",
        identity=Identity(name=given.get("name", "rt"), version="9"),
        capabilities=given.get("capabilities", PREVIEW_CAPABILITIES),
        feature_schema_hash=given.get("feature_schema_hash", PREVIEW_HASH),
        model_generation=given.get("model_generation", 0),
        state_schema_version=given.get("state_schema_version", 1),
        limits=Limits.read(parse(dumps(bounds).encode())),
    )
    generation = given.get("initial_state_generation")
    if generation is not None:
        state = dumps(Counters().dump(), sort=False).encode()
        engine.restore(Snapshot(schema_version=1, generation=generation, state=state).write())
    return engine


def step_of(engine: Engine, step: dict[str, Any]) -> Any:
    """What comes of one step, as the vectors say it."""
    if "raw" in step:
        text = engine.answer(bytes_of(step), step.get("now", 1000)).decode()
        return text if len(text) <= 4096 else {"head": text[:250], "len": len(text.encode())}
    if "diagnostics" in step:
        return engine.summary()
    try:
        if "runtime_snapshot" in step:
            return engine.snapshot().decode()
        engine.restore(bytes_of(step, "restore"))
    except SnapshotError:
        return "refused"
    return "ok"


def wanted_of(expected: Any) -> Any:
    """What a vector expects, in the form of `step_of`."""
    if isinstance(expected, dict) and "head" not in expected:
        return "refused"
    if isinstance(expected, dict):
        return {"head": expected["head"][:250], "len": expected["len"]}
    return expected.replace(*ROLLBACK)


def check_diagnostics(summary: dict[str, Any], expected: str, snapshot: int) -> None:
    """They are the facts of an inspection under other names, and the size of the snapshot."""
    diagnostics = json.loads(expected.replace(*ROLLBACK))
    usage = diagnostics.pop("resourceUsage")
    fault = summary["lastError"]

    assert usage.pop("snapshotBytes") == snapshot
    assert summary["resourceUtilization"] == usage
    assert diagnostics.pop("observedAtUnixMs") == 77
    assert diagnostics.pop("reasonCodes") == ([] if fault is None else [fault])
    assert {name: summary[name] for name in diagnostics} == diagnostics


@pytest.mark.parametrize(
    ("vector", "differs"), vectors("rill_engine") + vectors("rill_engine_reward_text")
)
def test_a_session_runs_as_the_source_runs_it(vector: Any, differs: str | None) -> None:
    """Answer by answer, byte for byte, and with the same snapshots."""
    given, expected = vector["input"], vector["expect"]
    agreed = AGREED.get((vector.get("note") or "").partition(" (")[0])
    if differs is not None and agreed is None:
        pytest.skip(differs)
    if "new_err" in expected:
        with pytest.raises(ValueError, match="."):
            engine_of(given)
        return
    engine = engine_of(given)
    steps = list(zip(given["steps"], expected["steps"], strict=True))
    for step, wanted in steps[:agreed]:
        if "diagnostics" in step:
            check_diagnostics(engine.summary(), wanted, len(engine.snapshot()))
        else:
            assert step_of(engine, step) == wanted_of(wanted)
    if agreed is not None:
        step, wanted = steps[agreed]
        assert step_of(engine, step) != wanted_of(wanted)
