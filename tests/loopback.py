"""A real HTTP server on this machine, for tests: it plays replies and keeps what it heard."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

__all__ = ["Heard", "Loopback", "Reply"]


@dataclass(frozen=True, kw_only=True)
class Heard:
    """
    One request.

    Attributes:
        method: Such as `POST`.
        path: With its query.
        headers: By name in lower case.
        body: As it came.
        at: Seconds of the monotonic clock.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """
    One reply.

    Attributes:
        body: Bytes or text as they are, all else as JSON.
        status: The HTTP status; 0 closes the connection without a word.
        headers: Headers beside `content-type` and `content-length`.
        delay: Seconds before the reply.
        cut: Bytes of the body after which the connection is closed; None to send all.
        chunks: If given, what is sent instead of *body*, piece by piece: bytes, and seconds to be
            silent. The body ends after them, unless *cut* is given.
    """

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    chunks: Sequence[bytes | float] | None = None

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        if isinstance(self.body, bytes):
            return self.body
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode()


@contextmanager
def no_certificates() -> Iterator[None]:
    """A client reads all certificates of the system when it is made; inside, there are none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_DIR", os.devnull)
        patch.delenv("SSL_CERT_FILE", raising=False)
        yield


class Loopback:
    """
    The server, as a context manager; it plays one list after the other.

    Attributes:
        heard: Requests since `play` was called, in order.
        streaming: Is set when the first piece of a reply that streams is sent.
        hung_up: Is set when a client closes a connection on which a reply is being streamed.
    """

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.streaming = threading.Event()
        self.hung_up = threading.Event()
        self._replies: list[Reply] | Callable[[Heard], Reply] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()

    @property
    def url(self) -> str:
        """Where the server is, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def waits(self) -> list[float]:
        """Seconds between one request and the next."""
        times = [heard.at for heard in self.heard]
        return [after - before for before, after in zip(times, times[1:], strict=False)]

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextmanager
    def play(self, replies: Iterable[Reply] | Callable[[Heard], Reply]) -> Iterator[Self]:
        """
        Reply so inside the block.

        Args:
            replies: Replies in order, the last one repeated; or what makes a reply of a request.
        """
        self.heard = []
        self.streaming.clear()
        self.hung_up.clear()
        self._replies = replies if callable(replies) else list(replies)
        self._closing.clear()
        with no_certificates():
            try:
                yield self
            finally:
                self._closing.set()

    def answer(self, heard: Heard) -> Reply:
        """Keep *heard*, and say what is replied to it."""
        with self._lock:
            number = len(self.heard)
            self.heard.append(heard)
        if callable(self._replies):
            return self._replies(heard)
        return self._replies[min(number, len(self._replies) - 1)]

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than the block lasts."""
        self._closing.wait(seconds)

    def watch(self, connection: socket.socket, seconds: float) -> None:
        """
        Wait, but not longer than the client stays on the line.

        Raises:
            ConnectionError: It hung up.
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._closing.is_set():
            if select.select([connection], [], [], 0.01)[0] and not _peeked(connection):
                raise ConnectionResetError("the client hung up")


def _peeked(connection: socket.socket) -> bytes:
    """What is to be read next; nothing where the other end is closed."""
    try:
        return connection.recv(1, socket.MSG_PEEK)
    except ConnectionError:
        return b""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up."""


def _handler(loopback: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def play(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            heard = Heard(
                method=self.command,
                path=self.path,
                headers={name.lower(): value for name, value in self.headers.items()},
                body=self.rfile.read(length),
                at=time.monotonic(),
            )
            reply = loopback.answer(heard)
            if reply.delay:
                loopback.pause(reply.delay)
            if reply.status == 0:
                self.hang_up()
                return
            if reply.chunks is not None:
                self.stream(reply, reply.chunks)
                return
            content = reply.content
            self.send_response(reply.status)
            headers = {"content-type": "application/json", **reply.headers}
            for name, value in headers.items():
                self.send_header(name, value)
            if reply.status != 204:
                self.send_header("content-length", str(len(content)))
            self.end_headers()
            if reply.status != 204:
                self.wfile.write(content if reply.cut is None else content[: reply.cut])
            self.wfile.flush()
            if reply.cut is not None:
                self.hang_up()

        def stream(self, reply: Reply, chunks: Sequence[bytes | float]) -> None:
            self.send_response(reply.status)
            headers = {"content-type": "text/event-stream", **reply.headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                for chunk in chunks:
                    if isinstance(chunk, bytes):
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                        self.wfile.flush()
                        loopback.streaming.set()
                    else:
                        loopback.watch(self.connection, chunk)
                if reply.cut is None:
                    self.wfile.write(b"0\r\n\r\n")
                    self.wfile.flush()
                else:
                    self.hang_up()
            except ConnectionError:
                loopback.hung_up.set()
                self.close_connection = True

        def hang_up(self) -> None:
            """Break the connection off, so that the other end sees a reset."""
            self.close_connection = True
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

        do_POST = do_GET = play  # noqa: N815 (the names that http.server looks for)

    return Handler
