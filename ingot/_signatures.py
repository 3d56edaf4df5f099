"""The signatures that `help` and tab completion show, where the real ones only say `**given`."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["signature"]


def signature(
    *first: str, positional: Iterable[str] = (), named: type[Any], returns: str
) -> Signature:
    """
    Return a signature.

    Args:
        first: `self` or `cls`, for a method.
        positional: Names of what is given by position.
        named: A TypedDict whose keys are the keywords, each None by default.
        returns: What is returned, in words of types.
    """
    by_place = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in (*first, *positional)]
    keywords: dict[str, Any] = {}
    for cls in reversed(getattr(named, "__orig_bases__", ())):
        keywords.update(getattr(cls, "__annotations__", {}))
    keywords.update(named.__annotations__)
    by_name = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=_text(kind))
        for name, kind in keywords.items()
    ]
    return Signature([*by_place, *by_name], return_annotation=returns)


def _text(kind: Any) -> Any:
    return getattr(kind, "__forward_arg__", kind)
