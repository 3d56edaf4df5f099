"""Errors of asks that act: their facts, their sentences, and what they never say."""

from __future__ import annotations

import pickle
from decimal import Decimal

import pytest

from ingot import (
    BudgetExceededError,
    IngotError,
    PolicyError,
    ToolError,
    TurnLimitError,
)
from ingot._messages import Message

SAID: list[tuple[IngotError, str]] = [
    (
        BudgetExceededError("tokens", allowed=5_000, spent=4_800, needed=1_200),
        (
            "the budget of 5,000 tokens does not cover the request, which may take 1,200 tokens: "
            "4,800 tokens spent so far; raise Budget(tokens=…), lower max_tokens, or say less"
        ),
    ),
    (
        BudgetExceededError("cost", allowed=Decimal("0.10"), spent=Decimal("0.000002")),
        "the budget of $0.10 is spent: $0.000002; raise Budget(cost=…)",
    ),
    (
        BudgetExceededError("seconds", allowed=5.0, spent=6.04),
        "the budget of 5.0 s is spent: 6.0 s; raise Budget(seconds=…)",
    ),
    (
        TurnLimitError(allowed=16, spent=16),
        (
            "the limit of 16 model turns is reached, and there is no answer; "
            "raise Budget(turns=…), or see in .transcript what the model keeps doing"
        ),
    ),
    (
        TurnLimitError(allowed=1, spent=1),
        (
            "the limit of 1 model turn is reached, and there is no answer; "
            "raise Budget(turns=…), or see in .transcript what the model keeps doing"
        ),
    ),
    (
        BudgetExceededError("turns", allowed=1, spent=1),
        "the budget of 1 turn is spent: 1 turn; raise Budget(turns=…)",
    ),
    (
        PolicyError("send", "network"),
        "the tool 'send' has the effect 'network', and the policy has no rule for it",
    ),
    (
        PolicyError("send", "network", "deny", advice="change it"),
        "the tool 'send' has the effect 'network', and the policy says 'deny'; change it",
    ),
    (
        ToolError("send", ValueError("no such address")),
        "the tool 'send' failed: ValueError: no such address",
    ),
]
ERRORS = [error for error, _ in SAID]


@pytest.mark.parametrize(("error", "said"), SAID, ids=lambda value: type(value).__name__)
def test_what_errors_say(error: IngotError, said: str) -> None:
    """What happened, then the way out."""
    assert said == str(error)
    assert f"{type(error).__name__}({error.message!r})" == repr(error)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_keep_their_facts(error: IngotError) -> None:
    """Through a pickle too, and under the name they are imported by."""
    error.transcript = (Message(role="assistant", text="SECRET"),)
    again = pickle.loads(pickle.dumps(error))

    assert (type(error), vars(error), str(error)) == (type(again), vars(again), str(again))
    assert "SECRET" not in f"{error} {error!r}"
    assert "ingot.errors" == type(error).__module__


def test_an_error_has_no_transcript_of_its_own() -> None:
    """Before anything was said."""
    assert () == IngotError("x").transcript


def test_a_failed_tool_keeps_the_cause() -> None:
    """As the cause; its text is bounded, and stands on one line."""
    cause = RuntimeError("first\nsecond " + "x" * 10_000)
    error = ToolError("f", cause)

    assert error.__cause__ is cause
    assert ("f", "RuntimeError") == (error.tool, error.type)
    assert str(error).startswith("the tool 'f' failed: RuntimeError: first second xxx")
    assert len(str(error)) < 600
    assert "the tool 'f' failed: KeyError" == str(ToolError("f", KeyError()))


def test_a_limit_of_turns_is_a_budget() -> None:
    """Whoever catches one catches the other."""
    assert issubclass(TurnLimitError, BudgetExceededError)
    assert not issubclass(PolicyError, BudgetExceededError)
