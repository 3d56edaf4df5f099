"""What a provider is, and what may stand before tools and people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Hashable

    from ingot._calls import Toolbox
    from ingot._effects import Consult, Invocation
    from ingot._request import Request
    from ingot._response import Outcome, Response
    from ingot._shape.shape import Shape
    from ingot.errors import IngotError

__all__ = ["Asking", "Performer", "Provider"]


class Asking(Protocol):
    """One ask, before it is known who is asked."""

    @property
    def toolbox(self) -> Toolbox | None:
        """The tools that may be called; None for none."""

    @property
    def constrain(self) -> str:
        """Whether the server must hold the model to T: `auto`, `strict` or `prompt`."""
        ...

    def described(self) -> Request:
        """Return what is asked, T and the tools in no vendor's dialect."""
        ...

    def shaped(self, dialect: str) -> Shape:
        """Return T in *dialect*."""
        ...


class Provider(ABC):
    """
    Something that replies to requests.

    A plugin announces a subclass in the entry-point group `ingot.providers`; it is called with the
    keyword arguments *base_url* and *api_key*, each a text or None. Only `send` must be written.

    Attributes:
        name: What stands before the slash in `provider/model`.
        dialect: The subset of JSON Schema its server takes: `openai`, `anthropic`, `open` or
            `prompt`.
        show_schema: Whether the model is shown the schema also where the server enforces it.
        default_model: The model that is asked when none is named.
        default_max_tokens: The bound of an answer when none is set; None for no bound.
        media_types: Types of attachments beside text that it can be sent.
        is_named: Whether texts alone say who is asked, as in a router among named models. An open
            cassette then records it without being told, as it does for a model string.
    """

    name: str = "provider"
    dialect: str = "prompt"
    show_schema: bool = False
    default_model: str = "default"
    default_max_tokens: int | None = None
    media_types: frozenset[str] = frozenset()
    is_named: bool = False

    @property
    def account(self) -> Hashable | None:
        """
        What its limits are counted for, such as vendor, address and key; None where it is itself.

        It may hold the key, so it is never shown.
        """
        return None

    @classmethod
    def obstacle(cls) -> str | None:
        """Why this provider cannot be asked as things stand, in words; None when it can."""
        return None

    def lacks(self, request: Request, model: str) -> str | None:
        """
        Why *model* would refuse *request*, in words; None when nothing speaks against it.

        Nothing is sent to find out, and *request* is in no vendor's dialect. By default it looks at
        the attachments.
        """
        foreign = [file for file in request.media() if file.media_type not in self.media_types]
        return f"it takes no {foreign[0].media_type}" if foreign else None

    @abstractmethod
    def send(self, request: Request) -> Response:
        """
        Send *request* and wait for the reply.

        Raises:
            ProviderError: The request did not get through, or what came is not a reply.
        """

    async def asend(self, request: Request) -> Response:
        """Like `send`, without blocking the event loop; by default in a thread."""
        import asyncio

        return await asyncio.to_thread(self.send, request)

    def stream(self, request: Request) -> Generator[str | Response]:
        """
        Send *request*, and yield pieces of the text as they come, then the whole reply, once.

        By default the whole text is one piece. Closing the generator closes the connection.

        Raises:
            ProviderError: As `send`; also between pieces, where the reply breaks off.
        """
        response = self.send(request)
        if response.text:
            yield response.text
        yield response

    async def astream(self, request: Request) -> AsyncGenerator[str | Response]:
        """Like `stream`, without blocking the event loop."""
        response = await self.asend(request)
        if response.text:
            yield response.text
        yield response

    def for_ask(self, asking: Asking) -> Provider:
        """Return what one ask sees of it: itself by default; a router, what it chose."""
        return self

    def settle(self, request: Request, outcome: Outcome) -> None:  # noqa: B027 (optional by design)
        """Learn what became of *request*; nothing by default."""

    def finish(self, error: IngotError | None) -> None:  # noqa: B027 (optional by design)
        """Learn that an ask ended, and with which error; nothing by default."""


class Performer(ABC):
    """Stands before tools and people, as a cassette does: it remembers what came of asking them."""

    @abstractmethod
    def recall(self, asked: Invocation | Consult) -> Any:
        """
        Return what came of it: a `Returned`, or a person's answer; None to have it done now.

        Raises:
            Exception: It must not be done, as it should be remembered and is not.
        """

    def enter(self, asked: Invocation) -> None:  # noqa: B027 (optional by design)
        """Learn that this call is made now, in this context; nothing by default."""

    @abstractmethod
    def keep(self, asked: Invocation | Consult, result: Any) -> None:
        """Remember *result*; it is kept when this returns."""
