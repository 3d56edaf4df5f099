"""Types that can be asked for, each with a value: the table that several tests share."""

from __future__ import annotations

import datetime
import enum
import ipaddress
import re
import typing
import uuid
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NotRequired,
    Optional,
    TypeVar,
    Union,
)

import typing_extensions
from annotated_types import Ge, Len
from pydantic import (
    AliasChoices,
    AnyUrl,
    BaseModel,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    RootModel,
    StringConstraints,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass

from ingot import Json, Markdown, Text

X = TypeVar("X")


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    NONE = None
    ONE = 1
    TEXT = "text"


class User(BaseModel):
    """Somebody."""

    name: str
    age: int = 3


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    breed: str | None = None


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Box(BaseModel, Generic[X]):
    item: X


class Ints(RootModel[list[int]]):
    pass


class Table(RootModel[dict[str, int]]):
    pass


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclass
class Leg:
    km: float


@dataclass
class Trip:
    legs: list[Leg]
    tags: list[str] = field(default_factory=list)


@pydantic_dataclass
class Stop:
    at: datetime.date


class Row(typing.TypedDict):
    n: int


class Rows(typing.TypedDict, total=False):
    rows: list[Row]
    note: str


class Wide(typing_extensions.TypedDict):
    a: int
    b: NotRequired[str]


class Aliased(BaseModel):
    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)
    my_field: int = Field(alias="myField")
    other: str = Field(default="x", validation_alias=AliasChoices("other name", "o"))


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Empty(BaseModel):
    pass


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    colour: Colour
    day: datetime.date
    tags: set[str]
    pair: tuple[int, int]
    id: uuid.UUID


class Free(BaseModel):
    anything: Any
    more: Json
    items: list[Any] = []


class Money:
    """A custom type with its own core schema."""

    def __init__(self, amount: str) -> None:
        self.amount = amount

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and other.amount == self.amount

    __hash__ = None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.str_schema(pattern=r"^\d+\.\d\d$"),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda m: m.amount),
        )


class Paper(BaseModel):
    title: str
    body: Markdown
    summary: Text
    prices: dict[str, Decimal]
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    other: Cat | Dog | None = None
    where: tuple[float, float] | None = None
    by_level: dict[int, list[Point]] = {}


Tree = typing_extensions.TypeAliasType("Tree", "dict[str, Tree] | int")

UTC = datetime.timezone.utc

