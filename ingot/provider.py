"""The door of plugin authors: what a provider is, and a base for those with an SDK."""

from __future__ import annotations

from ingot._echo import as_arguments, as_input, read_exactly, with_ids
from ingot._fields import as_count, as_object, as_objects, as_text
from ingot._messages import Message, ToolCall, ToolResult
from ingot._params import merge_params, refuse_attachments, refuse_settings
from ingot._provider import Performer, Provider
from ingot._request import Attachment, Format, Request, ToolDeclaration
from ingot._response import Outcome, Response, Usage
from ingot._sdk import SDKProvider
from ingot._streamed import Gathering
from ingot._wire_errors import failure, failure_in_body

__all__ = [
    "Attachment",
    "Format",
    "Gathering",
    "Message",
    "Outcome",
    "Performer",
    "Provider",
    "Request",
    "Response",
    "SDKProvider",
    "ToolCall",
    "ToolDeclaration",
    "ToolResult",
    "Usage",
    "as_arguments",
    "as_count",
    "as_input",
    "as_object",
    "as_objects",
    "as_text",
    "failure",
    "failure_in_body",
    "merge_params",
    "read_exactly",
    "refuse_attachments",
    "refuse_settings",
    "with_ids",
]
