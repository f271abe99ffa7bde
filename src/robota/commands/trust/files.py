"""Asks about files that need agreement besides the configuration of a workspace.

Files outside it that its instructions include, once for each version; and files of it that programs outside the sandbox
run, when they changed since the user agreed.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.app.extensions import configured_servers, outside_code, session_plugins
from robota.app.hooks import add_hook_programs
from robota.app.knowledge.instructions import has_project_instructions, instruction_files
from robota.app.policy import session_policy
from robota.commands.verb_host import VerbHost
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.config.settings.load import Settings
from robota.config.trust.change_text import change_lines
from robota.config.trust.decision import is_trusted_by_user
from robota.config.trust.outside_files import OutsideFileAnswers
from robota.engine.runtime.options import DEFAULT_MODE
from robota.knowledge.instructions.loader import UndecidedFile
from robota.knowledge.instructions.reading import FileContent, FileNotRead, read_outside_project
from robota.log.chain.writer import wall_clock_ms
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.workspace.outside_code.outside_code import OutsideCode

MAX_LINES: Final = 8
MAX_PATH: Final = 4096


def undecided_files(host: VerbHost, settings: Settings) -> tuple[UndecidedFile, ...]:
    """The undecided files that a session here would include; none if the workspace is not trusted."""
    root, env = host.root, host.env
    if not is_trusted_by_user(settings.trust, env) or not has_project_instructions(root, env):
        return ()
    policy, _ = session_policy(LaunchOptions(cwd=root), settings, root, None, env)
    return instruction_files(settings, root, env, policy).load(DEFAULT_MODE).undecided


def ask_about_outside_files(host: VerbHost, settings: Settings) -> None:
    """Ask about one after the other; an accepted file may include more. Ctrl+C leaves the rest undecided."""
    answers = OutsideFileAnswers(host.root, host.env)
    while undecided := undecided_files(host, settings):
        for file in undecided:
            for line in _described(file, answers):
                host.say(line)
            decision = host.confirm("Include its content for the model, as long as it does not change?", default=False)
            if decision is None:
                host.say("Not decided; unanswered files are ignored this time.")
                return
            answers.remember("yes" if decision else "no", file.path, file.data, wall_clock_ms())


def agree_to_files(host: VerbHost, paths: Sequence[str]) -> None:
    """Accept the current versions of files. `ConfigError` for the first that cannot be read or stored."""
    answers = OutsideFileAnswers(host.root, host.env)
    for path in paths:
        content = _read(host.path(path))
        answers.remember("yes", content.path, content.data, wall_clock_ms())
        host.say(f"{single_line(content.path, MAX_PATH)} is now included here, in its current state.")


def _read(path: Path) -> FileContent:
    try:
        return read_outside_project(str(path.expanduser().resolve()))
    except FileNotRead as error:
        raise ConfigError(f"{single_line(str(path), MAX_PATH)} was not agreed to: {error}.") from error


def _described(file: UndecidedFile, answers: OutsideFileAnswers) -> Iterator[str]:
    yield f"{single_line(file.referenced_by, MAX_PATH)} refers to a file outside the project:"
    yield f"  {single_line(file.path, MAX_PATH)}  ({len(file.data):,} bytes)"
    if (change := answers.change(file.path, file.data)) is not None:
        yield "It has changed since you agreed to it:"
        yield from (f"  {line}" for line in change_lines(change)[1:])
        return
    lines = file.data.decode("utf-8", "backslashreplace").splitlines()
    yield from (f"  │ {single_line(line, 200)}" for line in lines[:MAX_LINES])
    if len(lines) > MAX_LINES:
        yield f"  … and {len(lines) - MAX_LINES} more lines"


def say_files_to_run(host: VerbHost, settings: Settings) -> bool:
    """List what hooks, MCP servers and the status line would run of the workspace; returns whether there is any."""
    code = _code(host, settings)
    names = () if code is None else code.wanted()
    if names:
        host.say("Your hooks, MCP servers or status line would run files of it, outside the sandbox:")
    for name in names:
        host.say(f"  {single_line(name, MAX_PATH)}")
    return bool(names)


def agree_to_programs(host: VerbHost, settings: Settings) -> None:
    """Agree to all such files as they are now, and list them."""
    code = _code(host, settings)
    names = () if code is None else code.agree_to_all()
    if names:
        host.say("These run outside the sandbox, and are protected from commands and unasked edits:")
    for name in names:
        host.say(f"  {single_line(name, MAX_PATH)}")


def ask_about_programs(host: VerbHost, settings: Settings) -> bool:
    """Show what changed, and ask, program by program; returns whether all may run now."""
    code = _code(host, settings)
    all_run = True
    for changed in () if code is None else code.changed():
        label = single_line(changed.program.label, MAX_PATH)
        host.say(f"The {label} runs files outside the sandbox that have changed:")
        for change in changed.changes:
            host.say("\n".join(f"  {line}" for line in change_lines(change)))
        is_agreed = bool(host.confirm("Run them as they are now?", default=False))
        if is_agreed and code is not None:
            code.agree(changed.program, changed.parts)
        all_run = all_run and is_agreed
    return all_run


def show_programs(host: VerbHost, settings: Settings) -> bool:
    """Show what changed, without asking; returns whether nothing did."""
    code = _code(host, settings)
    programs = () if code is None else code.changed()
    for changed in programs:
        label = single_line(changed.program.label, MAX_PATH)
        host.say(f"The {label} does not run, because its files have changed:")
        for change in changed.changes:
            host.say("\n".join(f"  {line}" for line in change_lines(change)))
    return not programs


def _code(host: VerbHost, settings: Settings) -> "OutsideCode | None":
    root, env = host.root, host.env
    plugins, _ = session_plugins(settings, root, env)
    code = outside_code(settings, plugins, root, env, attended=True)
    if code is not None:
        configured_servers(settings, plugins, code, root, root, env)
        add_hook_programs(settings, plugins, code, root)
    return code
