"""Vendor-specific extras of a request, and settings that a vendor cannot honour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingot._json import is_object
from ingot.errors import NotConfiguredError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ingot._request import Request

__all__ = ["merge_params", "refuse_attachments", "refuse_settings"]


def refuse_settings(request: Request, provider: str, **why: str) -> None:
    """
    Raise NotConfiguredError for the first setting of *why* that *request* has.

    Args:
        request: The request.
        provider: Name of the provider, for the message.
        why: Reason by name of the setting.
    """
    for name, reason in why.items():
        if getattr(request, name) is not None:
            raise NotConfiguredError(f"{provider} cannot honour {name}: {reason}")


def refuse_attachments(request: Request, provider: str, taken: Collection[str]) -> None:
    """
    Raise NotConfiguredError for the first attachment that is neither text nor of a type in *taken*.

    Args:
        request: The request.
        provider: Name of the provider, for the message.
        taken: Media types.
    """
    for file in request.media():
        if file.media_type not in taken:
            raise NotConfiguredError(
                f"{provider} cannot be sent {file.name!r}, which is {file.media_type}; "
                f"it takes {', '.join(['text', *sorted(taken)])}",
                advice="convert the file, or ask a provider that takes it",
            )


_NOT_A_PARAM = {
    "timeout": "there is a setting for it: timeout=…",
    "stream": "ask.stream(…) streams, and ask(…) waits for the whole answer",
    "api_key": "there is a setting for it: api_key=…",
    "base_url": "there is a setting for it: base_url=…",
}


def merge_params(arguments: dict[str, Any], params: Mapping[str, Any], provider: str) -> None:
    """
    Put vendor-specific extras into the arguments of an SDK's call.

    Objects that ingot itself fills, such as `output_config`, are merged by key; `extra_headers` and
    `extra_query` go to the SDK as they are; all else becomes a field of the request body.

    Raises:
        NotConfiguredError: A name that ingot fills already; its setting is named.
    """
    for name in ("extra_headers", "extra_query", "extra_body"):
        _check_mapping(name, params.get(name, {}))
    extras: dict[str, Any] = {}
    for name, value in {**params, **params.get("extra_body", {})}.items():
        if name in ("extra_headers", "extra_query"):
            arguments[name] = {**arguments.get(name, {}), **value}
        elif name == "extra_body":
            continue
        elif name in _NOT_A_PARAM:
            raise NotConfiguredError(
                f"params={{{name!r}: …}} is not a param", advice=_NOT_A_PARAM[name]
            )
        elif name not in arguments:
            extras[name] = value
        elif isinstance(arguments[name], dict) and isinstance(value, dict):
            clash = arguments[name].keys() & value.keys()
            if clash:
                raise NotConfiguredError(
                    f"params={{{name!r}: {{{min(clash)!r}: …}}}} is set by ingot"
                )
            arguments[name] = {**arguments[name], **value}
        else:
            raise NotConfiguredError(
                f"params={{{name!r}: …}} is set by ingot for {provider}",
                advice="there is a setting for it: model, system, max_tokens, temperature or seed",
            )
    if extras:
        arguments["extra_body"] = {**arguments.get("extra_body", {}), **extras}


def _check_mapping(name: str, value: Any) -> None:
    if not is_object(value):
        raise NotConfiguredError(f"params={{{name!r}: …}} must be a mapping")
    if name != "extra_headers":
        return
    for header, text in value.items():
        if not (isinstance(text, str) and f"{header}{text}".isascii() and text.isprintable()):
            raise NotConfiguredError(
                f"params={{'extra_headers': {{{header!r:.40}: …}}}} must be printable ASCII text"
            )
