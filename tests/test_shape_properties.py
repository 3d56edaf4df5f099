"""Shapes of types nobody thought of: what is written reads back, and what is no T is never read."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import keyword
import uuid
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import typing_extensions
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from shapes import Cat, Dog, Node

from ingot import Json
from ingot._shape.dialects import DIALECTS
from ingot._shape.shape import Shape, shape_of
from ingot.errors import IngotError, InvalidAnswerError, UnsupportedTypeError

QUICK = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    database=None,
)
DIALECT = st.sampled_from(sorted(DIALECTS))


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    NULL = None
    ONE = 1
    TEXT = "text"
    FIRST = 1  # noqa: PIE796 (another name of ONE)


class Pair(BaseModel):
    """What stands for an entry of a map, as a class of the caller's."""

    key: str
    value: int


class Path(BaseModel):
    item_0: int
    rest: list[str] = []


class Deep(BaseModel):
    model_config = ConfigDict(extra="forbid")
    value: dict[str, Deep] = {}
    items: list[Deep | int] = []


Free = typing_extensions.TypeAliasType(
    "Free", "Union[dict[str, Free], list[Free], str, int, bool, None]"
)

Typed = tuple[Any, st.SearchStrategy[Any]]
"""A type, and its values."""

WHOLE = st.integers(-(2**70), 2**70)
REAL = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    ["[1, 2]", "null", "true", "1", "{}", '"', "\\ud83d", "```", "value"]
)
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | REAL | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
DECIMAL = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20)

KEYS: tuple[Typed, ...] = (
    (str, TEXT),
    (int, WHOLE),
    (datetime.date, st.dates()),
    (uuid.UUID, st.uuids()),
    (Colour, st.sampled_from(Colour)),
    (Level, st.sampled_from(Level)),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (Annotated[str, Field(pattern="^[a-z]+$")], st.from_regex(r"[a-z]{1,4}", fullmatch=True)),
)
SCALARS: tuple[Typed, ...] = (
    *KEYS,
    (float, REAL),
    (bool, st.booleans()),
    (None, st.none()),
    (Decimal, DECIMAL),
    (datetime.datetime, st.datetimes(timezones=st.sampled_from([None, datetime.UTC]))),
    (datetime.time, st.times()),
    (datetime.timedelta, st.timedeltas(datetime.timedelta(-9999), datetime.timedelta(9999))),
    (Mixed, st.sampled_from(Mixed)),
    (Literal["a", 1, None, True], st.sampled_from(["a", 1, None, True])),
    (Annotated[int, Field(ge=3, le=9, description="Stars.")], st.integers(3, 9)),
    (Annotated[str, Field(max_length=3, min_length=1)], st.text("ab", min_size=1, max_size=3)),
)
OTHERS: tuple[Typed, ...] = (
    (Any, JSON),
    (Json, JSON),
    (list, st.lists(JSON, max_size=2)),
    (dict, st.dictionaries(TEXT, JSON, max_size=2)),
    (Pair, st.builds(Pair, key=TEXT, value=WHOLE)),
    (Path, st.builds(Path, item_0=WHOLE, rest=st.lists(TEXT, max_size=2))),
    (Cat, st.builds(Cat, lives=WHOLE)),
    (Annotated[Cat | Dog, Field(discriminator="kind")], st.builds(Dog, breed=TEXT)),
    (Node, st.just(Node(value=1, children=[Node(value=2)]))),
    (Deep, st.just(Deep(value={"a": Deep(items=[Deep(), 1])}))),
    (Free, st.sampled_from([None, "x", [], {}, [[], {}], {"a": [{"key": "a", "value": 1}]}])),
)
NAMES = (
    *("value", "key", "item_0", "rest", "entries", "title", "description", "properties", "type"),
    *("enum", "$ref", "$defs", "items", "default", "required", "x-ingot", "a b", "größe", "", "n"),
    "x" * 200,
)


