"""How large a schema has grown, against what a dialect allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from ingot._shape.dialects import Dialect

__all__ = ["Tally"]


@dataclass(slots=True)
class Tally:
    """
    Counts of one schema.

    Attributes:
        optional: Properties that may be absent.
        unions: Nodes that are unions.
        properties: Properties in all.
        values: Enum values in all.
        text: Characters in names, enum values and constants.
        depth: Levels of objects and arrays.
    """

    optional: int = 0
    unions: int = 0
    properties: int = 0
    values: int = 0
    text: int = 0
    depth: int = 0

    def count(self, names: Collection[str]) -> None:
        """Count the properties *names*."""
        self.properties += len(names)
        self.text += sum(map(len, names))

    def over(self, dialect: Dialect) -> list[str]:
        """Say each limit of *dialect* that is exceeded."""
        limits = (
            (self.unions, dialect.max_unions, "unions"),
            (self.properties, dialect.max_properties, "properties"),
            (self.depth, dialect.max_depth, "levels of nesting"),
            (self.values, dialect.max_enum, "enum values"),
            (self.text, dialect.max_text, "characters in names and enum values"),
        )
        return [
            f"it has {count} {what}, and {limit} are allowed"
            for count, limit, what in limits
            if limit is not None and count > limit
        ]
