"""An answer while it is written: what is shown is certain, only grows, and costs what is new."""

from __future__ import annotations

import datetime
import json
import sys
import warnings
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import AliasPath, BaseModel, ConfigDict, Field
from shapes import SHAPE_IDS, SHAPES, Cat, Colour, Dog, Node
from test_shape_properties import DIALECT, JSON, QUICK, TEXT, changed, natural, shaped, typed

from ingot import Json
from ingot._json import is_equal, read
from ingot._shape.content import File, Provenance
from ingot._shape.dialects import DIALECTS
from ingot._shape.partial import Partial
from ingot._shape.reader import bare
from ingot._shape.shape import Shape, shape_of
from ingot.errors import MismatchedAnswerError, UnreadableAnswerError


def grows(one: Any, other: Any) -> bool:
    """Whether *other* is *one* with nothing taken back: more text, more parts."""
    if isinstance(one, str) and isinstance(other, str):
        return other.startswith(one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) <= len(other) and all(map(grows, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() <= other.keys() and all(grows(one[key], other[key]) for key in one)
    return is_equal(one, other)


def outward(shape: Shape, text: str) -> Any:
    """The JSON of T that the whole of *text* stands for."""
    tree, faults = read(bare(text))
    problems: list[Any] = []
    if shape.wire is not None:
        inner = tree["value"] if shape.wire.wrapped else tree
        tree = shape.wire.plan.decode(inner, (), problems)
    assert (faults, problems) == ([], [])
    return tree


def cuts(text: str, places: list[int]) -> list[str]:
    ends = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[one:other] for one, other in zip(ends, ends[1:], strict=False)]


def shown(partial: Partial, pieces: list[str]) -> list[Any]:
    """A copy of each snapshot, made where `feed` says that it is another."""
    copies: list[Any] = []
    for piece in pieces:
        before = json.dumps(partial.snapshot)
        if partial.feed(piece):
            copies.append(json.loads(json.dumps(partial.snapshot)))
        else:
            assert json.dumps(partial.snapshot) == before
    return copies


@st.composite
def written(draw: Any, tree: Any) -> str:
    """The text of *tree* as one model or another would write it."""
    text = json.dumps(
        draw(shuffled(tree)),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1])),
    )
    text += "\n"  # after which a number at the root is whole
    around = draw(
        st.sampled_from(["{}", "{}", "```json\n{}```", "<think>[1]</think>\n{}", "\ufeff{}"])
    )
    return around.replace("{}", text)


@st.composite
def shuffled(draw: Any, tree: Any) -> Any:
    if isinstance(tree, list):
        return [draw(shuffled(item)) for item in tree]
    if isinstance(tree, dict):
        names = draw(st.permutations(list(tree))) if draw(st.integers(0, 3)) == 0 else list(tree)
        return {name: draw(shuffled(tree[name])) for name in names}
    return tree


def check(shape: Shape, text: str, pieces: list[str]) -> None:
    whole = outward(shape, text)
    partial = Partial(shape)
    copies = shown(partial, pieces)

    assert not partial.broken
    assert is_equal(copies[-1] if copies else None, whole)
    assert all(grows(one, other) for one, other in zip(copies, copies[1:], strict=False))


