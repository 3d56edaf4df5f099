"""A large file goes from tool to tool as a handle: its bytes are in the workspace only."""

from __future__ import annotations

import asyncio
import json
import logging
import tracemalloc
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Loopback, Reply
from test_providers_loopback import body, every_api
from test_providers_tools import calling, model_of

from ingot import Context, File, MismatchedAnswerError, ask

if TYPE_CHECKING:
    from collections.abc import Iterator

MEGABYTE = Random(7).randbytes(2**20)
SIZE = 50
"""Megabytes of the file, each the same."""

DIGEST = sha256(MEGABYTE * SIZE).hexdigest()


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


def produce(name: str, megabytes: int, context: Context) -> File:
    """Write a large file."""
    with context.workspace.open(name, "wb") as file:
        for _ in range(megabytes):
            file.write(MEGABYTE)
    return context.workspace.file(name, megabytes=megabytes)


async def digest(file: File) -> str:
    """Read a file."""
    made = sha256()
    with file.open() as content:
        while part := content.read(2**16):
            made.update(part)
    return made.hexdigest()


def fail(file: File) -> None:
    """Read a file in vain."""
    with file.open() as content:
        head = content.read(2**16)
    raise ValueError(f"{file!r} of {len(head)} bytes and more is odd")


def asks(api: str, name: str, /, **arguments: Any) -> Reply:
    """A turn in which the model calls the tool *name*."""
    return Reply(
        calling(api, {"id": name, "f": {"name": name, "arguments": json.dumps(arguments)}})
    )


def conversation(api: str, megabytes: int, answer: str) -> list[Reply]:
    return [
        asks(api, "produce", name="big.bin", megabytes=megabytes),
        asks(api, "digest", file={"path": "big.bin"}),
        asks(api, "fail", file={"path": "big.bin"}),
        Reply(body(api, json.dumps({"path": answer}))),
    ]


def traces(content: bytes) -> list[str]:
    """How *content* would look in a text, wherever it begins."""
    part = content[3000:3060]
    encoded = [b64encode(part[n:])[4:40].decode() for n in range(3)]
    return [*encoded, part.hex()[:40], repr(part)[2:42], part.decode("latin-1")[:30]]


@every_api
def test_a_large_file_is_nowhere_but_in_the_workspace(
    api: str, server: Loopback, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither in requests, events, errors and logs nor in memory."""
    events: list[Any] = []
    given: dict[str, Any] = {
        "model": model_of(api, server),
        "tools": [produce, digest, fail],
        "workspace": tmp_path,
        "on_event": events.append,
    }

    async def asked() -> Any:
        return await ask.aio(File, "p", **given)

    # What is made at the first ask is not what is measured.
    with server.play(conversation(api, 1, "big")), pytest.raises(MismatchedAnswerError) as caught:
        ask(File, "p", **given)
    with caplog.at_level(logging.DEBUG):
        tracemalloc.start()
        try:
            with server.play(conversation(api, SIZE, "big.bin")):
                file = asyncio.run(asked())
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    heard = [each.body.decode() for each in server.heard]
    told = [*heard, repr(events), caplog.text, repr(caught.value.transcript), str(caught.value)]
    told += [json.dumps([event.to_dict() for event in events])]

    assert file.stat().st_size == SIZE * 2**20
    assert (file["megabytes"], len(heard)) == (SIZE, 4)
    assert DIGEST in heard[2]
    assert "File('big.bin'" in heard[3]
    assert [text[:200] for text in told if any(trace in text for trace in traces(MEGABYTE))] == []
    assert max(map(len, heard)) < 20_000
    assert most < 8 * 2**20


def test_bytes_would_be_seen() -> None:
    """In each of the forms that a text gives them."""
    forms = [repr(MEGABYTE), MEGABYTE.hex(), MEGABYTE.decode("latin-1")]
    forms += [b64encode(bytes(n) + MEGABYTE).decode() for n in range(3)]

    assert [any(trace in form for trace in traces(MEGABYTE)) for form in forms] == [True] * 6
