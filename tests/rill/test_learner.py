"""Learners by their names: what comes along, what others announce, and what is not there."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from ingot.errors import NotConfiguredError
from ingot.rill import learner
from ingot.rill.decider import Counters
from ingot.rill.learner import GROUP, find_learner, learners


def test_two_come_along() -> None:
    """They are announced as anybody's are."""
    assert {"linucb", "thompson"} <= set(learners())


@pytest.mark.parametrize("name", ["linucb", "thompson"])
def test_each_find_is_a_new_one(name: str) -> None:
    """What one learns the other does not know."""
    first, second = find_learner(name), find_learner(name)
    first.decide("d", {"arms": ["a"]}, None)

    assert first.inspect()["learner"] == name
    assert second.inspect()["decisions"] == 0


def test_a_name_that_is_not_there_is_compared_with_those_that_are() -> None:
    """The error says which one was meant, and what there is."""
    with pytest.raises(NotConfiguredError, match="'linucp'; did you mean 'linucb'") as caught:
        find_learner("linucp")

    assert "installed: linucb, thompson" in str(caught.value)


def announced(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """Let a package announce *value* as the learner `own`."""
    points = {"own": EntryPoint("own", value, GROUP)}
    monkeypatch.setattr(learner, "_announced", lambda: points)


def test_others_are_announced_by_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever makes a decider will do."""
    announced(monkeypatch, "ingot.rill.decider:Counters")

    assert learners() == ("own",)
    assert isinstance(find_learner("own"), Counters)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("ingot.rill.nowhere:Own", "cannot be made: ModuleNotFoundError"),
        ("ingot.rill.strategies:Strategy", "cannot be made: TypeError"),
    ],
)
def test_a_learner_that_cannot_be_made_says_why(
    monkeypatch: pytest.MonkeyPatch, value: Any, said: str
) -> None:
    """Be it that it does not import, or that it needs more than it is given."""
    announced(monkeypatch, value)

    with pytest.raises(NotConfiguredError, match=said):
        find_learner("own")