@QUICK
@given(st.data(), DIALECT)
def test_what_is_shown_grows_into_the_whole(data: Any, dialect: str) -> None:
    """For any text of any type, wherever it is cut."""
    t, values = data.draw(typed(), label="t")
    value = natural(t, data.draw(values, label="value"))
    shape = shaped(t, dialect)
    assume(shape.kind != "prose")
    text = data.draw(written(json.loads(shape.encode(value))), label="text")
    places = data.draw(st.lists(st.integers(0, 10**6), max_size=12), label="places")

    check(shape, text, cuts(text, places))


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(("t", "value"), SHAPES, ids=SHAPE_IDS)
def test_any_shape_grows_character_by_character(t: Any, value: Any, dialect: str) -> None:
    """The table of shapes, each in pieces of one character."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shape = shape_of(t, dialect)
    if shape.kind == "prose":
        return
    text = shape.encode(value) + "\n"

    check(shape, text, list(text))


@QUICK
@given(st.data(), DIALECT)
def test_what_is_changed_takes_nothing_back(data: Any, dialect: str) -> None:
    """A reply with a part replaced, left out, doubled or quoted; nothing is raised."""
    t, values = data.draw(typed(), label="t")
    value = natural(t, data.draw(values, label="value"))
    shape = shaped(t, dialect)
    assume(shape.kind != "prose")
    tree = data.draw(changed(json.loads(shape.encode(value))), label="tree")
    copies = shown(Partial(shape), list(data.draw(written(tree), label="text")))

    assert all(grows(one, other) for one, other in zip(copies, copies[1:], strict=False))


@QUICK
@given(typed(), TEXT | JSON.map(json.dumps) | st.text(max_size=20), st.data(), DIALECT)
def test_garbage_shows_nothing_that_is_taken_back(
    made: Any, text: str, data: Any, dialect: str
) -> None:
    """Whatever comes, nothing is raised."""
    shape = shaped(made[0], dialect)
    assume(shape.kind != "prose")
    copies = shown(Partial(shape), cuts(text, data.draw(st.lists(st.integers(0, 99), max_size=5))))

    assert all(grows(one, other) for one, other in zip(copies, copies[1:], strict=False))


# One thing at a time


def steps(t: Any, *pieces: str, dialect: str = "openai") -> list[Any]:
    """What is shown after each piece."""
    partial = Partial(shape_of(t, dialect))
    seen: list[Any] = []
    for piece in pieces:
        partial.feed(piece)
        seen.append(json.loads(json.dumps(partial.snapshot)))
    return seen


class Bounded(BaseModel):
    name: str = Field(min_length=5)
    n: int = Field(ge=100)


class Labelled(BaseModel):
    kind: Literal["labelled"]
    text: str
    labels: dict[str, int]


class Counted(BaseModel):
    kind: Literal["counted"]
    text: str
    labels: list[int]


class Said(BaseModel):
    said: str
    labels: dict[str, int]


class Told(BaseModel):
    labels: list[int]


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    labels: dict[str, float]


class Wordy(BaseModel):
    kind: Literal["words"]
    more: str = ""


class County(BaseModel):
    kind: Literal["count"]
    more: int = 0


class Placed(BaseModel):
    a: str = Field(validation_alias=AliasPath("all", 1))
    b: str = Field(validation_alias=AliasPath("all", 0))


class Elsewhere(BaseModel):
    kind: Literal["else"]
    a: str = Field(validation_alias=AliasPath("all", 1))
    b: str = Field(validation_alias=AliasPath("all", 0))


class Somewhere(BaseModel):
    kind: Literal["some"]
    a: str = Field(validation_alias=AliasPath("all", 1))
    b: str = Field(validation_alias=AliasPath("all", 0))


class Spot(NamedTuple):
    x: int
    y: str


class Open(tuple[Any, ...]):
    """A tuple with an open end, which travels under a name of its own."""

    __slots__ = ()
    text = '{"value": {"item_0": 1, "rest": ["a", "b"]}}'

    def __new__(cls, *parts: Any) -> Open:
        return super().__new__(cls, parts)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema as cs

        return cs.tuple_schema([cs.int_schema(), cs.str_schema()], variadic_item_index=1)


def test_strings_grow_and_keys_appear_with_them() -> None:
    """An array or object shows as soon as it begins."""
    seen = steps(Json, ' {"a', '": ', '"x', 'y"', ', "b":[', "1,", '{"c":"', "}", '"}]}')

    assert seen == [
        {},
        {},
        {"a": "x"},
        {"a": "xy"},
        {"a": "xy", "b": []},
        {"a": "xy", "b": [1]},
        {"a": "xy", "b": [1, {"c": ""}]},
        {"a": "xy", "b": [1, {"c": "}"}]},
        {"a": "xy", "b": [1, {"c": "}"}]},
    ]


def test_a_number_is_absent_until_it_cannot_become_another() -> None:
    """12 may be the beginning of 123, and true of what is no JSON."""
    assert steps(list[int], '{"value": [1', "2", "3", ",", "4]") == [[], [], [], [123], [123, 4]]
    assert steps(Json, "[tru", "e", ", nul", "l]") == [[], [], [True], [True, None]]
    assert steps(Json, "-1.5e", "3", "\n") == [None, None, -1500.0]


@pytest.mark.parametrize(("t", "text"), [(Colour, "green"), (Literal["Al", "Alice"], "Alice")])
def test_a_choice_is_absent_until_it_is_made(t: Any, text: str) -> None:
    """Al is no half of Alice."""
    assert steps(t, f'{{"value": "{text[:2]}', text[2:], '"') == [None, None, text]
    assert steps(list[t], f'{{"value": ["{text[:2]}', text[2:], '"') == [[], [], [text]]


def test_constraints_are_for_the_whole() -> None:
    """A short text on its way to a long one shows; nothing is judged."""
    seen = steps(Bounded, '{"name": "Al', 'ice", "n": 1', "2", "3}")

    assert seen == [
        {"name": "Al"},
        {"name": "Alice"},
        {"name": "Alice"},
        {"name": "Alice", "n": 123},
    ]


def test_null_is_shown_and_absence_is_not() -> None:
    """Where null on the wire says that a field is left out, it never shows."""
    assert steps(Cat | None, '{"value": null}') == [None]
    assert steps(Dog, '{"kind": "dog", "breed": null}') == [{"kind": "dog", "breed": None}]
    assert steps(Node, '{"value": 1, "children": null}') == [{"value": 1}]


@pytest.mark.parametrize("text", ['"\\ud83d\\ude00"', '"a\\u00e9\\n\\"b"', '"😀\\\\\\/"'])
def test_an_escape_may_be_cut_anywhere(text: str) -> None:
    """Half of a character is never shown."""
    for cut in range(len(text)):
        first, whole = steps(Json, text[:cut], text[cut:])

        assert whole == json.loads(text)
        assert grows(first or "", whole)


@pytest.mark.parametrize(
    "text", ['"\\ud83d"', '"\\ude00"', '"\\ud83dx"', '"\\ud83d\\n"', '"\\x"', '"\\u12g4"', '"\n"']
)
def test_what_is_no_string_shows_no_further(text: str) -> None:
    """Half of a surrogate pair, unknown escapes, control characters."""
    partial = Partial(shape_of(Json, "open"))
    partial.feed(text)

    assert partial.broken
    assert partial.snapshot == ""


def test_maps_and_tuples_show_as_such() -> None:
    """However they travel."""
    pairs = ['{"value": [{"key": "a', '", "value": 1', '}, {"value": 2, "key": "b', '"}]}']
    assert steps(dict[str, int], *pairs) == [{}, {}, {"a": 1}, {"a": 1, "b": 2}]

    places = ['{"value": {"item_0": "x', '", "item_1": [', '1], "item_2": "y"', "}}"]
    t = tuple[str, list[int], str]
    assert steps(t, *places) == [["x"], ["x", []], ["x", [1], "y"], ["x", [1], "y"]]

    turned = ['{"value": {"item_2": "y", "item_1": [1]', ', "item_0": "x"', "}}"]
    assert steps(t, *turned) == [[], ["x"], ["x", [1], "y"]]
    assert Open(1, "a", "b") == shape_of(Open, "openai").read(Open.text)
    assert steps(Open, Open.text[:-2], "}}") == [None, [1, "a", "b"]]
    assert steps(Spot, '{"value": {"x": 1, "y": "a', '"}}') == [{"x": 1, "y": "a"}] * 2


def test_what_is_text_on_the_wire_is_held_back() -> None:
    """Decimals and JSON in a string, which half are something else or nothing."""
    assert steps(Decimal, '{"value": "1.', '50"', "}") == [None, "1.50", "1.50"]
    assert steps(list[Any], '{"value": ["{\\"a\\": ', '1}"', "]}") == [[], [{"a": 1}], [{"a": 1}]]


def test_a_union_shows_what_its_members_read_alike() -> None:
    """The tag settles which it is; before it, what differs waits."""
    t = Labelled | Counted
    tagged = ['{"value": {"kind": "lab', 'elled", ', '"labels": [{"key": "a", "value": 1}', "]"]
    known = {"kind": "labelled", "labels": {"a": 1}}
    assert steps(t, *tagged) == [{}, {"kind": "labelled"}, known, known]

    late = ['{"value": {"text": "wo', 'rds", "labels": [1, 2], ', '"kind": "counted"', "}}"]
    whole = {"text": "words", "labels": [1, 2], "kind": "counted"}
    assert steps(t, *late) == [{"text": "wo"}, {"text": "words", "labels": [1, 2]}, whole, whole]


def test_a_name_settles_a_union() -> None:
    """Only one of them has it, or takes any."""
    pieces = ['{"value": {"labels": [], ', '"said": "wo']

    assert steps(Told | Said, *pieces) == [{}, {"labels": {}, "said": "wo"}]


def test_a_name_that_only_one_takes_settles_a_union() -> None:
    """What it does not know by itself stands there as it is."""
    pieces = ['{"value": {"labels": {"a": 1}, ', '"free": "wo']
    known = {"labels": {"a": 1}, "free": "wo"}

    assert steps(Said | Loose, *pieces, dialect="prompt") == [{}, known]


def test_the_end_settles_a_union() -> None:
    """By what is missing, as for the reader."""
    assert steps(Said | Told, '{"value": {"labels": []', "}") == [{}, {"labels": []}]


def test_what_waits_and_is_absent_does_not_show() -> None:
    """A null that stands for a default, in a class that is not settled yet."""
    pieces = ['{"value": {"more": null, ', '"kind": "words"']

    assert steps(Wordy | County, *pieces) == [{}, {"kind": "words"}]


def test_members_of_one_form_are_one() -> None:
    """Whether a text is a date matters to T alone."""
    assert steps(datetime.date | str, '{"value": "20', "24") == ["20", "2024"]


def test_what_stands_deeper_is_shown_at_the_end() -> None:
    """The second of a list is not shown before the first, in whichever class."""
    assert steps(Placed, '{"a": "x", ', '"b": "y"', "}") == [{}, {}, {"all": ["y", "x"]}]

    pieces = ['{"value": {"a": "x", "kind": "some", ', '"b": "y"', "}"]
    known = {"kind": "some"}
    assert steps(Elsewhere | Somewhere, *pieces) == [known, known, known | {"all": ["y", "x"]}]


def test_what_was_quoted_once_too_often_is_shown_when_whole() -> None:
    """As the reader undoes it."""
    assert steps(list[int], '{"value": "[1', ', 2]"', "}") == [None, [1, 2], [1, 2]]


@pytest.mark.parametrize(
    "text", ["[1, 2]", '{"values": [1]}', '{"value": {"a": [1]}}', "words ", "]"]
)
def test_another_form_shows_nothing(text: str) -> None:
    """No wrapper, another one, an object for a list; and no element is taken from it."""
    partial = Partial(shape_of(list[int], "openai"))
    partial.feed(text)

    assert partial.broken
    assert partial.snapshot is None
    assert partial.take_items() == []


@pytest.mark.parametrize(
    "text",
    [
        '{"value": [1], "value": [2]}',
        '{"value": [1], "more": [2]}',
        '{"value": [1]]',
        '{"value": [1},',
        '{"value": [1,,2]}',
        '{"value": [1] 2',
        '{"value": [1, 01]}',
        '{"value": [1, NaN]}',
        '{"value": [1, 1e999]}',
        '{"value": [1, {"item_0": 2}',
        '{"value": [1, {"item_0": 2, "item_0": 2}',
    ],
)
def test_what_follows_a_fault_is_not_shown(text: str) -> None:
    """What was shown before it stays."""
    partial = Partial(shape_of(list[float | tuple[int, int]], "openai"))
    partial.feed(text)

    assert partial.broken
    assert partial.snapshot in ([1], [1, [2]])


def test_a_key_that_stands_twice_takes_nothing_back() -> None:
    """In a class, a map and a list of pairs."""
    for t, text in (
        (Bounded, '{"name": "first", "name": "second"}'),
        (Json, '{"name": "first", "name": "second"}'),
        (
            dict[str, str],
            '{"value": [{"key": "name", "value": "first"}, {"key": "name", "value": "x"}]}',
        ),
    ):
        partial = Partial(shape_of(t, "openai"))
        partial.feed(text)

        assert partial.broken
        assert partial.snapshot == {"name": "first"}


def test_depth_without_end_is_no_answer() -> None:
    """Neither raises nor grows for ever."""
    for opening in ("[", '{"a":', '{"value":['):
        partial = Partial(shape_of(Json, "open"))
        partial.feed(opening * 100_000)

        assert partial.broken


def test_a_repair_turn_begins_anew() -> None:
    """The one place where what was shown is taken back."""
    partial = Partial(shape_of(list[int], "openai"))
    partial.feed('{"value": [1, 2, 3')
    partial.take_items()
    partial.restart()

    assert partial.snapshot is None

    partial.feed('{"value": [4]}')

    assert partial.snapshot == [4]
    assert partial.take_items() == [4]


# Elements


@QUICK
@given(st.data(), DIALECT)
def test_elements_are_those_of_the_list(data: Any, dialect: str) -> None:
    """Each as the reader of the whole reads it, and as soon as it is whole."""
    t, values = data.draw(typed(depth=2), label="t")
    items = natural(list[t], data.draw(st.lists(values, max_size=4), label="items"))
    shape = shaped(list[t], dialect)
    text = data.draw(written(json.loads(shape.encode(items))), label="text")
    places = data.draw(st.lists(st.integers(0, 10**6), max_size=12), label="places")
    partial = Partial(shape)
    taken: list[Any] = []
    for piece in cuts(text, places):
        partial.feed(piece)
        taken += partial.take_items()

    assert repr(taken) == repr(shape.read(text))


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("quoted", ["all", "the list"])
def test_elements_of_a_list_that_was_quoted_once_too_often(dialect: str, quoted: str) -> None:
    """They come when it is whole, each once, as the reader of the whole undoes it."""
    shape = shape_of(list[dict[str, int]], dialect)
    text = shape.encode([{"a": 1}, {"b": 2}])
    inner = json.dumps(json.loads(text)["value"])
    text = json.dumps(text) if quoted == "all" else json.dumps({"value": inner})
    partial = Partial(shape)
    partial.feed(text[:-1])
    early = partial.take_items()
    partial.feed(text[-1:])

    assert (early, partial.take_items()) == ([], [{"a": 1}, {"b": 2}])
    assert partial.take_items() == []
    assert shape.read(text) == [{"a": 1}, {"b": 2}]


def test_an_element_that_does_not_fit_is_raised_after_those_before_it() -> None:
    """With its place, in the words of the whole."""
    shape = shape_of(list[Bounded], "openai")
    text = '{"value": [{"name": "Alice", "n": 100}, {"name": "Al", "n": 100}]}'
    partial = Partial(shape)
    partial.feed(text)

    assert partial.take_items() == [Bounded(name="Alice", n=100)]
    with pytest.raises(MismatchedAnswerError) as raised:
        partial.take_items()
    with pytest.raises(MismatchedAnswerError) as whole:
        shape.read(text)
    assert raised.value.problems == whole.value.problems
    assert str(raised.value) == str(whole.value)


def test_an_element_of_another_kind_does_not_hide_those_before_it() -> None:
    """Nor is a text read as the number it holds, which the whole would not be."""
    partial = Partial(shape_of(list[int], "openai"))
    partial.feed('{"value": [1, "2"')

    assert partial.take_items() == [1]
    with pytest.raises(MismatchedAnswerError, match="at index 1: expected `int`, found a string"):
        partial.take_items()


def test_an_element_with_a_key_twice_is_unreadable() -> None:
    """As the whole would be."""
    partial = Partial(shape_of(list[Bounded], "openai"))
    partial.feed('{"value": [{"name": "Alice", "n": 100, "n": 101},')

    with pytest.raises(UnreadableAnswerError, match="the key `n` stands twice"):
        partial.take_items()


def test_files_in_elements_are_those_that_are_known() -> None:
    """A handle that nobody gave out is refused at once."""

    class Nobody(Provenance):
        def admit(self, file: File) -> File:
            return file

        def resolve(self, file: File) -> File:
            raise ValueError("no tool returned it")

    shape = shape_of(list[File], "openai", files=True)
    partial = Partial(shape, Nobody())
    partial.feed('{"value": [{"path": "a"}, ')

    with pytest.raises(MismatchedAnswerError, match="no tool returned it"):
        partial.take_items()


@pytest.mark.parametrize("t", [dict[str, int], tuple[int, int], int, list[int] | None, Bounded])
def test_only_a_collection_has_elements(t: Any) -> None:
    """Of one type; all else is a mistake of the caller."""
    with pytest.raises(TypeError, match="items are those of a list"):
        Partial(shape_of(t, "openai")).take_items()


# Cost

SIZES = (4_000, 16_000)
MODELS: dict[str, tuple[Any, str, str, str]] = {
    "a long string": (str, '{"value": "', "words ", '"}'),
    "escapes": (str, '{"value": "', "\\n\\u00e9\\ud83d\\ude00", '"}'),
    "numbers": (list[int], '{"value": [1', ", 23456", "]}"),
    "one number": (list[float], '{"value": [0.', "123456", ", 1]}"),
    "a map": (dict[str, int], '{"value": [', "", "]}"),
    "a union": (list[Cat | Dog], '{"value": [null', ', {"kind": "cat", "lives": 9}', "]}"),
    "what is held back": (list[Any], '{"value": ["[1', ", 2", ']"]}'),
    "a thought": (list[int], "<think>", "well, ", '</think>{"value": [1]}'),
    "white space": (list[int], '{"value": ', "  \n", "[1]}"),
}


def text_of(name: str, size: int) -> tuple[Any, str]:
    t, before, each, after = MODELS[name]
    if each:
        return t, before + each * (size // len(each)) + after
    pairs = ", ".join(f'{{"key": "k{n}", "value": {n}}}' for n in range(size // 25))
    return t, before + pairs + after


def work(t: Any, text: str) -> int:
    """Calls, of Python and of C, that it takes to read *text* in pieces of four characters."""
    partial = Partial(shape_of(t, "openai"))
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        for at in range(0, len(text), 4):
            partial.feed(text[at : at + 4])
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", sorted(MODELS))
def test_work_is_in_proportion_to_the_text(name: str) -> None:
    """Four times the text is four times the calls, each of which sees one piece."""
    small, large = (text_of(name, size) for size in SIZES)
    ratio = len(large[1]) / len(small[1])

    assert work(*large) <= 1.05 * ratio * work(*small)


def test_a_thought_is_not_kept() -> None:
    """Nor looked at again."""
    partial = Partial(shape_of(Json, "open"))
    for _ in range(1000):
        partial.feed("<think>")

    assert sum(map(len, partial._scanner._token)) < 10


def test_a_string_is_copied_a_bounded_number_of_times() -> None:
    """Whoever holds on to what was shown: copies add up to a constant for each character."""
    size = 400_000
    partial = Partial(shape_of(list[str], "openai"))
    partial.feed('{"value": ["')
    copied, lag = 0, 0
    for at in range(0, size, 4):
        if partial.feed("abcd"):
            copied += len(partial.snapshot[0])
        lag = max(lag, (at + 4) / (len(partial.snapshot[0]) or 1))
    partial.feed('"')

    assert copied <= 260 * size
    assert lag < 1.01
    assert partial.snapshot == ["abcd" * (size // 4)]
