"""The clients of an SDK: kept, one for each loop, none shared with a forked child."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Heard, Loopback, Reply
from test_providers_loopback import APIS, KEY, said

from ingot import ask
from ingot._clients import Clients

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingot.provider import SDKProvider

API = "openai.chat"


class Client:
    """A client of no SDK."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class Awaiting:
    """One for awaiting calls."""

    def __init__(self) -> None:
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1
        await asyncio.sleep(0)


def echo(heard: Heard) -> Reply:
    found = re.search(rb"number (\d+)", heard.body)
    assert found
    time.sleep(0.002)
    return said(API, int(found[1]))


@pytest.fixture(scope="module")
def model() -> Iterator[SDKProvider]:
    """A provider at a server that says the number of the prompt."""
    with Loopback() as server, server.play(echo):
        yield APIS[API](base_url=server.url, api_key=KEY)


def test_one_client_for_all_threads() -> None:
    """However many ask first, and it goes with its owner."""
    clients, made = Clients(), list[Client]()

    def connect() -> Client:
        time.sleep(0.01)
        made.append(Client())
        return made[-1]

    threads = [threading.Thread(target=clients.blocking, args=(connect,)) for _ in range(8)]
    any(map(threading.Thread.start, threads))
    while threads:
        threads.pop().join()
    del clients
    gc.collect()

    assert [client.closed for client in made] == [1]


def test_a_loop_that_ends_closes_its_client() -> None:
    """Each loop has its own."""
    clients, made = Clients(), list[Awaiting]()

    def connect() -> Awaiting:
        made.append(Awaiting())
        return made[-1]

    async def use() -> bool:
        return await clients.awaiting(connect) is await clients.awaiting(connect)

    assert [asyncio.run(use()) for _ in range(3)] == [True] * 3
    assert [client.closed for client in made] == [1, 1, 1]


def test_a_loop_that_was_only_closed_leaves_no_client_behind() -> None:
    """What it left is let go, and told that it is closed, or it would wake up in another loop."""
    clients, made = Clients(), list[Awaiting]()

    def connect() -> Awaiting:
        made.append(Awaiting())
        return made[-1]

    with closing(asyncio.new_event_loop()) as loop:
        loop.run_until_complete(clients.awaiting(connect))
    asyncio.run(clients.awaiting(connect))

    assert [client.closed for client in made] == [1, 1]


def test_loops_of_many_threads_do_not_disturb_each_other() -> None:
    """They come and go while others look through what there is."""
    clients, failed = Clients(), list[BaseException]()

    def work() -> None:
        try:
            for _ in range(20):
                asyncio.run(clients.awaiting(Awaiting))
                with closing(asyncio.new_event_loop()) as loop:
                    loop.run_until_complete(clients.awaiting(Awaiting))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []


def test_without_a_loop_of_asyncio_it_says_so() -> None:
    """As under trio."""
    coroutine = Clients().awaiting(Awaiting)

    with pytest.raises(RuntimeError, match=r"event loop of asyncio.*trio"):
        coroutine.send(None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_does_not_read_the_answers_of_others(model: SDKProvider) -> None:
    """Parent and children ask at once, and each gets what it asked for, awaiting, too."""

    def numbers(first: int) -> list[int]:
        return [ask(int, f"number {first + n}", model=model, retry=0) for n in range(10)]

    async def awaited(first: int) -> int:
        return await ask.aio(int, f"number {first}", model=model, retry=0)

    assert ask(int, "number 1", model=model) == 1
    children: list[int] = []
    for child in range(4):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                first = 1000 * (child + 1)
                right = numbers(first) == list(range(first, first + 10))
                code = 0 if right and asyncio.run(awaited(first)) == first else 2
            finally:
                os._exit(code)
        children.append(pid)
    own = numbers(0)

    assert own == list(range(10))
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_while_another_thread_holds_the_lock() -> None:
    """The child, where that thread is not, does not wait for it."""
    clients: Any = Clients()
    with clients._lock:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                clients.blocking(Client)
                code = 0
            finally:
                os._exit(code)

    assert os.waitpid(pid, 0)[1] == 0


def test_a_client_outlives_whoever_dropped_it_until_its_loop_ends() -> None:
    """It is closed then, and not left to the garbage collector."""
    closed: list[bool] = []

    class Client:
        async def close(self) -> None:
            closed.append(True)

    async def use() -> None:
        clients = Clients()
        await clients.awaiting(Client)
        del clients
        gc.collect()
        assert closed == []

    asyncio.run(use())

    assert closed == [True]
