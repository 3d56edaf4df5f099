"""What asks that act infer, asserted for mypy and pyright; never run."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import assert_type

from ingot import (
    Answer,
    Approval,
    Budget,
    Consultation,
    Context,
    File,
    Policy,
    Tool,
    Workspace,
    approve_in_terminal,
    ask,
    attachment,
    consult,
    tool,
)
from ingot.events import Event, ToolCalled


def plain(q: str) -> int:
    return len(q)


@tool(effects=["network"])
async def fetch(url: str, context: Context[int]) -> File:
    return context.workspace.file(url)


def listen(event: Event) -> None:
    if isinstance(event, ToolCalled):
        assert_type(event.tool, str)


def approve(asked: Approval) -> bool:
    return asked.tool == "fetch"


async def approve_later(asked: Approval) -> bool:
    return approve(asked)


def answer(asked: Consultation) -> str:
    return asked.choices[0]


def blocking() -> None:
    assert_type(ask(File, "p", tools=[plain, fetch]), File)
    assert_type(ask(list[int], "p", tools=(plain, consult(), consult(answer))), list[int])
    assert_type(ask.answer(int | None, "p", tools=[plain], deps=1), Answer[int | None])
    acting = ask.using(
        tools=[plain, fetch],
        workspace=Workspace(),
        policy=Policy(network="require_approval"),
        approve=approve_in_terminal,
        on_event=listen,
        raise_errors=True,
    )
    assert_type(acting(int, "p", approve=approve, raise_errors=(OSError, KeyError)), int)
    assert_type(acting(int, "p", approve=approve_later, raise_errors=OSError), int)
    assert_type(acting[File]("p", workspace="out", on_event=print), File)
    assert_type(ask(int, "p", workspace=Path("out"), tools=None), int)


def sent_along(file: File) -> None:
    content = attachment(b"x", name="x.txt")
    assert_type(ask(str, "p", attach=[Path("a.png"), file, content, ("b.txt", b"b")]), str)


def budgeted() -> None:
    assert_type(ask(int, "p", budget=Budget(turns=3, cost="0.10")), int)
    with Budget(tokens=1000, cost=Decimal("0.5"), seconds=2.5) as ledger:
        assert_type(ledger.spent.tokens, int)
        assert_type(ledger.spent.cost, Decimal | None)
        assert_type(ledger.remaining, Budget)
        assert_type(ledger.seconds_left, float | None)


async def awaited() -> None:
    assert_type(await ask.aio(File, "p", tools=[plain, fetch]), File)
    assert_type(await ask.using(tools=[plain]).aio(int, "p"), int)


def offered() -> None:
    tools: list[Tool] = [tool(plain), fetch, consult()]
    assert_type(ask(int, "p", tools=tools), int)


def refused() -> None:
    ask(int, "p", tools=[1])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType, reportCallIssue]
    ask.using(tools=plain)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ask.using(budget=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ask.using(policy={"network": "allow"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ask.using(approve=listen)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ask.using(on_event=plain)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ask.using(raise_errors=SystemExit)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ask.using(attach=[])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    ask(str, "p", attach=["a.png"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType, reportCallIssue]
    Policy(network="maybe")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Budget(turns="3")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Budget(3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
