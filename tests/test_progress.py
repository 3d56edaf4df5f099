"""The bar of a map: what it tells, where it is shown, and that it never costs a result."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from doubles import Double

from ingot import MapError, NotConfiguredError, ProviderProtocolError, ask

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Terminal(io.StringIO):
    """What somebody looks at."""

    def isatty(self) -> bool:
        return True


def shown(prompts: Iterable[str], double: Double, **given: Any) -> str:
    """The bar as a run leaves it."""
    terminal = Terminal()
    # Not a fixture's to do: pytest puts its own in place when a test begins.
    with pytest.MonkeyPatch.context() as patch, suppress(MapError):
        patch.setattr(sys, "stderr", terminal)
        ask.map(int, prompts, model=double, **given).list()
    return terminal.getvalue().rstrip().rpartition("\r")[2]


def test_a_bar_tells_what_is_done_failed_and_used() -> None:
    """And of how many, where that is known."""
    left = [ProviderProtocolError("no")]
    double = Double(lambda _: left.pop() if left else 1)

    bar = shown(["p"] * 5, double, on_error="return", progress=True)

    assert "5/5" in bar
    assert "failed=1 tokens=20" in bar


def test_a_bar_tells_the_cost_where_it_is_known() -> None:
    """By the table of prices."""

    class Priced(Double):
        name = "openai"
        default_model = "gpt-4o"

    assert "cost=$0.0006" in shown(["number 1"] * 20, Priced(), progress=True)


def test_what_was_in_the_store_is_told_and_is_no_speed(tmp_path: Path) -> None:
    """Or the time that is left would be that of a run that asks nobody."""
    given: Any = {"store": tmp_path / "s", "progress": True}
    shown(["number 1"] * 5, Double(), **given)

    bar = shown(["number 1"] * 5, Double(), **given)

    assert "5/5" in bar
    assert "? asks/s, failed=0 stored=5" in bar


def test_prompts_of_unknown_number_are_counted() -> None:
    """Without an end."""
    assert "3 asks" in shown(iter(["number 1"] * 3), Double(), progress=True)


def test_a_run_that_stops_leaves_its_bar() -> None:
    """It tells how far it came."""
    bar = shown(["p"], Double(lambda _: ProviderProtocolError("no")), progress=True)

    assert "1/1" in bar
    assert "failed=1" in bar


def test_nothing_is_shown_that_is_not_asked_for() -> None:
    """A library is silent."""
    assert shown(["number 1"], Double()) == ""


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    """As in a log."""
    assert ask.map(int, ["number 1"], model=Double(), progress=True).list() == [1]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("stream", [None, object()])
def test_what_cannot_show_a_bar_shows_none(stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs without a console have no stream, or one that is hardly one."""
    monkeypatch.setattr(sys, "stderr", stream)

    assert ask.map(int, ["number 1"], model=Double(), progress=True).list() == [1]


def test_a_terminal_that_goes_away_costs_no_result() -> None:
    """As when a connection to the machine ends."""

    class Gone(Terminal):
        def write(self, _: str) -> int:
            if self.gone:
                raise BrokenPipeError
            return 0

        gone = False

    def source() -> Iterable[str]:
        for n in range(20):
            terminal.gone = n > 3
            yield f"number {n}"

    terminal = Gone()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        patch.setattr("ingot._map.progress._OFTEN", 0)
        results = ask.map(int, source(), model=Double(seconds=0.01), progress=True).list()

    assert results == list(range(20))


def test_prompts_are_counted_for_a_bar_alone() -> None:
    """To count them may cost a query."""

    class Costly(list[str]):
        def __len__(self) -> int:
            raise AssertionError("nobody asked")

    assert ask.map(int, Costly(["number 1"]), model=Double()).list() == [1]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is asked."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    double = Double()

    with pytest.raises(NotConfiguredError, match=r"ingot-ask\[progress\]"):
        ask.map(int, ["p"], model=double, progress=True)

    assert double.heard == []
