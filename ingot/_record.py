"""Data that is not changed once it is made, which type checkers see to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

__all__ = ["record"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """
    Make *cls* a dataclass with slots whose fields are named when it is made, and then never set.

    For what is made again and again in each ask. Frozen dataclasses refuse to be changed while the
    program runs, but take three times as long to make: a sixth of an ask that is played.
    """
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(cls)
