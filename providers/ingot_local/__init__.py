"""A small model inside this process, as a provider for ingot: no key, no network."""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ingot.errors import NotConfiguredError
from ingot.provider import Provider, SDKProvider, merge_params
from ingot_local import server, weights
from ingot_openai import chat

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping
    from pathlib import Path

    from ingot.provider import Gathering, Request, Response

__all__ = ["DEFAULT_MODEL", "Local"]

DEFAULT_MODEL = weights.NAME
"""The model that is asked when none is named: SmolLM2 with 135 million parameters."""

_MAX_TOKENS = 512


class _Loopback(SDKProvider):
    """One server of this process, spoken to with the openai SDK."""

    name = "local"
    extra = "local"
    module = "openai"
    drafts = True

    def connect(self, *, awaiting: bool) -> Any:
        """Make a client of the openai SDK."""
        import openai

        # A proxy of the environment could not reach this process.
        if awaiting:
            through = openai.DefaultAsyncHttpxClient(trust_env=False)
            return openai.AsyncOpenAI(**self._facts(), http_client=through)
        return openai.OpenAI(
            **self._facts(), http_client=openai.DefaultHttpxClient(trust_env=False)
        )

    def _facts(self) -> dict[str, Any]:
        return {"api_key": "none", "base_url": self.base_url, "max_retries": 0, "timeout": 600}

    def create(self, client: Any, arguments: dict[str, Any]) -> Any:
        """Call `chat.completions.create`."""
        return client.chat.completions.with_raw_response.create(**arguments)

    def encode(self, request: Request) -> dict[str, Any]:
        """Return the arguments of `chat.completions.create`, greedy and bounded by default."""
        out = chat.arguments(request, vendor=False)
        out.setdefault("max_tokens", _MAX_TOKENS)
        out.setdefault("temperature", 0.0)
        if _may_ramble(request):
            # Greedy as it is, so small a model repeats itself without end unless that costs a
            # little; a word or number alone would only be led astray by it.
            out["extra_body"] = {"repeat_penalty": 1.1}
        merge_params(out, request.params, self.name)
        return out

    def gathering(self) -> Gathering:
        """Make what reads a stream of `chat.completion.chunk`s."""
        return chat.Gathering()

    def decode(self, body: Mapping[str, Any], *, request_id: str | None = None) -> Response:
        """Read a `chat.completion`, in which the model is called by the path of its file."""
        read = chat.response(body, provider=self.name, request_id=request_id)
        return replace(read, model=None)


def _may_ramble(request: Request) -> bool:
    """Whether the answer has parts that could go on without end: more than a lone scalar."""
    if request.format is None or request.format.schema is None:
        return True
    return not request.format.wrapped or '"array"' in json.dumps(request.format.schema)


class Local(Provider):
    """
    llama.cpp in this process, on a loopback port.

    Model strings: `local/smollm2`, and `local//path/x.gguf` for another model. The server of a
    model starts at the first ask. Sampling is greedy unless a temperature is set, and the model is
    shown the schema that it is held to, since it follows what it has seen far better.

    Args:
        base_url: Ignored, like *api_key*: the server is this process's own.
        api_key: Ignored.
    """

    name = "local"
    dialect = "open"
    show_schema = True
    default_model = DEFAULT_MODEL
    default_max_tokens = _MAX_TOKENS

    def __init__(self, *, base_url: str | None = None, api_key: str | None = None) -> None:
        self._lock = threading.Lock()
        self._servers: dict[str, _Loopback] = {}

    def __repr__(self) -> str:
        return "<provider local>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), ())

    @classmethod
    def obstacle(cls) -> str | None:
        """Why no local model can be asked as things stand; None when its extra is installed."""
        from importlib.util import find_spec

        if find_spec("xllamacpp") is None or find_spec("openai") is None:
            return "not installed: pip install 'ingot-ask[local]'"
        return None

    def send(self, request: Request) -> Response:
        """Start the model's server unless it runs, and ask it."""
        return self._server(request).send(request)

    async def asend(self, request: Request) -> Response:
        """Like `send`, awaiting; the start of a server happens in a thread."""
        import asyncio

        there = await asyncio.to_thread(self._server, request)
        return await there.asend(request)

    def lacks(self, request: Request, model: str) -> str | None:
        """Why *model* would refuse *request*: for attachments or tools, or for want of weights."""
        try:
            self._weights(request, model)
        except NotConfiguredError as error:
            return str(error)
        return super().lacks(request, model)

    def _weights(self, request: Request, model: str) -> Path:
        path = weights.locate(model)
        if request.tools and path.name == weights.SMOLLM2.file:
            # It would answer as if none were on offer.
            raise NotConfiguredError(
                f"{self.name}/{weights.NAME} has not learned to call tools",
                advice="ask a model that has, such as local//path/to/one.gguf, or a vendor's",
            )
        return path

    def stream(self, request: Request) -> Generator[str | Response]:
        """Start the model's server unless it runs, and read its reply as it comes."""
        yield from self._server(request).stream(request)

    async def astream(self, request: Request) -> AsyncGenerator[str | Response]:
        """Like `stream`, awaiting; the start of a server happens in a thread."""
        import asyncio

        there = await asyncio.to_thread(self._server, request)
        async with contextlib.aclosing(there.astream(request)) as pieces:
            async for piece in pieces:
                yield piece

    def _server(self, request: Request) -> _Loopback:
        url = server.base_url(self._weights(request, request.model))
        with self._lock:
            there = self._servers.get(url)
            if there is None:
                there = self._servers[url] = _Loopback(base_url=url)
        return there
