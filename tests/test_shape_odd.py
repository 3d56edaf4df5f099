"""Types and replies at the edges: what a class of them must do, found by trying to break it."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import gc
import json
import sys
import typing
import weakref
from collections.abc import Iterable
from decimal import Decimal
from time import perf_counter
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, TypeVar, Union

import pytest
import typing_extensions
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    WithJsonSchema,
    computed_field,
)
from pydantic import Json as JSONText

from ingot import MismatchedAnswerError, UnreadableAnswerError, UnsupportedTypeError
from ingot._shape.dialects import DIALECTS
from ingot._shape.shape import shape_of

X = TypeVar("X")
each_dialect = pytest.mark.parametrize("dialect", sorted(DIALECTS))


class Deep(BaseModel):
    """Its values stand deeper in the reply than their names."""

    first: int = Field(validation_alias=AliasPath("x", 0))
    second: dict[str, int] = Field(validation_alias=AliasPath("x", 1))
    third: str = Field(validation_alias=AliasChoices(AliasPath("y", "z"), AliasPath("q", "r")))


class Renamed(BaseModel):
    model_config = ConfigDict(
        alias_generator=AliasGenerator(
            validation_alias=lambda name: f"in_{name}",
            serialization_alias=lambda name: f"out_{name}",
        )
    )
    price: Decimal
    parts: list[int] = Field(validation_alias=AliasChoices("parts", "pieces"))


class Computed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    side: int

    @computed_field
    @property
    def area(self) -> int:
        return self.side**2


class Entry(BaseModel):
    key: str
    value: int


class Tagged(BaseModel):
    """The tag stands last, after what is deep."""

    child: Annotated[Union[Tagged, Other], Field(discriminator="kind")] | None
    sizes: dict[str, int] = {}
    kind: Literal["tagged"]


class Other(BaseModel):
    child: Annotated[Union[Tagged, Other], Field(discriminator="kind")] | None
    sizes: dict[str, int] = {}
    kind: Literal["other"]


class Dollars(BaseModel):
    """A default that looks like a schema."""

    ref: dict[str, Any] = Field({"$ref": "#/nowhere", "$defs": None}, alias="$defs")


class Coin(enum.Enum):
    ONE = 1
    TWO = 2


class Day(enum.Enum):
    FIRST = datetime.date(2024, 1, 1)


class Bits(enum.Enum):
    ON = b"1"


class Spot(enum.Enum):
    HOME = (0, 0)


class Nothing(enum.Enum):
    pass


class Base(typing.TypedDict):
    name: str
    size: typing.NotRequired[int]


class Row(Base, total=False):
    note: str
    owner: typing.Required[str]


class Box(typing.TypedDict, Generic[X]):
    item: X


@dataclasses.dataclass
class Shelf:
    row: Row
    box: Box[int]


class Pile(NamedTuple):
    box: Box[str]
    rows: list[Row] = []


Tree = typing_extensions.TypeAliasType("Tree", "Union[dict[str, Tree], list[Tree], str, int, None]")


@each_dialect
@pytest.mark.parametrize(
    ("t", "value"),
    [
        (Deep, Deep(x=[1, {"a": 2}], y={"z": "t"})),
        (list[Renamed], [Renamed(in_price="1.10", parts=[1])]),
        (Computed, Computed(side=2)),
        (Computed | Entry, Computed(side=2)),
        (JSONText[list[int]], [1]),
        (Tree, "text"),
        (Tree, [[], {}, [{"key": "a", "value": 1}]]),
        (Tree, {"a": {}, "b": [], "c": {"entries": []}}),
        (dict[str, int] | list[dict[str, int]], []),
        (dict[str, int] | list[dict[str, int]], {}),
        (dict[str, int] | list[Entry], [Entry(key="a", value=1)]),
        (Optional[dict[str, int] | set[str]], set()),
        (Decimal | int, 5),
        (Decimal | int, Decimal("5.0")),
        (Decimal | None, Decimal("1.50")),
        (Dollars, Dollars(**{"$defs": {"$ref": {"a": 1}}})),
        (Row, {"name": "x", "owner": "y"}),
        (Shelf, Shelf({"name": "x", "owner": "y"}, {"item": 1})),
        (Pile, Pile({"item": "a"})),
        (dict[Literal["a", "b"], Box[list[int]]], {"a": {"item": [1]}}),
    ],
)
def test_what_a_model_would_write_reads_back(t: Any, value: Any, dialect: str) -> None:
    """Also where names, places and forms differ between the reply, its JSON and the class."""
    shape = shape_of(t, dialect)

    read = shape.read(shape.encode(value))

    assert value == read
    assert type(value) is type(read)


def test_a_path_of_an_alias_is_asked_for_by_the_name_of_the_field() -> None:
    """And put where pydantic looks for it."""
    shape = shape_of(Deep, "prompt")

    assert list(shape.wire.schema["properties"]) == ["first", "second", "third"]
    assert shape.read('{"first": 1, "second": {}, "third": "t"}').first == 1


def test_a_map_and_a_list_at_one_place_are_told_apart() -> None:
    """Where a map travels as a list of pairs, an empty list would be both."""
    shape = shape_of(dict[str, int] | list[str], "openai")

    assert shape.read('{"value": []}') == []
    assert shape.read('{"value": {"entries": []}}') == {}
    with pytest.raises(MismatchedAnswerError):
        shape.read('{"value": [{"key": "a", "value": 1}]}')


def test_a_class_of_defaults_does_not_swallow_a_map_that_has_a_name() -> None:
    """An alias of a union may hold objects, too."""

    class Defaults(BaseModel):
        note: str = "x"

    read = shape_of(Defaults | Tree, "open").read('{"value": {"n": {}}}')

    assert read == {"n": {}}


def test_a_number_is_a_decimal_only_where_no_other_number_is_meant() -> None:
    """The exact type wins, in each form."""
    assert type(shape_of(Decimal | int, "open").read('{"value": 5}')) is int
    assert type(shape_of(Decimal | float, "open").read('{"value": 2.5}')) is float
    assert shape_of(Decimal | None, "open").read('{"value": 2.50}') == Decimal("2.50")


@pytest.mark.parametrize(
    ("t", "words"),
    [
        (Day, "datetime.date"),
        (list[Bits], "b'1'"),
        (Spot | None, r"\(0, 0\)"),
        (Literal[b"x"], "b'x'"),
        (Nothing, "no members"),
        (dict[Coin, int], "text in JSON"),
        (dict[Literal[1, 2], int], "text in JSON"),
        (dict[tuple[int, int], int], "text in JSON"),
        (Iterable[int], "declare a list"),
        (type[int], "no JSON form"),
        (Annotated[dict, WithJsonSchema({"$ref": "https://x.y/z"})], "refers to"),
        (Annotated[dict, WithJsonSchema({"$ref": "#/$defs/Nowhere"})], "Nowhere"),
        (lambda: 1, "not a type"),
        (typing.NamedTuple, "not a type"),
        (typing.Annotated, "Annotated"),
        (Literal[()], "no schema can be made"),
    ],
)
def test_what_no_reply_could_be_read_as_is_refused_before_it_is_asked_for(
    t: Any, words: str
) -> None:
    """Each reply would be an error, or be checked too late."""
    for dialect in DIALECTS:
        with pytest.raises(UnsupportedTypeError, match=words):
            shape_of(t, dialect)


def test_definitions_of_a_schema_of_the_callers_own_are_written_out() -> None:
    """Wherever it stands."""
    own = {"$defs": {"Q": {"type": "integer", "minimum": 3}}, "$ref": "#/$defs/Q"}
    shape = shape_of(list[Annotated[int, WithJsonSchema(own)]], "openai")

    assert shape.wire.schema["properties"]["value"]["items"] == {"type": "integer", "minimum": 3}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes them there")
def test_a_typeddict_of_typing_keeps_its_parameters() -> None:
    """Rebuilt for each of them."""
    assert shape_of(Box[int], "open").read('{"item": 1}') == {"item": 1}
    with pytest.raises(MismatchedAnswerError, match="`int`"):
        shape_of(Box[int], "open").read('{"item": "x"}')
    with pytest.raises(MismatchedAnswerError, match="missing field `owner`"):
        shape_of(Row, "open").read('{"name": "x"}')


def test_classes_of_a_function_may_refer_to_each_other() -> None:
    """Annotations that are texts are read with the names of the caller, of each kind of class."""

    class Inner(BaseModel):
        n: int

    @dataclasses.dataclass
    class Data:
        inner: Inner
        more: Data | None = None

    class Named(NamedTuple):
        inner: Inner

    class Dict(typing.TypedDict):
        inner: Inner

    names = {"Inner": Inner, "Data": Data}
    for t, value in (
        (Data, Data(Inner(n=1), Data(Inner(n=2)))),
        (list[Named], [Named(Inner(n=1))]),
        (Dict, {"inner": Inner(n=1)}),
    ):
        for dialect in DIALECTS:
            shape = shape_of(t, dialect, namespace=lambda: ({}, names))
            assert value == shape.read(shape.encode(value))
            assert "n" in json.dumps(shape.descriptor)


def test_a_name_that_is_nowhere_is_said_with_its_field() -> None:
    """Whatever kind of class it stands in."""

    class Model(BaseModel):
        part: Nowhere  # noqa: F821

    class Dict(typing.TypedDict):
        part: list[Nowhere]  # noqa: F821

    for t in (Model, Dict, dataclasses.make_dataclass("Data", [("part", "Nowhere")])):
        with pytest.raises(UnsupportedTypeError, match=r"`part`.*`Nowhere`"):
            shape_of(t, "openai")


@each_dialect
def test_what_is_nested_too_deeply_is_said_to_be(dialect: str) -> None:
    """In Python's reader, in ours and in pydantic's; never a RecursionError."""
    for depth in (250, 300, 450, 900, 50_000):
        for text in ("[" * depth + "]" * depth, "[" * depth + '"é"' + "]" * depth):
            with pytest.raises(UnreadableAnswerError, match="nested too deeply"):
                shape_of(Tree, dialect).read(f'{{"value": {text}}}')
            with pytest.raises(UnreadableAnswerError, match="nested too deeply"):
                shape_of(Any, dialect).read("[" * 50 + text + "]" * 50)


def test_a_tag_is_looked_at_before_what_is_deep() -> None:
    """Else each level would double the work."""
    text = "null"
    for _ in range(60):
        text = f'{{"child": {text}, "sizes": [], "kind": "other"}}'
    start = perf_counter()

    read = shape_of(Other, "openai").read(text)

    assert read.child.child.kind == "other"
    assert perf_counter() - start < 1


@pytest.mark.parametrize(
    "text",
    [
        "```\n1" + " " * 200_000 + "x",
        "```json\n" + "\t" * 200_000,
        "```" * 100_000,
        "<think>" * 9999,
    ],
    ids=["spaces", "tabs", "fences", "thoughts"],
)
def test_a_long_text_that_is_no_json_is_read_once(text: str) -> None:
    """No search starts anew at each space."""
    start = perf_counter()
    with pytest.raises(UnreadableAnswerError):
        shape_of(int, "open").read(text)

    assert perf_counter() - start < 0.5


def test_a_fence_inside_a_string_of_a_fenced_reply_is_text() -> None:
    """One fence around the whole is one, whatever the strings in it hold."""
    text = '```json\n{"key": "```py\\nx\\n```", "value": 1}\n```'

    assert shape_of(Entry, "open").read(text) == Entry(key="```py\nx\n```", value=1)


def test_a_validator_on_free_json_is_heard() -> None:
    """As an error of ingot's."""

    def refuse(value: Any) -> Any:
        raise ValueError("not this")

    with pytest.raises(MismatchedAnswerError, match="not this"):
        shape_of(Annotated[Any, AfterValidator(refuse)], "open").read("[1]")


def test_typed_dicts_made_at_run_time_do_not_pile_up() -> None:
    """What is rebuilt goes with the class it was made from."""
    kept: list[weakref.ref[Any]] = []
    for number in range(600):
        t = typing.TypedDict("Made", {"a": int, f"b{number}": str})
        shape_of(list[t], "open")
        kept.append(weakref.ref(t))
    gc.collect()

    assert all(made() is None for made in kept[:80])
