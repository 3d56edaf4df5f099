"""Tools: arguments out of a call, results into a text, and how a function stays what it is."""

from __future__ import annotations

import asyncio
import datetime
import enum
import functools
import gc
import inspect
import json
import math
import pickle
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Union

import pytest
from pydantic import BaseModel, Field

from ingot import File, ask
from ingot._context import Context
from ingot._handles import Handles
from ingot._offer import tools_of
from ingot._shape.dialects import DIALECTS
from ingot._tool import Tool, tool
from ingot._workspace import Workspace
from ingot.errors import (
    FileAccessError,
    InvalidAnswerError,
    ToolDefinitionError,
    ToolResultError,
)


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


@pytest.fixture
def handles(workspace):
    return Handles(workspace)


def context(handles: Handles) -> Context:
    return Context(deps=None, workspace=handles.workspace, handles=handles)


def now() -> str:
    return "12:00"


def wipe(path: str = "/") -> str:
    return path


def note(paths: list[str], note: str) -> str:
    return note


def look_up(id: int) -> str:
    return str(id)


class C(BaseModel):
    k: Literal["c"]


class D(BaseModel):
    k: Literal["d"]


def choose(x: Annotated[Union[C, D], Field(discriminator="k")]) -> str:
    return x.k


# Arguments


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", ["", "  \n", "{}"])
def test_no_arguments(text, dialect):
    """G01: blank means none."""
    assert tool(now).read(text, dialect) == {}
    assert tool(now).tree(text, dialect) == {}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", ['{"path": "/tm', "null", "[]", '"/"', "{} {}", '{"path": NaN}'])
