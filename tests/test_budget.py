"""Budgets: limits, their ledgers, and what an ask is allowed before each request."""

from __future__ import annotations

import asyncio
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot import Budget, BudgetExceededError, NotConfiguredError, TurnLimitError
from ingot._budget.estimate import reading
from ingot._budget.ledger import Ledger
from ingot._budget.limits import DEFAULT_TURNS, open_ledgers
from ingot._budget.meter import Meter, meter_for
from ingot._messages import Message, ToolCall, ToolResult
from ingot._request import Attachment, Format, Request, ToolDeclaration
from ingot._response import Usage

PRICED = "anthropic/claude-haiku-4-5"
"""One dollar for a million tokens read, five for a million written."""

REQUEST = Request(
    provider="anthropic", model="claude-haiku-4-5", target="int", prompt="x" * 200, max_tokens=1000
)
READ = reading(REQUEST)


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def turn(meter: Meter, usage: Usage | None = None, request: Request = REQUEST) -> Request:
    """One exchange that takes *usage*."""
    sent = meter.before(request, PRICED)
    assert sent is not None
    meter.after(usage, PRICED)
    return sent


# What is stated


@pytest.mark.parametrize(
    "limits",
    [
        {"turns": -1},
        {"turns": 1.5},
        {"turns": True},
        {"tokens": "10"},
        {"cost": "ten"},
        {"cost": -1},
        {"cost": float("nan")},
        {"cost": float("inf")},
        {"cost": "1e99999"},
        {"cost": True},
        {"cost": [1]},
        {"seconds": -0.1},
        {"seconds": float("inf")},
        {"seconds": "5"},
    ],
    ids=str,
)
def test_a_limit_is_a_number(limits: dict[str, Any]) -> None:
    """What is none is refused, and which limit it is is said."""
    name = next(iter(limits))

    with pytest.raises(ValueError, match=rf"Budget\({name}=…\)"):
        Budget(**limits)


def test_a_cost_is_what_it_is_written_as() -> None:
    """As text, number or Decimal."""
    budgets = {Budget(cost=cost) for cost in ("0.1", 0.1, Decimal("0.1"))}

    assert {Budget(cost="0.10")} == budgets
    assert Decimal(3) == Budget(cost=3).cost


def test_a_budget_is_a_value() -> None:
    """Frozen, compared, pickled, and its repr is how it is made."""
    budget = Budget(turns=3, tokens=5, cost="0.50", seconds=1)

    assert "Budget(turns=3, tokens=5, seconds=1.0, cost='0.50')" == repr(budget)
    assert budget == eval(repr(budget)) == pickle.loads(pickle.dumps(budget))
    with pytest.raises(AttributeError):
        budget.turns = 4  # type: ignore[misc]


# Turns


def test_an_ask_has_a_finite_number_of_turns() -> None:
    """Also where nobody limits them."""
    meter = meter_for(None)
    for _ in range(DEFAULT_TURNS):
        turn(meter)
    with pytest.raises(TurnLimitError) as caught:
        meter.before(REQUEST, None)

    error = caught.value
    assert ("turns", DEFAULT_TURNS, DEFAULT_TURNS) == (error.limit, error.allowed, error.spent)
    assert "the limit of 16 model turns is reached" in str(error)


@pytest.mark.parametrize("own", [None, Budget(tokens=10**9)])
def test_the_default_of_turns_yields_to_any_that_are_stated(own: Budget | None) -> None:
    """By the budget of the ask, or by one that is open."""
    with Budget(turns=DEFAULT_TURNS + 5):
        shared = meter_for(own)
    for _ in range(DEFAULT_TURNS + 5):
        turn(shared)

    with pytest.raises(TurnLimitError):
        turn(shared)
    alone = meter_for(own, turns=2)
    turn(alone)
    turn(alone)
    with pytest.raises(TurnLimitError):
        turn(alone)


def test_a_request_that_failed_is_no_turn() -> None:
    """What was set aside for it comes back, once."""
    with Budget(turns=1, tokens=READ + 1000) as ledger:
        meter = meter_for(None)
        for _ in range(3):
            assert meter.before(REQUEST, None) is not None
            meter.release()
            meter.release()
        turn(meter, Usage(input_tokens=1))

    assert (1, 1) == (ledger.spent.turns, ledger.spent.tokens)


