"""Paths that a call names explicitly: checkpoints include them even if ignore rules exclude them."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from robota.workspace.checkpoints.scan import path_inside_workspace
from robota.workspace.shell.reading import read_script
from robota.workspace.shell.script import Opaque, Plain


def named_paths(workspace: Path, paths: Sequence[str], commands: Sequence[str]) -> tuple[str, ...]:
    """The paths relative to the workspace, and every word of the commands that could be one; none outside it."""
    top = str(workspace)
    words = (*paths, *(word for command in commands for word in _words_of_command(command)))
    relative = (os.path.relpath(os.path.join(top, word), top) for word in words if "\0" not in word)  # noqa: PTH118
    return tuple(dict.fromkeys(name for name in relative if path_inside_workspace(name) is not None))


def _words_of_command(command: str) -> Iterator[str]:
    match read_script(command):
        case Plain(commands=commands):
            for each in commands:
                yield from each.argv[1:]
                yield from (redirect.target for redirect in each.redirects if redirect.writes)
        case Opaque(possible=possible):
            for argv in possible:
                yield from argv[1:]
        case _:
            return
