"""Content types: prose, free JSON and file handles, as types that can be declared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import IO, TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from os import PathLike

    from pydantic import GetCoreSchemaHandler, SerializationInfo, ValidationInfo
    from pydantic_core import CoreSchema

    from ingot._root import Root

__all__ = ["BINARY", "File", "Json", "Markdown", "Provenance", "Text", "bound"]

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

    What the producer adds is read as attributes, or by name as `file["size"]` where `File` itself
    has an attribute of that name. A handle from a workspace is opened there and leads nowhere else;
    any other is opened in the working directory. Pickled, it forgets its workspace.

    Args:
        path: Where the file is.
        extra: What the producer knows of it, such as `media_type` or `size`.
    """

    __slots__ = ("_extra", "_workspace", "path")
    __ingot_shape__: ClassVar[str] = "file"
    path: str
    _extra: dict[str, Any]
    _workspace: Root | None

    def __init__(self, /, path: str | PathLike[str], **extra: Any) -> None:
        from os import fspath

        object.__setattr__(self, "path", fspath(path))
        object.__setattr__(self, "_extra", dict(extra))
        object.__setattr__(self, "_workspace", None)

    # What it stands for

    def open(self, mode: str = "rb", **options: Any) -> IO[Any]:
        """
        Open the file in its workspace.

        Args:
            mode: As of Python's `open`.
            options: Its *buffering*, *encoding* (UTF-8 unless given), *errors* and *newline*.

        Raises:
            FileAccessError: It cannot be opened, or leads out of the workspace.
        """
        return self._root().open(self.path, mode, **options)

    def read_bytes(self) -> bytes:
        """Return what is in the file, whole; raises as `open`."""
        return self._root().read_bytes(self.path)

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return the text that is in the file, whole; raises as `open`."""
        return self._root().read_text(self.path, encoding)

    def stat(self) -> os.stat_result:
        """Return size, times and mode of the file; raises as `open`."""
        return self._root().stat(self.path)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.replace("\\", "/").rstrip("/").rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The ending of the name with its dot, such as `.pdf`; empty for none."""
        stem, dot, ending = self.name.rpartition(".")
        return dot + ending if stem and ending else ""

    def _root(self) -> Root:
        if self._workspace is not None:
            return self._workspace
        from ingot._root import Root

        return Root(".")

    def __fspath__(self) -> str:
        return self.path if self._workspace is None else str(self._workspace.path(self.path))

    # What it holds

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._extra:
            return self._extra[name]
        raise AttributeError(f"this File has no {name!r}; it has: {', '.join(self)}")

    def __getitem__(self, name: str) -> Any:
        return self.to_dict()[name]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a File is frozen")

    def __iter__(self) -> Iterator[str]:
        yield "path"
        yield from self._extra

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._extra]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, File) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return (
            f"File({', '.join([repr(self.path), *(f'{k}={v!r}' for k, v in self._extra.items())])})"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (_file, (self.path, self._extra))

    def to_dict(self) -> dict[str, Any]:
        """The handle as JSON: `{"path": …}` and what the producer added."""
        return {"path": self.path, **self._extra}

    # As a declared type

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """
        Accept a handle as an object; asking for one is refused where the schema is made.

        With a `Provenance` under `handles` in pydantic's context, a handle is read as one of those
        it knows, and written as one it has been told of.
        """
        from pydantic_core import core_schema

        written = core_schema.plain_serializer_function_ser_schema(_to_dict, info_arg=True)
        return core_schema.with_info_plain_validator_function(cls._validate, serialization=written)

    @classmethod
    def _validate(cls, value: Any, info: ValidationInfo) -> File:
        from ingot._json import is_object

        if not isinstance(value, File):
            if not is_object(value) or not isinstance(value.get("path"), str):
                raise ValueError("expected `file` (an object with a `path`)")
            value = cls(**value)
        handles = _provenance(info.context)
        return value if handles is None else handles.resolve(value)


def bound(file: File, workspace: Root) -> File:
    """Return *file* as a handle that is opened in *workspace*."""
    made = File(**file.to_dict())
    object.__setattr__(made, "_workspace", workspace)
    return made


class Provenance(ABC):
    """Who knows which handles are genuine: what a tool or the caller produced."""

    @abstractmethod
    def admit(self, file: File) -> File:
        """Remember *file*, which was produced, and return it as it is known from now on."""

    @abstractmethod
    def resolve(self, file: File) -> File:
        """
        Return the known handle that *file*, which came from a model, names.

        Raises:
            ValueError: There is none.
        """


def _provenance(context: Any) -> Provenance | None:
    from ingot._json import is_object

    found = context.get("handles") if is_object(context) else None
    return found if isinstance(found, Provenance) else None


def _file(path: str, extra: dict[str, Any]) -> File:
    return File(path, **extra)


def _to_dict(file: Any, info: SerializationInfo) -> dict[str, Any]:
    if not isinstance(file, File):
        from pydantic_core import PydanticSerializationUnexpectedValue

        # A value of another member of a union, which pydantic then tries.
        raise PydanticSerializationUnexpectedValue(f"{type(file).__name__} is no File")
    handles = _provenance(info.context)
    return (file if handles is None else handles.admit(file)).to_dict()
