"""One request to a model, whole and frozen, and the key of its recording."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ingot._json import canonical
from ingot._shape.format import Format, instruction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._messages import Message

__all__ = ["Attachment", "Format", "Request", "ToolDeclaration", "complete", "key_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDeclaration:
    """
    A tool as a model is told of it.

    Attributes:
        name: The name the model calls it by.
        description: What it does, in words; None when nothing is said.
        parameters: JSON Schema of its arguments, in the dialect of the provider.
        target: The descriptor of its arguments, which stands in keys for *parameters*.
        strict: Whether the provider is to enforce *parameters*.
    """

    name: str
    description: str | None
    parameters: Mapping[str, Any]
    target: Any
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """
    Content that travels to the model on purpose.

    Attributes:
        media_type: Such as `image/png`.
        size: In bytes.
        sha256: Hex digest of the content.
        name: Base name of the file; never its folder.
        content: The bytes themselves, in no repr, key or recording.
    """

    media_type: str
    size: int
    sha256: str
    name: str
    content: bytes = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    One request to a model.

    Attributes:
        provider: Name of the provider that is asked.
        model: The model, in the vendor's word.
        target: Ingot's own descriptor of the type asked for; it stands in keys for any schema text.
        prompt: The prompt.
        system: The system prompt; None for none.
        context: Named values, in the given order, as (name, JSON value).
        messages: Turns after the prompt.
        tools: Tools on offer.
        attachments: Content that is sent along.
        format: How the answer is to be written; None for prose.
        max_tokens: Upper bound of the answer in tokens; None leaves it to the provider's default.
        temperature: None leaves it to the model.
        seed: None for none.
        params: Vendor-specific extras of the request body.
        timeout: Seconds that the other end may be silent; None for the default of 600.
        sample: Tells apart asks that are the same on purpose; None for none.
        keyed: Names of the settings that the caller chose, which are those that enter the key:
            *model*, *system*, *max_tokens*, *temperature*, *seed*, *params*.
    """

    provider: str
    model: str
    target: Any
    prompt: str
    system: str | None = None
    context: tuple[tuple[str, Any], ...] = ()
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolDeclaration, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    format: Format | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    timeout: float | None = None
    sample: str | int | None = None
    keyed: frozenset[str] = frozenset()

    def system_text(self) -> str | None:
        """Return the system prompt as sent: the caller's, then how to answer."""
        parts = [self.system] if self.system else []
        if self.format is not None and self.format.shown:
            parts.append(instruction(self.format))
        return "\n\n".join(parts) or None

    def user_text(self) -> str:
        """The first user turn as sent: each context value in a labelled block, then the prompt."""
        blocks = [f"<{name}>\n{context_text(value)}\n</{name}>" for name, value in self.context]
        return "\n\n".join([*blocks, self.prompt])

    def key_parts(self) -> dict[str, Any]:
        """
        Everything that decides the answer, as JSON, by name.

        Settings that the caller did not choose are absent, an unnamed model is `default`; call ids
        are written 1, 2, … by order, and the vendor's own blocks are left out.
        """
        chosen: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("max_tokens", "temperature", "seed")
            if name in self.keyed and getattr(self, name) is not None
        }
        if self.params and "params" in self.keyed:
            chosen["params"] = dict(self.params)
        return {
            "target": self.target,
            "system": self.system if "system" in self.keyed else None,
            "prompt": self.prompt,
            "context": [list(pair) for pair in self.context],
            "messages": _messages(self.messages),
            "tools": [[tool.name, tool.description, tool.target] for tool in self.tools],
            "files": [[file.media_type, file.size, file.sha256] for file in self.attachments],
            "model": f"{self.provider}/{self.model}" if "model" in self.keyed else "default",
            "params": chosen,
            "sample": self.sample,
        }

    def digest(self) -> str:
        """Return the key of this request in recordings: `k1:` and 32 hex digits of a SHA-256."""
        return key_of(self.key_parts())


def complete(request: Request, **late: Any) -> None:
    """
    Fill in what is known only after a recording was looked up by the key of *request*.

    Only whoever made the request may do it, before anyone else has it; to make a second one takes
    as long as to play an answer.
    """
    for name, value in late.items():
        object.__setattr__(request, name, value)


def key_of(parts: Mapping[str, Any]) -> str:
    """Return the key of a request with these `key_parts`."""
    target, *rest = _in_order(parts)
    # The canonical text of ["ask", target, *rest], of which the target is written once.
    text = f'["ask",{_target_text(target)},{canonical(rest)[1:]}'
    return "k1:" + sha256(text.encode()).hexdigest()[:32]


_texts: dict[int, tuple[Any, str]] = {}
"""Canonical texts of descriptors, which are never changed, by the very object."""


def _target_text(target: Any) -> str:
    kept = _texts.get(id(target))
    if kept is not None and kept[0] is target:
        return kept[1]
    text = canonical(target)
    if not isinstance(target, str):
        if len(_texts) >= 1024:
            _texts.clear()
        _texts[id(target)] = (target, text)
    return text


def context_text(value: Any) -> str:
    """A context value as the model reads it: text as it is, all else as JSON on indented lines."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2)


_in_order = itemgetter(
    "target",
    "system",
    "prompt",
    "context",
    "messages",
    "tools",
    "files",
    "model",
    "params",
    "sample",
)


def _messages(messages: tuple[Message, ...]) -> list[Any]:
    numbers: dict[str, int] = {}
    turns: list[Any] = []
    for message in messages:
        calls = [
            [numbers.setdefault(call.id, len(numbers) + 1), call.name, call.arguments]
            for call in message.tool_calls
        ]
        results = [
            [numbers.setdefault(result.id, len(numbers) + 1), result.text, result.failed]
            for result in message.tool_results
        ]
        turns.append([message.role, message.text, calls, results])
    return turns
