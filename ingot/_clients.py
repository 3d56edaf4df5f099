"""The clients of a vendor's SDK: one for blocking calls, one for each event loop."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

__all__ = ["Clients"]


class Clients:
    """
    Clients, made on first use and kept.

    A forked child makes its own: two processes on one connection would read each other's answers.
    """

    def __init__(self) -> None:
        self._forget()
        _all.add(self)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._blocking: Any = None
        self._closing: weakref.finalize[..., Any] | None = None
        self._awaiting: dict[Any, tuple[Any, AsyncGenerator[None]]] = {}

    def blocking(self, connect: Callable[[], Any]) -> Any:
        """Return the client for blocking calls, which *connect* makes."""
        if self._blocking is None:
            with self._lock:
                if self._blocking is None:
                    client = connect()
                    # Left to the garbage collector, its sockets would be complained of.
                    self._closing = weakref.finalize(self, client.close)
                    self._blocking = client
        return self._blocking

    async def awaiting(self, connect: Callable[[], Any]) -> Any:
        """Return the client of the running event loop, which *connect* makes."""
        import asyncio

        try:
            loop = weakref.ref(asyncio.get_running_loop())
        except RuntimeError:
            raise RuntimeError(
                "ask.aio needs a running event loop of asyncio; elsewhere, as under trio, "
                "call ask(…) in a thread"
            ) from None
        held = self._awaiting.get(loop)
        if held is None:
            self._sweep()
            client = connect()
            keeper = _kept(weakref.ref(self), loop, client)
            # Whoever drops us leaves the client to its loop; to the collector it would be a leak.
            _keepers[keeper] = loop
            # Begun here, the generator is closed by the loop at its end, and closes the client.
            await anext(keeper)
            held = self._awaiting[loop] = (client, keeper)
        return held[0]

    def forget(self, loop: Any) -> None:
        """Let go of the client of *loop*, which is being closed."""
        self._awaiting.pop(loop, None)

    def _sweep(self) -> None:
        """Let go of the clients of loops that ended without closing them."""
        for keeper, of in list(_keepers.items()):
            ended = of()
            if ended is None or ended.is_closed():
                _keepers.pop(keeper, None)
        for ref in list(self._awaiting):
            loop = ref()
            if loop is not None and not loop.is_closed():
                continue
            held = self._awaiting.pop(ref, None)
            if held is not None:
                _mark_closed(held[0])

    def inherit(self) -> None:
        """
        Start anew in a forked child.

        What the parent made is left alone: to close it could wait for a lock whose holder is not
        here, or reach into the parent's event loop.
        """
        if self._closing is not None:
            self._closing.detach()
        _inherited.append((self._blocking, self._awaiting))
        self._forget()


async def _kept(
    owner: weakref.ref[Clients], loop: weakref.ref[Any], client: Any
) -> AsyncGenerator[None]:
    """Wait for the end of the loop, and close *client*."""
    try:
        yield
    finally:
        import asyncio

        clients = owner()
        if clients is not None:
            clients.forget(loop)
        await client.close()
        # The loop ends next; its transports let go of their sockets one turn after they close.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for keeper, of in list(_keepers.items()):
            if of is loop:
                _keepers.pop(keeper, None)


def _mark_closed(client: Any) -> None:
    """Have *client* know that it is closed, or it would try to close itself in another loop."""
    closing = client.close()
    try:
        closing.send(None)
    except Exception:  # noqa: BLE001, S110 (its loop is gone, so it cannot get far)
        pass
    finally:
        closing.close()


_all: weakref.WeakSet[Clients] = weakref.WeakSet()
_inherited: list[Any] = []
_keepers: dict[AsyncGenerator[None], weakref.ref[Any]] = {}
"""What closes each client at the end of its loop."""


def _after_fork() -> None:
    for clients in list(_all):
        clients.inherit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