def test_a_reply_that_broke_off_is_paid_for() -> None:
    """What was read, and at most a token for each character that came; no more than was allowed."""
    meter = meter_for(Budget(tokens=10_000, cost=1))
    meter.before(REQUEST, PRICED)
    meter.release(50)
    spent = meter.ledger.spent
    assert (1, READ + 50) == (spent.turns, spent.tokens)
    assert Decimal(READ + 5 * 50) / 10**6 == spent.cost

    meter.before(REQUEST, PRICED)
    meter.release(5000)

    assert 2 * READ + 50 + 1000 == meter.ledger.spent.tokens


# Tokens


def test_max_tokens_is_lowered_to_what_is_left() -> None:
    """And the key of the recording stays that of the request that was asked for."""
    chosen = replace(REQUEST, keyed=frozenset({"max_tokens"}))
    meter = meter_for(Budget(tokens=READ + 600))
    sent = turn(meter, Usage(input_tokens=READ, output_tokens=600), chosen)

    assert 600 == sent.max_tokens
    assert chosen.digest() == sent.digest()
    assert replace(chosen, max_tokens=600).digest() != sent.digest()


def test_a_request_that_fits_is_sent_as_it_is() -> None:
    """The very object."""
    meter = meter_for(Budget(tokens=READ + 1000, cost=1, turns=1))

    assert turn(meter) is REQUEST
    assert meter.cut() is None


def test_what_does_not_fit_is_refused_before_it_is_sent() -> None:
    """The error says what was spent, what is allowed and what it might take."""
    meter = meter_for(Budget(tokens=READ + 600))
    turn(meter, Usage(input_tokens=500, output_tokens=90))
    with pytest.raises(BudgetExceededError) as caught:
        meter.before(REQUEST, PRICED)

    error = caught.value
    assert ("tokens", READ + 600, 590, READ + 16) == (
        error.limit,
        error.allowed,
        error.spent,
        error.needed,
    )
    assert str(error) == (
        f"the budget of {READ + 600} tokens does not cover the request, "
        f"which may take {READ + 16} tokens: 590 tokens spent so far; "
        "raise Budget(tokens=…), lower max_tokens, or say less"
    )


def test_a_short_answer_may_be_short() -> None:
    """Below 16 tokens vendors refuse a bound, but not where the caller chose it."""
    short = replace(REQUEST, max_tokens=5)

    assert short is meter_for(Budget(tokens=READ + 5)).before(short, None)
    with pytest.raises(BudgetExceededError):
        meter_for(Budget(tokens=READ + 15)).before(REQUEST, None)


def test_an_answer_without_a_bound_is_given_one_where_it_must() -> None:
    """It is taken to have 16,000 tokens."""
    unbounded = replace(REQUEST, max_tokens=None)

    assert unbounded is meter_for(Budget(tokens=READ + 16_000)).before(unbounded, None)
    sent = meter_for(Budget(tokens=READ + 15_999)).before(unbounded, None)
    assert sent is not None
    assert 15_999 == sent.max_tokens


def test_a_reply_that_was_cut_by_a_budget_is_the_budgets_fault() -> None:
    """The error says what the answer would have been allowed."""
    meter = meter_for(Budget(tokens=READ + 600))
    turn(meter, Usage(input_tokens=READ, output_tokens=600))
    error = meter.cut()

    assert error is not None
    assert (READ + 600, READ + 1000) == (error.spent, error.needed)


def test_usage_that_nobody_counted_counts_in_full() -> None:
    """A server that does not say what it used is charged what it might have used."""
    meter = meter_for(Budget(tokens=10_000, cost=1))
    turn(meter, None)

    spent = meter.ledger.spent
    assert READ + 1000 == spent.tokens
    assert Decimal(READ + 5 * 1000) / 10**6 == spent.cost


def test_reasoning_may_be_sent_back() -> None:
    """It stands in the vendor's blocks, which are not estimated."""
    meter = meter_for(Budget(tokens=READ + 1300))
    turn(meter, Usage(output_tokens=200, reasoning_tokens=200))

    assert 1300 - 200 - 200 == turn(meter).max_tokens


# Cost


def test_a_cost_lowers_max_tokens_too() -> None:
    """Reading costs a millionth a token and writing five here."""
    meter = meter_for(Budget(cost=Decimal(READ + 5 * 100 + 4) / 10**6))
    sent = meter.before(REQUEST, PRICED)

    assert sent is not None
    assert 100 == sent.max_tokens


