"""Faults of streams that users of neighbouring libraries reported, over a real connection."""

from __future__ import annotations

import contextlib
import copy
import sys
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Loopback, Reply
from streams import STREAMS
from test_cases import CASES, CLASSES, declared, load
from test_providers_loopback import APIS, KEY

from ingot import Retry, ask, errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingot.provider import SDKProvider

CLASSES = {**CLASSES, "IncompleteStreamError": (errors.ProviderUnavailableError,)}
ROWS = [row for row in load("C") if "chunks" in row.get("stream", {})]
LEFT = "C26"
"""The case of a caller who leaves; all others listen to the end."""

FIRST = "C18"
"""The case of a stream that fails before anything was said, so that it may be sent again."""

SERVER = Loopback()

pytestmark = pytest.mark.skipif(
    not CASES.is_file(), reason="the cases of shared/ are not beside this checkout"
)


@pytest.fixture(scope="module")
def providers() -> Iterator[dict[str, SDKProvider]]:
    """One for each API."""
    with SERVER:
        yield {api: cls(base_url=SERVER.url, api_key=KEY) for api, cls in APIS.items()}


def chunks(row: dict[str, Any]) -> list[bytes | float]:
    """What the server sends."""
    return [
        chunk["text"].encode()
        if "text" in chunk
        else bytes.fromhex(chunk["hex"])
        if "hex" in chunk
        else float(chunk["sleep"])
        for chunk in row["stream"]["chunks"]
    ]


def outcome(t: Any, row: dict[str, Any], provider: SDKProvider) -> tuple[list[Any], Any]:
    """The snapshots, and the answer or the error."""
    snapshots: list[Any] = []
    silent = "sleep" in row["stream"]["chunks"][-1]
    given: dict[str, Any] = {"timeout": 0.3} if silent else {}
    with ask.stream(t, "p", model=provider, retry=Retry(ceiling=0, attempts=2), **given) as s:
        with contextlib.suppress(errors.IngotError):
            snapshots += (copy.deepcopy(snapshot) for snapshot in s)
        try:
            return snapshots, s.answer
        except errors.IngotError as error:
            return snapshots, error


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_streams_as_it_is_meant(row: dict[str, Any], providers: dict[str, SDKProvider]) -> None:
    """The value of the case, or its error where it has one; nothing wrong is shown before."""
    expect = row["expect"]
    t, names = declared(row)
    with SERVER.play([Reply(chunks=chunks(row))]) as server:
        snapshots, came = outcome(t, row, providers[row["stream"]["api"]])

    if isinstance(came, errors.IngotError):
        allowed = [expect[name] for name in ("error", "or_error") if name in expect]
        assert any(isinstance(came, CLASSES[name]) for name in allowed), f"{came!r}"
        assert [word for word in expect.get("mentions", ()) if word not in str(came)] == []
        assert len(server.heard) == (2 if row["id"] == FIRST else 1)
    elif row["id"] != LEFT:
        assert came.value == eval(expect["py"], names)  # noqa: S307
        assert snapshots[-1] == expect["value"]
        usage = expect.get("usage")
        if usage is not None:
            counted = {"input": came.usage.input_tokens, "output": came.usage.output_tokens}
            assert counted == usage
        assert [each for each in snapshots if repr(each) in expect.get("never", ())] == []


@pytest.mark.parametrize("literal", ["C02"])
def test_nothing_is_shown_before_it_is_certain(
    literal: str, providers: dict[str, SDKProvider]
) -> None:
    """A literal that is not whole is no literal."""
    [row] = [row for row in ROWS if row["id"] == literal]
    t, _ = declared(row)
    with SERVER.play([Reply(chunks=chunks(row))]):
        snapshots, _ = outcome(t, row, providers[row["stream"]["api"]])

    assert snapshots == [row["expect"]["value"]]


# C01: a long answer

PIECE = "x" * 50


def listened(deltas: int, provider: SDKProvider) -> tuple[int, int]:
    """Calls made, and characters of snapshots made, while so many pieces of one text come."""
    events = b"".join(STREAMS["openai.chat"](['{"value": ["', *[PIECE] * deltas, '"]}']))
    called, made, seen = 0, 0, ""

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    with SERVER.play([Reply(chunks=[events])]):
        with ask.stream(list[str], "p", model=provider) as s:
            kept = sys.getprofile()
            sys.setprofile(count)
            try:
                for snapshot in s:
                    if snapshot and snapshot[0] is not seen:
                        seen = snapshot[0]
                        made += len(seen)
            finally:
                sys.setprofile(kept)
        assert s.value == [PIECE * deltas]
    return called, made


def test_work_is_in_proportion_to_the_text(providers: dict[str, SDKProvider]) -> None:
    """C01: a megabyte in 20,000 pieces; a quarter of it is a quarter of the work."""
    provider = providers["openai.chat"]
    calls, made = listened(5_000, provider)
    more_calls, more_made = listened(20_000, provider)

    assert more_calls < 4.2 * calls
    assert made < 260 * 5_000 * len(PIECE)
    assert more_made < 260 * 20_000 * len(PIECE)
