"""One answer of a row: a reply or an error as it stands in the file, and back."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol

from ingot import errors
from ingot._messages import ToolCall
from ingot._response import Response, Usage
from ingot._route import Route
from ingot.cassette.rows import lines, text_of
from ingot.errors import IngotError, ProviderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "Reading",
    "answer_of",
    "class_of",
    "error_of",
    "overcome_error",
    "replayed_error",
    "response_of",
    "server_of",
]


class Reading(Protocol):
    """What is needed of a shape: how the text of a reply stands for a value of T, and back."""

    dialect: str

    @property
    def kind(self) -> str:
        """`prose`, `json` or `schema`."""
        ...

    def natural(self, text: str) -> tuple[bool, Any]:
        """Whether *text* is JSON in the form that was sent, and the JSON of T in it."""
        ...

    def read(self, text: str) -> Any:
        """The value of T that *text* stands for."""
        ...

    def encode(self, value: Any) -> str:
        """What a model would write for *value*."""
        ...

    def to_wire(self, tree: Any) -> str:
        """The text that stands for the JSON of T *tree*."""
        ...


def answer_of(response: Response, shape: Reading, plain: Reading, *, valid: bool) -> dict[str, Any]:
    """
    Write *response* as an answer: no ids, no times, no vendor's own blocks.

    Args:
        response: The reply.
        shape: How it is read.
        plain: How it will be read when it is played.
        valid: Whether it was an answer; what was none is kept word for word, and read as it was.
    """
    out: dict[str, Any] = {}
    if response.text is not None:
        fits, tree = _value(response.text, shape, plain) if valid else (False, None)
        if fits:
            out["value"] = tree
        else:
            out["text"] = lines(response.text)
            if shape.kind == "schema":
                # What could not be read must be read in the same way again.
                out["dialect"] = shape.dialect
    if response.tool_calls:
        out["calls"] = [
            {"call": n, "tool": call.name, "arguments": call.arguments}
            for n, call in enumerate(response.tool_calls, 1)
        ]
    if response.draft and "value" not in out:
        out["draft"] = True
    if response.empty_reason is not None:
        out["empty"] = response.empty_reason
        if response.explanation is not None:
            out["explanation"] = lines(response.explanation)
        if response.kinds:
            out["kinds"] = list(response.kinds)
    if response.usage is not None:
        counts = {f.name: getattr(response.usage, f.name) for f in fields(response.usage)}
        out["usage"] = {name: count for name, count in counts.items() if count}
    if response.route is not None:
        out["route"] = response.route.to_json()
    told = {
        "cost": None if response.cost is None else f"{response.cost:f}",
        "served": response.model,
        "stop": response.stop_reason,
    }
    return {**out, **{name: text for name, text in told.items() if text is not None}}


def _value(text: str, shape: Reading, plain: Reading) -> tuple[bool, Any]:
    """Whether *text* is the JSON of a T, and that JSON; what would be read otherwise is not."""
    if shape.kind == "prose":
        return False, None
    fits, tree = shape.natural(text)
    return fits and plain.natural(plain.to_wire(tree)) == (True, tree), tree


def response_of(answer: Mapping[str, Any], shape: Reading) -> Response:
    """Return the reply that *answer* tells of."""
    text: str | None = None
    if "value" in answer:
        text = shape.to_wire(answer["value"])
    elif "text" in answer:
        text = text_of(answer["text"])
    return Response(
        text=text,
        tool_calls=_calls(answer["calls"]) if "calls" in answer else (),
        usage=_usage(answer["usage"]) if "usage" in answer else None,
        cost=Decimal(answer["cost"]) if "cost" in answer else None,
        stop_reason=answer.get("stop"),
        empty_reason=answer.get("empty"),
        explanation=text_of(answer["explanation"]) if "explanation" in answer else None,
        model=answer.get("served"),
        kinds=tuple(answer["kinds"]) if "kinds" in answer else (),
        route=Route.from_json(answer["route"]) if "route" in answer else None,
        draft=answer.get("draft", False),
    )


def _calls(written: Iterable[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(id=str(c["call"]), name=c["tool"], arguments=c["arguments"]) for c in written
    )


def _usage(counts: Mapping[str, int]) -> Usage:
    try:
        return Usage(**counts)
    except TypeError:  # a later ingot counts more
        known = {f.name for f in fields(Usage)}
        return Usage(**{name: count for name, count in counts.items() if name in known})


_FACTS = ("status", "retry_after", "type", "provider")


def error_of(error: ProviderError) -> dict[str, Any]:
    """Write the error that an ask ended with as an answer."""
    facts = {name: getattr(error, name) for name in _FACTS if getattr(error, name) is not None}
    if not isfinite(facts.get("retry_after", 0)):
        del facts["retry_after"]  # no JSON can say it, and it says nothing
    out = {"class": class_of(error), "message": lines(error.message), **facts}
    if error.advice is not None:
        out["advice"] = error.advice
    return {"error": out}


def server_of(asked: str, answer: Mapping[str, Any]) -> str:
    """Return who gave *answer*, as `provider/model`, where *asked* is who was asked."""
    routed = answer.get("route", {}).get("arm", asked)
    provider, _, model = routed.partition("/")
    return f"{provider}/{answer.get('served', model)}"


def class_of(error: ProviderError) -> str:
    """Return the name of the class of *error*, or of the nearest one of ours to a plugin's own."""
    ours: type = next(c for c in type(error).__mro__ if getattr(errors, c.__name__, None) is c)
    return ours.__name__


def overcome_error(name: str) -> ProviderError:
    """Return an error of the class *name*, after which the request was sent again."""
    error = replayed_error({"error": {"class": name, "message": []}})
    error.overcome = True
    return error


def replayed_error(answer: Mapping[str, Any]) -> ProviderError:
    """Return the error that *answer* tells of, of the same class; it is not tried again."""
    told = answer["error"]
    found = getattr(errors, str(told.get("class")), None)
    known = isinstance(found, type) and issubclass(found, ProviderError)
    cls: type[ProviderError] = found if known else ProviderError  # type: ignore[assignment]
    error = cls.__new__(cls)
    message = text_of(told["message"])
    IngotError.__init__(error, message, advice=told.get("advice"))
    for name in _FACTS:
        setattr(error, name, told.get(name))
    error.request_id = None
    error.replayed = True
    return error
