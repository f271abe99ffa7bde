"""Ask about files outside a workspace that its instruction files include, once for each version of a file."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from robota.app.knowledge.instructions import has_project_instructions, instruction_files
from robota.app.policy import session_policy
from robota.cli.output import print_prose
from robota.cli.questions import Cancelled, confirm
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.config.settings.load import Settings
from robota.config.trust.change_text import change_lines
from robota.config.trust.decision import is_trusted_by_person
from robota.config.trust.outside_files import OutsideFileAnswers
from robota.engine.runtime.options import DEFAULT_MODE
from robota.knowledge.instructions.loader import UndecidedFile
from robota.knowledge.instructions.reading import FileContent, FileNotRead, read_outside_project
from robota.text.visible import single_line

LINES_SHOWN: Final = 8


def undecided_files(settings: Settings, root: Path, env: Mapping[str, str]) -> tuple[UndecidedFile, ...]:
    """The undecided files that a session here would include; none if the workspace is not trusted."""
    if not is_trusted_by_person(settings.trust, env) or not has_project_instructions(root, env):
        return ()
    policy, _ = session_policy(LaunchOptions(cwd=root), settings, root, None, env)
    return instruction_files(settings, root, env, policy).load(DEFAULT_MODE).undecided


def ask_about_outside_files(settings: Settings, root: Path, env: Mapping[str, str]) -> None:
    """Ask about one after the other; an accepted file may include more. Ctrl+C leaves the rest undecided."""
    answers = OutsideFileAnswers(root, env)
    try:
        while undecided := undecided_files(settings, root, env):
            for file in undecided:
                for line in _described(file, answers):
                    print_prose(line)
                said = confirm("Include its content for the model, as long as it does not change?", default=False)
                answers.remember("yes" if said else "no", file.path, file.data, _now_ms())
    except Cancelled:
        print("Not decided; unanswered files are ignored this time.")


def agree_to_files(paths: Sequence[Path], root: Path, env: Mapping[str, str]) -> None:
    """Accept the current versions of files. `ConfigError` for the first that cannot be read or stored."""
    answers = OutsideFileAnswers(root, env)
    for path in paths:
        content = _read(path)
        answers.remember("yes", content.path, content.data, _now_ms())
        print_prose(f"{single_line(content.path, 4096)} is now included here, in its current state.")


def _read(path: Path) -> FileContent:
    try:
        return read_outside_project(str(path.expanduser().resolve()))
    except FileNotRead as error:
        raise ConfigError(f"{single_line(str(path), 4096)} was not agreed to: {error}.") from error


def _described(file: UndecidedFile, answers: OutsideFileAnswers) -> Iterator[str]:
    yield f"{single_line(file.referenced_by, 4096)} refers to a file outside the project:"
    yield f"  {single_line(file.path, 4096)}  ({len(file.data):,} bytes)"
    if (change := answers.change(file.path, file.data)) is not None:
        yield "It has changed since you agreed to it:"
        yield from (f"  {line}" for line in change_lines(change)[1:])
        return
    lines = file.data.decode("utf-8", "backslashreplace").splitlines()
    yield from (f"  │ {single_line(line, 200)}" for line in lines[:LINES_SHOWN])
    if len(lines) > LINES_SHOWN:
        yield f"  … and {len(lines) - LINES_SHOWN} more lines"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