def test_arguments_that_do_not_parse_run_nothing(text, dialect):
    """G02: nor are they taken for none."""
    with pytest.raises(InvalidAnswerError, match="^the arguments of `wipe` (are not JSON|do not)"):
        tool(wipe).read(text, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_list_that_was_quoted_once_too_often_is_read(dialect):
    """G12: where there is no place for a text, and only there."""
    text = '{"paths": "[\\"a\\"]", "note": "[1]"}'
    whole = json.dumps('{"paths": ["a"], "note": "[1]"}')

    for given in (text, whole):
        assert tool(note).read(given, dialect) == {"paths": ["a"], "note": "[1]"}
        assert tool(note).tree(given, dialect) == {"paths": ["a"], "note": "[1]"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_large_numbers_are_exact(dialect):
    """G13."""
    assert tool(look_up).read('{"id": 2512292042121000001}', dialect) == {"id": 2512292042121000001}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_schemas_are_rewritten_as_those_of_answers(dialect):
    """G14: no vendor takes `oneOf`; the key is that of the type whatever the dialect."""
    made = tool(choose)
    declared = made.declaration(dialect)

    assert "oneOf" not in json.dumps(declared.parameters)
    assert made.read('{"x": {"k": "d"}}', dialect) == {"x": D(k="d")}
    assert declared.target == made.declaration("open").target


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_does_not_fit_is_told_by_its_place(dialect):
    """The message is for the model: the tool, each place, and not a word of the values."""
    with pytest.raises(InvalidAnswerError) as caught:
        tool(note).read('{"paths": ["a", 17], "note": 2, "more": "secret"}', dialect)

    assert str(caught.value) == (
        "the arguments of `note` do not fit: in field `paths`: at index 1: expected `string`, "
        "found a number; in field `note`: expected `string`, found a number; "
        "in field `more`: this field is not known"
    )
    assert (caught.value.target, len(caught.value.problems)) == ("note", 3)
    assert caught.value.advice is None


def test_unknown_arguments_are_not_dropped():
    """Else a misspelling of what may be left out would run the tool on its default."""
    with pytest.raises(InvalidAnswerError, match="in field `pth`: this field is not known"):
        tool(wipe).read('{"pth": "/tmp/x"}', "open")


def test_the_tree_is_the_same_in_every_dialect():
    """It stands in recordings: a map that travelled as pairs is a map."""

    def f(by_name: dict[str, int], n: int = 5) -> None: ...

    made = tool(f)
    for dialect in DIALECTS:
        text = made._shape(dialect).encode({"by_name": {"a": 1}, "n": 2})

        assert made.tree(text, dialect) == {"by_name": {"a": 1}, "n": 2}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_tree_leaves_out_what_the_call_left_out(dialect):
    """Also where the vendor wants a null for it, and does not get one."""

    def f(a: int, b: int = 5) -> None: ...

    for text in ('{"a": 1}', '{"a": 1, "b": null}' if dialect == "openai" else '{"a": 1}'):
        assert tool(f).read(text, dialect) == {"a": 1, "b": 5}
        assert tool(f).tree(text, dialect) == {"a": 1}


@pytest.mark.parametrize("source", DIALECTS)
@pytest.mark.parametrize("target", DIALECTS)
def test_a_call_can_be_written_for_another_vendor(source, target):
    """It stands for the same; a call that no tool would run stays what it is."""

    def f(by_name: dict[str, int], both: tuple[int, str], n: int = 5) -> None: ...

    made = tool(f)
    value = {"by_name": {"a": 1}, "both": (1, "b"), "n": 5}
    text = made.rewritten(made._shape(source).encode(value), source, target)

    assert made.read(text, target) == value
    for broken in ('{"by_name": ', '{"by_name": 3, "both": NaN}', '{"both": 4}'):
        assert made.rewritten(broken, source, target) == broken


def test_files_are_those_that_are_known(handles, workspace):
    """A handle comes back with all that its producer added; a made-up path does not come in."""

    def show(file: File, more: list[File]) -> str: ...

    made = tool(show)
    known = handles.admit(workspace.write_text("a.txt", "A", lines=1))
    for dialect in DIALECTS:
        text = '{"file": {"path": "a.txt"}, "more": [{"path": "a.txt"}]}'

        assert made.read(text, dialect, handles) == {"file": known, "more": [known]}
        with pytest.raises(InvalidAnswerError, match="in field `file`: no tool returned .*a.txt"):
            made.read('{"file": {"path": "b.txt"}, "more": []}', dialect, handles)


# Declarations


def test_a_declaration_is_made_once():
    """An ask costs no more for its tools than a look-up."""
    made = tool(choose)

    assert made.declaration("openai") is made.declaration("openai")


def test_strict_is_what_the_provider_can_hold_a_model_to():
    """None where it can, False never, True or else the tool is refused."""

    def tree(node: Node) -> None: ...

    def plain(n: int) -> None: ...

    assert tool(plain).declaration("anthropic").strict is True
    assert tool(plain).declaration("prompt").strict is False
    assert tool(plain, strict=False).declaration("openai").strict is False
    assert tool(tree).declaration("anthropic").strict is False
    assert tool(tree).declaration("openai").strict is True
    with pytest.raises(ToolDefinitionError, match="`tree` cannot be a tool: anthropic servers"):
        tool(tree, strict=True).declaration("anthropic")
    for dialect in DIALECTS:
        assert tool(plain, strict=False).read('{"n": 1}', dialect) == {"n": 1}


@dataclass
class Node:
    children: list[Node]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"effects": "network"}, "effects must be a list of words"),
        ({"effects": ["not a word"]}, "effects must be a list of words"),
        ({"effects": [1]}, "effects must be a list of words"),
        ({"timeout": 0}, "timeout must be a number above 0"),
        ({"timeout": math.inf}, "timeout must be a number above 0"),
        ({"timeout": "1"}, "timeout must be a number above 0"),
        ({"nmae": "x"}, "nmae"),
    ],
)
def test_settings_are_checked_when_they_are_given(setting, words):
    """Not when the model calls."""
    with pytest.raises(TypeError, match=words):
        tool(now, **setting)


def test_effects_are_words_of_the_house_or_of_ones_own():
    """In no order."""
    made = tool(now, effects=["network", "sends_mail"], timeout=5, name="clock")

    assert made.effects == frozenset({"network", "sends_mail"})
    assert (made.timeout, made.name) == (5.0, "clock")
    assert repr(made) == "<tool clock(): network, sends_mail>"
    assert repr(tool(note)) == "<tool note(paths, note)>"


# It stays a function


