"""Doubles that ship: a scripted model, and a switch that makes the network impossible."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from ingot import _registry
from ingot._json import is_object
from ingot._pieces import of_sizes, words
from ingot._spelling import counted
from ingot.errors import IngotError, UnreadableAnswerError
from ingot.provider import Outcome, Provider, Request, Response, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable
    from types import TracebackType

__all__ = ["NetworkUsedError", "Script", "ScriptEndedError", "Value", "calls", "no_network"]


class ScriptEndedError(AssertionError):
    """A script was asked once more than it has lines."""


class NetworkUsedError(RuntimeError):
    """Something tried to use the network inside `no_network`."""


class Script(Provider):
    """
    A provider that replies from a list, and remembers what it heard.

    As a context manager it stands in for every provider: whatever is asked inside, of whatever
    model, is replied to from the script, and leaving with lines unspoken is an error. As a model,
    `model=Script([…])`, it is asked like any other.

    Args:
        replies: What to reply, in order. A `str` is the text that the model writes, as it is; a
            `Response` is a whole reply, such as `calls` makes; a `ToolCall` is a turn with this one
            call; an exception is raised; anything else is a value, written in the form asked for.
            A text that is the value of a `str` is given as `Value("…")`.
        dialect: The subset of JSON Schema that it takes: `open`, `openai`, `anthropic` or `prompt`.
        model: What the model is called; it matters where there are several.
        stream: In what pieces a text comes that is streamed: `whole`, in `words`, or the sizes of
            the pieces in characters.

    Attributes:
        heard: The requests, in order.
        outcomes: What became of each, in order.
    """

    name = "script"
    default_model = "script"
    default_max_tokens = 1000

    def __init__(
        self,
        replies: Iterable[Any],
        *,
        dialect: str = "open",
        model: str = "script",
        stream: Literal["whole", "words"] | Sequence[int] = "whole",
    ) -> None:
        if isinstance(replies, str | bytes):
            raise TypeError("a script is a list of replies; write Script([…])")
        if dialect not in ("open", "openai", "anthropic", "prompt"):
            raise ValueError(
                f"there is no dialect {dialect!r}; there are open, openai, anthropic, prompt"
            )
        if isinstance(stream, str) and stream not in ("whole", "words"):
            raise ValueError(f"a script streams whole, in words or in given sizes, not {stream!r}")
        self.dialect = dialect
        self._cuts = stream
        self.default_model = model
        self.heard: list[Request] = []
        self.outcomes: list[Outcome] = []
        self._replies = list(replies)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Script: {len(self.heard)} of {len(self._replies)} spoken>"

    def __enter__(self) -> Self:
        _registry.enter(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        _registry.leave(self)
        left = len(self._replies) - len(self.heard)
        if kind is None and left > 0:
            raise AssertionError(f"not asked for: {left} of {self._count()} of the script")

    def send(self, request: Request) -> Response:
        """Speak the next line."""
        with self._lock:
            number = len(self.heard)
            self.heard.append(request)
        if number >= len(self._replies):
            raise ScriptEndedError(
                f"the script has {self._count()}, and was asked once more: {request.prompt[:80]!r}"
            )
        reply = self._replies[number]
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, ToolCall):
            return _calling(reply)
        if isinstance(reply, Response):
            return reply
        text = reply if type(reply) is str else self._write(reply, request)
        return Response(
            text=text,
            stop_reason="stop",
            model=self.default_model,
            usage=Usage(input_tokens=len(request.user_text()) // 4, output_tokens=len(text) // 4),
        )

    async def asend(self, request: Request) -> Response:
        """Speak the next line."""
        return self.send(request)

    def stream(self, request: Request) -> Generator[str | Response]:
        """Speak the next line in pieces."""
        response = self.send(request)
        text = response.text or ""
        if self._cuts == "words":
            yield from words(text)
        else:
            yield from of_sizes(text, () if isinstance(self._cuts, str) else self._cuts)
        yield response

    async def astream(self, request: Request) -> AsyncGenerator[str | Response]:
        """Speak the next line in pieces."""
        for piece in self.stream(request):
            yield piece

    def settle(self, request: Request, outcome: Outcome) -> None:
        """Remember what became of a request."""
        self.outcomes.append(outcome)

    def finish(self, error: IngotError | None) -> None:
        """Say how a text is written that was meant as a value."""
        if isinstance(error, UnreadableAnswerError):
            error.advice = (
                "a script speaks a text as it is: for the value of a `str` write Value('…')"
            )

    def _count(self) -> str:
        return counted(len(self._replies), "reply", "replies")

    def _write(self, value: Any, request: Request) -> str:
        if isinstance(value, Value):
            value = value.value
        tree = _tree(value)
        if request.format is None:
            return str(tree)
        plain = json.dumps({"value": tree} if request.format.wrapped else tree, ensure_ascii=False)
        if request.format.writes is None:
            return plain
        try:
            return request.format.writes(tree)
        except (AttributeError, KeyError, TypeError, ValueError):
            return plain  # a value of another type, which a test says on purpose


class Value:
    """A value to be written in the form asked for; only a `str` needs it."""

    def __init__(self, value: Any) -> None:
        self.value = value


def calls(**tools: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Response:
    """
    Return a reply that calls tools, for a `Script`: `calls(price={"item": "pen"})`.

    Calls stand in the order that is given here, with the ids `call_1`, `call_2`, …

    Args:
        tools: The arguments of a call by the name of the tool; in a list for several calls of it.
    """
    made = [
        (name, json.dumps(_tree(arguments), ensure_ascii=False))
        for name, given in tools.items()
        for arguments in ([given] if isinstance(given, Mapping) else given)
    ]
    return _calling(
        *(
            ToolCall(id=f"call_{number}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(made, 1)
        )
    )


def _calling(*made: ToolCall) -> Response:
    return Response(tool_calls=made, stop_reason="tool_calls", model="script")


def _tree(value: Any) -> Any:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(_named(value), by_alias=True)


def _named(value: Any) -> Any:
    """NamedTuples travel as objects."""
    if hasattr(value, "_asdict"):
        return {name: _named(item) for name, item in value._asdict().items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_named(item) for item in cast("Iterable[Any]", value)]
    if is_object(value):
        return {key: _named(item) for key, item in value.items()}
    return value


_WAYS = "answer from a Script or a recording, or allow this machine with loopback=True"


@contextmanager
def no_network(*, loopback: bool = False, allow: Iterable[str] = ()) -> Generator[None]:
    """
    Make every connection of this process raise NetworkUsedError while open.

    Args:
        loopback: Whether addresses of this machine may still be reached.
        allow: Hosts that may still be reached, by name or address; with `localhost` this machine.
    """
    import socket

    hosts = set(allow)
    loopback = loopback or "localhost" in hosts

    kept = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def allowed(address: Any) -> bool:
        if not isinstance(address, tuple):
            return True  # a Unix socket does not leave the machine
        host = str(address[0])  # pyright: ignore[reportUnknownArgumentType]
        local = host.startswith("127.") or host in ("localhost", "::1")
        return host in hosts or (loopback and local)

    def connect(self: socket.socket, address: Any) -> None:
        if not allowed(address):
            raise NetworkUsedError(f"a connection to {address!r} inside no_network(); {_WAYS}")
        kept[0](self, address)

    def connect_ex(self: socket.socket, address: Any) -> int:
        if not allowed(address):
            raise NetworkUsedError(f"a connection to {address!r} inside no_network(); {_WAYS}")
        return kept[1](self, address)

    def getaddrinfo(host: Any, *args: Any, **named: Any) -> Any:
        if not allowed((host or "",)):
            raise NetworkUsedError(f"a look-up of {host!r} inside no_network(); {_WAYS}")
        found = kept[2](host, *args, **named)
        if host in hosts:
            hosts.update(str(place[4][0]) for place in found)
        return found

    socket.socket.connect = connect  # type: ignore[method-assign, assignment]
    socket.socket.connect_ex = connect_ex  # type: ignore[method-assign, assignment]
    socket.getaddrinfo = getaddrinfo
    try:
        yield
    finally:
        socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo = kept  # type: ignore[method-assign]
