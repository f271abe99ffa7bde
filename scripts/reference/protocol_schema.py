"""The page with every shape of the protocol, made from its schema."""

from collections.abc import Iterator, Mapping
from typing import Any

from robota.protocol.schema import protocol_schema
from scripts.reference.schema_tables import shape_lines, type_words

HEAD = """\
# Protocol schema

Generated from the program by `make reference`. `robota protocol schema` prints the same as JSON Schema;
[the protocol](../protocol.md) explains the terms and how to write a client.
"""


def protocol_page() -> str:
    """Every message, command and event with its fields."""
    return "\n".join((HEAD, *_lines(protocol_schema())))


def _lines(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, shape in schema["properties"].items():
        yield f"- {name}: {type_words(shape)}"
    for name, shape in schema["$defs"].items():
        yield f"\n## {name}\n"
        yield from shape_lines(shape)
    yield ""
