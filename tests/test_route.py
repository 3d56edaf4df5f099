"""How a router came to a model, as an answer tells it and a recording keeps it."""

from __future__ import annotations

import json
import pickle
from copy import deepcopy

import pytest

from ingot import Answer, Response, Route
from ingot._route import Attempt


class Teacher:
    """Keeps the scores that it is told."""

    def __init__(self) -> None:
        self.scores: list[float] = []

    def rate(self, score: float) -> None:
        self.scores.append(score)


def route(**given: object) -> Route:
    facts: dict[str, object] = {
        "arm": "a/1",
        "features": {"tools": 0, "language": "en"},
        "scores": {"a/1": 0.5, "b/2": None},
        "exploring": True,
        "learner": "linucb",
        "attempts": (Attempt("b/2", "ProviderError"), Attempt("a/1", None)),
        **given,
    }
    return Route(**facts)  # type: ignore[arg-type]


@pytest.mark.parametrize("skipped", [{}, {"c/3": "no key"}])
def test_is_the_same_after_it_was_recorded(skipped: dict[str, str]) -> None:
    """As JSON; who learns is not in it."""
    told = route(skipped=skipped, teacher=Teacher())

    again = Route.from_json(json.loads(json.dumps(told.to_json())))

    assert again == told
    assert again.teacher is None


def test_an_answer_tells_that_of_its_last_turn() -> None:
    """Each turn has its own; an answer without turns has none."""
    first, last = Response(route=route()), Response(route=route(arm="b/2"))

    assert Answer(value=1, model="b/2", turns=(first, last)).route == last.route
    assert Answer(value=1, model="b/2", turns=(first, Response())).route is None
    assert Answer(value=1, model="b/2").route is None


def test_a_rating_reaches_who_learns() -> None:
    """As often as it is given; without anyone who learns, it is said that nobody did."""
    teacher = Teacher()
    answer = Answer(value=1, model="a/1", turns=(Response(route=route(teacher=teacher)),))

    assert answer.rate(0)
    assert answer.rate(1)
    assert teacher.scores == [0, 1]
    assert not Answer(value=1, model="a/1", turns=(Response(route=route()),)).rate(1)


def test_answers_are_equal_whoever_learns() -> None:
    """So that one that was played is the one that was recorded; and it can be hashed and copied."""
    told, played = route(teacher=Teacher()), route()

    assert told == played
    assert hash(told) == hash(played)
    assert deepcopy(played) == pickle.loads(pickle.dumps(played)) == played
