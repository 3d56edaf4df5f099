"""Any model that ingot reaches, as a program that answers prompts for any host."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ingot._config import checked, resolve
from ingot._fields import as_object
from ingot._json import Unreadable, is_object
from ingot._registry import find_provider
from ingot._request import Format, Request, ToolDeclaration
from ingot.exec.child_prompt import conversation
from ingot.exec.child_replies import response_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ingot.exec.wire import ProviderReply, ProviderRequest
    from ingot.provider import Provider

__all__ = ["relay"]

_PER_CALL = ("max_tokens", "temperature", "seed", "system")
"""Settings that a request may bring in its params; never where a key goes, or which."""

_OF_OURS = ("schema", "type")
"""What a host of ingot says of the answer in params."""


def relay(settings: Mapping[str, Any]) -> Callable[[ProviderRequest], ProviderReply]:
    """
    Return a handler that sends each prompt to a model, once, and passes on what it says.

    It runs no tool and tries nothing again: calls and failures are the host's to act on.

    Args:
        settings: As of `ask.using`: *model*, *max_tokens*, *temperature*, *seed*, *system*,
            *timeout*, *base_url*, *api_key*, *params*. Those that a request names in its params
            outweigh them; params that are no setting go into the vendor's request.
    """
    fixed = checked(settings)

    def answer(asked: ProviderRequest) -> ProviderReply:
        params = as_object(asked.params)
        given = {name: params[name] for name in _PER_CALL if name in params}
        try:
            call = checked(given)
        except TypeError as error:
            raise Unreadable(f"in field `params`: {error}") from None
        chosen = {**resolve(fixed).values, **call}
        get = chosen.get
        provider, model = find_provider(
            get("model"), base_url=get("base_url"), api_key=get("api_key")
        )
        request = _request(asked, chosen, provider, model)
        return response_reply(provider.send(request), provider.name)

    return answer


def _request(
    asked: ProviderRequest, chosen: Mapping[str, Any], provider: Provider, model: str
) -> Request:
    said = conversation(asked)
    params = as_object(asked.params)
    extras = {k: v for k, v in params.items() if k not in (*_PER_CALL, *_OF_OURS)}
    systems = [text for text in (chosen.get("system"), said.system) if text]
    return Request(
        provider=provider.name,
        model=model,
        target=None,
        prompt=said.prompt,
        system="\n\n".join(systems) or None,
        messages=said.messages,
        tools=tuple(map(_declaration, asked.tools)),
        format=_format(params.get("schema"), said.system, provider),
        max_tokens=chosen.get("max_tokens", provider.default_max_tokens),
        temperature=chosen.get("temperature"),
        seed=chosen.get("seed"),
        params={**chosen.get("params", {}), **extras},
        timeout=chosen.get("timeout"),
    )


def _declaration(offer: Any) -> ToolDeclaration:
    if not is_object(offer.input_schema):
        raise Unreadable(f"the tool `{offer.name}` has no `input_schema`")
    return ToolDeclaration(
        name=offer.name,
        description=offer.description,
        parameters=offer.input_schema,
        target=None,
        strict=False,  # nobody made the schema fit what a vendor enforces
    )


def _format(schema: Any, system: str | None, provider: Provider) -> Format | None:
    """How the answer is to be written: a schema of a host's is enforced where any schema is."""
    if not is_object(schema):
        return None
    enforced = provider.dialect == "open"
    told = json.dumps(schema, ensure_ascii=False) in (system or "")
    shown = not told and (provider.show_schema or not enforced)
    return Format(name="answer", schema=schema, constrained=enforced, shown=shown)
