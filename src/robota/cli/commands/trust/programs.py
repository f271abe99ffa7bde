"""Ask about files of a workspace that programs outside the sandbox run, when they changed since the user agreed."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from robota.app.extensions import configured_servers, outside_code, session_plugins
from robota.app.hooks import add_hook_programs
from robota.cli.output import print_prose
from robota.cli.questions import Cancelled, confirm
from robota.config.settings.load import Settings
from robota.config.trust.change_text import change_lines
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.workspace.outside_code.outside_code import OutsideCode


def print_files_wanted(settings: Settings, root: Path, env: Mapping[str, str]) -> bool:
    """List what hooks, MCP servers and the status line would run of the workspace; returns whether there is any."""
    code = _code(settings, root, env)
    names = () if code is None else code.wanted()
    if names:
        print_prose("Your hooks, MCP servers or status line would run files of it, outside the sandbox:")
        for name in names:
            print_prose(f"  {single_line(name, 4096)}")
    return bool(names)


def agree_to_programs(settings: Settings, root: Path, env: Mapping[str, str]) -> None:
    """Agree to all such files as they are now, and list them."""
    code = _code(settings, root, env)
    names = () if code is None else code.agree_to_all()
    if names:
        print_prose("These run outside the sandbox, and are protected from commands and unasked edits:")
        for name in names:
            print_prose(f"  {single_line(name, 4096)}")


def ask_about_programs(settings: Settings, root: Path, env: Mapping[str, str]) -> bool:
    """Show what changed, and ask, program by program; returns whether all may run now."""
    code = _code(settings, root, env)
    all_run = True
    for changed in () if code is None else code.changed():
        print_prose(f"The {single_line(changed.program.label, 4096)} runs files outside the sandbox that have changed:")
        for change in changed.changes:
            print("\n".join(f"  {line}" for line in change_lines(change)))
        try:
            said = confirm("Run them as they are now?", default=False)
        except Cancelled:
            said = False
        if said and code is not None:
            code.agree(changed.program, changed.parts)
        all_run = all_run and said
    return all_run


def show_programs(settings: Settings, root: Path, env: Mapping[str, str]) -> bool:
    """Show what changed, without asking; returns whether nothing did."""
    code = _code(settings, root, env)
    found = () if code is None else code.changed()
    for changed in found:
        print_prose(f"The {single_line(changed.program.label, 4096)} does not run, because its files have changed:")
        for change in changed.changes:
            print("\n".join(f"  {line}" for line in change_lines(change)))
    return not found


def _code(settings: Settings, root: Path, env: Mapping[str, str]) -> "OutsideCode | None":
    plugins, _ = session_plugins(settings, root, env)
    code = outside_code(settings, plugins, root, env, attended=True)
    if code is not None:
        configured_servers(settings, plugins, code, root, root, env)
        add_hook_programs(settings, plugins, code, root)
    return code
