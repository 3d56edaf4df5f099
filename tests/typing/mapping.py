"""What runs of many asks infer, asserted for mypy and pyright; never run."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, assert_type

from pydantic import BaseModel

from ingot import AsyncMap, Failure, Map, Usage, ask


class User(BaseModel):
    name: str


def f() -> None:
    assert_type(ask.map(list[str], ["p"]), Map[list[str]])
    assert_type(ask.map(User, ["p"]).list(), list[User])
    for one in ask.map(User, ["p"], on_error="return"):
        assert_type(one, User | Failure)
    for x in ask[User].map([{"prompt": "p", "context": {"a": 1}}], concurrency=3, model="a/b"):
        assert_type(x, User)
    assert_type(ask.map(int | None, ["p"]).list(), list[int | None])
    assert_type(
        ask.using(model="a/b").map(Literal["a", "b"], (str(i) for i in range(3))).list(),
        list[Literal["a", "b"]],
    )
    assert_type(ask.map("string[]", ["p"]).list(), list[Any])
    run = ask.map(int, ["p"])
    assert_type((run.done, run.failed, run.stored), tuple[int, int, int])
    assert_type((run.usage, run.cost), tuple[Usage, Decimal | None])


async def g() -> None:
    async for x in ask.aio.map(User, ["p"], on_error="return"):
        assert_type(x, User | Failure)
    assert_type(ask.aio.map(User, ["p"]), AsyncMap[User])
    assert_type(await ask[User].aio.map(["p"]).list(), list[User])
