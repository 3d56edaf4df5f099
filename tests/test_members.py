"""The parts of a type: their names, the way to one of them, and how a type is written."""

from __future__ import annotations

import dataclasses
import typing
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import (
    IO,
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    ForwardRef,
    Generic,
    List,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    Self,
    Tuple,
    TypeVar,
    Union,
)

import pydantic
import pytest
import typing_extensions
from annotated_types import Ge
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel
from typing_extensions import NotRequired, Required, TypeAliasType

from ingot._shape.content import File
from ingot._shape.members import locate, members_of, type_name
from ingot.errors import UnsupportedTypeError

if TYPE_CHECKING:
    from nowhere import Nowhere  # type: ignore[import-not-found]  # what cannot be resolved is meant

T = TypeVar("T")
Low = TypeVar("Low", bound=int)
Either = TypeVar("Either", int, str)
Filled = typing_extensions.TypeVar("Filled", default=int)

Row = TypeAliasType("Row", "list[Row] | bytes")
Many = TypeAliasType("Many", List[T], type_params=(T,))
UserId = NewType("UserId", int)


class Color(Enum):
    RED = "red"


class Model(BaseModel):
    plain: int
    bounded: Annotated[int, Ge(0)]
    renamed: int = Field(alias="other")
    chosen: int = Field(validation_alias=AliasChoices("first", "second"))
    deep: int = Field(validation_alias=AliasPath("outer", 0))
    later: Optional[Later] = None
    counter: ClassVar[int] = 0


class Later(BaseModel):
    body: list[bytes]


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)

    first_name: str


class Box(BaseModel, Generic[T]):
    content: T


class Child(Box[int]):
    size: str


class Names(RootModel[list[str]]):
    pass


class Chain(BaseModel):
    next: Optional[Self] = None


@dataclass
class Base(Generic[T]):
    value: T
    seed: dataclasses.InitVar[int] = 0
    computed: int = dataclasses.field(init=False)
    constant: ClassVar[int] = 1


@dataclass
class Derived(Base[list[T]], Generic[T]):
    name: Annotated[str, Field(alias="title")] = ""


@dataclass
class Shadow:
    Color: Color | None = None


@pydantic.dataclasses.dataclass
class Checked:
    amount: int = Field(alias="sum")
    kids: list[Checked] = Field(default_factory=list)


class Old(typing.TypedDict, total=False):
    a: Required[int]
    b: bytes


class New(typing_extensions.TypedDict):
    a: NotRequired[typing_extensions.ReadOnly[int]]


class GenericDict(typing_extensions.TypedDict, Generic[T]):
    item: T


class IntDict(GenericDict[int]):
    more: str


class Place(NamedTuple):
    latitude: float
    label: str | None = None


@dataclass
class Lost:
    here: int
    there: list[Nowhere]


@dataclass
class Outer:
    inner: dict[str, Lost]


CASES: dict[str, tuple[Any, tuple[tuple[str | None, Any], ...]]] = {
    "str": (str, ()),
    "none": (None, ()),
    "enum": (Color, ()),
    "literal": (Literal["a"], ()),
    "list": (list[int], ((None, int),)),
    "typing list": (List[int], ((None, int),)),
    "bare list": (list, ()),
    "sequence": (Sequence[str], ((None, str),)),
    "deque": (deque[str], ((None, str),)),
    "dict": (dict[str, int], ((None, str), (None, int))),
    "mapping": (Mapping[str, int], ((None, str), (None, int))),
    "tuple": (tuple[int, str], ((None, int), (None, str))),
    "tuple of any length": (Tuple[int, ...], ((None, int),)),
    "optional": (Optional[int], ((None, int), (None, type(None)))),
    "union": (int | str, ((None, int), (None, str))),
    "callable": (Callable[[int], str], ((None, int), (None, str))),
    "annotated": (Annotated[list[int], Ge(0)], ((None, list[int]),)),
    "newtype": (UserId, ((None, int),)),
    "final": (Final[int], ((None, int),)),
    "bound": (Low, ((None, int),)),
    "constrained": (Either, ((None, Union[int, str]),)),
    "defaulted": (Filled, ((None, int),)),
    "free": (T, ((None, Any),)),
    "alias": (Row, ((None, Union[list[Row], bytes]),)),
    "generic alias": (Many[int], ((None, list[int]),)),
    "model": (
        Model,
        (
            ("plain", int),
            ("bounded", Annotated[int, Ge(0)]),
            ("other", int),
            ("first", int),
            ("outer", int),
            ("later", Optional[Later]),
        ),
    ),
    "alias generator": (Camel, (("firstName", str),)),
    "generic model": (Box[int], (("content", int),)),
    "child of a generic model": (Child, (("content", int), ("size", str))),
    "root model": (Names, ((None, list[str]),)),
    "self": (Chain, (("next", Optional[Chain]),)),
    "dataclass": (Base[int], (("value", int), ("seed", int))),
    "inherited": (Derived[int], (("value", list[int]), ("seed", int), ("title", str))),
    "shadowed": (Shadow, (("Color", Optional[Color]),)),
    "pydantic dataclass": (Checked, (("sum", int), ("kids", list[Checked]))),
    "typing's typeddict": (Old, (("a", int), ("b", bytes))),
    "typeddict": (New, (("a", int),)),
    "generic typeddict": (GenericDict[int], (("item", int),)),
    "inherited typeddict": (IntDict, (("item", int), ("more", str))),
    "namedtuple": (Place, (("latitude", float), ("label", Optional[str]))),
}