@st.composite
def typed(draw: Any, depth: int = 3) -> Typed:
    """A type with a strategy for its values."""
    if depth == 0:
        return draw(st.sampled_from(SCALARS))
    inner = typed(depth=depth - 1)
    choice = draw(st.integers(0, 12))
    if choice < 2:
        return draw(st.sampled_from(SCALARS))
    if choice == 2:
        return draw(st.sampled_from(OTHERS))
    if choice == 3:
        t, values = draw(inner)
        return Optional[t], st.none() | values
    if choice == 4:
        parts = draw(st.lists(inner, min_size=2, max_size=3))
        # As JSON of T a NamedTuple is an array, like others that may stand beside it.
        assume(not any(hasattr(t, "_fields") for t, _ in parts))
        return Union[tuple(t for t, _ in parts)], st.one_of([v for _, v in parts])
    if choice in (5, 6):
        t, values = draw(inner)
        return list[t], st.lists(values, max_size=3)
    if choice in (7, 8):
        key, keys = draw(st.sampled_from(KEYS))
        t, values = draw(inner)
        return dict[key, t], st.dictionaries(keys, values, max_size=3)
    if choice == 9:
        parts = draw(st.lists(inner, min_size=0, max_size=3))
        if draw(st.booleans()) and parts:
            t, values = parts[0]
            return tuple[t, ...], st.lists(values, max_size=3).map(tuple)
        return tuple[tuple(t for t, _ in parts) or ()], st.tuples(*(v for _, v in parts))
    if choice == 10:
        t, values = draw(st.sampled_from(KEYS))
        return set[t], st.sets(values, max_size=3)
    return draw(record(inner))


@st.composite
def record(draw: Any, inner: st.SearchStrategy[Typed]) -> Typed:
    """A class with fields, of one of the four kinds."""
    names = draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
    fields = [(name, *draw(inner), draw(st.integers(0, 3))) for name in names]
    kind = draw(st.sampled_from(["model", "model", "dataclass", "typeddict", "namedtuple"]))
    return _MAKERS[kind](draw, fields)


def _model(draw: Any, fields: list[Any]) -> Typed:
    given_: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for number, (name, t, strategy, mode) in enumerate(fields):
        default = draw(strategy) if mode == 0 else None if mode == 1 else ...
        given_[f"f{number}"] = (t, Field(default, alias=name or None, validate_default=False))
        values[name or f"f{number}"] = strategy
    config = ConfigDict(extra=draw(st.sampled_from(["ignore", "forbid"])))
    model: Any = create_model("Made", __config__=config, **given_)
    return model, st.fixed_dictionaries(values).map(lambda kw: model.model_construct(**kw))


def _plain(fields: list[Any]) -> list[tuple[str, Any, Any]]:
    return [(f"f_{i}" if not _is_name(n) else n, t, s) for i, (n, t, s, _) in enumerate(fields)]


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _dataclass(draw: Any, fields: list[Any]) -> Typed:
    made: Any = dataclasses.make_dataclass("Made", [(n, t) for n, t, _ in _plain(fields)])
    return made, st.builds(made, **{n: s for n, _, s in _plain(fields)})


def _typeddict(draw: Any, fields: list[Any]) -> Typed:
    needed = {name: s for name, _, s, mode in fields if mode > 1}
    absent = {name: s for name, _, s, mode in fields if mode <= 1}
    made: Any = typing_extensions.TypedDict(
        "Made",
        {name: t if mode > 1 else typing_extensions.NotRequired[t] for name, t, _, mode in fields},
    )
    return made, st.fixed_dictionaries(needed, optional=absent)


def _namedtuple(draw: Any, fields: list[Any]) -> Typed:
    plain = [(n.strip("_"), t, s) for n, t, s in _plain(fields)]
    made: Any = NamedTuple("Made", [(n, t) for n, t, _ in plain])
    return made, st.builds(made, **{n: s for n, _, s in plain})


