"""Ingot's own type names, against what its own runtime does with them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from ingot import typenames
from ingot._json import canonical
from ingot.errors import UnsupportedTypeError
from ingot.typenames import Record, ResponseShape, loads, response_shape, type_schema, validate

VECTORS = Path(__file__).resolve().parents[2] / "shared" / "vectors"

RECORDS: dict[str, Record] = {
    "item": {"fields": [{"name": "title", "type": "string"}, {"name": "score", "type": "int"}]},
    "page": {"fields": [{"name": "items", "type": "item[]"}, {"name": "best", "type": "item"}]},
    "twice": {"fields": [{"name": "a", "type": "int"}, {"name": "a", "type": "string"}]},
    "mail": {"fields": [{"name": "enclosed", "type": "file[]"}]},
    "node": {"fields": [{"name": "value", "type": "int"}, {"name": "next", "type": "node[]"}]},
    "hen": {"fields": [{"name": "lays", "type": "egg"}]},
    "egg": {"fields": [{"name": "becomes", "type": "hen"}]},
    "int": {"fields": [{"name": "never_seen", "type": "string"}]},
}
ITEM = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "score": {"type": "integer"}},
    "required": ["title", "score"],
    "additionalProperties": False,
}


def vectors(name: str) -> list[Any]:
    """The lines of a table of upstream vectors; where it is not at hand, the test is skipped."""
    path = VECTORS / name
    if not path.is_file():
        pytest.skip(f"no upstream vectors at {path}")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def shape_of(op: str, ty: str, types: dict[str, Any]) -> dict[str, Any]:
    """What we say of a type, laid out as the vectors are."""
    try:
        if op == "schema":
            schema = type_schema(ty, types)
            return {"ok": schema, "ok_text": canonical(schema)}
        shape = response_shape(ty, types)
    except UnsupportedTypeError as error:
        return {"err": {"ty": error.target, "reason": error.reason}}
    if shape.kind != "schema":
        return {"ok": {"kind": shape.kind}}
    text = canonical(shape.schema)
    facts = {"schema": shape.schema, "schema_text": text, "wrapped": shape.wrapped}
    return {"ok": {"kind": "schema", **facts}}


def verdict_on(text: str, ty: str, types: dict[str, Any]) -> dict[str, Any]:
    """What we say of a value, laid out as the vectors are."""
    try:
        value = loads(text)
    except ValueError:
        return {"parse_error": True}
    mismatch = validate(value, ty, types)
    return {"ok": True} if mismatch is None else {"err": mismatch}


def test_shapes_are_those_of_the_runtime() -> None:
    """Each type is asked for, or refused, as Ingot's own runtime does it."""
    for line, vector in enumerate(vectors("ingot_shape.jsonl"), 1):
        asked = vector["input"]

        assert vector["expect"] == shape_of(asked["op"], asked["ty"], asked["types"]), line


def test_verdicts_are_those_of_the_runtime() -> None:
    """Each value passes, or fails with the text, as in Ingot's own runtime, parser prose aside."""
    for line, vector in enumerate(vectors("ingot_validate.jsonl"), 1):
        asked, expected = vector["input"], vector["expect"]
        if "parse_error" in expected:
            expected = {"parse_error": True}

        assert expected == verdict_on(asked["value_text"], asked["ty"], asked["types"]), line


@pytest.mark.parametrize("ty", ["text", "markdown"])
def test_prose_is_not_constrained(ty: str) -> None:
    """Writing is asked for as plain text."""
    assert ResponseShape("prose") == response_shape(ty, {})


def test_json_is_free() -> None:
    """`json` is parsed and not constrained."""
    assert ResponseShape("freeJson") == response_shape("json", {})


def test_what_is_no_object_is_wrapped() -> None:
    """A list stands under `value`, because vendors want an object at the root."""
    schema = {
        "type": "object",
        "properties": {"value": {"type": "array", "items": {"type": "string"}}},
        "required": ["value"],
        "additionalProperties": False,
    }

    assert ResponseShape("schema", schema, wrapped=True) == response_shape("string[]", {})


def test_a_record_is_not_wrapped() -> None:
    """A record is an object already."""
    assert ResponseShape("schema", ITEM) == response_shape("item", RECORDS)


def test_properties_keep_the_declared_order() -> None:
    """Models fill in fields in the order in which the schema lists them."""
    assert ["title", "score"] == list(type_schema("item", RECORDS)["properties"])


def test_records_are_written_out_where_they_are_named() -> None:
    """A schema holds no references."""
    expected = {"items": {"type": "array", "items": ITEM}, "best": ITEM}

    assert expected == type_schema("page", RECORDS)["properties"]


