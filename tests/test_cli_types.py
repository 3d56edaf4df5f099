"""Types written as text: what they mean, and what is said of texts that mean none."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Optional, Union
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingot import Json, Markdown, Text
from ingot._shape.shape import shape_of
from ingot.cli.types import parse_type
from ingot.errors import TypeExpressionError, UnsupportedTypeError

MEANT = {
    "str": str,
    "  int  ": int,
    "None": None,
    "Any": Any,
    "object": object,
    "list": list,
    "list[str]": list[str],
    "list[list[int]]": list[list[int]],
    "list[\n  int,\n]": list[int],
    "set[int]": set[int],
    "frozenset[int]": frozenset[int],
    "dict[str, int]": dict[str, int],
    "dict[str, list[int | None]]": dict[str, list[Optional[int]]],
    "Mapping[str, Any]": Mapping[str, Any],
    "Sequence[float]": Sequence[float],
    "tuple[int, str]": tuple[int, str],
    "tuple[int, ...]": tuple[int, ...],
    "tuple[()]": tuple[()],
    "int | None": Optional[int],
    "int | (str | float)": Union[int, str, float],
    "Optional[int]": Optional[int],
    "Union[int, str]": Union[int, str],
    "Union[int]": int,
    'Literal["a", "b"]': Literal["a", "b"],
    "Literal['a:b', 1, -1, True, None]": Literal["a:b", 1, -1, True, None],
    'Literal["[(", "a] b"] | None': Optional[Literal["[(", "a] b"]],
    'Literal["é", "\\n"]': Literal["é", "\n"],
    "List[Dict[str, Tuple[int, ...]]]": list[dict[str, tuple[int, ...]]],
    "typing.Optional[datetime.date]": Optional[date],
    "datetime": datetime,
    "datetime.datetime": datetime,
    "dict[date, time]": dict[date, time],
    "timedelta": timedelta,
    "decimal.Decimal": Decimal,
    "Decimal | UUID": Union[Decimal, UUID],
    "Text": Text,
    "Markdown": Markdown,
    "list[Json]": list[Json],
    "string": str,
    "string[]": list[str],
    "text": Text,
    "json[][]": list[list[Json]],
    "float[]": list[float],
    "ｉｎｔ": int,
    "decimal:Decimal": Decimal,
    "dict[str, fractions:Fraction]": None,
}


@pytest.mark.parametrize("text", MEANT)
def test_a_text_means_a_type(text: str) -> None:
    """Builtins, typing's words, ingot's types, dates and numbers, and Ingot's own names."""
    from fractions import Fraction

    expected = dict[str, Fraction] if "Fraction" in text else MEANT[text]

    assert expected == parse_type(text)


def test_the_order_of_a_union_is_kept() -> None:
    """Members stand in the schema as they were written, in which models try them."""
    assert "Union[str, int, NoneType]" in repr(parse_type("str | int | None")).replace(
        "typing.", ""
    )


@pytest.mark.parametrize("text", [t for t in MEANT if "fractions" not in t and t != "tuple[()]"])
def test_what_is_meant_can_be_asked_for(text: str) -> None:
    """A type that was read has a shape like one that Python wrote."""
    assert shape_of(parse_type(text), "open").kind in ("prose", "json", "schema")


EXAMPLES = 'write a type such as `list[str]`, `int | None`, `Literal["a", "b"]` or `module:Name`'

