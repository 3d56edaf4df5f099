"""What tools infer, asserted for mypy and pyright; never run."""

from __future__ import annotations

from typing import Any, assert_type

from ingot import Context, Tool, tool


class Database:
    rows: int


@tool
def plain(q: str, n: int = 5) -> list[str]:
    return [q] * n


@tool(effects=["network"], timeout=5)
async def later(q: str) -> int:
    return len(q)


@tool
def told(q: str, context: Context[Database]) -> int:
    assert_type(context.deps, Database)
    assert_type(context.deps.rows, int)
    return context.deps.rows


@tool
def bare(context: Context) -> None:
    assert_type(context.deps, Any)


class Shop:
    @tool
    def price(self, item: str) -> float:
        return len(item)

    @tool(effects=["network"])
    async def order(self, item: str, many: int) -> str:
        return item * many


def undecorated(a: int) -> str:
    return str(a)


async def called() -> None:
    assert_type(plain("a"), list[str])
    assert_type(plain("a", n=2), list[str])
    assert_type(await later("a"), int)
    assert_type(Shop().price("tea"), float)
    assert_type(await Shop().order("tea", many=2), str)
    assert_type(tool(undecorated)(1), str)
    assert_type(tool(undecorated, name="x")(a=1), str)
    offered: list[Tool] = [plain, later, told, bare, Shop().price, tool(undecorated)]
    assert_type(offered[0].name, str)


def refused() -> None:
    plain(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    plain("a", m=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Shop().price(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
