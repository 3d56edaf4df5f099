"""`ingot route report`: what became of the models of a router."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from ingot import InvalidAnswerError, ProviderUnavailableError, Router, ask
from ingot.cli.commands import app
from ingot.rill.decider import Counters
from ingot.rill.report import report_of
from ingot.rill.runtime import Runtime
from ingot.rill.tally import Tallied
from ingot.testing import Script

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """What two models did in five asks, one of which fell back from one to the other."""
    path = tmp_path / "routes.json"
    _ask(path)
    return path


def _ask(path: Path) -> None:
    one = Script([ProviderUnavailableError("down"), "no", 1, 1], model="one")
    two = Script([1, "no", 1, 1, 1], model="two")
    asked = ask.using(model=Router([one, two], strategy="round_robin", state=path))
    answers: list[Any] = []
    for _ in range(5):
        try:
            answers.append(asked.answer(int, "p", repair=0))
        except InvalidAnswerError:
            continue
    assert answers[-1].rate(0.5)


def told(path: Path, *options: str) -> str:
    done = CliRunner().invoke(app, ["route", "report", "--state", str(path), *options])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_router_tells_of_its_asks(state: Path) -> None:
    """Whatever became of them."""
    models = {one["model"]: one for one in report_of(state)["models"]}

    assert sum(one["asks"] for one in models.values()) == 6
    assert models["script/one"]["failed"] == pytest.approx(1 / models["script/one"]["asks"])
    assert sum(one["share"] for one in models.values()) == pytest.approx(1)
    assert [one["rating"] for one in models.values() if one["rating"]] == [0.5]


def test_asks_are_counted_at_once(tmp_path: Path) -> None:
    """What is on disk while the program runs is all that is left when it is killed."""
    path = tmp_path / "routes.json"
    asked = Router([Script([1, 1, 1], model="a")], state=path)
    answers = [ask.answer(int, "p", model=asked) for _ in range(3)]
    assert answers[0].rate(True)
    assert answers[1].rate(0.5)

    [one] = report_of(path)["models"]
    assert (one["asks"], one["valid"], one["rating"]) == (3, 1, 0.75)


def test_shares_are_by_day(state: Path) -> None:
    """All of them were today."""
    report = report_of(state)

    (day,) = report["days"]
    assert day["models"] == report["models"]


def test_is_printed_for_people_and_for_programs(state: Path) -> None:
    """A table, or all of it as JSON."""
    assert json.loads(told(state, "--json")) == {str(state): report_of(state)}
    table = told(state)
    assert "script/one" in table
    assert "share by day" in table


def test_all_routers_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file, each in the user's folder is told of; there may be none."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert "no router has learned" in CliRunner().invoke(app, ["route", "report"]).output
    for name in "ab":
        ask(int, "p", model=Router([Script([1], model=name)]))

    output = CliRunner().invoke(app, ["route", "report"]).output

    assert "script/a" in output
    assert "script/b" in output
    next(tmp_path.rglob("*.json")).with_name("0.json").write_text("{}")
    with_a_damaged_one = CliRunner().invoke(app, ["route", "report"])
    assert with_a_damaged_one.stdout == output
    assert (with_a_damaged_one.exit_code, "0.json" in with_a_damaged_one.stderr) == (19, True)


def test_a_file_that_is_no_router(tmp_path: Path) -> None:
    """It is an error that names the file."""
    with Runtime(tmp_path / "other.json", Counters()):
        pass
    for name in ("other.json", "none.json"):
        done = CliRunner().invoke(app, ["route", "report", "--state", str(tmp_path / name)])
        assert done.exit_code != 0
        assert name in done.output


def test_one_that_was_never_asked(tmp_path: Path) -> None:
    """It has no models yet."""
    with Runtime(tmp_path / "new.json", Tallied(Counters())):
        pass

    assert report_of(tmp_path / "new.json") == {"models": [], "days": []}