WRONG = {
    "": f": nothing is written; {EXAMPLES}",
    "lst[str]": ": at character 1: there is no type `lst`; did you mean 'list'?",
    "list[strr]": ": at character 6: there is no type `strr`; did you mean 'str'?",
    "list[string]": ": at character 6: there is no type `string`; did you mean 'str'?",
    "integer": ": at character 1: there is no type `integer`; did you mean 'int'?",
    "Invoice": ": at character 1: there is no type `Invoice`; "
    "a type of your own is written module:Invoice",
    "shop.Invoice": ": at character 1: there is no type `shop.Invoice`; "
    "did you mean 'shop:Invoice'?",
    "list[": ": at character 5: this is not how a type is written ('[' was never closed); "
    + EXAMPLES,
    "list[]": ": at character 6: nothing stands in the brackets; " + EXAMPLES,
    "str[]": ": at character 1: `str` is not one of Ingot's type names; did you mean 'string[]'?; "
    "a list of a type of your own is written list[module:Name]",
    "list[int, str]": ": at character 1: `list[…]` takes one type, and 2 are given",
    "dict[str]": ": at character 1: `dict[…]` takes two types, and 1 are given",
    "int[str]": ": at character 1: `int` takes no […]",
    "list[int][str]": ": at character 1: brackets may only follow a name; " + EXAMPLES,
    "int, str": ": at character 1: several types stand where one should; "
    "write tuple[A, B] for both, A | B for one of them",
    '"Invoice"': ": at character 1: a text stands where a type should; "
    "a class is written module:Name, a fixed text Literal['Invoice']",
    "Annotated[int, 3]": ": at character 1: Annotated cannot be written as text; "
    "define the type in a module, and write module:Name",
    "Literal[1.5]": ": at character 9: Literal takes texts, whole numbers, True, False and None",
    "Literal[b'a']": ": at character 9: Literal takes texts, whole numbers, True, False and None",
    "Literal[()]": ': at character 1: Literal holds no value; write Literal["a", "b"]',
    'list["é"] | lst': ": at character 6: a text stands where a type should; "
    "a class is written module:Name, a fixed text Literal['é']",
    'Literal["é"] | lst': ": at character 16: there is no type `lst`; did you mean 'list'?",
    "list[Optional]": f": at character 6: `Optional` says nothing without […]; {EXAMPLES}",
    "list[...]": f": at character 6: a value stands where a type should; {EXAMPLES}",
    "list[a :B]": f": at character 6: a colon stands where a type should; {EXAMPLES}",
    "__import__('os')": f": at character 1: a call stands where a type should; {EXAMPLES}",
    "list[__import__('os').system('x')]": ": at character 6: a call stands where a type should; "
    + EXAMPLES,
    "f'{1 + 1}'": f": at character 1: an f-string stands where a type should; {EXAMPLES}",
    "lambda: 0": f": at character 1: a lambda stands where a type should; {EXAMPLES}",
    "int & str": ": at character 1: an operator other than | stands where a type should; "
    + EXAMPLES,
    "(1).real": f": at character 2: a name is asked of something that is no module; {EXAMPLES}",
    "no_such_module:X": ": at character 1: there is no module `no_such_module`; "
    "modules of the working directory and installed ones can be named",
    "no_such.module:X": ": at character 1: there is no module `no_such`; "
    "modules of the working directory and installed ones can be named",
    "list[decimal:Decimel]": ": at character 6: `decimal` has no `Decimel`; "
    "did you mean 'Decimal'?",
    "os:getcwd": ": at character 1: `os:getcwd` is no type, "
    "but a value of type `builtin_function_or_method`",
    "os:sep": ": at character 1: `os:sep` is no type, but a value of type `str`",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_text_that_means_none_is_explained(text: str) -> None:
    """The message says where, what is wrong, and what is near or how it is done."""
    with pytest.raises(TypeExpressionError) as caught:
        parse_type(text)

    assert f"cannot ask for `{text}`{WRONG[text]}" == str(caught.value)


def test_an_undeclared_record_is_no_ingot_name() -> None:
    """Records are declared in artifacts, and the command line has none."""
    with pytest.raises(
        TypeExpressionError, match="`search_result` is not one of Ingot's type names"
    ):
        parse_type("search_result[]")


def test_binary_content_is_refused_as_such() -> None:
    """`file` is one of Ingot's names, and no model can write one."""
    with pytest.raises(UnsupportedTypeError, match="binary content") as caught:
        parse_type("file[]")

    assert UnsupportedTypeError is type(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "list[" * 5000 + "int" + "]" * 5000,
        "list[" * 100 + "int" + "]" * 100,
        "(" * 900,
        "-" * 1900 + "1",
        "not " * 400 + "1",
        "a" + ".a" * 900,
        "int" + " | int" * 300 + " |",
        "x" * 100_000,
        "string" + "[]" * 200,
        "int\0",
        "\ud800",
        "list[\udcff]",
        "Literal['\ud800'] | x",
        "\N{NO-BREAK SPACE}int\N{NO-BREAK SPACE}x",
        "😀",
        "int; import os",
        "import os",
        "int\\",
        "'" * 7,
        'Literal["a\nb"]',
        "{int: str}",
        "{a:b}",
        "[x for x in int]",
        "(x := int)",
        "await x",
        "yield",
        "*int",
        "list[*int]",
        "int if x else y",
        "a:b:c",
        ":x",
        "x:",
        "1:2",
        "1or 2",
        "Literal['\\d'] |",
        "Literal[" + "9" * 1900 + "] |",
        "__main__:__loader__.x",
        "os:environ",
        "sys:modules",
        "builtins:print",
        "list:append",
        "lambda:x",
        "decimal:Decimal.__class__.__mro__",
        "decimal:Decimal[int]",
        "typing:Generic[int]",
    ],
    ids=lambda text: text[:20].encode("unicode_escape").decode(),
)
def test_nasty_texts_give_the_one_error(text: str) -> None:
    """Whatever is written, the message is one bounded line and nothing is run."""
    with pytest.raises(TypeExpressionError) as caught:
        parse_type(text)

    assert len(str(caught.value)) < 500


