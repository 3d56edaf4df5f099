"""Parts that messages of the exec protocol are made of, and how fields are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from ingot._record import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingot._row import Row

__all__ = [
    "Call",
    "Failure",
    "Offer",
    "Part",
    "TestRef",
    "Tokens",
    "present",
    "read_many",
    "written",
]


class Part(Protocol):
    """What stands in a message, or is one."""

    @classmethod
    def read(cls, row: Row) -> Self:
        """Read it."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The part as JSON."""
        ...


def present(**fields: Any) -> dict[str, Any]:
    """Return the *fields* that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def written(**lists: Sequence[Part]) -> dict[str, Any]:
    """Return those of *lists* that are not empty, as JSON."""
    return {name: [part.to_json() for part in parts] for name, parts in lists.items() if parts}


P = TypeVar("P", bound=Part)


def read_many(cls: type[P], row: Row, name: str) -> tuple[P, ...]:
    """Return the parts in a list of *row*; none when it is absent. Null is a fault."""
    return tuple(cls.read(part) for part in row.rows(name)) if name in row.fields else ()


@record
class TestRef:
    """
    What a program is asked for.

    Attributes:
        id: Name of the case.
        tags: Words that it is filed under.
    """

    __test__ = False  # not a test of pytest's

    id: str
    tags: tuple[str, ...] = ()

    @classmethod
    def read(cls, row: Row) -> Self:
        """Read it."""
        tags = row.texts("tags") if "tags" in row.fields else ()
        return cls(id=row.text("id"), tags=tags)

    def to_json(self) -> dict[str, Any]:
        """The part as JSON."""
        return {"id": self.id, "tags": list(self.tags)}


@record
class Offer:
    """
    A tool that the model may call; whoever asked the program runs it.

    Attributes:
        name: The name the model calls it by.
        description: What it does; None when nothing is said.
        input_schema: JSON Schema of its arguments.
    """

    name: str
    description: str | None = None
    input_schema: Any = None

    @classmethod
    def read(cls, row: Row) -> Self:
        """Read it."""
        return cls(
            name=row.text("name"),
            description=row.optional_text("description"),
            input_schema=row.optional("input_schema"),
        )

    def to_json(self) -> dict[str, Any]:
        """The part as JSON."""
        return {
            "name": self.name,
            **present(description=self.description),
            "input_schema": self.input_schema,
        }


@record
class Call:
    """
    A call of a tool that the model asks for.

    Attributes:
        name: The tool; an empty name is kept.
        arguments: The arguments as JSON, not as the text of it.
        id: The vendor's id of the call; None when there is none.
    """

    name: str
    arguments: Any = None
    id: str | None = None

    @classmethod
    def read(cls, row: Row) -> Self:
        """Read it."""
        return cls(
            name=row.text("name"),
            arguments=row.optional("arguments"),
            id=row.optional_text("id"),
        )

    def to_json(self) -> dict[str, Any]:
        """The part as JSON."""
        return {**present(id=self.id), "name": self.name, "arguments": self.arguments}


@record
class Tokens:
    """
    Tokens of one call.

    Attributes:
        input_tokens: Read afresh.
        output_tokens: Written.
        cache_read_tokens: Read from a prompt cache; None when that is not told, as below.
        cache_write_tokens: Written to a prompt cache.
        cache_write_1h_tokens: The part of *cache_write_tokens* that was stored for longer.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_1h_tokens: int | None = None

    @classmethod
    def read(cls, row: Row) -> Self:
        """Read it; null is a fault where the count is not optional."""
        return cls(
            input_tokens=row.count("input_tokens") if "input_tokens" in row.fields else 0,
            output_tokens=row.count("output_tokens") if "output_tokens" in row.fields else 0,
            cache_read_tokens=row.optional_count("cache_read_tokens"),
            cache_write_tokens=row.optional_count("cache_write_tokens"),
            cache_write_1h_tokens=row.optional_count("cache_write_1h_tokens"),
        )

    def to_json(self) -> dict[str, Any]:
        """The part as JSON."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            **present(
                cache_read_tokens=self.cache_read_tokens,
                cache_write_tokens=self.cache_write_tokens,
                cache_write_1h_tokens=self.cache_write_1h_tokens,
            ),
        }


@record
class Failure:
    """
    Why a program has no answer.

    Attributes:
        message: In words.
        retriable: Whether the same request may succeed later.
        details: Any JSON.
        error_class: `provider_auth`, `provider_rate_limit` … or any other word; `class` on the
            wire.
        retry_after_ms: Milliseconds to wait before trying again; None when it did not say.
    """

    message: str
    retriable: bool = False
    details: Any = None
    error_class: str | None = None
    retry_after_ms: int | None = None

    @classmethod
    def read(cls, row: Row) -> Self:
        """Read it."""
        return cls(
            message=row.text("message"),
            retriable=row.flag("retriable") if "retriable" in row.fields else False,
            details=row.optional("details"),
            error_class=row.optional_text("class"),
            retry_after_ms=row.optional_count("retry_after_ms"),
        )

    def to_json(self) -> dict[str, Any]:
        """The part as JSON."""
        return {
            "message": self.message,
            "retriable": self.retriable,
            **present(
                details=self.details,
                **{"class": self.error_class},
                retry_after_ms=self.retry_after_ms,
            ),
        }
