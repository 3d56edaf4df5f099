"""A cassette gives back what was recorded to the letter, and writes nothing that it cannot read."""

from __future__ import annotations

import asyncio
import builtins
import json
import os
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from turns import DONE, call, calling, told

from ingot import (
    Approval,
    Budget,
    BudgetExceededError,
    Context,
    File,
    Json,
    Policy,
    Retry,
    ToolError,
    Workspace,
    _registry,
    ask,
    consult,
    tool,
)
from ingot.cassette.errors import CassetteError, CassetteFormatError, CassetteSecretError
from ingot.cassette.merge import resolve
from ingot.cassette.recorder import Cassette
from ingot.cassette.store import dump, load
from ingot.errors import PromptError, ProviderRateLimitError
from ingot.events import Event
from ingot.provider import Response, Usage
from ingot.testing import Script, Value


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this machine has a say."""
    for name in [n for n in os.environ if n.startswith("INGOT_") or n == "CI"]:
        monkeypatch.delenv(name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.json"


def said(text: str) -> Response:
    return Response(text=text, stop_reason="stop")


# Equal to Python, and not the same


def test_one_true_and_one_point_zero_are_three_answers(path: Path) -> None:
    """Python takes them for equal; a program that reads them does not."""
    asked = ["1", "true", "1.0"]
    with Cassette(path, "record"):
        recorded = [ask(Json, "p", model=Script([said(each)])) for each in asked]
    with Cassette(path, unused="fail"):
        played = [ask(Json, "p", model=Script([])) for _ in asked]

    assert repr(recorded) == repr(played) == "[1, True, 1.0]"


def test_verifying_tells_true_from_one(path: Path) -> None:
    """What became a boolean has changed."""
    with Cassette(path, "record"):
        ask(Json, "p", model=Script([said("1")]))

    with pytest.raises(CassetteError, match="differs"), Cassette(path, "verify"):
        ask(Json, "p", model=Script([said("true")]))


def test_a_merge_tells_true_from_one(path: Path) -> None:
    """Which of the two is the recording, only people can say."""

    def side(value: Any) -> str:
        row = {"kind": "tool", "key": "k1:0", "tool": "f", "answers": [{"value": value}]}
        return json.dumps({"ingot_cassette": 1, "types": {}, "rows": [row]})

    text = f"<<<<<<< ours\n{side(1)}\n=======\n{side(True)}\n>>>>>>> theirs\n"

    with pytest.raises(CassetteFormatError, match=r'{"value":1} and {"value":true}'):
        resolve(text, path)


# Numbers that are hidden

CARD = 4111111111111111
RULES: dict[str, Any] = {"redact": {"<CARD>": r"\d{16}"}}


def card() -> int:
    """As a number."""
    return CARD


def digits() -> str:
    """As a text of digits."""
    return str(CARD)


def inside() -> dict[str, Any]:
    """Within a result."""
    return {"card": CARD, "n": 1}


def charge(card: str) -> str:
    """Charge it."""
    return f"charged {card}"


HIDDEN: dict[str, dict[str, Any]] = {
    "a result": {"calls": call("card")},
    "a text of digits": {"calls": call("digits")},
    "a part of a result": {"calls": call("inside")},
    "an argument": {"calls": call("charge", card=str(CARD))},
    "an answer of a person": {"calls": call("consult", question="Which?")},
    "a context": {"context": {"card": CARD}},
}


@pytest.mark.parametrize("place", HIDDEN)
def test_numbers_are_hidden_and_replay(path: Path, place: str) -> None:
    """A rule finds digits, whether they stand in a text or make a number."""
    given = dict(HIDDEN[place])
    calls = [calling(given.pop("calls"))] if "calls" in given else []
    given["tools"] = [card, digits, inside, charge, consult(lambda _: str(CARD))]
    with Cassette(path, "record", **RULES):
        ask(str, "p", model=Script([*calls, DONE]), **given)
    with Cassette(path, unused="fail", **RULES):
        assert "done" == ask(str, "p", model=Script([]), **given)

    assert "<CARD>" in path.read_text()
    assert str(CARD) not in path.read_text()


def pay(card: int) -> str:
    """Pay."""
    return "paid"


@pytest.mark.parametrize(
    ("t", "replies", "place"),
    [
        (int, [Value(CARD)], r"value\.value"),
        (dict[str, int], [Value({"card": CARD})], r"value\.card"),
        (str, [calling(call("pay", card=CARD)), DONE], r"calls\[0\]\.arguments\.card"),
    ],
)
def test_what_can_be_hidden_by_nothing_is_not_written(
    path: Path, t: Any, replies: Any, place: str
) -> None:
    """No placeholder is an int: the place is named, and the answer is returned all the same."""
    with (
        pytest.raises(CassetteSecretError, match=f"`{place}` holds .* no placeholder fits"),
        Cassette(path, "record", **RULES),
    ):
        assert ask(t, "p", model=Script(replies), tools=[pay])

    assert not path.exists() or str(CARD) not in path.read_text()


# What no JSON can say

EXTRAS: dict[str, Any] = {
    "score": float("nan"),
    "when": datetime(2020, 1, 1, tzinfo=UTC),
    "source": Path("a"),
    "price": Decimal("1.50"),
}


def test_handles_are_kept_as_the_model_is_told_of_them(path: Path) -> None:
    """What a tool adds to a file is JSON, before it is recorded and after."""
    known: list[Any] = []

    def make(context: Context) -> File:
        return context.workspace.write_text("a.txt", "x", **EXTRAS)

    def read(file: File) -> str:
        known.append(file.to_dict())
        return "read"

    replies = [calling("make"), calling(call("read", file={"path": "a.txt"})), DONE]
    given: dict[str, Any] = {"tools": [make, read], "workspace": Workspace()}
    with Cassette(path, "record"):
        ask(str, "p", model=Script(replies), **given)
    with Cassette(path, unused="fail", tools="live"):
        ask(str, "p", model=Script([]), **given)
    extras = {"score": None, "when": "2020-01-01T00:00:00Z", "source": "a", "price": "1.50"}

    assert known == [{"path": "a.txt", **extras}] * 2


@pytest.mark.parametrize("seconds", [float("inf"), float("nan")])
def test_an_error_that_waits_for_ever_is_recorded(path: Path, seconds: float) -> None:
    """The wait is no number that JSON has; the rest comes back."""
    error = ProviderRateLimitError("slow", provider="x", status=429, retry_after=seconds)
    takes: list[tuple[Any, list[Any]]] = [("record", [error]), ("replay", [])]
    for mode, replies in takes:
        with pytest.raises(ProviderRateLimitError, match="slow"), Cassette(path, mode):
            ask(str, "p", model=Script(replies), retry=Retry(attempts=1))


def test_what_could_not_be_read_again_is_not_written(path: Path) -> None:
    """Whatever gets that far: what was paid for before stays readable."""
    row: dict[str, Any] = {"kind": "tool", "key": "k1:0", "site": "a.py:f", "tool": "f", "args": {}}
    with Cassette(path, "record") as cassette:
        cassette.record(row, {}, 0, "k1:1", {"value": 1})
        for wrong in (float("nan"), datetime.now(tz=UTC)):
            with pytest.raises(CassetteError, match="no JSON that can be read"):
                cassette.record(row, {}, 1, "k1:1", {"value": wrong})

    assert [[{"value": 1}]] == [each["answers"] for each in json.loads(path.read_text())["rows"]]


# Calls of tools


def test_what_a_played_tool_asked_is_no_leftover(path: Path) -> None:
    """It is part of the call: in a replay the tool does not run, and asks nothing."""
    replies = [calling("outer"), DONE]

    def outer() -> str:
        return ask(str, "outer", model=Script([calling("inner"), DONE]), tools=[inner])

    def inner() -> int:
        return ask(int, "inner", model=Script([Value(1)]))

    with Cassette(path, "record"):
        ask(str, "p", model=Script(replies), tools=[outer])
    for asked in (True, False):
        with Cassette(path) as cassette:
            if asked:
                ask(str, "p", model=Script([]), tools=[outer])
        left = 0 if asked else len(load(path).rows)

        assert left == len(cassette.unused())


def test_a_tool_does_not_run_without_the_file_of_a_played_call(path: Path, tmp_path: Path) -> None:
    """What it would make of that is no recording."""

    def make(context: Context) -> File:
        return context.workspace.write_text("a.txt", "x")

    def read(file: File) -> str:
        return file.read_text()

    cut = [calling("make"), calling(call("read", file={"path": "a.txt"}))]
    tools = [make, read]
    with pytest.raises(BudgetExceededError), Cassette(path, "record"):
        ask(str, "p", model=Script(cut), tools=tools, workspace=Workspace(), budget=Budget(turns=2))
    kept = load(path)
    with pytest.raises(CassetteError, match=r"`read` was not run.*'a\.txt'.*workspace=…"):
        with Cassette(path, "record"):
            ask(str, "p", model=Script([DONE]), tools=tools, workspace=Workspace())

    assert dump(kept) == path.read_bytes()
    Workspace(tmp_path).write_text("a.txt", "x")
    with Cassette(path, "record"):
        assert "done" == ask(
            str, "p", model=Script([DONE]), tools=tools, workspace=Workspace(tmp_path)
        )


def test_an_error_of_the_same_name_is_another(path: Path) -> None:
    """Replayed as it was: what `raise_errors` names is a class, and not all of its name."""

    class ConnectionError(Exception): ...  # noqa: A001 (that is the point)

    def fail() -> str:
        raise ConnectionError("x")

    def ends(kind: type[Exception], replies: list[Any], mode: Any) -> Any:
        with Cassette(path, mode):
            given: dict[str, Any] = {"tools": [fail], "raise_errors": (kind,)}
            return ask(str, "p", model=Script(replies), **given)

    kinds = (builtins.ConnectionError, OSError)
    assert "done" == ends(kinds[0], [calling("fail"), DONE], "record")
    assert ["done", "done"] == [ends(kind, [], "replay") for kind in kinds]
    with pytest.raises(ToolError):
        ends(ConnectionError, [], "replay")


def test_a_listener_that_fails_loses_no_reply(path: Path) -> None:
    """What was paid for is recorded before anybody is told."""

    def listen(event: Event) -> None:
        if event.kind == "turn_ended":
            raise KeyError("listener")

    with pytest.raises(KeyError), Cassette(path, "record"):
        ask(str, "p", model=Script([DONE]), on_event=listen)

    assert 1 == len(load(path))


def test_who_approves_changes_no_arguments(path: Path) -> None:
    """What is called, keyed and recorded is what the model wrote."""
    ran: list[Any] = []

    @tool(effects=["network"])
    def send(to: dict[str, Any]) -> str:
        ran.append(to)
        return "sent"

    def listen(event: Any) -> None:
        getattr(event, "arguments", {}).clear()

    def approve(asked: Approval) -> bool:
        asked.arguments["to"].clear()  # type: ignore[index]
        return True

    given: dict[str, Any] = {
        "tools": [send],
        "policy": Policy(network="require_approval"),
        "approve": approve,
        "on_event": listen,
    }
    with Cassette(path, "record"):
        ask(str, "p", model=Script([calling(call("send", to={"a": 1})), DONE]), **given)
    with Cassette(path, unused="fail"):
        ask(str, "p", model=Script([]), **given)

    assert [{"a": 1}] == ran


# Half of a surrogate pair


def test_a_name_that_is_no_text_is_refused_to_the_model(path: Path) -> None:
    """The model is told that there is no such tool."""
    model = Script([calling(call("f\ud800")), DONE])
    with Cassette(path, "record"):
        ask(str, "p", model=model, tools=[card])
    with Cassette(path, unused="fail"):
        ask(str, "p", model=Script([]), tools=[card])

    assert "there is no tool 'f?'" in told(model)[0].text


def test_a_sample_that_is_no_text_is_refused() -> None:
    """Before anything is asked."""
    with pytest.raises(PromptError, match="sample holds half of a surrogate pair"):
        ask(str, "p", model=Script([DONE]), sample="\ud800")


# Cancelled


def test_what_a_thread_did_after_all_is_recorded(path: Path) -> None:
    """It goes on when its ask is cancelled; done once, it is not done again."""
    began, ran = threading.Event(), threading.Event()
    runs: list[int] = []

    def charge_once() -> str:
        began.set()
        ran.wait(10)
        runs.append(1)
        return "charged"

    async def cancelled() -> None:
        model = Script([calling("charge_once"), DONE])
        task = asyncio.ensure_future(ask.aio(str, "p", model=model, tools=[charge_once]))
        await asyncio.to_thread(began.wait, 10)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    with Cassette(path, "record") as cassette:
        asyncio.run(cancelled())
        ran.set()
        while cassette.ledger.count("recorded") < 2:
            time.sleep(0.01)
    with Cassette(path, "record"):
        assert "done" == ask(str, "p", model=Script([DONE]), tools=[charge_once])

    assert [1] == runs


# Budgets


def test_a_budget_ends_a_replay_where_it_ended_the_recording(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no model is named, the recording knows who served, and hence the price."""
    usage = Usage(input_tokens=500, output_tokens=50)
    model = Script([calling("long", usage=usage, model="gpt-4o"), DONE])
    model.name, model.default_model = "openai", "gpt-4o"

    def find(*_: Any, **__: Any) -> Any:
        return model, "gpt-4o"

    monkeypatch.setattr(_registry, "find_provider", find)

    def long() -> str:
        return "x" * 20_000

    said: list[str] = []
    modes: tuple[Any, ...] = ("record", "replay")
    for mode in modes:
        with pytest.raises(BudgetExceededError) as caught, Cassette(path, mode):
            ask(str, "p", tools=[long], budget=Budget(cost="0.01"), max_tokens=100)
        said.append(str(caught.value))

    assert said[0] == said[1]
