"""T as JSON Schema, as pydantic tells it, with ingot's marks where a vendor needs another form."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError

from ingot._json import canonical, is_array, is_object
from ingot._shape.nodes import inlined, references
from ingot._shape.readable import Unaskable, check_keys, check_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

__all__ = ["MARK", "PLACES", "Unaskable", "source_schema"]

MARK = "x-ingot"
"""Keyword under which a node says what it is, where JSON Schema alone would leave it open."""

PLACES = "x-ingot-places"
"""Keyword under which an object says where a property stands in T, and what its class calls it."""


class _Source(GenerateJsonSchema):
    """Pydantic's generator, which marks what vendors want otherwise and refuses binary."""

    files: ClassVar[bool] = False

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._defined: dict[str, Any] = {}

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        """Write out what a schema of the caller's own defines for itself."""
        made = super().generate_inner(schema)
        return inlined(made) if "$defs" in made or "definitions" in made else made

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        """Keep the order of declaration: models write fields in schema order."""
        return value

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Leave out titles that are made from the field's name."""
        return False

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Say nothing: what cannot be sent is refused elsewhere."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonSchemaValue:
        """Refuse, also inside a union, from which pydantic would silently drop the member."""
        raise Unaskable(error_info)

    def encode_default(self, dft: Any) -> Any:
        """Leave out a default that is no JSON, or that pydantic would take for a reference."""
        made = super().encode_default(dft)
        if _refers(made):
            raise PydanticSerializationError("a key of it is `$ref` or `$defs`")
        try:
            canonical(made)
        except ValueError as error:  # infinite
            raise PydanticSerializationError(str(error)) from error
        return made

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Leave out the title that is the class's name; what the caller calls it stays."""
        return _untitled(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """Likewise."""
        return _untitled(super().dataclass_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        """Likewise; and mark the places."""
        made = _untitled(super().typed_dict_schema(schema), schema.get("cls"))
        return self._placed(made, schema["fields"].items())

    def model_fields_schema(self, schema: core_schema.ModelFieldsSchema) -> JsonSchemaValue:
        """Mark the places."""
        return self._placed(super().model_fields_schema(schema), schema["fields"].items())

    def dataclass_args_schema(self, schema: core_schema.DataclassArgsSchema) -> JsonSchemaValue:
        """Mark the places."""
        fields = ((field["name"], field) for field in schema["fields"])
        return self._placed(super().dataclass_args_schema(schema), fields)

    def _placed(self, made: JsonSchemaValue, fields: Iterable[tuple[str, Any]]) -> JsonSchemaValue:
        """Mark the properties that have another name in the class, or stand deeper in T."""
        places: dict[str, Any] = {}
        by_alias = getattr(getattr(self, "_config", None), "validate_by_alias", True)
        for name, field in fields:
            alias: Any = field.get("validation_alias", name)
            if by_alias is False or alias == name:
                continue
            # One name, one path, or several paths.
            paths: list[list[str | int]] = (
                [[alias]] if isinstance(alias, str) else alias if is_array(alias[0]) else [alias]
            )
            names = [str(path[0]) for path in paths if len(path) == 1]
            wire = next((n for n in names if n in made["properties"]), name)
            if wire in made["properties"]:
                places[wire] = {"attribute": name, "place": [] if wire in names else paths[0]}
        return {**made, PLACES: places} if places else made

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> JsonSchemaValue:
        """Refuse: pydantic would check the items only as they are taken."""
        raise Unaskable("its items are checked only as they are taken; declare a list", said=True)

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        """Refuse: a class has no JSON."""
        raise Unaskable("a class")

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        """Refuse members that no JSON is read as."""
        if not schema["members"]:
            raise Unaskable("it has no members", said=True)
        if schema.get("missing") is None:
            for member in schema["members"]:
                check_value(member.value)
        return super().enum_schema(schema)

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        """Likewise."""
        for value in schema["expected"]:
            check_value(value.value if isinstance(value, Enum) else value)
        return super().literal_schema(schema)

    def definitions_schema(self, schema: core_schema.DefinitionsSchema) -> JsonSchemaValue:
        """Keep the definitions, for the keys of maps."""
        self._defined.update({part.get("ref", ""): part for part in schema["definitions"]})
        return super().definitions_schema(schema)

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        """Refuse."""
        raise Unaskable("binary")

    def function_plain_schema(self, schema: Any) -> JsonSchemaValue:
        """Mark a handle, or refuse it; leave other types with their own validator to pydantic."""
        function = schema.get("function", {}).get("function")
        if getattr(function, "__qualname__", "") != "File._validate":
            return super().function_plain_schema(schema)
        if not self.files:
            raise Unaskable("binary")
        return {"type": "object", MARK: "file", "properties": {"path": {"type": "string"}}}

    def any_schema(self, schema: core_schema.AnySchema) -> JsonSchemaValue:
        """Mark what may be anything."""
        return {MARK: "any"}

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """A decimal travels as a string, which keeps its digits."""
        places = schema.get("decimal_places")
        after = "+" if places is None else f"{{1,{places}}}"
        fraction = "" if places == 0 else f"([.][0-9]{after})?"
        out: JsonSchemaValue = {
            "type": "string",
            MARK: "decimal",
            "pattern": f"^-?[0-9]+{fraction}$",
        }
        for word, keyword in _BOUNDS.items():
            if schema.get(word) is not None:
                out[keyword] = str(schema[word])  # type: ignore[literal-required]
        return out

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Mark a map, and keep what its keys must be."""
        keys: Any = schema.get("keys_schema")
        if keys is not None and keys["type"] == "definition-ref":
            keys = self._defined.get(keys["schema_ref"])
        named = self._part(schema, "keys_schema")
        check_keys(keys, named)
        out: JsonSchemaValue = {
            "type": "object",
            MARK: "map",
            "keys": named,
            "values": self._part(schema, "values_schema"),
        }
        self.update_with_validations(out, schema, self.ValidationsMapping.object)
        return out

    def ordered_dict_schema(self, schema: Any) -> JsonSchemaValue:
        """A map, too."""
        return self.dict_schema(schema)

    def counter_schema(self, schema: Any) -> JsonSchemaValue:
        """A map to whole numbers."""
        return {
            "type": "object",
            MARK: "map",
            "keys": self._part(schema, "keys_schema"),
            "values": {"type": "integer"},
        }

    def frozendict_schema(self, schema: Any) -> JsonSchemaValue:
        """A map, too."""
        return self.dict_schema(schema)

    def _part(self, schema: Mapping[str, Any], name: str) -> JsonSchemaValue:
        part = schema.get(name)
        return {MARK: "any"} if part is None else self.generate_inner(part)

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        """Mark a tuple of places; a variadic one is a list."""
        items = schema["items_schema"]
        variadic = schema.get("variadic_item_index")
        if variadic is None:
            prefix = [self.generate_inner(item) for item in items]
            return {"type": "array", MARK: "tuple", "prefixItems": prefix}
        if variadic != len(items) - 1:
            raise Unaskable("a tuple with places after the part that repeats")
        rest = self.generate_inner(items[variadic])
        if variadic:
            prefix = [self.generate_inner(item) for item in items[:variadic]]
            return {"type": "array", MARK: "tuple", "prefixItems": prefix, "items": rest}
        out: JsonSchemaValue = {"type": "array", "items": rest}
        self.update_with_validations(out, schema, self.ValidationsMapping.array)
        return out

    def named_tuple_schema(self, schema: Any) -> JsonSchemaValue:
        """A tuple whose places have names travels as an object."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        for field in schema["fields"]:
            alias = field.get("validation_alias")
            name = alias if isinstance(alias, str) else field["name"]
            properties[name] = self.generate_inner(field["schema"]).copy()
            if field["schema"]["type"] != "default":
                required.append(name)
        return {"type": "object", MARK: "named", "properties": properties, "required": required}

    def call_schema(self, schema: Any) -> JsonSchemaValue:
        """A NamedTuple, as pydantic before 2.14 describes it."""
        arguments = schema["arguments_schema"]
        if not issubclass(schema["function"], tuple):
            return super().call_schema(schema)
        return self.named_tuple_schema(
            {
                "fields": [
                    {"name": field["name"], "schema": field["schema"]}
                    for field in arguments["arguments_schema"]
                ]
            }
        )


class _SourceWithFiles(_Source):
    files = True


def _refers(value: Any) -> bool:
    if is_object(value):
        return not value.keys().isdisjoint(("$ref", "$defs")) or any(map(_refers, value.values()))
    return is_array(value) and any(map(_refers, value))


def _untitled(made: JsonSchemaValue, cls: type[Any] | None) -> JsonSchemaValue:
    if cls is not None and made.get("title") == cls.__name__:
        del made["title"]
    return made


_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "max_digits": "maxDigits",
    "decimal_places": "decimalPlaces",
}


def source_schema(adapter: TypeAdapter[Any], *, files: bool = False) -> dict[str, Any]:
    """
    Return the marked JSON Schema of what *adapter* accepts.

    Args:
        adapter: Pydantic's validator of T.
        files: Whether handles of files may be asked for.

    Raises:
        Unaskable: A part of the type has no JSON.
    """
    source = _SourceWithFiles if files else _Source
    try:
        schema = adapter.json_schema(mode="validation", by_alias=True, schema_generator=source)
    except KeyError as error:
        raise Unaskable(f"its JSON Schema refers to {error.args[0]!r}", said=True) from error
    for reference in references(schema):
        if reference.removeprefix("#/$defs/") not in schema.get("$defs", ()):
            raise Unaskable(f"its JSON Schema refers to {reference!r}", said=True)
    for node in (schema, *schema.get("$defs", {}).values()):
        if "enum" in node or "const" in node:
            # Pydantic calls an enum by its class, after all that can be overridden.
            node.pop("title", None)
    return schema
