"""Ingot's description of a type: golden, equal for equal types, different where the type is."""

from __future__ import annotations

import collections.abc
import dataclasses
import json
import re
import uuid
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from ipaddress import IPv4Address
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Dict,
    Generic,
    Iterable,
    List,
    Literal,
    Mapping,
    NamedTuple,
    NewType,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

import annotated_types as at
import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model
from pydantic.alias_generators import to_camel
from typing_extensions import NotRequired, TypeAliasType, TypedDict

from ingot._json import canonical
from ingot._shape.content import File, Json, Markdown, Text
from ingot._shape.descriptor import descriptor_digest, descriptor_of
from ingot.errors import UnsupportedTypeError

GOLDEN = Path(__file__).parent / "data" / "descriptors.json"

T = TypeVar("T")
N = TypeVar("N", bound=int)


class Color(Enum):
    """What colour it is."""

    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Label(BaseModel):
    """
    How a ticket is filed.

    One for each ticket.
    """

    urgency: int = Field(ge=0, le=10, description="0 can wait")
    topic: Literal["billing", "bug"]
    note: str = ""
    tags: list[str] = Field(default_factory=list, max_length=5)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, title="A strict one")

    a: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]

    a: int


class Aliased(BaseModel):
    plain: int = Field(alias="number")
    either: int = Field(validation_alias=pydantic.AliasChoices("first", "second"))
    deep: int = Field(validation_alias=pydantic.AliasPath("outer", "inner"))


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=pydantic.AliasGenerator(validation_alias=to_camel))

    first_name: str
    own_name: str = Field(alias="mine")


class Defaults(BaseModel):
    color: Color = Color.RED
    label: Label | None = None
    when: date = date(2026, 1, 2)
    price: Decimal = Decimal("1.50")
    letters: frozenset[str] = frozenset({"c", "a", "b"})
    strict: Strict = Strict(a=1)
    made: list[int] = Field(default_factory=list)
    odd: Any = Field(default=object(), examples=[1], title="Odd")


class Node(BaseModel):
    value: int
    next: Node | None = None


class Hen(BaseModel):
    lays: list[Egg]


class Egg(BaseModel):
    becomes: Hen | None


class Box(BaseModel, Generic[T]):
    """A box."""

    content: T


class IntBox(Box[int]):
    size: int


class Names(RootModel[list[str]]):
    """Names only."""


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


@dataclass
class Point:
    x: int
    y: int = 0
    origin: dataclasses.InitVar[bool] = False
    norm: float = dataclasses.field(init=False)


@dataclass
class Named(Point):
    """A point with a name."""

    name: Annotated[str, Field(min_length=1, alias="title")] = "?"


@dataclass
class Pair(Generic[T]):
    left: T
    right: Pair[T] | None = None


@pydantic.dataclasses.dataclass
class Checked:
    amount: Annotated[int, at.Gt(0)]
    unit: str = Field(default="kg", pattern="^[a-z]+$")


class Movie(TypedDict, total=False):
    """A film."""

    title: Annotated[str, Field(description="As on the poster")]
    year: NotRequired[int]


class Place(NamedTuple):
    latitude: float
    longitude: float = 0.0


class Celsius:
    __module__ = "weather"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            lambda value: value, core_schema.float_schema(ge=-273)
        )


class Hooked:
    __module__ = "weather"

    @classmethod
    def __ingot_shape__(cls) -> Any:
        return {"unit": "degree"}


def other_label() -> Any:
    """A second class by the name of `Label`."""
    return create_model("Label", text=(str, ...))


Tree = TypeAliasType("Tree", "dict[str, Tree] | list[Tree] | int")
Many = TypeAliasType("Many", List[T], type_params=(T,))
UserId = NewType("UserId", int)

