"""The page on settings, made from their schema."""

from collections.abc import Iterator, Mapping
from typing import Any

from robota.config.settings.schema import settings_schema
from scripts.reference.schema_tables import shape_lines, table

HEAD = """\
# Settings

Generated from the program by `make reference`. [Configuration](../configuration.md) lists the settings files and their
precedence; [settings.schema.json](../settings.schema.json) is the same as JSON Schema, for editors. `robota config
show --origin` prints the effective settings and where each one comes from.
"""


def settings_page() -> str:
    """Every key of a settings file, section by section."""
    return "\n".join((HEAD, *_lines(settings_schema())))


def _lines(schema: Mapping[str, Any]) -> Iterator[str]:
    yield from table(schema)
    for name, shape in schema["$defs"].items():
        yield f"\n## {name}\n"
        yield from shape_lines(shape)
    yield ""
