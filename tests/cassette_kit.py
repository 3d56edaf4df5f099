"""What the tests of cassettes share: providers that need no model, and child processes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingot.provider import Provider, Request, Response, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

HERE = Path(__file__).parent


class Echo(Provider):
    """
    Answers with what *reply* makes of a prompt, and counts how often it was asked.

    It streams three letters at a time.
    """

    name = "echo"
    default_model = "echo-1"

    def __init__(self, reply: Callable[[str], Any] = str, *, dialect: str = "open") -> None:
        self.reply = reply
        self.dialect = dialect
        self.heard: list[Request] = []

    def send(self, request: Request) -> Response:
        self.heard.append(request)
        tree = self.reply(request.prompt)
        if isinstance(tree, BaseException):
            raise tree
        if isinstance(tree, Response):
            return tree
        form = request.format
        wrapped = form is not None and form.wrapped
        text = str(tree) if form is None else json.dumps({"value": tree} if wrapped else tree)
        usage = Usage(input_tokens=len(request.prompt), output_tokens=len(text))
        return Response(text=text, stop_reason="stop", model="echo-1-b", usage=usage)

    async def asend(self, request: Request) -> Response:
        await asyncio.sleep(0)
        return self.send(request)

    def stream(self, request: Request) -> Generator[str | Response]:
        response = self.send(request)
        text = response.text or ""
        yield from (text[at : at + 3] for at in range(0, len(text), 3))
        yield response

    async def astream(self, request: Request) -> AsyncGenerator[str | Response]:
        for piece in self.stream(request):
            await asyncio.sleep(0)
            yield piece


class Bomb(Provider):
    """Must not be asked."""

    name = "echo"
    default_model = "echo-1"

    def send(self, request: Request) -> Response:
        raise AssertionError(f"the provider was asked: {request.prompt!r}")


def clean(**more: str) -> dict[str, str]:
    """An environment in which nothing is set but what a child needs, and *more*."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": f"{HERE}{os.pathsep}{HERE.parent}",
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }


def child(code: str, *args: object, **more: Any) -> subprocess.Popen[str]:
    """Start Python on *code* with *args*."""
    named: dict[str, Any] = {"env": clean(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        text=True,
        **{**named, **more},
    )


def ended(process: subprocess.Popen[str]) -> str:
    """Wait for a child to end well, and return what it printed."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def names(folder: Path) -> list[str]:
    """Everything in *folder*, hidden files too."""
    return sorted(path.name for path in folder.iterdir())