SHAPES: list[tuple[Any, Any]] = [
    (str, "a “quoted” text\n"),
    (str, "[1, 2]"),
    (int, 0),
    (int, 2512292042121000001),
    (float, 0.1),
    (float, 3.0),
    (bool, False),
    (None, None),
    (Literal["a", "b"], "b"),
    (Literal[1, 2], 2),
    (Literal["a", 1, None, True], None),
    (Literal["a", 1, None, True], True),
    (Literal["only"], "only"),
    (Colour, Colour.RED),
    (Level, Level.HIGH),
    (Mixed, Mixed.NONE),
    (list[str], []),
    (list[str], ["a", "b"]),
    (list, [1, "a", None]),
    (list[list[int]], [[1], []]),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2, 3)),
    (tuple[()], ()),
    (Point, Point(1, 2)),
    (list[Point], [Point(1, 2), Point(3)]),
    (set[str], {"a", "b"}),
    (frozenset[int], frozenset({1, 2})),
    (deque[int], deque([1, 2])),
    (Sequence[int], [1, 2]),
    (dict[str, int], {"value": 5}),
    (dict[str, int], {}),
    (dict[str, User], {"a": User(name="x")}),
    (dict[int, str], {1: "a", -2: "b"}),
    (dict[Colour, int], {Colour.RED: 1}),
    (dict[datetime.date, int], {datetime.date(2024, 2, 29): 1}),
    (dict[str, dict[str, list[int]]], {"a": {"b": [1]}}),
    (dict, {"a": [1, None]}),
    (Mapping[str, int], {"a": 1}),
    (OrderedDict[str, int], OrderedDict(a=1)),
    (int | None, None),
    (int | None, 3),
    (Optional[User], User(name="x")),
    (int | str, "1"),
    (str | list[int], "[1, 2]"),
    (str | list[int], [1, 2]),
    (list[int] | dict[str, int], {"a": 1}),
    (list[int] | dict[str, int], [1]),
    (dict[str, int] | dict[str, str], {"a": "b"}),
    (tuple[int, int] | tuple[int, int, int], (1, 2, 3)),
    (Cat | Dog, Dog(breed="pug")),
    (list[Cat | Dog], [Cat(lives=9), Dog()]),
    (Annotated[Cat | Dog, Field(discriminator="kind")], Cat(lives=1)),
    (User, User(name="x", age=0)),
    (User, User(name="x")),
    (list[User], [User(name="x", age=4)]),
    (Box[int], Box[int](item=1)),
    (Box[dict[str, int] | int], Box[dict[str, int] | int](item={"a": 1})),
    (Ints, Ints([1, 2])),
    (Table, Table({"a": 1})),
    (Node, Node(value=1, children=[Node(value=2)])),
    (list[Node], [Node(value=1)]),
    (Tree, {"a": {"b": 1}}),
    (Trip, Trip([Leg(1.5)], ["a"])),
    (Stop, Stop(datetime.date(2024, 2, 29))),
    (Row, {"n": 1}),
    (Rows, {}),
    (Rows, {"rows": [{"n": 1}]}),
    (list[Rows], [{"note": "x"}]),
    (Wide, {"a": 1}),
    (Wide, {"a": 1, "b": "x"}),
    (Aliased, Aliased(my_field=1, other="y")),
    (Open, Open(name="x")),
    (Empty, Empty()),
    (
        Strict,
        Strict(
            colour=Colour.RED,
            day=datetime.date(2024, 2, 29),
            tags={"a"},
            pair=(1, 2),
            id=uuid.UUID("12345678-1234-5678-1234-567812345678"),
        ),
    ),
    (Free, Free(anything={"a": [1.5]}, more=None, items=["x", 1])),
    (Annotated[int, Field(ge=3, le=9)], 3),
    (Annotated[int, Ge(3)], 4),
    (Annotated[list[int], Len(1, 3)], [1]),
    (Annotated[str, StringConstraints(pattern=r"^[a-z]+$", max_length=5)], "abc"),
    (Annotated[str, Field(description="What it is.", examples=["a"])], "x"),
    (datetime.datetime, datetime.datetime(2024, 2, 29, 12, tzinfo=UTC)),
    (datetime.date, datetime.date(2024, 2, 29)),
    (datetime.time, datetime.time(8, 30)),
    (datetime.timedelta, datetime.timedelta(seconds=5400)),
    (Decimal, Decimal("123456789.123456789")),
    (list[Decimal], [Decimal("0.10")]),
    (Annotated[Decimal, Field(max_digits=5, decimal_places=2)], Decimal("1.25")),
    (uuid.UUID, uuid.UUID("12345678-1234-5678-1234-567812345678")),
    (HttpUrl, HttpUrl("https://example.com/a")),
    (AnyUrl, AnyUrl("ftp://example.com/a")),
    (EmailStr, "a@example.com"),
    (ipaddress.IPv4Address, ipaddress.IPv4Address("127.0.0.1")),
    (Path, Path("a/b")),
    (re.Pattern[str], re.compile("a+")),
    (Money, Money("1.50")),
    (list[Money | None], [Money("1.50"), None]),
    (list[Text], [Text("a")]),
    (
        Paper,
        Paper(
            title="T",
            body=Markdown("# b"),
            summary=Text("s"),
            prices={"a": Decimal("1.10")},
            pet=Dog(breed="pug"),
            other=Cat(lives=9),
            where=(1.5, 2.0),
            by_level={1: [Point(1, 2)]},
        ),
    ),
    (Union[int, list["int"]], [1]),
]
"""(T, a value of T)."""

SHAPE_IDS = [
    f"{index}-{re.sub('[^A-Za-z]+', '-', str(t))[:30]}" for index, (t, _) in enumerate(SHAPES)
]
"""A name of each for tests, the same in every process."""