def test_no_two_schemas_share_a_part() -> None:
    """Whoever changes one part of a schema changes no other."""
    schema = type_schema("page", RECORDS)["properties"]
    schema["best"]["properties"].clear()

    assert ITEM == schema["items"]["items"]


def test_of_two_fields_with_one_name_the_last_makes_the_schema() -> None:
    """The property is the last one's; the list of required names has both."""
    schema = type_schema("twice", RECORDS)

    assert ({"a": {"type": "string"}}, ["a", "a"]) == (schema["properties"], schema["required"])


def test_a_built_in_type_wins_over_a_record_of_its_name() -> None:
    """Nobody can redefine `int`."""
    assert {"type": "integer"} == type_schema("int", RECORDS)


def test_a_refusal_names_the_inner_type_and_the_field() -> None:
    """Of a list of records of files it is the file that cannot be asked for."""
    with pytest.raises(UnsupportedTypeError, match="in field `enclosed`") as caught:
        response_shape("mail[]", RECORDS)

    assert ("file", ("enclosed",)) == (caught.value.target, caught.value.path)


@pytest.mark.parametrize(
    ("ty", "cycle"),
    [("node", "node → node"), ("hen[]", "hen → egg → hen"), ("egg", "egg → hen → egg")],
)
@pytest.mark.parametrize("build", ["type_schema", "response_shape"])
def test_a_record_that_holds_itself_has_no_schema(build: str, ty: str, cycle: str) -> None:
    """The error names the whole circle."""
    with pytest.raises(UnsupportedTypeError) as caught:
        getattr(typenames, build)(ty, RECORDS)

    expected = f"the record refers to itself ({cycle}), which has no finite schema"
    assert expected == caught.value.reason


def test_a_list_may_be_nested_at_will() -> None:
    """The depth of a type name is not bounded by Python's stack."""
    schema = type_schema("int" + "[]" * 5000, {})

    assert "array" == schema["type"]


@pytest.mark.parametrize(
    "declaration",
    [
        {},
        {"fields": None},
        {"fields": "name"},
        {"fields": {"name": "string"}},
        {"fields": ["name"]},
        {"fields": [{"name": "a"}]},
        {"fields": [{"name": "a", "type": 1}]},
        {"fields": [{"name": None, "type": "int"}]},
        [],
        None,
    ],
)
def test_a_malformed_declaration_is_refused(declaration: Any) -> None:
    """It is the declaration that is blamed, by schema and check alike."""
    types = {"broken": declaration}
    for call in (lambda: type_schema("broken[]", types), lambda: validate({}, "broken", types)):
        with pytest.raises(UnsupportedTypeError, match="declaration is malformed") as caught:
            call()

        assert "broken" == caught.value.target


@pytest.mark.parametrize(
    ("value", "ty", "expected"),
    [
        ("x", "string", None),
        (True, "int", "expected `int`, found a boolean"),
        (1.0, "int", "expected `int`, found a number"),
        (2**64 - 1, "int", None),
        (2**64, "int", "expected `int`, found a number"),
        (-(2**63), "int", None),
        (-(2**63) - 1, "int", "expected `int`, found a number"),
        (1, "float", None),
        (False, "float", "expected `float`, found a boolean"),
        (
            float("nan"),
            "float",
            "expected `float`, found nan, which JSON has no number for",
        ),
        (1, "bool", "expected `bool`, found a number"),
        ("not base64!", "bytes", None),
        (None, "json", None),
        (["a", 2], "string[]", "at index 1: expected `string`, found a number"),
        ("a", "string[][]", "expected `string[][]`, found a string"),
        ({"title": "t"}, "item", "`item` is missing field `score`"),
        ({"title": "t", "score": 1, "more": 2}, "item", None),
        (
            {"items": [{"title": "t", "score": "1"}], "best": None},
            "page",
            "in field `items`: at index 0: in field `score`: expected `int`, found a string",
        ),
        ({"path": "a", "size": 1}, "file", None),
        ("a", "file", "expected `file` (an object with a `path`), found a string"),
        ({"size": 1}, "file", "`file` is missing field `path`"),
        (
            {"path": 1},
            "file",
            "`file` has a `path` that is a number, and it must be a string",
        ),
        ([], "nothing[]", None),
        ([1], "nothing[]", "at index 0: unknown type `nothing`"),
    ],
)
def test_the_first_mismatch_is_named(value: Any, ty: str, expected: str | None) -> None:
    """A value fits as it is, or the first place that does not is told."""
    assert expected == validate(value, ty, RECORDS)


