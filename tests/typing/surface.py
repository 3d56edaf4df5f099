"""What the public surface infers, asserted for mypy and pyright; never run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypedDict, assert_type

from pydantic import BaseModel, Field

from ingot import Answer, Json, Markdown, Text, ask
from ingot.provider import Request, Usage


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


def run() -> None:
    assert_type(asyncio.run(ask.aio(User, "p")), User)


def records(request: Request, usage: Usage, answer: Answer[User]) -> None:
    assert_type(replace(request, prompt="p"), Request)
    assert_type(usage + usage, Usage)
    request.prompt = "p"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    answer.value = User(name="a")  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    Usage(1)  # type: ignore[misc]  # pyright: ignore[reportCallIssue]