def test_a_tool_is_called_like_the_function():
    """And looks like it."""

    @tool(effects=["network"])
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    assert isinstance(add, Tool)
    assert (add(1), add(1, b=5)) == (3, 6)
    assert (add.__name__, add.__doc__, add.__module__) == ("add", "Add.", __name__)
    assert list(inspect.signature(add).parameters) == ["a", "b"]


class Shop:
    def __init__(self, name: str) -> None:
        self.name = name

    @tool
    def price(self, item: str) -> str:
        """The price."""
        return f"{self.name} {item}"

    def stock(self, item: str) -> str:
        return f"{self.name} {item}"

    @classmethod
    @tool
    def kinds(cls, n: int) -> str:
        return f"{cls.__name__} {n}"

    @staticmethod
    @tool
    def opens(day: str) -> str:
        return day

    @tool
    @staticmethod
    def closes(day: str) -> str:
        return day


def test_methods_are_tools(handles):
    """Decorated or not; each call goes to its own object."""
    one, two = Shop("one"), Shop("two")
    for shop in (one, two):
        items = [shop.price, shop.stock, shop.kinds, shop.opens, Shop.closes]
        made = tools_of(items)
        calls = [made[0], made[1]]

        assert [each.name for each in made] == ["price", "stock", "kinds", "opens", "closes"]
        assert [each.call({"item": "tea"}, context(handles)) for each in calls] == [
            f"{shop.name} tea"
        ] * 2
        assert made[2].call({"n": 1}, context(handles)) == "Shop 1"
        assert made[3].call({"day": "mo"}, context(handles)) == "mo"
        assert made[4].call({"day": "mo"}, context(handles)) == "mo"
    assert one.price("tea") == "one tea"
    assert Shop.price(two, "tea") == "two tea"


def test_a_method_without_its_object_is_refused():
    """The object is no argument of the model's."""
    with pytest.raises(ToolDefinitionError, match="offer the method of an object"):
        tools_of([Shop.price])
    with pytest.raises(ToolDefinitionError, match="offer the method of an object"):
        tools_of([Shop.stock])


@tool(effects=["network"])
def pickled(a: int) -> int:
    return a


RENAMED = tool(now, name="clock", description="Time.", timeout=3)


@pytest.mark.parametrize("one", [pickled, Shop.opens], ids=lambda one: one.name)
def test_a_decorated_function_is_pickled_by_its_place(one):
    """As the function would be."""
    assert pickle.loads(pickle.dumps(one)) is one


def test_other_tools_are_pickled_by_function_and_settings(handles):
    """Methods by their object."""
    made = pickle.loads(pickle.dumps(RENAMED))
    plain, *methods = tools_of([now, *((shop := Shop("one")).price, shop.stock), Shop.kinds])

    assert (made.name, made.description, made.timeout, made()) == ("clock", "Time.", 3.0, "12:00")
    assert pickle.loads(pickle.dumps(plain))() == "12:00"
    price, stock, kinds = (pickle.loads(pickle.dumps(each)) for each in methods)
    assert price.call({"item": "tea"}, context(handles)) == "one tea"
    assert stock.call({"item": "tea"}, context(handles)) == "one tea"
    assert kinds.call({"n": 1}, context(handles)) == "Shop 1"


def test_an_ask_with_tools_is_pickled():
    """It can go to another process."""
    asked = pickle.loads(pickle.dumps(ask.using(tools=[now, pickled])))

    assert repr(asked) == repr(ask.using(tools=[now, pickled]))


# The tools of an ask


def test_a_function_becomes_a_tool_once():
    """Also a method, and a partial; what wraps a function is another one."""
    part = functools.partial(wipe)
    shop, other = Shop("one"), Shop("two")

    @functools.wraps(now)
    def wrapped() -> str:
        return "never"

    first, again = tools_of([now, part]), tools_of([now, part])
    methods = tools_of([shop.stock]) + tools_of([other.stock])

    assert all(map(lambda a, b: a is b, first, again))
    assert methods[0]._shapes is methods[1]._shapes
    assert tools_of([wrapped])[0]() == "never"


