"""Name, description and schema of an MCP tool as sent to models: valid, visible and limited."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.extensions.mcp.mcp_tool import read_arguments
from robota.extensions.mcp.remote_tool import RemoteTool, UnusableTool, offered_description, offered_schema, tool_name
from robota.text.visible import visible

OBJECT: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}


@given(st.text())
def test_every_tool_name_is_valid_for_providers(tool: str) -> None:
    name = tool_name("server", tool)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) and name.startswith("mcp__server__")


def test_long_names_that_differ_only_at_the_end_stay_different() -> None:
    assert tool_name("s", "x" * 80 + "a") != tool_name("s", "x" * 80 + "b")


@given(st.text())
def test_invisible_characters_are_spelled_out_in_a_description(text: str) -> None:
    described = offered_description(RemoteTool(name="t", description=text))
    assert described.replace("\n", "").replace("\t", "").isprintable() or any(c.isspace() for c in described)
    assert len(described.encode()) <= 2048 + len(" […]".encode())


def test_invisible_characters_are_spelled_out_in_a_schema() -> None:
    assert visible("a\U000e0041\u202eb") == "a‹U+E0041›‹U+202E›b"
    schema = {"type": "object", "properties": {"description": {"type": "string", "description": "x\u200by"}}}
    shown = offered_schema(RemoteTool(name="t", schema=schema))
    assert shown["properties"]["description"] == {"type": "string", "description": "x‹U+200B›y"}


def test_a_long_description_is_cut_at_two_kilobytes_and_not_inside_a_character() -> None:
    described = offered_description(RemoteTool(name="t", description="ü" * 3000))
    assert described == "ü" * 1024 + " […]"


def test_top_level_keywords_that_providers_refuse_are_removed() -> None:
    schema = {**OBJECT, "anyOf": [{}], "$schema": "x"}
    assert offered_schema(RemoteTool(name="t", schema=schema)) == OBJECT
    assert offered_schema(RemoteTool(name="t")) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a b": {}}},
        {"type": "object", "required": "a"},
        {"type": "object", "required": [[]]},
        {"type": "object", "description": "x" * 70_000},
    ],
)
def test_an_invalid_schema_makes_a_tool_unusable(schema: dict[str, Any]) -> None:
    with pytest.raises(UnusableTool):
        offered_schema(RemoteTool(name="t", schema=schema))


def test_every_part_of_a_definition_counts_for_its_digest() -> None:
    tool = RemoteTool(name="t", description="d", schema={"a": 1, "b": 2})
    same = RemoteTool(name="t", description="d", schema={"b": 2, "a": 1})
    others: list[dict[str, Any]] = [{"name": "u"}, {"description": "e"}, {"schema": {"a": 1}}]
    assert same.digest == tool.digest
    assert all(msgspec.structs.replace(tool, **change).digest != tool.digest for change in others)


def test_arguments_are_checked_for_missing_and_unknown_names() -> None:
    assert read_arguments({"a": "5", "b": "6"}, OBJECT).values == {"a": 5, "b": "6"}
    assert read_arguments({"a": "five"}, OBJECT).values == {"a": "five"}
    with pytest.raises(msgspec.ValidationError, match="missing required field `a`"):
        read_arguments({"b": 1}, OBJECT)
    with pytest.raises(msgspec.ValidationError, match="unknown field `c`"):
        read_arguments({"a": 1, "c": 1}, {**OBJECT, "additionalProperties": False})
    assert read_arguments({"a": 1, "c": 1}, OBJECT).values == {"a": 1, "c": 1}
    assert read_arguments({"a": 1, "c": 1}, {**OBJECT, "additionalProperties": True}).values == {"a": 1, "c": 1}
    assert read_arguments({"c": 1}, {"type": "object", "properties": {}}).values == {"c": 1}
