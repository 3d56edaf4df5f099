"""The doubles that ship."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

import pytest

from ingot import ProviderTimeoutError, Response, Text, ask
from ingot.errors import UnreadableAnswerError
from ingot.provider import ToolCall
from ingot.testing import NetworkUsedError, Script, ScriptEndedError, Value, calls, no_network


class Point(NamedTuple):
    x: int
    y: int


@pytest.fixture
def port() -> Iterator[int]:
    """A socket of this machine that listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_no_network_means_none(port: int) -> None:
    """Neither a connection nor a look-up; and all is as before afterwards."""
    with no_network():
        with pytest.raises(NetworkUsedError, match="127.0.0.1"):
            socket.create_connection(("127.0.0.1", port))
        with pytest.raises(NetworkUsedError, match="example.com"):
            socket.getaddrinfo("example.com", 80)
        with pytest.raises(NetworkUsedError), socket.socket() as client:
            client.connect_ex(("192.0.2.1", 80))
    with socket.create_connection(("127.0.0.1", port)) as client:
        assert client.getpeername()[1] == port


def test_loopback_may_be_allowed(port: int) -> None:
    """For servers of the test's own."""
    with no_network(loopback=True):
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert client.getpeername()[1] == port
        with pytest.raises(NetworkUsedError):
            socket.create_connection(("192.0.2.1", 80))


def test_a_script_writes_values_in_the_form_asked_for() -> None:
    """A text is what the model writes; a value is written as the model would."""
    with Script(['{"value": 1}', 2, Point(1, 2), Value("x"), "prose", {"a": (1, 2)}]) as script:
        assert ask(int, "p") == 1
        assert ask(int, "p") == 2
        assert ask(Point, "p") == Point(1, 2)
        assert ask(str, "p") == "x"
        assert ask(Text, "p") == "prose"
        assert ask(dict[str, tuple[int, int]], "p") == {"a": (1, 2)}

    assert [outcome.valid for outcome in script.outcomes] == [True] * 6


def test_a_script_raises_and_replies_whole() -> None:
    """Errors and odd replies are lines like any other."""
    late = ProviderTimeoutError("late")
    with Script([late, Response(text="[1]", stop_reason="stop")]):
        with pytest.raises(ProviderTimeoutError):
            ask(list[int], "p", retry=0)
        with pytest.raises(Exception, match="one field `value`"):
            ask(list[int], "p")


def add(a: int, on: date | None = None) -> str:
    """Add."""
    return f"{a} {on}"


def test_a_script_calls_tools() -> None:
    """In the order of what is given, each call with an id of its own."""
    reply = calls(add=[{"a": 1, "on": date(2029, 5, 1)}, {"a": 2}], other={"ä": [Point(1, 2)]})
    with Script([reply, 3]) as script:
        assert ask(int, "p", tools=[add]) == 3

    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [
        ("call_1", "add", '{"a": 1, "on": "2029-05-01"}'),
        ("call_2", "add", '{"a": 2}'),
        ("call_3", "other", '{"ä": [{"x": 1, "y": 2}]}'),
    ]
    told = script.heard[-1].messages[-1].tool_results
    assert [result.id for result in told] == ["call_1", "call_2", "call_3"]
    assert [result.text for result in told[:2]] == ["1 2029-05-01", "2 None"]


def test_a_call_alone_is_a_turn() -> None:
    """It is no value, and its arguments are the text that a model would write."""
    with Script([ToolCall(id="x", name="add", arguments="{"), 3]) as script:
        assert ask(int, "p", tools=[add]) == 3

    [result] = script.heard[-1].messages[-1].tool_results
    assert (result.id, result.failed) == ("x", True)


def test_a_script_counts_its_replies() -> None:
    """One is a reply, two are replies."""
    with pytest.raises(AssertionError, match="not asked for: 1 of 1 reply of the script"):
        with Script([1]):
            pass
    with Script([1]):
        ask(int, "p")
        with pytest.raises(ScriptEndedError, match="has 1 reply, and was asked once more: 'q'"):
            ask(int, "q")


def test_scripts_nest() -> None:
    """The inner one stands in while it is open."""
    with Script([1, 3]):
        assert ask(int, "p") == 1
        with Script([2]):
            assert ask(int, "p") == 2
        assert ask(int, "p") == 3


def test_a_script_is_shared_by_threads() -> None:
    """No line is spoken twice."""
    found: list[int] = []
    with Script(range(32)):
        threads = [threading.Thread(target=lambda: found.append(ask(int, "p"))) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(found) == list(range(32))


def test_a_text_that_was_meant_as_a_value_is_told_apart() -> None:
    """The first thing that many write."""
    with pytest.raises(UnreadableAnswerError, match=r"write Value\('…'\)"):
        ask(str, "Which colour?", model=Script(["red"]))

    assert ask(str, "Which colour?", model=Script([Value("red")])) == "red"