def test_a_cost_is_rounded_up_to_a_millionth() -> None:
    """Each request is, so that many small ones do not cost nothing."""
    meter = meter_for(Budget(cost=1, turns=5))
    model = "openai/gpt-5.4-mini"
    for _ in range(4):
        assert meter.before(REQUEST, model) is not None
        meter.after(Usage(input_tokens=1), model)

    assert Decimal("0.000004") == meter.ledger.spent.cost


def test_a_cost_that_is_spent_is_told_in_dollars() -> None:
    """With the way out."""
    meter = meter_for(Budget(cost="0.001"))
    turn(meter, Usage(output_tokens=180))
    with pytest.raises(BudgetExceededError) as caught:
        meter.before(REQUEST, PRICED)

    assert Decimal("0.0009") == caught.value.spent
    assert caught.value.needed == Decimal(READ + 5 * 16) / 10**6
    assert "the budget of $0.001 does not cover the request" in str(caught.value)


def test_a_model_without_a_price_is_refused_under_a_cost() -> None:
    """It is said, not ignored; without a limit of a cost it does not matter."""
    with pytest.raises(NotConfiguredError, match="the price of openai-chat/llama is not known"):
        meter_for(Budget(cost=1)).before(REQUEST, "openai-chat/llama")

    assert meter_for(Budget(tokens=10**6)).before(REQUEST, "openai-chat/llama") is REQUEST


@pytest.mark.parametrize("model", ["local/any", "script/script"])
def test_what_runs_here_costs_nothing(model: str) -> None:
    """Whatever the budget."""
    meter = meter_for(Budget(cost=0))

    assert meter.before(REQUEST, model) is REQUEST
    meter.after(Usage(input_tokens=10**6), model)
    assert Decimal(0) == meter.ledger.spent.cost


def test_a_recording_prices_what_it_knows() -> None:
    """The model that served stands in it; before that nothing can be estimated."""
    meter = meter_for(Budget(cost="0.001"))
    assert meter.before(REQUEST, None) is not None
    meter.after(Usage(output_tokens=200), PRICED)

    assert Decimal("0.001") == meter.ledger.spent.cost
    assert meter.before(REQUEST, None) is not None
    with pytest.raises(NotConfiguredError):
        meter.after(Usage(output_tokens=200), "anthropic/no-such-model")


def test_a_served_model_that_is_not_in_the_table_costs_what_was_asked_costs() -> None:
    """Vendors serve `name-2026-01-01` where `name` was asked."""
    meter = meter_for(Budget(cost=1))
    assert meter.before(REQUEST, PRICED) is not None
    meter.after(Usage(output_tokens=200), "anthropic/no-such-model")

    assert Decimal("0.001") == meter.ledger.spent.cost


def test_a_cost_that_nobody_limits_is_not_counted() -> None:
    """To price it would need the table."""
    meter = meter_for(Budget(tokens=10**6))
    turn(meter, Usage(output_tokens=200))

    assert meter.ledger.spent.cost is None


# Seconds


def test_seconds_begin_with_the_first_request() -> None:
    """And the timeout is what is left."""
    clock = Clock()
    meter = meter_for(Budget(seconds=30), clock=clock)
    clock.now += 500
    first = meter.before(REQUEST, None)
    meter.release()
    clock.now += 20
    second = meter.before(replace(REQUEST, timeout=15), None)
    third = meter.before(replace(REQUEST, timeout=5), None)

    assert [30, 10, 5] == [sent and sent.timeout for sent in (first, second, third)]
    assert 10 == meter.seconds_left


def test_seconds_that_have_passed_end_the_ask() -> None:
    """At the next request."""
    clock = Clock()
    meter = meter_for(Budget(seconds=30), clock=clock)
    assert meter.before(REQUEST, None) is not None
    meter.after(None, PRICED)
    clock.now += 31
    with pytest.raises(BudgetExceededError, match=r"the budget of 30\.0 s is spent: 31\.0 s"):
        meter.before(REQUEST, None)

    assert 0 == meter.seconds_left


def test_seconds_are_watched_while_a_reply_comes() -> None:
    """By whoever reads it, where there is a limit."""
    clock = Clock()
    meter = meter_for(Budget(seconds=30), clock=clock)
    meter.before(REQUEST, None)
    assert meter.watch is not None
    meter.watch()
    clock.now += 31
    with pytest.raises(BudgetExceededError, match="is spent"):
        meter.watch()

    assert meter_for(Budget(tokens=1)).watch is None


