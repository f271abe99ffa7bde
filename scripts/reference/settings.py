"""The page on settings, made from their schema."""

from collections.abc import Iterator, Mapping
from typing import Any

from robota.config.settings.schema import settings_schema
from scripts.reference.schema_tables import shape_lines, table

HEAD = """\
# Settings

Made from the program by `make reference`. [Configuration](../configuration.md) says which files there are and which of
them wins; [settings.schema.json](../settings.schema.json) is the same as JSON Schema, for editors. `robota config
show --origin` shows what holds here and which file said so.
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
