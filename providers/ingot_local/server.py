"""
llama.cpp's HTTP server inside this process, one for each model, started on first use.

The local model is asked over HTTP like any vendor, so the path from a question to its answer is
the one that matters in production. The server listens on the loopback interface only, says nothing
on stdout or stderr, and goes with the process.

What llama.cpp is told here makes the same question give the same greedy answer at any time: one
sequence at a time and no reuse of an earlier prompt's state, since both change the rounding.
Requests that come together wait for each other, which takes no longer than to interleave them on a
CPU.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import http.client
import importlib
import json
import os
import socket
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ingot.errors import NotConfiguredError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

__all__ = ["base_url", "stop"]

_HOST = "127.0.0.1"
_CONTEXT = 8192
"""Tokens of prompt and answer together; llama.cpp lowers it to what the model was trained for."""

_MOST_THREADS = 8
"""A small model computes slower with more: the threads wait for each other at every layer."""

_HTTP_THREADS = 64
"""Each open connection holds one, also while it is idle; with few, the next client waits."""

_GRACE = 1.5
"""Seconds at exit for llama.cpp to notice that nobody waits any more; it looks every second."""


class _Running:
    """A server, and the only reference to it: it stops when the reference goes."""

    __slots__ = ("native", "port")

    def __init__(self, native: object, port: int) -> None:
        self.native: object | None = native
        self.port = port


class _Fleet:
    """The servers of one process, each from the moment when somebody began to start it."""

    __slots__ = ("lock", "servers")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.servers: dict[Path, Future[_Running]] = {}


_fleets: dict[int, _Fleet] = {}
"""By process id: a forked child inherits the table, but none of the threads behind a server."""


def base_url(path: Path) -> str:
    """
    Return the OpenAI-style base URL under which the model at *path* answers in this process.

    The first call for a model starts its server, which takes a fraction of a second; calls from
    other threads wait for the same start.

    Raises:
        NotConfiguredError: xllamacpp is missing, the file is no model that it can load, or the port
            in INGOT_LOCAL_PORT cannot be had.
    """
    path = path.absolute()
    fleet = _fleets.get(os.getpid())
    if fleet is None:
        fleet = _fleets.setdefault(os.getpid(), _Fleet())
    with fleet.lock:
        start = fleet.servers.get(path)
        if start is None or (start.done() and start.exception() is not None):
            start = Future[_Running]()
            # In a thread of its own, because Ctrl-C raises in the main thread only: a server that
            # is torn down between its birth and the table has not begun its loop yet, and hangs.
            threading.Thread(target=_start, args=(path, start), name="ingot-local").start()
            # Only now: an entry that nobody works on would make all others wait in vain.
            fleet.servers[path] = start
    return f"http://{_HOST}:{start.result().port}/v1"


def stop() -> None:
    """Stop the servers of this process; the next use starts anew."""
    fleet = _fleets.get(os.getpid())
    if fleet is None:
        return
    with fleet.lock:
        starts = list(fleet.servers.values())
        fleet.servers.clear()
    forked = len(_fleets) > 1
    running = [start.result() for start in starts if start.exception() is None]
    deadline = time.monotonic() + _GRACE
    for server in running:
        while not forked and _busy(server.port) and time.monotonic() < deadline:
            time.sleep(0.05)
        if forked or _busy(server.port):
            # llama.cpp cannot be stopped in the middle of an answer, nor in a forked child: it
            # would wait for a thread that never ends, or that never was.
            _abandon(server)
        server.native = None


def _start(path: Path, start: Future[_Running]) -> None:
    try:
        port = _pinned_port()
        _arm()
        server = _launch(path, port)
        _busy(server.port, patience=30)
    except BaseException as error:  # noqa: BLE001 - it is raised where somebody waits for the result
        start.set_exception(error)
    else:
        start.set_result(server)


def _launch(path: Path, port: int) -> _Running:
    """Start llama.cpp; nothing untyped leaves this function."""
    try:
        with _calm_threads():
            llama: Any = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise NotConfiguredError(
            "the local model needs the package xllamacpp, which is not installed",
            advice="pip install 'ingot-ask[local]'",
        ) from error
    params = llama.CommonParams()
    params.model.path = str(path)
    params.hostnames = [_HOST]
    params.port = port
    params.n_ctx = _CONTEXT
    params.n_parallel = 1
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    threads = min(_MOST_THREADS, _cpus())
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.n_threads_http = _HTTP_THREADS
    params.warmup = False
    params.verbosity = 0
    params.ui = False
    # By default any web page that is open in a browser may talk to the server.
    params.cors_origins = f"http://{_HOST}"
    try:
        native = llama.Server(params)
    except RuntimeError as error:
        _check_port(port)
        size = path.stat().st_size if path.exists() else 0
        raise NotConfiguredError(
            f"llama.cpp cannot load {str(path)!r} ({size:,} bytes); the file is damaged, cut short "
            "or of a kind that this xllamacpp does not know",
            advice="get the file again, or use local/smollm2 after `ingot model pull`",
        ) from error
    return _Running(native, int(str(native.listening_address).rpartition(":")[2]))


@contextmanager
def _calm_threads() -> Generator[None]:
    """
    Have the OpenMP library that is loaded meanwhile put waiting threads to sleep.

    By default they spin, and as soon as another program wants a core, a call takes ten times as
    long. The library reads the variable once, so it need not stay for the children of this program.
    """
    name = "OMP_WAIT_POLICY"
    if name in os.environ:
        yield
        return
    os.environ[name] = "passive"
    try:
        yield
    finally:
        os.environ.pop(name, None)


def _cpus() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _pinned_port() -> int:
    """Return the port in INGOT_LOCAL_PORT, or 0 to let the system choose."""
    given = os.environ.get("INGOT_LOCAL_PORT", "")
    if not given:
        return 0
    # llama.cpp takes 70000 for a port without a word, and listens elsewhere.
    if not (given.isascii() and given.isdigit() and len(given) < 6 and 0 < int(given) < 1 << 16):
        raise NotConfiguredError(
            f"INGOT_LOCAL_PORT is {given!r:.40}; expected a port from 1 to 65535",
            advice="unset it to use any free port",
        )
    _check_port(int(given))
    return int(given)


def _check_port(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if sys.platform != "win32":
            # As llama.cpp does: a port whose last connection closed a moment ago is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            why = "in use" if error.errno == errno.EADDRINUSE else f"not free ({error.strerror})"
            raise NotConfiguredError(
                f"port {port} in INGOT_LOCAL_PORT is {why}",
                advice="name another port, or unset it to use any free one",
            ) from error


def _busy(port: int, *, patience: float = 0.5) -> bool:
    """
    Whether the server is at work on an answer, or too busy to say within *patience* seconds.

    The question goes through llama.cpp's main loop. An answer therefore also proves that the loop
    runs: to stop a server before that hangs.
    """
    line = http.client.HTTPConnection(_HOST, port, timeout=patience)
    try:
        line.request("GET", "/slots", headers={"Connection": "close"})
        slots = json.loads(line.getresponse().read())
        return any(slot["is_processing"] for slot in slots)
    except (OSError, http.client.HTTPException, ValueError):
        return True
    finally:
        line.close()


def _arm() -> None:
    """Have the servers stopped at exit, and given up in a forked child; once per program."""
    if not _armed.is_set():
        _armed.set()
        atexit.register(stop)
        if sys.platform != "win32":
            os.register_at_fork(after_in_child=_after_fork)


_armed = threading.Event()


def _after_fork() -> None:
    """Give up what the parent runs: its destructors would wait for threads that are not here."""
    _leave_at_once()
    for fleet in list(_fleets.values()):
        for start in fleet.servers.values():
            if start.done() and start.exception() is None:
                _abandon(start.result())


def _abandon(server: _Running) -> None:
    """Keep the server of *server* for ever, so that its destructor never runs."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(server.native))
    _leave_at_once()


def _leave_at_once() -> None:
    """
    Let this process end without llama.cpp's C++ destructors, which wait for threads in vain.

    Python has shut down and flushed by the time when `_exit` runs, and the exit code is kept.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "on_exit"):
            libc.on_exit(libc._exit, None)  # noqa: SLF001 - the C function of that name
