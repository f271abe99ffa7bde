"""Run a command in bubblewrap that may change git's data: it works on a copy, which is written back at its end."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from robota.workspace.git.data_copy import SETTINGS, GitDataCopy, Mount, NotCopied
from robota.workspace.git.git_directories import find_git_directories
from robota.workspace.process.wrapped_command import WrappedCommand
from robota.workspace.sandbox.border import Border
from robota.workspace.sandbox.bubblewrap import wrap_in_bubblewrap


def wrap_with_git_data(executable: str, border: Border, command: Sequence[str], cwd: Path) -> WrappedCommand:
    """Wrap a command with a copy of git's data; like any other command if there is no repository to copy."""
    directories = find_git_directories(border.root)
    if directories is None:
        return wrap_in_bubblewrap(executable, border, command, cwd)
    try:
        copy = GitDataCopy(directories, border.kept_from_model)
    except NotCopied:
        return wrap_in_bubblewrap(executable, border, command, cwd)
    try:
        wrapped = wrap_in_bubblewrap(executable, border, command, cwd, _mounts(copy.mounts))
    except BaseException:
        copy.discard()
        raise

    def clean_up() -> None:
        wrapped.clean_up()
        copy.keep()
        copy.discard()

    return msgspec.structs.replace(wrapped, clean_up=clean_up, write_back=copy.keep, git_settings=SETTINGS)


def _mounts(mounts: Iterable[Mount]) -> list[str]:
    return [
        word
        for mount in mounts
        for word in ("--bind" if mount.writable else "--ro-bind", str(mount.source), str(mount.target))
    ]