def test_the_default_timeout_is_kept_where_there_is_time() -> None:
    """It is ten minutes."""
    sent = meter_for(Budget(seconds=3600)).before(REQUEST, None)

    assert sent is REQUEST


# Budgets that are shared


def test_a_budget_that_is_open_is_shared() -> None:
    """By all asks inside, on top of their own; and it can be read afterwards."""
    with Budget(tokens=10_000) as ledger:
        for _ in range(3):
            turn(meter_for(Budget(tokens=5_000)), Usage(input_tokens=1, output_tokens=2))

    assert (3, 9) == (ledger.spent.turns, ledger.spent.tokens)
    assert Budget(tokens=9_991) == ledger.remaining
    assert () == open_ledgers()


def test_of_several_budgets_all_hold() -> None:
    """The tightest is the one that is named."""
    with Budget(tokens=READ + 700), Budget(tokens=READ + 300), Budget(tokens=10**6):
        meter = meter_for(Budget(tokens=10**7))
        sent = turn(meter, None)

    assert 300 == sent.max_tokens
    with pytest.raises(BudgetExceededError, match=f"the budget of {READ + 300} tokens"):
        meter.before(REQUEST, None)


def test_a_budget_can_be_a_constant() -> None:
    """Each block begins anew, also one inside another."""
    budget = Budget(turns=2)
    with budget as outer:
        turn(meter_for(None))
        with budget as inner:
            turn(meter_for(None))
        with pytest.raises(TurnLimitError):
            turn(meter_for(None))
    with budget:
        turn(meter_for(None))

    assert (2, 1) == (outer.spent.turns, inner.spent.turns)


def test_a_budget_is_left_where_it_was_entered() -> None:
    """Else nobody knows which of its ledgers ends."""
    budget = Budget(turns=1)
    copy_context().run(budget.__enter__)

    with pytest.raises(RuntimeError, match=r"Budget\(turns=1\) is not open here; leave `with` in"):
        budget.__exit__(None, None, None)


def test_what_is_left_is_a_budget() -> None:
    """It is never below nothing, and can be handed on."""
    clock = Clock()
    ledger = Ledger(Budget(turns=3, tokens=READ + 1000, cost=1, seconds=5), clock=clock)
    turn(Meter(ledger), Usage(input_tokens=10**6))
    clock.now += 4

    assert Budget(turns=2, tokens=0, cost=0, seconds=1) == ledger.remaining
    assert Budget() == Ledger(Budget()).remaining


async def test_tasks_share_a_budget() -> None:
    """They inherit what is open where they are made."""

    async def ask() -> None:
        turn(meter_for(None), Usage(output_tokens=5))

    with Budget(tokens=10**6) as ledger:
        await asyncio.gather(ask(), ask())

    assert 10 == ledger.spent.tokens


def test_threads_share_a_budget_by_their_context() -> None:
    """A thread that was not handed it has nothing to do with it."""

    def ask() -> None:
        turn(meter_for(None), Usage(output_tokens=5))

    with Budget(tokens=10**6) as ledger:
        for target in (copy_context().run, lambda call: call()):
            thread = threading.Thread(target=target, args=(ask,))
            thread.start()
            thread.join()

    assert 5 == ledger.spent.tokens


def test_asks_do_not_overspend_together() -> None:
    """The second waits until the first has told what it took, and then fits."""
    with Budget(tokens=2 * READ + 1200) as ledger:
        first, second = meter_for(None), meter_for(None)
        assert first.before(REQUEST, PRICED) is not None
        assert second.before(REQUEST, PRICED) is None
        first.after(Usage(input_tokens=READ, output_tokens=50), PRICED)
        sent = second.before(REQUEST, PRICED)
        assert sent is REQUEST
        second.after(Usage(input_tokens=READ, output_tokens=1000), PRICED)

    assert 2 * READ + 1050 == ledger.spent.tokens


def test_a_turn_under_way_is_a_turn() -> None:
    """Of the last one two asks cannot both have a part."""
    with Budget(turns=1):
        first, second = meter_for(None), meter_for(None)
        assert first.before(REQUEST, PRICED) is not None
        assert second.before(REQUEST, PRICED) is None
        first.after(None, PRICED)
        with pytest.raises(TurnLimitError):
            second.before(REQUEST, PRICED)


