"""The doubles that ship."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from ingot import ProviderTimeoutError, Response, Text, ask
from ingot.testing import NetworkUsedError, Script, Value, no_network


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
