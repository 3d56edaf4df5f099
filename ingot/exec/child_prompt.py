"""What a request of the exec protocol says, in whichever of its forms a host wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ingot._echo import as_arguments
from ingot._fields import as_object
from ingot._json import Unreadable, is_array
from ingot._messages import Message, ToolCall, ToolResult
from ingot._record import record
from ingot._row import Row
from ingot.exec.wire_parts import Call, read_many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingot.exec.wire import ProviderRequest

__all__ = ["Conversation", "conversation", "text_of"]


@record
class Conversation:
    """
    What is said to a model.

    Attributes:
        system: The system prompt; None for none.
        prompt: The first turn, which is the caller's.
        messages: The turns after it.
    """

    system: str | None
    prompt: str
    messages: tuple[Message, ...] = ()


def text_of(request: ProviderRequest) -> str:
    """
    Return what *request* asks, as one text.

    That is the text of its prompt, or of the last turn that is not the model's, results of tools
    included; without a prompt, the variable `user_input`.

    Raises:
        Unreadable: There is neither, or the prompt is of another form.
    """
    said = conversation(request)
    turn = next((turn for turn in reversed(said.messages) if turn.role == "user"), None)
    if turn is None:
        return said.prompt
    return turn.text or "\n".join(result.text for result in turn.tool_results)


def conversation(request: ProviderRequest) -> Conversation:
    """
    Return what *request* says to a model.

    System messages are joined, wherever they stand; the thinking in a message is left out.

    Raises:
        Unreadable: There is nothing to say, or it is of a form that is not known.
    """
    if request.prompt is None:
        given = as_object(request.vars).get("user_input")
        if not isinstance(given, str):
            raise Unreadable("the request has neither a prompt nor a variable `user_input` of text")
        return Conversation(system=None, prompt=given)
    row = Row(request.prompt, ("prompt",))
    if "messages" not in row.fields:
        return Conversation(system=None, prompt=row.text("text"))
    rows = list(row.rows("messages"))
    system = [_text(one) for one in rows if one.text("role") in _SYSTEM]
    turns = [turn for one in rows if one.text("role") not in _SYSTEM for turn in _turn(one)]
    if not turns or turns[0].role != "user" or turns[0].text is None:
        raise Unreadable("in field `prompt`: the first message to a model is not the user's")
    return Conversation(
        system="\n\n".join(system) or None, prompt=turns[0].text, messages=_joined(turns[1:])
    )


_SYSTEM = ("system", "developer")
_ROLES: dict[str, Literal["user", "assistant"]] = {"user": "user", "assistant": "assistant"}


def _turn(row: Row) -> Iterator[Message]:
    role = row.text("role")
    if role == "tool":
        result = ToolResult(id=row.text("tool_call_id"), text=_text(row))
        yield Message(role="user", tool_results=(result,))
        return
    if role not in _ROLES:
        known = "`system`, `user`, `assistant` or `tool`"
        raise row.unexpected(known, role, "role")
    calls = tuple(
        ToolCall(
            id=call.id or f"call_{number}",
            name=call.name,
            arguments=as_arguments(call.arguments),
        )
        for number, call in enumerate(read_many(Call, row, "tool_calls"), 1)
    )
    # A turn of calls says nothing beside them, in whichever way that was written.
    text = _text(row) if not calls or row.optional("content") is not None else None
    yield Message(role=_ROLES[role], text=(text or None) if calls else text, tool_calls=calls)


def _joined(turns: list[Message]) -> tuple[Message, ...]:
    """The turns, results of one batch of calls in one turn."""
    made: list[Message] = []
    for turn in turns:
        if turn.tool_results and made and made[-1].tool_results:
            results = (*made.pop().tool_results, *turn.tool_results)
            made.append(Message(role="user", tool_results=results))
        else:
            made.append(turn)
    return tuple(made)


def _text(row: Row) -> str:
    """The content of a message: a text, or blocks of text."""
    content = row.required("content")
    if not is_array(content):
        return row.text("content")
    parts: list[str] = []
    for block in row.rows("content"):
        kind = block.text("type")
        if kind == "text":
            parts.append(block.text("text"))
        elif kind != "thinking":
            raise block.unexpected("a block of `text` or `thinking`", kind, "type")
    return "".join(parts)
