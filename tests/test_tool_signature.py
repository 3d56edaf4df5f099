"""What a function declares as a tool, and what cannot be one."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, Union

import pytest
from pydantic import BaseModel, Field

from ingot import File, Json
from ingot._context import Context
from ingot._shape.dialects import DIALECTS
from ingot._tool import Tool, tool
from ingot.errors import IngotError, ToolDefinitionError

OPENAI = "openai"


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int = 0


@dataclass
class Leg:
    km: float
    to: Point


class Row(TypedDict):
    n: int


class Pair(NamedTuple):
    a: int
    b: str


def properties(made: Tool, dialect: str = "open") -> dict[str, Any]:
    return made.declaration(dialect).parameters["properties"]


def google(q: str, n: int = 5, deep: bool = False) -> str:
    """Search the web.

    Slowly.

    Args:
        q: What to find.
        n (int): How many
            at the most.
        deep: Whether to
            follow links.

    Returns:
        What was found.
    """
    return q


def numpy(q: str, n: int = 5, deep: bool = False) -> str:
    """
    Search the web.

    Slowly.

    Parameters
    ----------
    q : str
        What to find.
    n : int, optional
        How many
        at the most.
    deep : bool
        Whether to
        follow links.

    Returns
    -------
    str
        What was found.
    """  # noqa: D416 (NumPy's)
    return q


def sphinx(q: str, n: int = 5, deep: bool = False) -> str:
    """Search the web.

    Slowly.

    :param q: What to find.
    :param n: How many
        at the most.
    :param deep: Whether to
        follow links.
    :returns: What was found.
    """
    return q


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_a_docstring_describes_the_tool_and_its_parameters(function):
    """In each of the three styles alike, without the part on parameters."""
    made = tool(function)
    words = {name: part["description"] for name, part in properties(made, "anthropic").items()}

    assert made.description == "Search the web.\n\nSlowly."
    assert words == {
        "q": "What to find.",
        "n": "How many\nat the most. (default: 5)",
        "deep": "Whether to\nfollow links. (default: false)",
    }


def test_numpy_may_describe_two_parameters_at_once():
    """`x, y : int`."""

    def move(x: int, y: int) -> None:
        """
        Move.

        Parameters
        ----------
        x, y : int
            In metres.
        """

    assert [part["description"] for part in properties(tool(move)).values()] == ["In metres."] * 2


def test_words_in_the_annotation_go_before_the_docstring():
    """They stand closer to the parameter."""

    def find(q: Annotated[str, Field(description="A word.", min_length=2)]) -> None:
        """Find.

        Args:
            q: Anything.
        """

    assert properties(tool(find)) == {
        "q": {"type": "string", "description": "A word.", "minLength": 2}
    }


def test_a_tool_needs_no_docstring():
    """There is nothing to say, then; what is given in so many words counts."""

    def now() -> str:
        return "12:00"

    assert tool(now).description is None
    assert tool(now, description="The time.").description == "The time."
    assert tool(google, description="Look up.").description == "Look up."


def test_a_docstring_that_no_style_fits_is_told_as_it_is():
    """Text is text."""

    def odd() -> None:
        """:param"""

    assert tool(odd).description == ":param"


def every(
    text: str,
    whole: int,
    part: float,
    flag: bool,
    nothing: None,
    many: list[str],
    by_name: dict[str, int],
    either: int | str,
    maybe: Optional[Point],
    colour: Colour,
    word: Literal["a", "b"],
    point: Point,
    leg: Leg,
    row: Row,
    pair: Pair,
    both: tuple[int, str],
    bounded: Annotated[int, Field(ge=1, le=3)],
    free: Json,
    any_: Any,
    where: Path,
) -> None: ...


@pytest.mark.parametrize("dialect", DIALECTS)
def test_parameters_are_as_rich_as_answers(dialect):
    """All types are told and read in each dialect as the values that the function expects."""
    made = tool(every)
    values: dict[str, Any] = {
        "text": "t",
        "whole": 2512292042121000001,
        "part": 0.5,
        "flag": True,
        "nothing": None,
        "many": ["a"],
        "by_name": {"a": 1},
        "either": "x",
        "maybe": None,
        "colour": Colour.RED,
        "word": "b",
        "point": Point(x=1, y=2),
        "leg": Leg(1.5, Point(x=1)),
        "row": {"n": 1},
        "pair": Pair(1, "b"),
        "both": (1, "b"),
        "bounded": 3,
        "free": [1, {"a": None}],
        "any_": {"b": 1},
        "where": Path("a/b"),
    }
    text = made._shape(dialect).encode(values)

    assert values == made.read(text, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_left_out_is_what_python_would_pass(dialect):
    """Defaults of any type, also such that no JSON says; null leaves out where all is required."""
    unset = object()

    def f(
        a: int,
        b: int = 5,
        c: Colour = Colour.BLUE,
        d: Optional[str] = None,
        e: int | None = unset,  # type: ignore[assignment]
        g: list[int] = [1],  # noqa: B006 (as users write it)
        h: int = Field(7, ge=1),
        i: Annotated[int, Field(default=8)] = 9,
    ) -> None: ...

    text = '{"a": 1}'
    if dialect == OPENAI:
        text = '{"a": 1, "b": null, "c": null, "d": null, "e": 4, "g": null, "h": null, "i": null}'
    read = tool(f).read(text, dialect)
    e = read.pop("e")

    assert read == {"a": 1, "b": 5, "c": Colour.BLUE, "d": None, "g": [1], "h": 7, "i": 9}
    assert e == 4 if dialect == OPENAI else e is unset


def test_defaults_are_told():
    """In words, as no vendor reads the keyword; and in the key."""
    made = tool(google)
    fields = made.declaration(OPENAI).target["classes"]["google"]["fields"]

    assert properties(made, OPENAI)["n"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "description": "How many\nat the most. (null: the default, 5)",
    }
    assert fields["n"]["default"] == 5


@pytest.mark.parametrize("name", ["self_", "schema", "model_config", "copy", "json", "größe", "_x"])
def test_any_name_may_be_a_parameter(name):
    """No class stands between the model and the function, whose names could clash."""
    scope: dict[str, Any] = {}
    exec(f"def f({name}: int, keys: int) -> int: return {name}", scope)
    made = tool(scope["f"])
    for dialect in DIALECTS:
        text = made._shape(dialect).encode({name: 1, "keys": 2})

        assert made.read(text, dialect) == {name: 1, "keys": 2}


def test_names_of_the_module_are_found():
    """This module postpones its annotations."""
    assert properties(tool(every))["word"]["enum"] == ["a", "b"]


def test_names_of_the_function_around_are_found():
    """Of a class that the tool does not use itself, and of one inside of another class."""

    @dataclass
    class Inner:
        n: int

    @dataclass
    class Outer:
        inner: Inner

    class Box:
        class Lid(BaseModel):
            n: int

        def open(self, lid: Lid, outer: Outer) -> Outer:
            return outer

        @tool
        def close(self, lid: Lid, outer: Outer) -> Outer:
            return outer

    def f(outer: Outer, more: list[Outer]) -> list[Inner]: ...

    assert tool(f).read('{"outer": {"inner": {"n": 1}}, "more": []}', "open") == {
        "outer": Outer(Inner(1)),
        "more": [],
    }
    assert Box().close.read('{"lid": {"n": 1}, "outer": {"inner": {"n": 2}}}', "open") == {
        "lid": Box.Lid(n=1),
        "outer": Outer(Inner(2)),
    }


def test_names_of_whoever_only_offers_the_tool_mean_nothing():
    """A local name there must not stand for a type of the module."""
    Point = int  # noqa: F841

    assert properties(tool(every))["point"] != {"type": "integer"}


@pytest.mark.parametrize(
    "annotation",
    [
        Context,
        Context[int],
        Optional[Context],
        Optional[Context[str]],
        Union[Context[int], None],
        Annotated[Context[int], "why"],
        "Context",
        "Context[Point] | None",
    ],
)
def test_the_context_is_never_shown(annotation):
    """In all spellings; with it, a tool may have no parameters left."""

    def f(a: int, context: Any = None) -> None: ...

    f.__annotations__["context"] = annotation
    made = tool(f)

    assert list(properties(made)) == ["a"]
    assert made._signature.injected == ("context",)


def test_a_partial_shows_what_it_leaves_open():
    """What it gives is given: a model cannot put another value in its place."""

    def query(db: object, table: str, limit: int = 3) -> list[Any]:
        """Look up."""
        return [db, table, limit]

    made = tool(functools.partial(query, "live", limit=9))

    assert (made.name, made.description, list(properties(made))) == ("query", "Look up.", ["table"])
    with pytest.raises(IngotError, match="in field `limit`: this field is not known"):
        made.read('{"table": "t", "limit": 1}', "open")
    assert made("t") == ["live", "t", 9]


def test_what_wraps_a_function_is_told_as_the_function():
    """functools.wraps, and functools.cache."""

    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    for made in (tool(logged(google)), tool(functools.cache(google))):
        assert list(properties(made)) == ["q", "n", "deep"]
        assert made.name == "google"


def test_an_object_that_is_called_is_a_tool():
    """Described by `__call__`, else by its class."""

    class Counter:
        """Counts."""

        def __call__(self, by: int) -> int:
            return by

    class Other(Counter):
        def __call__(self, by: int) -> int:
            """Count down.

            Args:
                by: So many.
            """
            return -by

    assert (tool(Counter()).name, tool(Counter()).description) == ("Counter", "Counts.")
    assert tool(Other()).description == "Count down."
    assert properties(tool(Other())) == {"by": {"type": "integer", "description": "So many."}}


class Unknowable:
    pass


class Holder(BaseModel):
    inner: list[bytes]


def missing(a): ...
def stars(*a: int): ...
def keywords(a: int, **more: int): ...
def by_place(a: int, /): ...
def binary(a: bytes): ...
def deep(a: int, b: Holder): ...
def callback(a: Callable[[], int]): ...
def foreign(a: list[Unknowable]): ...
def nowhere(a: Nowhere): ...  # noqa: F821
def returning(a: int) -> Nowhere: ...  # noqa: F821
def unreadable(a: "list["): ...  # noqa: F722
def binary_result(a: int) -> list[bytes] | None: ...
async def yielding(a: int):
    yield a


def yields(a: int):
    yield a


class Yields:
    __name__ = "Yields"

    def __call__(self, a: int):
        yield a


@pytest.mark.parametrize(
    ("function", "parameter", "words"),
    [
        (missing, "a", "parameter `a`: it has no type; annotate it, as in `a: str`"),
        (stars, "a", "parameter `a`: a model gives each argument by its name"),
        (keywords, "more", "parameter `more`: a model gives each argument by its name"),
        (by_place, "a", "parameter `a`: a model gives arguments by name, not by position"),
        (binary, "a", "parameter `a`: `bytes`: a model cannot write binary content"),
        (deep, "b", "parameter `b`: in field `inner`: `bytes`: a model cannot write binary"),
        (callback, "a", "parameter `a`: "),
        (foreign, "a", "parameter `a`: `Unknowable` has no JSON form"),
        (nowhere, "a", "parameter `a`: the name `Nowhere` is not defined where the type was"),
        (returning, None, "what it returns: the name `Nowhere` is not defined where"),
        (unreadable, "a", "parameter `a`: the annotation `'list['` cannot be read"),
        (yielding, None, "it yields its results; return them as a list"),
        (yields, None, "it yields its results; return them as a list, as in `return list(…)`"),
        (Yields(), None, "it yields its results; return them as a list"),
        (binary_result, None, "it returns `bytes`, which a model cannot be told; write a file"),
    ],
)
def test_what_cannot_be_offered_is_refused_when_it_is_declared(function, parameter, words):
    """The error names tool and parameter, and says what to do."""
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function)

    assert str(caught.value).startswith(f"`{function.__name__}` cannot be a tool: {words}")
    assert (caught.value.tool, caught.value.parameter) == (function.__name__, parameter)
    assert isinstance(caught.value, TypeError)
    assert caught.value.code == "tool_definition"


def test_a_wrapper_that_lists_what_a_generator_yields_is_a_tool():
    """It does as the way out says; a partial of a generator does not."""

    @functools.wraps(yields)
    def listed(*args: int, **kwargs: int) -> list[int]:
        return list(yields(*args, **kwargs))

    assert tool(listed)(3) == [3]
    with pytest.raises(ToolDefinitionError, match="it yields its results"):
        tool(functools.partial(yields))


@pytest.mark.parametrize("default", [math.inf, -math.inf, math.nan])
def test_a_default_that_is_no_json_is_only_said_to_be_there(default):
    """A model that leaves the argument out gets it."""

    def f(limit: float = default) -> None: ...

    for dialect in DIALECTS:
        assert "limit" in tool(f).declaration(dialect).parameters["properties"]
        assert repr(tool(f).read("{}", dialect)) == repr({"limit": default})


@pytest.mark.parametrize("function", [max, dict.get, "".join, print, len])
def test_built_in_functions_are_refused(function):
    """They do not say what their parameters are, or not by what types."""
    with pytest.raises(ToolDefinitionError, match="cannot be a tool"):
        tool(function)


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (Point, "it is a class"),
        (3, "it is a `int`"),
        ("search", "it is a `str`"),
        (tool(google), "it is a `Tool`"),
        (lambda: 1, "vendors take names"),
    ],
)
def test_what_is_no_function_is_refused(thing, words):
    """A class, a value, a tool, and a function without a name of its own."""
    with pytest.raises(ToolDefinitionError, match=words):
        tool(thing)


@pytest.mark.parametrize("name", ["", "a b", "größe", "x" * 65, "a.b", "<lambda>"])
def test_names_are_such_as_vendors_take(name):
    """Else the first request would fail."""
    with pytest.raises(ToolDefinitionError, match=r"give it a name: tool\(name=…\)"):
        tool(google, name=name)


def test_a_file_may_be_a_parameter():
    """Alone or inside; what is sent says that it is a handle."""

    def join(parts: list[File], to: File | None = None) -> File: ...

    part = properties(tool(join))["parts"]["items"]

    assert part["required"] == ["path"]