_MAKERS: dict[str, Callable[[Any, list[Any]], Typed]] = {
    "model": _model,
    "dataclass": _dataclass,
    "typeddict": _typeddict,
    "namedtuple": _namedtuple,
}


def shaped(t: Any, dialect: str) -> Shape:
    """The shape, if there is one; some types made here cannot be asked for, and say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return shape_of(t, dialect)
        except UnsupportedTypeError:
            assume(False)
            raise


def natural(t: Any, value: Any) -> Any:
    """What pydantic alone makes of a value that is written and read as T's own JSON."""
    adapter = TypeAdapter(t)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = adapter.dump_json(value, by_alias=True, round_trip=True, warnings=False)
            return adapter.validate_json(text, strict=True)
        except ValidationError:
            assume(False)


def alike(one: Any, other: Any) -> bool:
    """Equal, and of equal types inside; sets may be shown in another order."""
    return one == other and sorted(repr(one)) == sorted(repr(other))


@QUICK
@given(st.data(), DIALECT)
def test_any_value_of_any_type_reads_back(data: Any, dialect: str) -> None:
    """In each dialect, as the value that pydantic alone would have read."""
    t, values = data.draw(typed(), label="t")
    value = data.draw(values, label="value")
    expected = natural(t, value)
    shape = shaped(t, dialect)

    assert alike(expected, shape.read(shape.encode(expected)))


@QUICK
@given(typed(), st.sampled_from(["openai", "anthropic"]))
def test_any_strict_schema_keeps_to_the_vendors_rules(made: Typed, dialect: str) -> None:
    """Objects closed, references alone and not dangling, nothing but known keywords."""
    from test_shape import walk

    shape = shaped(made[0], dialect)
    if not shape.constrained or shape.wire is None:
        return
    root = shape.wire.schema
    for node in walk(root):
        assert "x-ingot" not in json.dumps(sorted(node))
        assert "$ref" in node or "anyOf" in node or isinstance(node["type"], str)
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert dialect != "openai" or node["required"] == list(node["properties"])
        if "$ref" in node:
            assert node.keys() == {"$ref"}
            assert node["$ref"].removeprefix("#/$defs/") in root["$defs"]
    assert root["type"] == "object"
    json.dumps(root)


@QUICK
@given(st.data(), DIALECT)
def test_what_is_changed_is_refused_or_is_a_value(data: Any, dialect: str) -> None:
    """A reply with a part replaced is an error of ingot's, or reads as what pydantic accepts."""
    t, values = data.draw(typed(), label="t")
    expected = natural(t, data.draw(values, label="value"))
    shape = shaped(t, dialect)
    tree = json.loads(shape.encode(expected))
    text = json.dumps(data.draw(changed(tree), label="reply"))
    try:
        read = shape.read(text)
    except InvalidAnswerError as error:
        str(error)
        return
    assert alike(read, natural(t, read))


@QUICK
@given(typed(), TEXT | JSON.map(json.dumps) | st.text(max_size=20), DIALECT)
def test_garbage_is_refused_in_words(made: Typed, text: str, dialect: str) -> None:
    """Whatever the text, what is raised is ingot's."""
    shape = shaped(made[0], dialect)
    try:
        shape.read(text)
    except IngotError as error:
        assert str(error)


@st.composite
def changed(draw: Any, tree: Any) -> Any:
    """The tree with one part replaced, left out, doubled or quoted."""
    if isinstance(tree, dict) and tree and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(tree)))
        if draw(st.integers(0, 5)) == 0:
            return {k: v for k, v in tree.items() if k != key}
        return {**tree, key: draw(changed(tree[key]))}
    if isinstance(tree, list) and tree and draw(st.integers(0, 3)):
        index = draw(st.integers(0, len(tree) - 1))
        return [*tree[:index], draw(changed(tree[index])), *tree[index + draw(st.integers(0, 1)) :]]
    return draw(st.one_of(JSON, st.just(json.dumps(tree)), st.just([tree]), st.just({"n": tree})))
