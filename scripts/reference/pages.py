"""Which pages there are, and what makes each."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from robota.cli.help.man_page import man_page
from robota.config.settings.schema import settings_schema
from robota.tools.registry import builtin_tools, made_schema, written_name
from scripts.reference.command_line import command_line
from scripts.reference.exit_codes import exit_code_page
from scripts.reference.hook_events import hook_events
from scripts.reference.protocol_schema import protocol_page
from scripts.reference.sdk import sdk_page
from scripts.reference.settings import settings_page
from scripts.reference.slash_commands import command_index, slash_commands

DOCS = Path(__file__).parents[2] / "docs"


def _settings_schema_file() -> str:
    return json.dumps(settings_schema(), indent=2) + "\n"


def _tool_schemas() -> str:
    """What the program reads at its start instead of making it."""
    schemas = {written_name(tool): made_schema(tool) for tool in builtin_tools()}
    return json.dumps(schemas, indent=1, ensure_ascii=False) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "../src/robota/tools/schemas.json": _tool_schemas,
    "../src/robota/commands/index.json": command_index,
    "commands-reference.md": slash_commands,
    "settings.schema.json": _settings_schema_file,
    "reference/command-line.md": command_line,
    "reference/settings.md": settings_page,
    "reference/exit-codes.md": exit_code_page,
    "reference/hook-events.md": hook_events,
    "reference/protocol-schema.md": protocol_page,
    "reference/sdk.md": sdk_page,
    "../packaging/robota.1": man_page,
}
