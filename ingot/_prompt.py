"""What is said to the model: the prompt, its named values, and template strings that carry both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ingot.errors import PromptError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot._shape.content import Provenance

__all__ = ["say"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def say(
    prompt: Any,
    context: Mapping[str, Any] | None,
    handles: Provenance | None = None,
) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """
    Return the prompt as text and the context as JSON, in order.

    Args:
        prompt: Text, or a template string (Python 3.14), each interpolation of which becomes a
            context value named as it is written.
        context: Values by name.
        handles: Takes each `File` in them for one that the model may name; None to show it as it
            is.

    Raises:
        PromptError: The prompt is empty or no text; or a value cannot be shown to a model.
    """
    values: dict[str, Any] = {}
    if isinstance(prompt, str):
        text = prompt
    elif hasattr(prompt, "interpolations") and hasattr(prompt, "strings"):
        text = _template(prompt, values)
    else:
        raise PromptError(
            f"the prompt must be text, not {type(prompt).__name__}",
            advice="the type goes first, then the prompt; values go into context={'name': value}",
        )
    if not text.strip():
        raise PromptError("the prompt is empty")
    if context is not None and not hasattr(context, "items"):
        raise PromptError(
            f"context must name its values, not be a {type(context).__name__}",
            advice="write context={'document': text}",
        )
    if not values and not context:
        return text, ()
    for name, value in (context or {}).items():
        if name in values:
            raise PromptError(f"the value {name!r} is both in the template and in context")
        values[name] = value
    return text, tuple(
        [(_checked(name), _json(name, value, handles)) for name, value in values.items()]
    )


def _template(template: Any, values: dict[str, Any]) -> str:
    """Replace each interpolation by the label of its block, and collect the values."""
    out: list[str] = []
    for number, text in enumerate(template.strings):
        out.append(text)
        if number == len(template.interpolations):
            break
        part = template.interpolations[number]
        value = part.value
        if part.conversion:
            convert: Any = {"r": repr, "s": str, "a": ascii}[part.conversion]
            value = convert(value)
        if part.format_spec:
            value = format(value, part.format_spec)
        name = part.expression if _NAME.fullmatch(part.expression) else f"value_{number + 1}"
        if name in values and values[name] is not value and values[name] != value:
            name = f"{name}_{number + 1}"
        values[name] = value
        out.append(f"<{name}>")
    return "".join(out)


def _checked(name: Any) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise PromptError(
        f"{name!r:.60} cannot name a context value",
        advice="use letters, digits, '_', '-' and '.', a letter or '_' first",
    )


def _json(name: str, value: Any, handles: Provenance | None) -> Any:
    """The value as JSON; text stays as it is, files and binary content are refused."""
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes | bytearray | memoryview) or hasattr(value, "read"):
        raise PromptError(
            f"the context value {name!r} is binary content or an open file",
            advice="pass its text, such as Path(…).read_text()",
        )
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    from ingot._shape.content import File

    def written(part: Any) -> Any:
        if isinstance(part, File):
            return (part if handles is None else handles.admit(part)).to_dict()
        raise PromptError(f"a {type(part).__name__} cannot be shown to a model")

    try:
        return to_jsonable_python(
            value, by_alias=True, fallback=written, context={"handles": handles}
        )
    except (PydanticSerializationError, PromptError, ValueError) as error:
        raise PromptError(
            f"the context value {name!r} has no JSON form: {error}"[:300],
            advice="pass text, numbers, lists, dicts, dataclasses or models",
        ) from None
