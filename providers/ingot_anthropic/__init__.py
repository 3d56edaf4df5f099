"""Anthropic as a provider for ingot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ingot.errors import NotConfiguredError
from ingot.provider import SDKProvider, merge_params, refuse_settings
from ingot_anthropic import messages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot.provider import Gathering, Request, Response

__all__ = ["DEFAULT_MODEL", "Anthropic"]

DEFAULT_MODEL = "claude-sonnet-5-5"
"""The model that is asked when none is named."""

_LAST_WITH_TEMPERATURE = "2023-06-01"


class Anthropic(SDKProvider):
    """
    Anthropic through its Messages API.

    Model strings: `anthropic/…`. The vendor's current API version takes no temperature; it can be
    set together with `params={"anthropic_version": "2023-06-01"}`.
    """

    name = "anthropic"
    dialect = "anthropic"
    extra = "anthropic"
    module = "anthropic"
    key_variables = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    url_variable = "ANTHROPIC_BASE_URL"
    host = "api.anthropic.com"
    default_model = DEFAULT_MODEL
    default_max_tokens = 16_000
    media_types = frozenset({*messages.IMAGES, messages.PDF})

    def connect(self, *, awaiting: bool) -> Any:
        """Make a client; without a key, the SDK looks for a profile of its own."""
        import anthropic

        make = anthropic.AsyncAnthropic if awaiting else anthropic.Anthropic
        client = make(
            # Given None, the SDK would look for the vendor's key itself.
            api_key=self._api_key or ("none" if self._elsewhere else None),
            base_url=self.base_url,
            max_retries=0,
            # Not the SDK's default, which would make it refuse a large max_tokens without
            # streaming.
            timeout=anthropic.Timeout(600, connect=10),
        )
        if client.api_key is None and client.auth_token is None and client.credentials is None:
            raise self.missing_key()
        return client

    def create(self, client: Any, arguments: dict[str, Any]) -> Any:
        """Call `messages.create`."""
        return client.messages.with_raw_response.create(**arguments)

    def encode(self, request: Request) -> dict[str, Any]:
        """Return the arguments of `messages.create`."""
        params = dict(request.params)
        version = params.pop("anthropic_version", None)
        refuse_settings(request, self.name, seed="the vendor has none")
        out = messages.arguments(request)
        if out["max_tokens"] is None:
            out["max_tokens"] = self.default_max_tokens
        if version is not None:
            if not re.fullmatch(r"\d{4}-\d\d-\d\d", str(version), re.ASCII):
                raise NotConfiguredError(
                    "params={'anthropic_version': …} must be a date such as '2023-06-01'"
                )
            out["extra_headers"] = {"anthropic-version": str(version)}
        if request.temperature is not None:
            if version is None or str(version) > _LAST_WITH_TEMPERATURE:
                why = (
                    "the vendor's current API takes none; leave it out, or pin the older API with "
                    'params={"anthropic_version": "2023-06-01"}'
                )
                refuse_settings(request, self.name, temperature=why)
            out["extra_body"] = {"temperature": request.temperature}
        merge_params(out, params, self.name)
        return out

    def gathering(self) -> Gathering:
        """Make what reads the events of a stream of a `message`."""
        return messages.Gathering()

    def decode(self, body: Mapping[str, Any], *, request_id: str | None = None) -> Response:
        """Read a `message`."""
        return messages.response(body, provider=self.name, request_id=request_id)
