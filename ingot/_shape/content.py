"""Content types: prose, free JSON and file handles, as types that can be declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

__all__ = ["BINARY", "File", "Json", "Markdown", "Text"]

BINARY = (
    "a model cannot write binary content; let a tool write the file, and pass the handle it returns"
)
"""Why `bytes` and `File` cannot be asked for."""


class Text(str):
    """
    Prose. At the root of an ask it is a plain completion, not JSON; as a field it is a string.

    A value is an ordinary `str`.
    """

    __slots__ = ()
    __ingot_shape__: ClassVar[str] = "text"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read as a string, then become this type."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            cls, core_schema.str_schema(), serialization=core_schema.to_string_ser_schema()
        )


class Markdown(Text):
    """Prose in Markdown. Like `Text`; a notebook renders it."""

    __slots__ = ()
    __ingot_shape__: ClassVar[str] = "markdown"

    def _repr_markdown_(self) -> str:
        return str(self)


if TYPE_CHECKING:
    Json: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None
else:

    class Json:
        """
        Any JSON value. At the root of an ask the reply is read as JSON and not constrained.

        A value is what JSON says: dict, list, str, int, float, bool or None.
        """

        __ingot_shape__: ClassVar[str] = "json"

        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            """Accept whatever JSON holds."""
            from pydantic_core import core_schema

            return core_schema.any_schema()


class File:
    """
    A handle of a file: its path and whatever its producer adds; never its content.

    Args:
        path: Where the file is.
        extra: What the producer knows of it, such as `media_type` or `size`; read as attributes.
    """

    __slots__ = ("_extra", "path")
    __ingot_shape__: ClassVar[str] = "file"
    path: str
    _extra: dict[str, Any]

    def __init__(self, path: str | PathLike[str], **extra: Any) -> None:
        from os import fspath

        object.__setattr__(self, "path", fspath(path))
        object.__setattr__(self, "_extra", dict(extra))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._extra:
            return self._extra[name]
        raise AttributeError(f"this File has no {name!r}; it has: {', '.join(self)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a File is frozen")

    def __iter__(self) -> Iterator[str]:
        yield "path"
        yield from self._extra

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._extra]

    def __fspath__(self) -> str:
        return self.path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, File) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return (
            f"File({', '.join([repr(self.path), *(f'{k}={v!r}' for k, v in self._extra.items())])})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (_file, (self.path, self._extra))

    def to_dict(self) -> dict[str, Any]:
        """The handle as JSON: `{"path": …}` and what the producer added."""
        return {"path": self.path, **self._extra}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept a handle as an object; asking for one is refused where the schema is made."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.plain_serializer_function_ser_schema(_to_dict)
        )

    @classmethod
    def _validate(cls, value: Any) -> File:
        if isinstance(value, File):
            return value
        from ingot._json import is_object

        if is_object(value) and isinstance(value.get("path"), str):
            return cls(**value)
        raise ValueError("expected `file` (an object with a `path`)")


def _file(path: str, extra: dict[str, Any]) -> File:
    return File(path, **extra)


def _to_dict(file: File) -> dict[str, Any]:
    return file.to_dict()
