"""JSON Schema as Gemini takes it."""

from typing import Any

import pytest
from hypothesis import given

from robota.providers.wire.gemini.schema import KEPT, gemini_schema
from robota.tools.registry import builtin_tools, schema_of
from tests.providers.wire_shapes import json_of

ALLOWED = KEPT | {"format", "enum", "properties", "items", "anyOf"}


@pytest.mark.parametrize(
    ("schema", "reduced"),
    [
        ({"type": "string", "$schema": "x", "default": "y", "examples": []}, {"type": "string"}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        (
            {"type": ["string", "integer"]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"type": "integer", "nullable": True}),
        (
            {"oneOf": [{"type": "string"}, {"type": "array"}]},
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        ),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
        ({"type": "string", "format": "uri"}, {"type": "string"}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        (
            {"allOf": [{"type": "string"}, {"minLength": 1}], "description": "d"},
            {"type": "string", "minLength": 1, "description": "d"},
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "required": ["a", "b"],
                "additionalProperties": False,
            },
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        ),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/B"}}, "B": {"const": 1}}},
            {"type": "array", "items": {"type": "number"}},
        ),
    ],
)
def test_what_becomes_of_it(schema: dict[str, Any], reduced: dict[str, Any]) -> None:
    assert gemini_schema(schema) == reduced


def test_a_schema_that_holds_itself_comes_to_an_end() -> None:
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}}}
    assert gemini_schema({"$ref": "#/$defs/Node", "$defs": {"Node": node}})["properties"]["child"]["type"] == "object"
    assert gemini_schema({"$ref": "#"}) == {}
    twice = {"type": "object", "properties": {name: {"$ref": "#/$defs/A"} for name in "abcdefgh"}}
    assert len(gemini_schema({"$defs": {"A": twice}, "$ref": "#/$defs/A"})["properties"]) == 8


def test_an_optional_object_keeps_its_properties() -> None:
    point = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    schema = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/P"}], "default": None, "$defs": {"P": point}}
    assert gemini_schema(schema) == {**point, "nullable": True}
    both = {"allOf": [point, {"properties": {"y": {"type": "string"}}, "required": ["y"]}]}
    assert gemini_schema(both) == {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "string"}},
        "required": ["x", "y"],
    }


def test_our_own_tools_keep_all_their_parameters() -> None:
    for tool in builtin_tools():
        schema = schema_of(tool)
        reduced = gemini_schema(schema)
        assert reduced.get("properties", {}).keys() == schema.get("properties", {}).keys()
        assert_allowed(reduced)


WORDS = "type properties required items anyOf oneOf allOf $ref $defs #/$defs/type enum const format null object"


@given(json_of(WORDS))
def test_any_schema_gives_one_that_the_server_takes(schema: Any) -> None:
    assert_allowed(gemini_schema(schema if isinstance(schema, dict) else {}))


def assert_allowed(schema: dict[str, Any]) -> None:
    assert schema.keys() <= ALLOWED
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    if "items" in schema:
        inner.append(schema["items"])
    for each in inner:
        assert_allowed(each)
