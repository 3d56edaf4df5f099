"""Cassettes in a program: modes, ways to open one, what is recorded and what comes back."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from cassette_kit import Bomb, Echo, child, clean, ended, names
from pydantic import BaseModel, Field, field_validator

from ingot import Cassette, Json, Markdown, Text, ask, errors
from ingot.cassette.errors import CassetteError, CassetteMissError, CassetteModeError
from ingot.cassette.store import load
from ingot.provider import Provider, Request, Response, Usage
from ingot.testing import Script, Value


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this machine has a say."""
    for name in [n for n in os.environ if n.startswith("INGOT_") or n == "CI"]:
        monkeypatch.delenv(name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.json"


def rows(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["rows"]


# Modes


def test_replay_is_the_default_and_asks_nobody(path: Path) -> None:
    """What is not recorded is a miss; no provider is looked for."""
    with pytest.raises(CassetteMissError), Cassette(path):
        ask(str, "p", model="no-such-provider/m")

    assert not path.exists()


def test_record_plays_what_is_there_and_asks_for_the_rest(path: Path) -> None:
    """The second run pays for the new question alone."""
    with Cassette(path, "record"):
        ask(str, "a", model=Echo())
    provider = Echo()
    with Cassette(path, "record") as cassette:
        ask(str, "a", model=provider)
        ask(str, "b", model=provider)

    assert [request.prompt for request in provider.heard] == ["b"]
    assert str(cassette.ledger) == "1 replayed, 1 recorded, 0 missed, 0 drifted"


def test_what_was_recorded_just_now_is_not_played(path: Path) -> None:
    """Two equal questions of one session are two answers."""
    replies = iter(["one", "two"])
    with Cassette(path, "record"):
        got = [ask(str, "p", model=Echo(lambda _: next(replies))) for _ in range(2)]

    assert got == ["one", "two"]


def test_refresh_asks_for_everything(path: Path) -> None:
    """The old answer is not played."""
    for reply in ("old", "new"):
        with Cassette(path, "refresh"):
            assert ask(str, "p", model=Echo(lambda _, reply=reply: reply)) == reply
    with Cassette(path):
        assert ask(str, "p", model=Bomb()) == "new"


def test_live_is_as_if_there_were_no_cassette(path: Path) -> None:
    """Nothing is read, nothing is written."""
    path.write_text("no cassette at all")
    with Cassette(path, "live") as cassette:
        assert ask(str, "p", model=Echo()) == "p"

    assert path.read_text() == "no cassette at all"
    assert cassette.ledger.entries == []


def test_no_block_that_asks_nothing_touches_the_disk(path: Path) -> None:
    """In no mode is a file made for it, nor an old one rewritten."""
    for mode in ("replay", "record", "verify", "live"):
        with Cassette(path, mode):
            pass

    assert names(path.parent) == []


@pytest.mark.parametrize("mode", ["record", "refresh"])
def test_recording_is_refused_in_ci(path: Path, mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By argument and by environment, unless it is allowed by name."""
    monkeypatch.setenv("CI", "true")
    with pytest.raises(CassetteModeError, match="CI is set"):
        Cassette(path, mode)
    monkeypatch.setenv("INGOT_CASSETTE_MODE", mode)
    with pytest.raises(CassetteModeError, match="in_ci=True"):
        Cassette(path)

    assert Cassette(path, in_ci=True).mode == mode


def test_an_unknown_mode_is_told(path: Path) -> None:
    """With those that there are."""
    with pytest.raises(CassetteModeError, match="replay, record, refresh, verify, live"):
        Cassette(path, "rec")  # type: ignore[arg-type]


def test_unused_answers_fail_if_asked_to(path: Path) -> None:
    """Place and first line are named."""
    with Cassette(path, "record"):
        ask(str, "used", model=Echo())
        ask(str, "left\nalone", model=Echo())
    with pytest.raises(CassetteError, match=r"1 recorded answer was.*: .*'left'"):
        with Cassette(path, unused="fail"):
            ask(str, "used", model=Bomb())


# Ways to open one


async def test_it_is_an_async_context_manager(path: Path) -> None:
    """For coroutines as for functions."""
    async with Cassette(path, "record"):
        await ask.aio(str, "p", model=Echo())
    async with Cassette(path):
        assert await ask.aio(str, "p", model=Bomb()) == "p"
    with pytest.raises(CassetteMissError):
        async with Cassette(path):
            await ask.aio(str, "q", model=Bomb())


async def test_it_decorates_functions_and_coroutine_functions(path: Path) -> None:
    """Each call is a session of its own, and keeps name, arguments and result."""
    with Cassette(path, "record"):
        ask(str, "p", model=Echo())

    @Cassette(path, unused="fail")
    def blocking(n: int, *, add: int = 0) -> tuple[str, int]:
        """Ask."""
        return ask(str, "p", model=Bomb()), n + add

    @Cassette(path)
    async def awaited() -> str:
        return await ask.aio(str, "p", model=Bomb())

    assert [blocking(1, add=n) for n in range(2)] == [("p", 1), ("p", 2)]
    assert [await awaited(), await awaited()] == ["p", "p"]
    assert (blocking.__name__, blocking.__doc__) == ("blocking", "Ask.")


def test_it_is_a_setting(path: Path) -> None:
    """`using(cassette=…)` wins over the one that is open."""
    cassette = Cassette(path, "record")
    assert ask.using(cassette=cassette)(str, "p", model=Echo()) == "p"
    cassette.close()
    with Cassette(path.with_name("other.json")):
        assert ask.using(cassette=Cassette(path))(str, "p", model=Bomb()) == "p"


def test_a_path_is_a_setting_too(path: Path) -> None:
    """Text or path; one cassette for each file, so that answers are numbered on."""
    replies = iter(["one", "two"])
    with Cassette(path, "record"):
        for _ in range(2):
            ask(str, "p", model=Echo(lambda _: next(replies)))
    asked = ask.using(cassette=str(path), model=Bomb())

    assert asked(str, "p") == "one"
    assert ask(str, "p", model=Bomb(), cassette=path) == "two"  # type: ignore[arg-type]
    with pytest.raises(CassetteMissError, match="recorded 2 times"):
        asked(str, "p")


PROGRAM = """
    from cassette_kit import Echo, Bomb
    import sys
    from ingot import ask
    model = {"echo": Echo, "bomb": Bomb}[sys.argv[1]]()
    for prompt in sys.argv[2:]:
        print(ask(str, prompt, model=model))
"""


def test_the_environment_names_a_cassette_and_its_mode(path: Path) -> None:
    """A program that says nothing of recordings records and replays; replay is the default."""
    named = {"INGOT_CASSETTE": str(path)}
    record = clean(**named, INGOT_CASSETTE_MODE="record")
    for prompt in ("a", "b"):
        assert ended(child(PROGRAM, "echo", prompt, env=record)) == f"{prompt}\n"
    missed = child(PROGRAM, "bomb", "a", "b", "c", env=clean(**named))
    out, err = missed.communicate()

    assert (missed.returncode, out) == (1, "a\nb\n")
    assert "CassetteMissError" in err
    assert names(path.parent) == ["a.json"]


def test_a_program_that_fails_refreshes_nothing(path: Path) -> None:
    """What the environment named is written when the program ended well, or not at all."""
    with Cassette(path, "record"):
        ask(str, "p", model=Echo(lambda _: "old"))
    before = path.read_bytes()
    env = clean(INGOT_CASSETTE=str(path), INGOT_CASSETTE_MODE="refresh")
    process = child(PROGRAM + "    raise SystemError", "echo", "p", env=env)
    process.communicate()

    assert process.returncode == 1
    assert path.read_bytes() == before
    assert names(path.parent) == ["a.json"]


def test_the_inner_of_two_cassettes_is_asked(path: Path) -> None:
    """And after it the outer one again."""
    inner = path.with_name("b.json")
    with Cassette(path, "record"):
        ask(str, "a", model=Echo())
        with Cassette(inner, "record"):
            ask(str, "b", model=Echo())
        ask(str, "c", model=Echo())

    assert [row["prompt"] for row in rows(path)] == [["a"], ["c"]]
    assert [row["prompt"] for row in rows(inner)] == [["b"]]


def test_a_script_below_is_recorded_and_one_above_covers(path: Path) -> None:
    """What was opened last is asked first."""
    with Script([Value("below")]), Cassette(path, "record"):
        assert ask(str, "p") == "below"
    with Cassette(path), Script([Value("above")]):
        assert ask(str, "p") == "above"
        ask_below = ask.using(cassette=Cassette(path))
        assert ask_below(str, "p") == "below"
    with pytest.raises(AssertionError, match="1 of 1 reply"):
        with Script([Value("unspoken")]), Cassette(path):
            assert ask(str, "p") == "below"


def test_threads_have_their_own_cassettes(tmp_path: Path) -> None:
    """What one thread opens does not cover what another has opened."""
    barrier = threading.Barrier(2)
    failed: list[BaseException] = []

    def one(name: str) -> None:
        try:
            with Cassette(tmp_path / f"{name}.json", "record"):
                barrier.wait(10)
                for n in range(20):
                    ask(str, f"{name} {n}", model=Echo())
                barrier.wait(10)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=one, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    for name in "ab":
        prompts = [row["prompt"][0] for row in rows(tmp_path / f"{name}.json")]
        assert sorted(prompts) == sorted(f"{name} {n}" for n in range(20))


async def test_tasks_have_their_own_cassettes(tmp_path: Path) -> None:
    """Two tasks that take turns each ask their own."""

    async def one(name: str) -> None:
        async with Cassette(tmp_path / f"{name}.json", "record"):
            for n in range(5):
                await asyncio.sleep(0)
                await ask.aio(str, f"{name} {n}", model=Echo())

    await asyncio.gather(one("a"), one("b"))

    assert [len(load(tmp_path / f"{name}.json")) for name in "ab"] == [5, 5]


def test_a_thread_that_opened_none_asks_the_one_that_is_open(path: Path) -> None:
    """Workers of a pool know nothing of the block that they work for."""
    with Cassette(path, "record"):
        thread = threading.Thread(target=lambda: ask(str, "p", model=Echo()))
        thread.start()
        thread.join()

    assert len(load(path)) == 1


# What is recorded, and what comes back


class Color(Enum):
    RED = "red"


class Money(BaseModel):
    amount: Decimal
    on: date
    note: str | None = None
    tags: dict[str, int] = {}

    @field_validator("amount")
    @classmethod
    def _positive(cls, amount: Decimal) -> Decimal:
        if amount < 0:
            raise ValueError("negative")
        return amount


@dataclass
class Point:
    x: float
    y: int


class Pair(NamedTuple):
    a: int
    b: str


Cat = Annotated[Literal["cat"], Field(description="A cat")]

VALUES: dict[str, tuple[Any, Any]] = {
    "int": (int, 3),
    "big int": (int, 12345678901234567890),
    "float": (float, 0.1),
    "bool": (bool, True),
    "none": (int | None, None),
    "str": (str, "a\nb\u2028 \ud83d\ude42 ".replace("\ud83d\ude42", "🙂")),
    "list": (list[str], ["a", ""]),
    "map": (dict[str, int], {"a": 1, "value": 2}),
    "map of maps": (dict[str, dict[str, list[int]]], {"a": {"b": [1]}, "c": {}}),
    "tuple": (tuple[int, str], (1, "a")),
    "set": (set[int], {1, 2}),
    "enum": (Color, Color.RED),
    "literal": (Cat, "cat"),
    "dataclass": (list[Point], [Point(0.5, 1)]),
    "named tuple": (Pair, Pair(1, "a")),
    "dates": (list[date | datetime], [date(2026, 1, 2)]),
    "duration": (timedelta, timedelta(seconds=90)),
    "decimal": (Decimal, Decimal("12.00")),
    "long decimal": (Decimal, Decimal("0.1000000000000000000012")),
    "model": (Money, Money(amount=Decimal("1.50"), on=date(2026, 1, 2), tags={"a": 1})),
    "union": (int | list[Money], [Money(amount=Decimal(1), on=date(2026, 1, 2))]),
    "prose": (Text, "One.\r\n\r\nTwo. \n"),
    "markdown": (Markdown, "# A\n"),
    "json": (Json, {"a": [1, None, 2.5]}),
    "name": ("{a: int, b: string?}", None),
}


class Speaker(Provider):
    """Writes a value in the form that is asked for, as a vendor of this dialect would."""

    name = "echo"
    default_model = "echo-1"

    def __init__(self, t: Any, value: Any, dialect: str) -> None:
        self.t, self.value, self.dialect = t, value, dialect

    def send(self, request: Request) -> Response:
        from ingot._shape.shape import shape_of

        shape = shape_of(self.t, self.dialect)
        text = shape.encode(self.value)
        return Response(text=text, stop_reason="stop", usage=Usage(input_tokens=1))


@pytest.mark.parametrize("dialect", ["open", "openai", "anthropic", "prompt"])
@pytest.mark.parametrize("name", [n for n in VALUES if n != "name"])
def test_a_value_comes_back_as_it_was(path: Path, name: str, dialect: str) -> None:
    """Whatever the vendor's form was, the same value is replayed without a vendor."""
    t, value = VALUES[name]
    with Cassette(path, "record"):
        live = ask(t, "p", model=Speaker(t, value, dialect))
    with Cassette(path):
        played = ask(t, "p", model=Bomb())
    (answer,) = rows(path)[0]["answers"]

    assert repr(played) == repr(live) == repr(value)
    assert ("value" in answer) is (name not in ("prose", "markdown"))


def test_a_recording_of_one_vendor_is_the_same_as_that_of_another(tmp_path: Path) -> None:
    """The form that was sent is no part of a row."""
    found = set()
    for dialect in ("open", "openai", "anthropic", "prompt"):
        path = tmp_path / f"{dialect}.json"
        with Cassette(path, "record"):
            ask(dict[str, int], "p", model=Speaker(dict[str, int], {"a": 1}, dialect))
        found.add(path.read_bytes())

    assert len(found) == 1


@pytest.mark.parametrize(
    ("t", "text"),
    [
        (Decimal, '{"value": 1.10}'),
        (float, '{"value": 1e3}'),
        (Json, '{"a": 1.10, "b": 12345678901234567890.5}'),
        (int, '```json\n{"value": 5}\n```'),
        (int, '<think>hm</think>{"value": 5}'),
        (list[int], '{"value": "[1, 2]"}'),
    ],
)
def test_replies_in_odd_spellings_come_back_as_they_were_read(
    path: Path, t: Any, text: str
) -> None:
    """Digits, fences and quotes too many make no difference between live and replayed."""
    with Cassette(path, "record"):
        live = ask(t, "p", model=Echo(lambda _: Response(text=text, stop_reason="stop")))
    with Cassette(path):
        played = ask(t, "p", model=Bomb())

    assert repr(played) == repr(live)


FAULTS: dict[str, Callable[[], Any]] = {
    "refused": lambda: Response(empty_reason="refusal", explanation="No.\nNo.", stop_reason="x"),
    "filtered": lambda: Response(empty_reason="content_filter", stop_reason="content_filter"),
    "truncated": lambda: Response(text='{"val', empty_reason="truncated", stop_reason="length"),
    "empty": lambda: Response(empty_reason="empty_body", stop_reason="stop"),
    "blank": lambda: Response(text=" ", empty_reason="blank", stop_reason="stop"),
    "thinking only": lambda: Response(
        empty_reason="thinking_only", kinds=("thinking",), stop_reason="stop"
    ),
    "no stop": lambda: Response(text='{"value": 1}'),
    "no json": lambda: Response(text="Sure!", stop_reason="stop"),
    "twice": lambda: Response(text='{"value": 1, "value": 2}', stop_reason="stop"),
    "no int": lambda: Response(text='{"value": "x"}', stop_reason="stop"),
    "unwrapped": lambda: Response(text="5", stop_reason="stop"),
    "auth": lambda: errors.ProviderAuthError("who are you", provider="echo", status=401),
    "rate limit": lambda: errors.ProviderRateLimitError(
        "slow\ndown", provider="echo", retry_after=99.5, status=429, type="rate"
    ),
    "timeout": lambda: errors.ProviderTimeoutError("no reply", provider="echo"),
    "unavailable": lambda: errors.ProviderUnavailableError("down", advice="wait"),
    "protocol": lambda: errors.ProviderProtocolError("bad", provider="echo", status=400),
    "any": lambda: errors.ProviderError("odd"),
}


def facts(error: errors.IngotError) -> dict[str, Any]:
    """What a program can see of an error."""
    left_out = ("request_id", "replayed", "attempts", "advice")
    return {k: str(v) for k, v in vars(error).items() if k not in left_out}


@pytest.mark.parametrize("name", FAULTS)
def test_an_ask_that_fails_fails_alike_when_replayed(path: Path, name: str) -> None:
    """The same class with the same facts, at once."""
    caught = []
    for mode, model in (("record", Echo(lambda _: FAULTS[name]())), ("replay", Bomb())):
        with pytest.raises(errors.IngotError) as error, Cassette(path, mode, unused="fail"):
            ask(int, "p", model=model, retry=0)
        caught.append(error.value)

    assert type(caught[0]) is type(caught[1])
    assert facts(caught[0]) == facts(caught[1])
    assert len(load(path)) == 1


def test_an_error_that_passed_is_no_row(path: Path) -> None:
    """A request that got through in the end is an answer, which names what failed before it."""
    replies = iter([errors.ProviderUnavailableError("down"), 1])
    from ingot import Retry

    at_once = Retry(attempts=2, ceiling=0.001)
    with Cassette(path, "record"):
        assert ask(int, "p", model=Echo(lambda _: next(replies)), retry=at_once) == 1

    (answer,) = rows(path)[0]["answers"]
    assert (answer["value"], answer["retried"]) == (1, ["ProviderUnavailableError"])


def test_a_plugins_own_error_is_replayed_as_the_nearest_of_ours(path: Path) -> None:
    """Its class would have to be imported."""

    class OutOfLuckError(errors.ProviderUnavailableError):
        pass

    with pytest.raises(OutOfLuckError), Cassette(path, "record"):
        ask(int, "p", model=Echo(lambda _: OutOfLuckError("no luck")), retry=0)
    with pytest.raises(errors.ProviderUnavailableError, match="no luck"), Cassette(path):
        ask(int, "p", model=Bomb())


@pytest.mark.parametrize("dialect", ["open", "openai", "anthropic", "prompt"])
@pytest.mark.parametrize("text", ['{"value":"x"}', "Sure!", '{"a": {"x": "y"}}', "[1,"])
@pytest.mark.parametrize("t", [int, dict[str, dict[str, int]]])
def test_a_repair_is_replayed_turn_by_turn(path: Path, t: Any, text: str, dialect: str) -> None:
    """What did not fit is read in the same way again, so that the next request is the same."""
    value = 1 if t is int else {"a": {"b": 1}}
    good = Speaker(t, value, dialect)

    def reply(_: str) -> Any:
        if len(provider.heard) == 1:
            return Response(text=text, stop_reason="stop")
        return good.send(provider.heard[-1])

    provider = Echo(reply, dialect=dialect)
    with Cassette(path, "record"):
        live = ask.answer(t, "p", model=provider, repair=1)
    with Cassette(path, unused="fail"):
        played = ask.answer(t, "p", model=Bomb(), repair=1)

    assert (played.value, played.repairs) == (live.value, live.repairs) == (value, 1)
    assert [turn.text is None for turn in played.turns] == [False, False]
    assert len(rows(path)) == 2


def test_later_turns_are_found_by_the_number_of_their_ask(path: Path) -> None:
    """Flows that take another course after the same first request do not mix."""
    replies = iter(["bad", 1, 2, "bad", 3])
    with Cassette(path, "record"):
        provider = Echo(lambda _: next(replies))
        live = [ask(int, "p", model=provider, repair=1) for _ in range(3)]
    with Cassette(path, unused="fail"):
        played = [ask(int, "p", model=Bomb(), repair=1) for _ in range(3)]

    assert live == played == [1, 2, 3]


def test_a_later_turn_that_is_missing_is_asked_in_the_vendors_form(path: Path) -> None:
    """The first turn is played, and the provider still gets what its server takes."""
    with Cassette(path, "record"):
        replies = iter([Response(text="bad", stop_reason="stop"), 1])
        ask(int, "p", model=Echo(lambda _: next(replies)), repair=1)
    tree = json.loads(path.read_text())
    tree["rows"] = [row for row in tree["rows"] if "messages" not in row]
    path.write_text(json.dumps(tree))
    provider = Echo(lambda _: 2, dialect="openai")
    with Cassette(path, "record"):
        assert ask(int, "p", model=provider, repair=1) == 2
    with Cassette(path, unused="fail"):
        assert ask(int, "p", model=Bomb(), repair=1) == 2

    assert len(provider.heard) == 1
    assert provider.heard[0].format is not None
    assert provider.heard[0].format.constrained


def test_an_answer_tells_who_gave_it(path: Path) -> None:
    """Model, usage and cost are known when it is replayed; a named model is not written twice."""
    told = []
    for mode in ("record", "replay"):
        with Script([1, 2]) if mode == "record" else Cassette(path), Cassette(path, mode):
            one = ask.answer(int, "unnamed")
            two = ask.answer(int, "named", model="script/x")
        told.append((one.model, one.usage, two.model, two.usage))
    by_prompt = {row["prompt"][0]: row["answers"][0] for row in rows(path)}

    assert told[0] == told[1]
    assert told[0][0] == told[0][2] == "script/script"
    assert by_prompt["unnamed"]["provider"] == "script"
    assert "provider" not in by_prompt["named"]


def test_a_model_of_the_environment_is_told_where_there_is_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key says `default`; who that was when it was recorded stands in the answer."""
    monkeypatch.setenv("INGOT_MODEL", "script/x")
    with Script([1]), Cassette(path, "record"):
        live = ask.answer(int, "p")
    for other in (None, "openai/gpt-5"):
        monkeypatch.delenv("INGOT_MODEL", raising=False)
        if other is not None:
            monkeypatch.setenv("INGOT_MODEL", other)
        with Cassette(path):
            assert ask.answer(int, "p").model == live.model == "script/script"

    assert rows(path)[0]["model"] == "default"


def test_what_does_not_decide_the_answer_is_not_in_the_key(path: Path) -> None:
    """Timeout, retries, address, key, form and place of the call may change."""
    with Cassette(path, "record"):
        ask(int, "p", model=Echo(lambda _: 1), system="s", temperature=0)
    with Cassette(path, unused="fail"):
        assert (
            ask(
                int,
                "p",
                model=Bomb(),
                system="s",
                temperature=0.0,
                timeout=3,
                retry=9,
                repair=2,
                constrain="prompt",
                base_url="http://localhost:1/v1",
                api_key="sk-other",
            )
            == 1
        )


async def test_blocking_and_awaited_asks_share_rows(path: Path) -> None:
    """A row does not know how it was asked."""
    with Cassette(path, "record"):
        ask(str, "a", model=Echo())
        await ask.aio(str, "b", model=Echo())
    with Cassette(path, unused="fail"):
        assert await ask.aio(str, "a", model=Bomb()) == "a"
        assert ask(str, "b", model=Bomb()) == "b"


def test_a_validator_that_turned_strict_fails_the_replay(path: Path) -> None:
    """A recorded answer is validated again."""

    class Name(BaseModel):
        name: str

    Old = Name

    class Name(BaseModel):  # type: ignore[no-redef]
        name: str

        @field_validator("name")
        @classmethod
        def _short(cls, name: str) -> str:
            if len(name) > 3:
                raise ValueError("too long")
            return name

    with Cassette(path, "record"):
        ask(Old, "p", model=Echo(lambda _: {"name": "Augusta"}))
    with pytest.raises(errors.MismatchedAnswerError, match="too long"), Cassette(path):
        ask(Name, "p", model=Bomb())


# Redaction

MAIL = {"<EMAIL>": r"[\w.]+@[\w.]+\w"}


def test_redacted_texts_are_neither_keyed_nor_written(path: Path) -> None:
    """The provider and the program see what was said; the file does not."""
    provider = Echo(lambda p: f"Hello {p.split()[-1]}!")
    given: dict[str, Any] = {"system": "For ada@example.org.", "context": {"to": ["b@x.org"]}}
    with Cassette(path, "record", redact=MAIL):
        assert ask(Text, "Write to ada@example.org", model=provider, **given) == (
            "Hello ada@example.org!"
        )
    with Cassette(path, redact=MAIL, unused="fail"):
        given["context"] = {"to": ["other@y.org"]}
        assert ask(Text, "Write to eve@example.org", model=Bomb(), **given) == "Hello <EMAIL>!"

    assert "ada@example.org" in (provider.heard[0].system or "")
    assert "@" not in path.read_text()


def test_placeholders_are_restored_from_the_environment(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that needs the real value gets it."""
    with Cassette(path, "record", redact=MAIL):
        ask(list[str], "Who?", model=Echo(lambda _: ["ada@example.org"]))
    monkeypatch.setenv("MAIL_OF_ADA", "ada@home.org")
    with Cassette(path, redact=MAIL, restore={"<EMAIL>": "MAIL_OF_ADA"}):
        assert ask(list[str], "Who?", model=Bomb()) == ["ada@home.org"]


def test_a_repair_of_a_redacted_answer_is_replayed(path: Path) -> None:
    """The later turn quotes the first, which is written with its placeholder."""
    replies = iter(["ada@example.org", 3])
    with Cassette(path, "record", redact=MAIL):
        ask(int, "p", model=Echo(lambda _: next(replies)), repair=1)
    with Cassette(path, redact=MAIL, unused="fail"):
        assert ask(int, "p", model=Bomb(), repair=1) == 3

    assert "@" not in path.read_text()


@pytest.mark.parametrize("name", ["unused", "repeats", "tools", "stream"])
def test_a_way_that_there_is_not_is_told(path: Path, name: str) -> None:
    """With those that there are, before anything is played."""
    wrong: Any = {name: "word"}
    with pytest.raises(ValueError, match=f"^{name} of a cassette is one of .*, not 'word'"):
        Cassette(path, **wrong)