CASES: dict[str, Any] = {
    "str": str,
    "int": int,
    "none": None,
    "any": Any,
    "optional": Optional[int],
    "union": Union[str, int, list[bool]],
    "literal": Literal["b", "a", 1, True],
    "literal_or_none": Literal["a", None],
    "literal_of_enum": Literal[Color.RED],
    "list": list[str],
    "bare_list": list,
    "set": set[int],
    "frozenset": frozenset[int],
    "deque": collections.deque[int],
    "dict": dict[str, list[int]],
    "bare_dict": dict,
    "tuple": tuple[int, str],
    "tuple_of_any_length": tuple[int, ...],
    "empty_tuple": tuple[()],
    "iterable": Iterable[int],
    "words": tuple[datetime, date, time, timedelta, Decimal, uuid.UUID, Path, IPv4Address],
    "pattern": re.Pattern[str],
    "urls": tuple[pydantic.AnyUrl, pydantic.HttpUrl, pydantic.PostgresDsn],
    "email": pydantic.EmailStr,
    "secret": pydantic.SecretStr,
    "constrained": Annotated[int, at.Interval(ge=0, lt=10), at.MultipleOf(2)],
    "positive": pydantic.PositiveInt,
    "strict_int": pydantic.StrictInt,
    "text": Annotated[str, pydantic.StringConstraints(min_length=1, pattern="^a", to_lower=True)],
    "digits": pydantic.condecimal(max_digits=6, decimal_places=2),
    "short_list": Annotated[list[int], at.Len(1, 3)],
    "uuid4": pydantic.UUID4,
    "base64": pydantic.Base64Str,
    "bounded_date": Annotated[date, at.Ge(date(2026, 1, 1))],
    "described": Annotated[list[int], Field(description="Ascending", examples=[[1, 2]])],
    "contents": tuple[Text, Markdown, Json, File],
    "json_value": pydantic.JsonValue,
    "enum": Color,
    "int_enum": Level,
    "model": Label,
    "model_strict": Strict,
    "model_open": Open,
    "model_aliased": Aliased,
    "model_camel": Camel,
    "model_defaults": Defaults,
    "recursive": Node,
    "mutual": Hen,
    "generic": Box[Box[int]],
    "generic_bare": Box,
    "generic_child": IntBox,
    "root_model": Names,
    "discriminated": Annotated[Union[Cat, Dog], Field(discriminator="kind")],
    "dataclass": Point,
    "dataclass_child": Named,
    "dataclass_generic": Pair[int],
    "dataclass_pydantic": Checked,
    "typeddict": Movie,
    "namedtuple": Place,
    "alias_recursive": Tree,
    "alias_generic": Many[int],
    "newtype": UserId,
    "typevar": list[N],  # type: ignore[valid-type]  # a type variable out of place is what is meant
    "custom": Celsius,
    "hooked": Hooked,
    "two_of_a_name": create_model("Both", a=(Label, ...), b=(other_label(), ...)),
}


def row(target: Any) -> dict[str, Any]:
    """What the golden file holds of a type."""
    made = descriptor_of(target)
    return {"digest": descriptor_digest(made), "descriptor": made}


def golden() -> dict[str, Any]:
    """The golden file."""
    return dict(json.loads(GOLDEN.read_text()))


@pytest.mark.parametrize("name", CASES)
def test_a_type_keeps_its_description(name: str) -> None:
    """Recordings name their types by this: a row of the golden file never changes."""
    expected = golden()[name]

    assert expected == row(CASES[name])


def test_the_golden_file_has_no_other_rows() -> None:
    """Every row is checked."""
    assert sorted(golden()) == sorted(CASES)


