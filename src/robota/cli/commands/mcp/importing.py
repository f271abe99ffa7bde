"""`robota mcp import`: import the MCP servers of another agent as entries."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Final

from robota.cli.commands.mcp.entries import file_of_scope
from robota.cli.output import print_json
from robota.config.paths import home_directory
from robota.extensions.mcp.definitions import problem_with_server
from robota.extensions.mcp.foreign_entries import ForeignEntry, read_foreign_entries
from robota.secrets.named_values import mask_settings
from robota.text.visible import single_line

EXIT_SUCCESS: Final = 0
EXIT_FAILED: Final = 1


def run(options: argparse.Namespace) -> int:
    """Run the action; returns 0 if every requested server exists now."""
    root: Path = options.root
    found = read_foreign_entries(options.agent, root, home_directory(os.environ), options.file)
    missing = [name for name in options.names if all(entry.name != name for entry in found)]
    for name in missing:
        print(f"robota: {options.agent} has no MCP server {single_line(name)!r}.", file=sys.stderr)
    wanted = [entry for entry in found if not options.names or entry.name in options.names]
    if not wanted:
        print(f"{options.agent} has no MCP servers to import.")
    file = file_of_scope(options.scope, root, os.environ)
    there = file.entries()
    is_complete = not missing
    for foreign in wanted:
        problem = _problem_with(foreign, there, replace=options.replace)
        if problem is not None:
            is_complete = False
            print(f"robota: {single_line(foreign.name)} was skipped: {problem}.", file=sys.stderr)
            continue
        there[foreign.robota_name] = foreign.entry
        if not options.dry_run:
            file.write(foreign.robota_name, foreign.entry, os.environ, replaces=options.replace)
        _tell(foreign, f"would be added to {file.path}" if options.dry_run else f"was added to {file.path}")
    return EXIT_SUCCESS if is_complete else EXIT_FAILED


def _problem_with(foreign: ForeignEntry, there: dict[str, Any], *, replace: bool) -> str | None:
    problem = problem_with_server(foreign.robota_name, foreign.entry)
    if problem is None and foreign.robota_name in there and not replace:
        return f"there is already a server {foreign.robota_name} (--replace replaces it)"
    return problem


def _tell(foreign: ForeignEntry, what: str) -> None:
    renamed = "" if foreign.robota_name == foreign.name else f" as {foreign.robota_name}"
    print(f"{single_line(foreign.name)} of {single_line(foreign.where, 4096)} {what}{renamed}:")
    print_json(mask_settings(foreign.entry))
    if foreign.left_out:
        print(f"  without {', '.join(map(single_line, foreign.left_out))}, which Robota does not support")
