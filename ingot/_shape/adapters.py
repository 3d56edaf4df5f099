"""
Pydantic's validators, made where no name of ours can be taken for one of the caller's.

Pydantic looks up the names in a type also in the frame that makes the validator.
"""

from typing import Any

from pydantic import TypeAdapter

__all__ = ["adapter_of"]


def adapter_of(__type: Any, /) -> TypeAdapter[Any]:
    """Return pydantic's validator of a type."""
    return TypeAdapter(__type)