def test_neither_functions_nor_objects_are_kept_alive():
    """A tool of a function that is made for one ask goes with the function."""

    def make() -> tuple[Any, Any]:
        def local(n: int) -> int:
            return n

        shop = Shop("one")
        tools_of([local, shop.stock])
        return weakref.ref(local), weakref.ref(shop)

    function, shop = make()
    gc.collect()

    assert (function(), shop()) == (None, None)


def test_two_tools_of_one_name_are_refused():
    """A model could not tell them apart."""
    with pytest.raises(ToolDefinitionError, match="`now` cannot be a tool: another tool has this"):
        tools_of([now, tool(wipe, name="now")])


# Calls


def test_the_context_is_filled_in(handles):
    """Under whatever name it has."""

    def f(n: int, ctx: Context[dict[str, int]]) -> int:
        return n + ctx.deps["by"]

    given = Context(deps={"by": 2}, workspace=handles.workspace, handles=handles, tool="f", turn=1)

    assert tool(f).call({"n": 1}, given) == 3


def test_a_context_knows_when_it_is_cancelled(handles):
    """And nothing in it can be replaced."""
    given = context(handles)
    before = given.cancelled
    given.cancel()

    assert (before, given.cancelled) == (False, True)
    with pytest.raises(AttributeError):
        given.tool = "other"


async def later(n: int) -> int:
    await asyncio.sleep(0)
    return n


class Later:
    async def __call__(self, n: int) -> int:
        return n

    async def method(self, n: int) -> int:
        return n


@functools.wraps(later)
def passes_on(*args: Any, **kwargs: Any) -> Any:
    return later(*args, **kwargs)


@functools.wraps(later)
def waits(*args: Any, **kwargs: Any) -> Any:
    return 1


@pytest.mark.parametrize(
    "function",
    [later, functools.partial(later), Later(), Later().method, passes_on, waits, tool(later)],
)
async def test_a_coroutine_function_is_awaited(function, handles):
    """In each of its guises."""
    (made,) = tools_of([function])

    assert made.is_async
    assert await made.call({"n": 1}, context(handles)) == 1


def test_a_plain_function_is_not():
    """Nothing to await."""
    assert not tool(now).is_async


# Results


class Priority(str, enum.Enum):
    HIGH = "high"


class Item(BaseModel):
    name: str = Field(alias="Name")
    at: datetime.date


@dataclass
class Cell:
    n: int
    cost: Decimal


def returning(annotation: Any) -> Tool:
    def f() -> Any: ...

    f.__annotations__["return"] = annotation
    return tool(f)


ITEM = Item(Name="a", at=datetime.date(2026, 1, 2))


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (str, "a\nb", "a\nb"),
        (Any, "12:00", "12:00"),
        (Any, Priority.HIGH, "high"),
        (None, None, "null"),
        (int, 2512292042121000001, "2512292042121000001"),
        (bool, True, "true"),
        (float, math.nan, "null"),
        (Any, [math.inf], "[null]"),
        (list[int], [1, 2], "[1,2]"),
        (Any, {"a": (1, {2})}, '{"a":[1,[2]]}'),
        (Item, ITEM, '{"Name":"a","at":"2026-01-02"}'),
        (Any, ITEM, '{"Name":"a","at":"2026-01-02"}'),
        (list[Cell], [Cell(1, Decimal("1.10"))], '[{"n":1,"cost":"1.10"}]'),
        (Any, Cell(1, Decimal("1.10")), '{"n":1,"cost":"1.10"}'),
        (Any, datetime.timedelta(seconds=90), '"PT1M30S"'),
        (list[int], (1, 2), "[1,2]"),
        (set[int], [1], "[1]"),
        (Sequence[int], (1, 2), "[1,2]"),
        (Iterable[int], {1, 2}, "[1,2]"),
        (Iterator[int], [1, 2], "[1,2]"),
        (Cell, {"n": 1, "cost": "1"}, '{"n":1,"cost":"1"}'),
        (Cell, {"n": 1, "cost": Decimal(1)}, '{"n":1,"cost":"1"}'),
        (list[float], [1, Decimal("1.5")], "[1,1.5]"),
        (Decimal, 1, "1"),
        (datetime.date, datetime.datetime(2026, 1, 2, 3, 4), '"2026-01-02"'),
        (datetime.date, "2026-01-02", "2026-01-02"),
        (Priority, "high", "high"),
        (Annotated[int, "why"], 3, "3"),
        (Any, "ü€😀", "ü€😀"),
        (Any, ["ü€😀"], '["ü€😀"]'),
    ],
)
def test_results_are_told_as_json_and_texts_as_they_are(annotation, value, text, handles):
    """As the type that is declared, else as what the value is."""
    assert text == returning(annotation).write(value, handles)