def test_a_record_that_holds_itself_can_be_checked() -> None:
    """A value has an end, even if its type has none, and the reader's limit is within reach."""
    text = '{"value": 0, "next": []}'
    for _ in range(62):
        text = f'{{"value": 1, "next": [{text}]}}'

    assert {"ok": True} == verdict_on(text, "node", RECORDS)
    assert {"parse_error": True} == verdict_on(f"[[{text}]]", "node[][]", RECORDS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("-0", -0.0),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", -(2.0**63)),
        ("1" + "0" * 300, 1e300),
        ("1e-400", 0.0),
        ("-1e-400", -0.0),
        ("0e999", 0.0),
        ("5e-324", 5e-324),
        ("1" + "0" * 5000 + "e-5000", 1.0),
        ("1e" + "0" * 5000 + "1", 10.0),
        ("12.5E+1", 125.0),
        ('{"a": 1, "b": 2, "a": 3}', {"a": 3, "b": 2}),
        ('"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
        ('"\\\\ud83d"', "\\ud83d"),
    ],
)
def test_numbers_and_texts_are_read_as_the_runtime_reads_them(text: str, expected: Any) -> None:
    """Integers within 64 bits are int, all else is float, and the last of equal keys counts."""
    assert repr(expected) == repr(loads(text))


def test_brackets_in_strings_do_not_nest() -> None:
    """The limit of 127 is one of arrays and objects."""
    text = "[" * 127 + r'"[[{{\""' + "]" * 127

    assert text == json.dumps(loads(text))


def test_a_float_is_one_product_of_its_digits_and_a_power_of_ten() -> None:
    """The last bit is the runtime's, because digests are taken over what it read."""
    assert 1.0000000000000001e-23 == loads("1e-23")
    assert 18446744073709551613.0 == loads("18446744073709551616.3")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expecting value at line 1, column 1"),
        ("[1,\n 2", "expecting ',' delimiter at line 2, column 3"),
        ('"a', "unterminated string starting at line 1, column 1"),
        ("NaN", "no number for NaN"),
        ("[-Infinity]", "no number for -Infinity"),
        ("1e400", "1e400 is out of range"),
        ("-1.8e308", "-1.8e308 is out of range"),
        ("9" * 400, "is out of range"),
        ("1e99999999999999999999", "is out of range"),
        ("\ufeff1", "at line 1, column 1"),
        ('"\\ud800"', "half of a surrogate pair"),
        ('"\\ud83d\\u0041"', "half of a surrogate pair"),
        ('{"\\udc00": 1}', "half of a surrogate pair"),
        ('"\ud800"', "half of a surrogate pair"),
        ("[" * 128 + "]" * 128, "nested more than 127 deep"),
        ('{"a":' * 100_000, "nested more than 127 deep"),
    ],
)
def test_what_is_no_json_is_refused(text: str, reason: str) -> None:
    """The error says what is wrong, and where it can."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared below
        loads(text)

    assert reason in str(caught.value)


def test_type_names_stand_for_python_types() -> None:
    """Lists, scalars and content types are those that `ask` takes."""
    content = pytest.importorskip("ingot._shape.content")
    expected = [list[list[str]], int, float, bool, content.Text, content.Markdown, content.Json]
    names = ["string[][]", "int", "float", "bool", "text", "markdown", "json"]

    assert expected == [typenames.to_python(name, {}) for name in names]


def test_a_record_stands_for_a_typed_dict() -> None:
    """Its fields are required and in order, and it is one class wherever it is named."""
    pytest.importorskip("ingot._shape.content")
    page = typenames.to_python("page", RECORDS)
    item = page.__annotations__["best"]

    assert ["items", "best"] == list(page.__annotations__)
    assert (item,) == get_args(page.__annotations__["items"])
    assert [("title", str), ("score", int)] == list(item.__annotations__.items())
    assert ("item", frozenset({"title", "score"})) == (item.__name__, item.__required_keys__)


@pytest.mark.parametrize("ty", ["bytes", "mail", "nothing[]", "node"])
def test_what_has_no_schema_has_no_python_type(ty: str) -> None:
    """The refusal is the one of `type_schema`."""
    pytest.importorskip("ingot._shape.content")
    with pytest.raises(UnsupportedTypeError) as schema:
        type_schema(ty, RECORDS)
    with pytest.raises(UnsupportedTypeError) as python:
        typenames.to_python(ty, RECORDS)

    assert str(schema.value) == str(python.value)


def test_the_import_is_light() -> None:
    """Reading type names needs neither pydantic nor typing_extensions."""
    heavy = "{'pydantic', 'typing_extensions'}"
    code = f"import sys, ingot.typenames; print({heavy} & set(sys.modules))"
    done = subprocess.run(  # noqa: S603 - our own interpreter and a constant
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert "set()" == done.stdout.strip()