def test_many_threads_never_overspend() -> None:
    """Each takes as much as it may."""

    def ask(_: int) -> int:
        meter = meter_for(None)
        spent = 0
        while True:
            try:
                sent = meter.before(REQUEST, PRICED)
            except BudgetExceededError:
                return spent
            if sent is not None:
                spent += READ + (sent.max_tokens or 0)
                meter.after(Usage(input_tokens=READ, output_tokens=sent.max_tokens or 0), PRICED)

    with Budget(tokens=50_000, cost=1, turns=10**6) as ledger, ThreadPoolExecutor(8) as pool:
        contexts = [copy_context() for _ in range(8)]
        totals = list(pool.map(lambda context: context.run(ask, 0), contexts))

    assert sum(totals) == ledger.spent.tokens <= 50_000
    assert 50_000 - READ - 16 < ledger.spent.tokens


ACTS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["ok", "fails", "breaks off", "unknown"]),
        st.floats(0, 1),
    ),
    max_size=40,
)


@given(
    acts=ACTS,
    tokens=st.none() | st.integers(0, 6_000),
    micros=st.none() | st.integers(0, 20_000),
    turns=st.none() | st.integers(0, 8),
)
def test_no_order_of_events_overspends(
    acts: list[tuple[int, str, float]], tokens: int | None, micros: int | None, turns: int | None
) -> None:
    """Four asks share a budget; whatever each takes of what it may, the budget holds."""
    cost = None if micros is None else Decimal(micros) / 10**6
    with Budget(tokens=tokens, cost=cost, turns=turns) as ledger:
        meters = [meter_for(None) for _ in range(4)]
        sent: dict[int, Request] = {}
        for number, end, share in acts:
            meter = meters[number]
            if number not in sent:
                try:
                    made = meter.before(REQUEST, PRICED)
                except BudgetExceededError:
                    continue
                if made is not None:
                    sent[number] = made
                continue
            request = sent.pop(number)
            if end == "fails":
                meter.release()
            elif end == "breaks off":
                meter.release(int(5000 * share))
            elif end == "unknown":
                meter.after(None, PRICED)
            else:
                wrote = int((request.max_tokens or 0) * share)
                meter.after(Usage(input_tokens=READ, output_tokens=wrote), PRICED)
        for number in sent:
            meters[number].release()

    spent = ledger.spent
    assert tokens is None or spent.tokens <= tokens
    assert turns is None or spent.turns <= turns
    assert cost is None or (spent.cost is not None and spent.cost <= cost)
    assert not ledger._held.tokens
    assert not ledger._held.turns
    assert not ledger._held.micros


# The estimate


@pytest.mark.parametrize(
    "more",
    [
        {"system": "x" * 100},
        {"context": (("a", "x" * 100),)},
        {"messages": (Message(role="user", text="x" * 100),)},
        {
            "messages": (
                Message(
                    role="assistant",
                    tool_calls=(ToolCall(id="1", name="f", arguments="x" * 100),),
                ),
            )
        },
        {"messages": (Message(role="user", tool_results=(ToolResult(id="1", text="x" * 100),)),)},
        {
            "tools": (
                ToolDeclaration(
                    name="f", description="x" * 50, parameters={"a": "x" * 50}, target="f"
                ),
            )
        },
        {
            "format": Format(
                name="f", schema={"a": "x" * 100}, constrained=True, shown=False, wrapped=False
            )
        },
        {
            "format": Format(
                name="f", schema={"a": "x" * 100}, constrained=False, shown=True, wrapped=False
            )
        },
        *(
            {
                "attachments": (
                    Attachment(media_type=kind, size=100, sha256="f", name="a", content=b"x" * 100),
                )
            }
            for kind in ("image/png", "application/pdf", "text/plain")
        ),
    ],
    ids=str,
)
def test_all_that_is_sent_is_estimated(more: dict[str, Any]) -> None:
    """One token for two bytes at least."""
    assert reading(replace(REQUEST, **more)) >= READ + 50


def test_the_estimate_counts_bytes_not_characters() -> None:
    """Other scripts than ours take more of them."""
    greek, latin = (reading(replace(REQUEST, prompt=text * 1000)) for text in ("λ", "l"))

    assert 500 == greek - latin


def test_a_large_pdf_is_no_more_than_a_model_takes() -> None:
    """Its bytes are not its text."""
    pdf = Attachment(
        media_type="application/pdf", size=20 * 2**20, sha256="f", name="a", content=b""
    )

    assert READ + 1_000_000 == reading(replace(REQUEST, attachments=(pdf,)))