class Opaque:
    pass


@dataclass
class Blob:
    data: bytes


class BlobModel(BaseModel):
    data: bytes


class BlobTuple(NamedTuple):
    data: bytes


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (Any, bytearray(b"x"), "it holds bytes"),
        (Any, Blob(b"x"), "it holds bytes"),
        (Blob, Blob(b"x"), "it holds bytes"),
        (Any, {"a": BlobModel(data=b"x")}, "it holds bytes"),
        (list[BlobModel], [BlobModel(data=b"x")], "it holds bytes"),
        (Any, BlobTuple(b"x"), "it holds bytes"),
        (int, "abc", "it is a `str`, and the tool declares to return `int`"),
        (int, {"a": 1}, "it is a `dict`, and the tool declares to return `int`"),
        (list[int], "not a list", "it is a `str`, and the tool declares to return `list.int.`"),
        (list[int], [Cell(1, Decimal(2))], "it is a `list`, and the tool declares"),
        (Iterable[int], ["a"], "it is a `list`, and the tool declares"),
        (str, 1, "it is a `int`, and the tool declares to return `str`"),
        (None, "x", "it is a `str`, and the tool declares to return `None`"),
        (float, "1.5", "it is a `str`, and the tool declares to return `float`"),
        (File, "abc.csv", "it is a `str`, and the tool declares to return `File`"),
        (File, {"path": "abc.csv"}, "it is a `dict`, and the tool declares to return `File`"),
        (dict[str, list[File]], {"a": ["abc.csv"]}, "it is a `dict`, and the tool declares"),
        (Any, [{"a": (b"x",)}], "it holds bytes"),
        (Any, Opaque(), "it has no JSON form .*`Opaque`"),
        (list[int], [Opaque()], "it has no JSON form .*`Opaque`"),
        (Any, LOOP, "it has no JSON form"),
        (Any, "\ud800", "half of a surrogate pair"),
        (Any, ["\ud800"], "it has no JSON form"),
    ],
)
def test_what_cannot_be_told_is_an_error_that_names_the_tool(annotation, value, words, handles):
    """And says what to do."""
    with pytest.raises(ToolResultError, match=words) as caught:
        returning(annotation).write(value, handles)

    assert str(caught.value).startswith("the result of the tool 'f' cannot be told to a model: ")
    assert str(caught.value).endswith("let bytes be written to a file, and return a File")


class Report(BaseModel):
    files: list[File]


@pytest.mark.parametrize("annotation", [Any, "declared"])
def test_files_in_results_become_known(annotation, handles, workspace):
    """Wherever they stand, and whether or not the tool says so; content stays where it is."""
    a, b, c = (workspace.write_text(f"{n}.txt", "secret", size=6) for n in "abc")
    for value, declared, paths in (
        (a, File, ["a.txt"]),
        ({"x": [b]}, dict[str, list[File]], ["b.txt"]),
        (Report(files=[a, c]), Report, ["a.txt", "c.txt"]),
    ):
        made = returning(Any if annotation is Any else declared)
        with handles.noting() as noted:
            text = made.write(value, handles)

        assert [file.path for file in noted] == paths
        assert '"size":6' in text
        assert "secret" not in text
        assert made.produces_files
    assert not returning(dict[str, int]).produces_files


@pytest.mark.parametrize("annotation", [Any, File])
def test_a_file_outside_of_the_workspace_is_no_result(annotation, handles, tmp_path_factory):
    """The tool's error is that of the file."""
    outside = tmp_path_factory.mktemp("outside") / "x.txt"
    outside.write_text("secret")
    with pytest.raises(FileAccessError, match="x.txt"):
        returning(annotation).write(File(outside), handles)
    with pytest.raises(FileAccessError):
        returning(annotation).write(File("missing.txt"), handles)
