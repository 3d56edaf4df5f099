"""What can be given to an ask by name, as types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from ingot._retry import Retry
    from ingot.cassette.recorder import Cassette
    from ingot.provider import Provider

__all__ = ["Call", "Settings"]


class Settings(TypedDict, total=False):
    """
    What can be set for an ask; None means not set. docs/settings.md has the whole table.

    Attributes:
        model: Who is asked, as `provider/model`, or a Provider.
        system: The system prompt.
        max_tokens: Upper bound of the answer, in tokens.
        temperature: How freely the model chooses its words.
        seed: Makes sampling repeatable where the vendor can.
        timeout: Seconds that the server may be silent.
        retry: How often a request that failed in passing is sent again, or a Retry.
        repair: How often the model may be told that its reply does not fit.
        constrain: `auto`, `strict` or `prompt`: whether the server must hold the model to the type.
        base_url: Where the server is.
        api_key: The key.
        cassette: The recording that answers, or that is made: a Cassette or its path.
        params: Vendor-specific extras of the request.
    """

    model: str | Provider | None
    system: str | None
    max_tokens: int | None
    temperature: float | None
    seed: int | None
    timeout: float | None
    retry: int | Retry | None
    repair: int | None
    constrain: Literal["auto", "strict", "prompt"] | None
    base_url: str | None
    api_key: str | None
    cassette: Cassette | str | None
    params: Mapping[str, Any] | None


class Call(Settings, total=False):
    """
    What can be said in one call beside type and prompt.

    Attributes:
        context: Values by name, each shown to the model as a labelled block before the prompt.
        types: Record declarations, for Ingot type names.
        sample: Tells apart asks that are the same on purpose, in recordings.
    """

    context: Mapping[str, Any] | None
    types: Mapping[str, Any] | None
    sample: str | int | None
