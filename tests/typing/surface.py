"""What the public surface infers, asserted for mypy and pyright; never run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypedDict, assert_type

from pydantic import BaseModel, Field

from ingot import Answer, AsyncStream, Json, Markdown, Objective, Route, Router, Stream, Text, ask
from ingot.provider import Request, Usage
from ingot.rill import Host


class User(BaseModel):
    name: str


class Cat(BaseModel):
    lives: int


@dataclass
class Leg:
    km: float


class Row(TypedDict):
    n: int


def blocking() -> None:
    assert_type(ask(list[str], "p"), list[str])
    assert_type(ask(User, "p"), User)
    assert_type(ask(Leg, "p"), Leg)
    assert_type(ask(Row, "p"), Row)
    assert_type(ask(int | None, "p"), int | None)
    assert_type(ask(User | Cat, "p"), User | Cat)
    assert_type(ask(list[User | Cat], "p"), list[User | Cat])
    assert_type(ask(Literal["a", "b"], "p"), Literal["a", "b"])
    assert_type(ask(Annotated[int, Field(ge=3)], "p"), int)
    assert_type(ask(dict[str, tuple[int, str]], "p"), dict[str, tuple[int, str]])
    assert_type(ask(None, "p"), None)
    assert_type(ask(Text, "p"), Text)
    assert_type(ask(Markdown, "p"), Markdown)
    assert_type(ask(Json, "p"), Json)
    assert_type(ask("string[]", "p"), Any)


def subscripted() -> None:
    assert_type(ask[list[str]]("p"), list[str])
    assert_type(ask[User]("p"), User)
    assert_type(ask[Leg]("p"), Leg)
    assert_type(ask[int | None]("p"), int | None)
    assert_type(ask[User | Cat]("p"), User | Cat)
    assert_type(ask[Literal["a", "b"]]("p"), Literal["a", "b"])
    assert_type(ask[Annotated[int, Field(ge=3)]]("p"), int)
    assert_type(ask[User].using(model="a/b")("p"), User)
    assert_type(ask[Literal["a", "b"]].using(seed=1)("p"), Literal["a", "b"])


def answers() -> None:
    assert_type(ask.answer(list[str], "p"), Answer[list[str]])
    assert_type(ask.answer(int | None, "p"), Answer[int | None])
    assert_type(ask.answer(Literal["a", "b"], "p").value, Literal["a", "b"])
    assert_type(ask[User].answer("p"), Answer[User])


def configured() -> None:
    triage = ask.using(model="openai/gpt-5.4-mini", system="s", params={"top_p": 1})
    assert_type(triage(list[str], "p"), list[str])
    assert_type(triage(int | None, "p"), int | None)
    assert_type(triage(Literal["a", "b"], "p"), Literal["a", "b"])
    assert_type(triage[list[str]]("p"), list[str])
    assert_type(triage[User]("p"), User)
    assert_type(triage.answer(User, "p"), Answer[User])
    assert_type(triage.using(seed=1)(User, "p"), User)


async def awaited() -> None:
    assert_type(await ask.aio(list[str], "p"), list[str])
    assert_type(await ask.aio(User | Cat, "p"), User | Cat)
    assert_type(await ask.aio(Literal["a", "b"], "p"), Literal["a", "b"])
    assert_type(await ask[list[str]].aio("p"), list[str])
    assert_type(await ask[User | None].aio("p"), User | None)
    assert_type(await ask.aio.answer(User, "p"), Answer[User])
    assert_type(await ask.using(seed=1).aio(User, "p"), User)
    gathered = await asyncio.gather(ask.aio(User, "p"), ask.aio(int | None, "p"))
    assert_type(gathered, tuple[User, int | None])
    assert_type(await asyncio.create_task(ask.aio(User, "p")), User)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(ask.aio(Literal["a", "b"], "p"))
    assert_type(task.result(), Literal["a", "b"])
    assert_type(await asyncio.wait_for(ask.aio(User, "p"), 1), User)


def streamed() -> None:
    assert_type(ask.stream(list[str], "p"), Stream[list[str]])
    assert_type(ask.stream(User | None, "p"), Stream[User | None])
    assert_type(ask.stream("string[]", "p"), Stream[Any])
    assert_type(ask[User].stream("p"), Stream[User])
    assert_type(ask.using(seed=1).stream(Literal["a", "b"], "p"), Stream[Literal["a", "b"]])
    assert_type(ask[User].using(seed=1).stream("p"), Stream[User])
    with ask.stream(list[User], "p") as s:
        assert_type(s, Stream[list[User]])
        for snapshot in s:
            assert_type(snapshot, Any)
        for user in s.items():
            assert_type(user, User)
        assert_type(s.value, list[User])
        assert_type(s.answer, Answer[list[User]])
    with ask.stream(tuple[int, ...], "p") as numbers:
        for number in numbers.items():
            assert_type(number, int)
    with ask.stream(set[str], "p") as names:
        for name in names.items():
            assert_type(name, str)
    with ask.stream(Markdown, "p") as prose:
        for piece in prose:
            assert_type(piece, str)
        assert_type(prose.value, Markdown)


async def awaited_streams() -> None:
    assert_type(ask.aio.stream(list[str], "p"), AsyncStream[list[str]])
    assert_type(ask[User].aio.stream("p"), AsyncStream[User])
    assert_type(ask.aio[User].stream("p"), AsyncStream[User])
    async with ask.using(seed=1).aio.stream(list[User], "p") as s:
        assert_type(s, AsyncStream[list[User]])
        async for snapshot in s:
            assert_type(snapshot, Any)
        async for user in s.items():
            assert_type(user, User)
        assert_type(await s.finish(), list[User])
        assert_type(s.value, list[User])
        assert_type(s.answer, Answer[list[User]])
    async with ask.aio.stream(Text, "p") as prose:
        async for piece in prose:
            assert_type(piece, str)


def run() -> None:
    assert_type(asyncio.run(ask.aio(User, "p")), User)


def records(request: Request, usage: Usage, answer: Answer[User]) -> None:
    assert_type(replace(request, prompt="p"), Request)
    assert_type(usage + usage, Usage)
    request.prompt = "p"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    answer.value = User(name="a")  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    Usage(1)  # type: ignore[misc]  # pyright: ignore[reportCallIssue]


def routed(answer: Answer[User]) -> None:
    router = Router(
        ["openai/x", "local/smollm2"],
        Objective(cost=1),
        features=lambda request: {"long": len(request.prompt) > 9},
        prices={"openai/x": (1, 2.5)},
    )
    assert_type(ask.using(model=router)(list[str], "p"), list[str])
    assert_type(answer.route, Route | None)
    assert_type(answer.rate(1), bool)
    Router(["openai/x"], runtime=Host(["./runtime"]))
    Router(["openai/x"], strategy="best")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
