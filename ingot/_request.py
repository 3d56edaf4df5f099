"""One request to a model, whole and frozen, and the key of its recording."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ingot._json import canonical
from ingot._record import record
from ingot._shape.format import Format, instruction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._messages import Message

__all__ = [
    "UNNAMED",
    "Attachment",
    "Format",
    "Request",
    "ToolDeclaration",
    "complete",
    "is_text_type",
    "key_of",
    "target_text",
]

UNNAMED = "default"
"""Stands in keys for the model that is asked when none is named."""


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

    @property
    def is_text(self) -> bool:
        """Whether it is text, which every provider takes: it stands in the prompt, labelled."""
        return is_text_type(self.media_type)

    def text(self) -> str:
        """The content as text, without a byte-order mark."""
        return self.content.decode("utf-8-sig", errors="replace")

    def base64(self) -> str:
        """The content as base64."""
        from base64 import b64encode

        return b64encode(self.content).decode()

    def labelled(self) -> str:
        """The content as text in a block that bears its name."""
        from html import escape

        return f'<file name="{escape(self.name)}">\n{self.text()}\n</file>'


def is_text_type(media_type: str) -> bool:
    """Whether content of *media_type* is text."""
    kind, _, form = media_type.partition("/")
    return kind == "text" or form in _TEXTS or form.endswith(("+json", "+xml"))


_TEXTS = {"json", "xml", "yaml", "toml", "javascript", "sql"}
"""What `application/…` calls text."""


_PARAMS = ("max_tokens", "temperature", "seed", "params")
"""Settings that are parameters of the model."""


@record
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
        chosen_max_tokens: *max_tokens* before a budget lowered it, which is what enters the key;
            None where none did.
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
    chosen_max_tokens: int | None = None
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
        """The first user turn as sent: context values and text files in blocks, then the prompt."""
        blocks = [f"<{name}>\n{context_text(value)}\n</{name}>" for name, value in self.context]
        blocks += [file.labelled() for file in self.attachments if file.is_text]
        return "\n\n".join([*blocks, self.prompt])

    def media(self) -> tuple[Attachment, ...]:
        """The attachments that are not text, each of which the vendor has a form for, or none."""
        return tuple(file for file in self.attachments if not file.is_text)

    def key_parts(self) -> dict[str, Any]:
        """
        Everything that decides the answer, as JSON, by name.

        Settings that the caller did not choose are absent, an unnamed model is `default`; call ids
        are written 1, 2, … by order, and the vendor's own blocks are left out.
        """
        keyed = self.keyed
        return {
            "target": self.target,
            "system": self.system if "system" in keyed else None,
            "prompt": self.prompt,
            "context": [[name, value] for name, value in self.context],
            "messages": _messages(self.messages) if self.messages else [],
            "tools": [[tool.name, tool.description, tool.target] for tool in self.tools],
            "files": [[file.media_type, file.size, file.sha256] for file in self.attachments],
            "model": f"{self.provider}/{self.model}" if "model" in keyed else UNNAMED,
            "params": {} if keyed.isdisjoint(_PARAMS) else self._chosen(),
            "sample": self.sample,
        }

    def _chosen(self) -> dict[str, Any]:
        """The parameters of the model that the caller chose, by name."""
        chosen: dict[str, Any] = {}
        for name in ("max_tokens", "temperature", "seed"):
            if name in self.keyed and getattr(self, name) is not None:
                chosen[name] = getattr(self, name)
        if "max_tokens" in chosen and self.chosen_max_tokens is not None:
            chosen["max_tokens"] = self.chosen_max_tokens
        if self.params and "params" in self.keyed:
            chosen["params"] = dict(self.params)
        return chosen

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
        setattr(request, name, value)


def key_of(parts: Mapping[str, Any]) -> str:
    """Return the key of a request with these `key_parts`."""
    target, *rest = _in_order(parts)
    # The canonical text of ["ask", target, *rest], of which the target is written once.
    text = f'["ask",{target_text(target)},{canonical(rest)[1:]}'
    return "k1:" + sha256(text.encode()).hexdigest()[:32]


_texts: dict[int, tuple[Any, str]] = {}
"""Canonical texts of descriptors, which are never changed, by the very object."""


def target_text(target: Any) -> str:
    """Return the canonical text of a descriptor."""
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
    count = 0
    numbers: dict[str, int] = {}
    turns: list[Any] = []
    for message in messages:
        calls: list[Any] = []
        for call in message.tool_calls:
            # Also where its id is that of an earlier one: not every server tells turns apart.
            count += 1
            numbers[call.id] = count
            calls.append([count, call.name, call.arguments])
        results = [
            [numbers.get(result.id, 0), result.text, result.failed]
            for result in message.tool_results
        ]
        turns.append([message.role, message.text, calls, results])
    return turns