@pytest.mark.parametrize("name", CASES)
def test_a_type_gives_its_parts(name: str) -> None:
    """Fields by their name in the reply, everything else without a name."""
    target, expected = CASES[name]

    assert expected == members_of(target)


def is_bytes(part: Any) -> bool:
    """Whether a part is `bytes`."""
    return part is bytes


FOUND: dict[str, tuple[Any, Callable[[Any], bool], tuple[tuple[str, ...], Any] | None]] = {
    "the root": (bytes, is_bytes, ((), bytes)),
    "no part": (list[Model | None], lambda part: part is complex, None),
    "an item": (list[Optional[bytes]], is_bytes, ((), bytes)),
    "a field of a field": (dict[str, Model], is_bytes, (("later", "body"), bytes)),
    "the first in order": (tuple[Box[bytes], bytes], is_bytes, (("content",), bytes)),
    "behind an alias": (Box[Row], is_bytes, (("content",), bytes)),
    "through a recursion": (Chain, is_bytes, None),
    "in a typeddict": (Old, is_bytes, (("b",), bytes)),
    "a file": (list[Base[File]], lambda part: part is File, (("value",), File)),
    "a stream": (Box[Any] | IO[bytes], is_bytes, ((), bytes)),
    "the deepest": (Box[list[int]], lambda part: part is not int, (("content",), list[int])),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_bad_part_is_located(name: str) -> None:
    """With the fields that lead to it; containers add no step."""
    target, bad, expected = FOUND[name]

    assert expected == locate(target, bad)


def test_each_part_is_tried_once() -> None:
    """A recursive type ends, and what stands twice is asked about once."""
    tried: list[Any] = []

    def note(part: Any) -> bool:
        tried.append(part)
        return False

    locate(tuple[Checked, Checked, list[Checked]], note)

    assert [int, list[Checked], Checked, tuple[Checked, Checked, list[Checked]]] == tried


def test_an_undefined_name_is_refused_with_its_field() -> None:
    """`members` knows the field, `locate` the whole way."""
    with pytest.raises(UnsupportedTypeError) as caught:
        members_of(Lost)

    assert ("there",) == caught.value.path
    assert "the name `Nowhere` is not defined where the type was written" == caught.value.reason

    with pytest.raises(UnsupportedTypeError) as caught:
        locate(list[Outer], is_bytes)

    assert ("list[Outer]", ("inner", "there")) == (caught.value.target, caught.value.path)


def test_an_undefined_name_of_a_model_is_refused_with_its_field() -> None:
    """A model that pydantic could not complete says which name is missing."""

    class Incomplete(BaseModel):
        fine: int
        gone: Optional[Nowhere] = None

    with pytest.raises(UnsupportedTypeError, match="`Nowhere`") as caught:
        members_of(Incomplete)

    assert ("gone",) == caught.value.path


def test_a_name_without_a_class_around_it_is_refused() -> None:
    """There is no module to look into."""
    with pytest.raises(UnsupportedTypeError, match="the name `Chain` is not defined"):
        locate(List["Chain"], is_bytes)


WRITTEN: dict[str, Any] = {
    "list[str]": List[str],
    "int | None": Optional[int],
    "str | int | None": Union[None, str, int],
    "Literal['a', 1, None]": Literal["a", 1, None],
    "Literal[Color.RED]": Literal[Color.RED],
    "Box[int]": Box[int],
    "Box[Later | None]": Box[Optional[Later]],
    "Base[list[Color]]": Base[list[Color]],
    "tuple[int, ...]": Tuple[int, ...],
    "tuple[()]": tuple[()],
    "int": Annotated[int, Ge(0)],
    "list[int]": list[Annotated[int, Ge(0)]],
    "None": None,
    "Any": Any,
    "Callable[[int], str]": Callable[[int], str],
    "dict[str, Later]": {"it": dict[str, Later]}["it"],
    "Mapping[str, int]": Mapping[str, int],
    "IO[bytes]": IO[bytes],
    "Iterator[Later]": Iterator[Later],
    "UserId": UserId,
    "Many[int]": Many[int],
    "Row": Row,
    "T": T,
    "list[Chain]": List[ForwardRef("Chain")],  # type: ignore[misc]  # a text, on purpose
    "string[]": "string[]",
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_type_is_written_as_people_write_it(text: str) -> None:
    """Without modules, in the new spelling."""
    assert text == type_name(WRITTEN[text])


def test_a_long_type_is_cut() -> None:
    """A message stays one line."""
    text = type_name(Literal[tuple(str(n) for n in range(100))])

    assert (80, "…") == (len(text), text[-1])


@dataclass
class Endless(Generic[T]):
    deeper: Endless[list[T]] | None


def test_a_type_without_end_is_refused() -> None:
    """Pydantic would run out of stack."""
    with pytest.raises(UnsupportedTypeError, match="it has no end"):
        locate(Endless[int], is_bytes)
