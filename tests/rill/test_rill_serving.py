"""A runtime as a program: a line in, a line out, whatever is in the line."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.rill.decider import Counters
from ingot.rill.runtime import Runtime
from ingot.rill.serving import serve

HANDSHAKE = json.dumps(
    {
        "requestId": "h",
        "apiVersion": 3,
        "clientIdentity": {"name": "py", "version": "1"},
        "modelGeneration": 0,
        "stateGeneration": 0,
        "payloadLimit": 1_048_576,
        "request": {"method": "handshake"},
    }
).encode()


def answers(sent: bytes) -> list[Any]:
    """What comes back for *sent*: per line, the kind of the answer or the code of its error."""
    sink = io.BytesIO()
    serve(Runtime(None, Counters()), io.BytesIO(sent), sink)
    written = sink.getvalue()
    assert written == b"" or written.endswith(b"\n")
    bodies = [json.loads(line)["response"] for line in written.splitlines()]
    return [body["error"]["code"] if "error" in body else body["kind"] for body in bodies]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"", []),
        (HANDSHAKE + b"\n", ["handshake"]),
        (HANDSHAKE, ["handshake"]),
        (HANDSHAKE + b"\r\n" + HANDSHAKE + b"\n", ["handshake"] * 2),
        (b"\n\r\n\n" + HANDSHAKE + b"\n\n", ["handshake"]),
        (b"{\n" + HANDSHAKE, ["invalidJson", "handshake"]),
        (HANDSHAKE + HANDSHAKE + b"\n", ["invalidJson"]),
        (b"\xff\xfe\n\0\n", ["invalidJson"] * 2),
        (b" " * (2**20 - len(HANDSHAKE)) + HANDSHAKE + b"\r\n", ["handshake"]),
        (b" " * (2**20 - len(HANDSHAKE) + 1) + HANDSHAKE + b"\n", ["payloadTooLarge"]),
        (b"x" * 5_000_000 + b"\n" + HANDSHAKE, ["payloadTooLarge", "handshake"]),
        (b"x" * 5_000_000, ["payloadTooLarge"]),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else str(value)[:20],
)
def test_each_line_has_its_answer(sent: bytes, expected: list[str]) -> None:
    """In order; blank lines have none, and the last line needs no end."""
    assert answers(sent) == expected


@given(st.lists(st.binary(max_size=60)))
def test_whatever_is_sent_is_answered(lines: list[bytes]) -> None:
    """Bytes at random are no requests, and no end."""
    sent = b"\n".join([*lines, HANDSHAKE])
    told = answers(sent)

    assert told[-1] == "handshake"
    assert set(told[:-1]) <= {"invalidJson"}


def test_an_answer_is_out_before_the_next_line_is_read() -> None:
    """Whoever asks waits for it."""
    sink = io.BytesIO()

    class Asker(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            seen.append(sink.getvalue().count(b"\n"))
            return super().readline(size)

    seen: list[int] = []
    serve(Runtime(None, Counters()), Asker((HANDSHAKE + b"\n") * 3), sink)

    assert seen == [0, 1, 2, 3]
