"""OpenAI, and every server that speaks its Chat Completions API, as providers for ingot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot.provider import SDKProvider, merge_params, refuse_settings
from ingot_openai import chat, responses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot.provider import Gathering, Request, Response

__all__ = ["DEFAULT_MODEL", "OpenAI", "OpenAIChat"]

DEFAULT_MODEL = "gpt-5.4-mini"
"""The model that is asked when none is named."""


class OpenAIChat(SDKProvider):
    """
    Chat Completions, at OpenAI or at any server that has it: vLLM, Ollama, llama.cpp, OpenRouter.

    Model strings: `openai-chat/…`, and `openai/…` with a *base_url* other than the vendor's.
    """

    name = "openai-chat"
    extra = "openai"
    module = "openai"
    key_variables = ("OPENAI_API_KEY",)
    url_variable = "OPENAI_BASE_URL"
    host = "api.openai.com"
    default_model = DEFAULT_MODEL
    media_types = frozenset({*chat.IMAGES, chat.PDF})

    def __init__(self, *, base_url: str | None = None, api_key: str | None = None) -> None:
        super().__init__(base_url=base_url, api_key=api_key)
        self.vendor = self.is_vendor
        self.dialect = "openai" if self.vendor else "open"
        self.default_max_tokens = 16_000 if self.vendor else 4_096
        self.drafts = not self.vendor

    def connect(self, *, awaiting: bool) -> Any:
        """Make a client; a server other than the vendor's may need no key."""
        import openai

        key = self.api_key or (None if self.vendor else "none")
        if key is None:
            raise self.missing_key()
        make = openai.AsyncOpenAI if awaiting else openai.OpenAI
        return make(
            api_key=key,
            base_url=self.base_url,
            max_retries=0,
            timeout=openai.Timeout(600, connect=10),
        )

    def create(self, client: Any, arguments: dict[str, Any]) -> Any:
        """Call `chat.completions.create`."""
        return client.chat.completions.with_raw_response.create(**arguments)

    def encode(self, request: Request) -> dict[str, Any]:
        """Return the arguments of `chat.completions.create`."""
        out = chat.arguments(request, vendor=self.vendor)
        merge_params(out, request.params, self.name)
        return out

    def gathering(self) -> Gathering:
        """Make what reads a stream of `chat.completion.chunk`s."""
        return chat.Gathering()

    def decode(self, body: Mapping[str, Any], *, request_id: str | None = None) -> Response:
        """Read a `chat.completion`."""
        return chat.response(body, provider=self.name, request_id=request_id)


class OpenAI(OpenAIChat):
    """
    OpenAI through its Responses API; a server other than the vendor's through Chat Completions.

    Model strings: `openai/…`.
    """

    name = "openai"

    def create(self, client: Any, arguments: dict[str, Any]) -> Any:
        """Call `responses.create`, or `chat.completions.create` at another server."""
        if not self.vendor:
            return super().create(client, arguments)
        return client.responses.with_raw_response.create(**arguments)

    def encode(self, request: Request) -> dict[str, Any]:
        """Return the arguments of the call."""
        if not self.vendor:
            return super().encode(request)
        refuse_settings(request, self.name, seed="Responses has none; openai-chat/… has")
        out = responses.arguments(request)
        merge_params(out, request.params, self.name)
        return out

    def gathering(self) -> Gathering:
        """Make what reads a stream of Responses, or of Chat Completions of another server."""
        return responses.Gathering() if self.vendor else super().gathering()

    def decode(self, body: Mapping[str, Any], *, request_id: str | None = None) -> Response:
        """Read a `response`, or a `chat.completion` of another server."""
        if not self.vendor:
            return super().decode(body, request_id=request_id)
        return responses.response(body, provider=self.name, request_id=request_id)