EQUAL: dict[str, tuple[Any, ...]] = {
    "optional": (Optional[int], int | None, None | int, Union[None, int], Union[int, None, int]),
    "list": (list[str], List[str], Sequence[str], collections.abc.Sequence[str], Many[str]),
    "bare list": (list, List, list[Any]),
    "dict": (dict[str, int], Dict[str, int], Mapping[str, int]),
    "tuple": (tuple, Tuple, tuple[Any, ...]),
    "union": (Union[int, str, None], Union[None, Union[str, int]], Optional[str | int]),
    "literal": (Literal["a", "b"], Literal["b", "a"], Union[Literal["b"], Literal["a"]]),
    "literal none": (Literal["a", None], Optional[Literal["a"]]),
    "annotated": (
        Annotated[int, at.Ge(0), at.Le(9)],
        Annotated[Annotated[int, at.Le(9)], at.Ge(0)],
        Annotated[int, Field(ge=0, le=9)],
        Annotated[int, at.Interval(ge=0, le=9)],
        Annotated[int, Field(ge=0), Field(le=9), at.Ge(-1)],
        pydantic.conint(ge=0, le=9),
    ),
    "length": (
        Annotated[str, Field(min_length=1)],
        Annotated[str, at.MinLen(1)],
        Annotated[str, at.Len(1)],
        pydantic.constr(min_length=1),
    ),
    "plain metadata": (int, Annotated[int, "a note"], UserId, Annotated[int, at.Predicate(bool)]),
    "validators": (str, Annotated[str, pydantic.AfterValidator(str.strip)]),
    "nested": (list[Optional[int]], List[Union[None, int]]),
    "fields": (
        create_model("M", a=(int, ...), b=(Optional[str], None)),
        create_model("M", b=(Union[None, str], None), a=(Annotated[int, ...], ...)),
    ),
    "python's names": (
        create_model("M", a=(int, Field(alias="x"))),
        create_model("M", other=(int, Field(alias="x"))),
        create_model("M", x=(int, ...)),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_types_have_equal_descriptions(name: str) -> None:
    """However they are written."""
    first, *rest = map(descriptor_of, EQUAL[name])

    assert [first] * len(rest) == rest


DIFFERENT: dict[str, tuple[Any, ...]] = {
    "kinds": (list[int], set[int], frozenset[int], tuple[int, ...], tuple[int], dict[int, int]),
    "literals": (Literal[1], Literal[True], Literal["1"], Literal["a"], Literal[Color.RED]),
    "bounds": (int, *(Annotated[int, bound] for bound in (at.Ge(0), at.Gt(0), at.Le(0), at.Ge(1)))),
    "fields": (
        create_model("M", a=(int, ...)),
        create_model("M", b=(int, ...)),
        create_model("M", a=(str, ...)),
        create_model("M", a=(int, 0)),
        create_model("M", a=(int, 1)),
        create_model("M", a=(int, Field(default_factory=int))),
        create_model("M", a=(int, Field(description="x"))),
        create_model("M", a=(int, Field(strict=True))),
        create_model("M", a=(int, ...), __doc__="x"),
        create_model("M", a=(int, ...), __config__=ConfigDict(extra="forbid")),
        create_model("M", a=(int, ...), b=(int, ...)),
        create_model("O", a=(int, ...)),
    ),
    "record kinds": (
        create_model("M", a=(int, ...)),
        dataclasses.make_dataclass("M", [("a", int)]),
        TypedDict("M", {"a": int}),  # type: ignore[operator]  # the functional form, for two of a name
        TypedDict("M", {"a": int}, total=False),  # type: ignore[operator]  # as above
        NamedTuple("M", [("a", int)]),
    ),
    "order": (NamedTuple("M", [("a", int), ("b", int)]), NamedTuple("M", [("b", int), ("a", int)])),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_types_have_different_digests(name: str) -> None:
    """Each of them would be answered differently."""
    digests = {descriptor_digest(descriptor_of(target)) for target in DIFFERENT[name]}

    assert len(DIFFERENT[name]) == len(digests)


def test_a_digest_is_short_and_versioned() -> None:
    """It stands in cassettes, where people read it."""
    assert re.fullmatch("t1:[0-9a-f]{12}", descriptor_digest("str"))


def test_a_description_is_json() -> None:
    """Nothing in it depends on Python."""
    made = descriptor_of(Defaults)

    assert made == json.loads(canonical(made))


def test_classes_of_one_name_do_not_depend_on_the_order_of_a_union() -> None:
    """Which of two is called `#2` follows from what they are."""
    other = other_label()

    assert descriptor_of(Union[Label, other]) == descriptor_of(Union[other, Label])


def test_classes_of_one_name_and_description_are_one() -> None:
    """A class that is made twice is the same class to a model."""
    assert descriptor_of(Union[other_label(), other_label()]) == descriptor_of(other_label())


def test_classes_of_one_name_are_told_apart_by_what_they_lead_to() -> None:
    """Also where the difference lies deeper than the class itself."""
    first = create_model("Outer", inner=(create_model("Inner", a=(int, ...)), ...))
    second = create_model("Outer", inner=(create_model("Inner", a=(str, ...)), ...))
    made = descriptor_of(tuple.__class_getitem__((first, second)))

    assert ["Inner", "Inner#2", "Outer", "Outer#2"] == sorted(made["classes"])


def test_an_undefined_name_is_refused_with_its_field() -> None:
    """The path leads through classes and containers, by names of the reply."""
    inner = dataclasses.make_dataclass("Inner", [("lost", "list[Nowhere]")])
    outer = create_model("Outer", inner=(list[inner], Field(alias="within")))  # type: ignore[valid-type]  # made at run time

    with pytest.raises(UnsupportedTypeError, match="the name `Nowhere` is not defined") as caught:
        descriptor_of(outer)

    assert ("Outer", ("within", "lost")) == (caught.value.target, caught.value.path)


if __name__ == "__main__":
    known = golden() if GOLDEN.exists() else {}
    rows = {name: known.get(name) or row(target) for name, target in sorted(CASES.items())}
    lines = (
        f"{json.dumps(name)}: {json.dumps(kept, ensure_ascii=False)}" for name, kept in rows.items()
    )
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