@settings(max_examples=60)
@given(st.text(st.sampled_from(sorted("intlsdcA[](){},|.:'\"\\ \n\t-+*0é😀@=")), max_size=40))
def test_any_text_is_a_type_or_the_one_error(text: str) -> None:
    """There is no third way out."""
    try:
        parse_type(text)
    except UnsupportedTypeError as error:
        found = str(error)
    else:
        found = "cannot ask for nothing"

    assert found.startswith("cannot ask for ")


def test_a_type_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`module:Name` is imported from where the user stands; its prints go to stderr."""
    (tmp_path / "shop_a.py").write_text(
        "from typing import Generic, NewType, TypeVar\n"
        "from pydantic import BaseModel\n"
        "T = TypeVar('T')\n"
        "class Page(BaseModel, Generic[T]):\n    item: T\n"
        "class Outer:\n    class Inner(BaseModel):\n        n: int\n"
        "Tags = list[str]\n"
        "UserId = NewType('UserId', int)\n"
        "print('loud')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    inner = parse_type("shop_a:Outer.Inner")
    module = sys.modules.pop("shop_a")

    assert ("", "loud\n") == capfd.readouterr()
    assert module.Outer.Inner is inner
    sys.modules["shop_a"] = module
    assert Optional[list[inner]] == parse_type("list[shop_a:Outer.Inner] | None")
    assert list[str] == parse_type("shop_a:Tags")
    assert module.UserId is parse_type("shop_a:UserId")
    assert module.Page[int] is parse_type("shop_a:Page[int]")
    assert Union[module.UserId, inner] == parse_type("shop_a:UserId | shop_a:Outer.Inner")
    del sys.modules["shop_a"]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit('over')", "SystemExit: over"),
        ("def f(:", "SyntaxError: invalid syntax"),
    ],
)
def test_a_module_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    """What went wrong in someone else's module is said in one line."""
    (tmp_path / "shop_b.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(TypeExpressionError) as caught:
        parse_type("list[shop_b:X]")

    assert f"at character 6: the module `shop_b` does not import: {reason}" in str(caught.value)
