"""Run a command in bubblewrap that may change git's data: it works on a copy, which is written back at its end."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.git.abandoned_copies import take_over_abandoned
from robota.workspace.git.data_copy import SETTINGS, GitDataCopy, NotCopied
from robota.workspace.git.git_directories import GitDirectories, find_git_directories
from robota.workspace.process.wrapped_command import WrappedCommand
from robota.workspace.sandbox.border import Border
from robota.workspace.sandbox.bubblewrap import wrap_in_bubblewrap

READ_ONLY: Final = (
    "The command could not change the git data of this repository, which was read-only for it: {}. "
    "Nothing in it was changed. Repair that, or approve the command to run without the sandbox."
)


def wrap_with_git_data(executable: str, border: Border, command: Sequence[str], cwd: Path) -> WrappedCommand:
    """Wrap a command with a copy of git's data; like any other command if there is no repository to copy.

    If its data cannot be copied, `write_back` says why the command could not change it.
    """
    directories = find_git_directories(border.root)
    if directories is None:
        return wrap_in_bubblewrap(executable, border, command, cwd)
    # What an earlier command could not write back comes first, because the new copy would not have it.
    earlier = () if border.user_directory is None else take_over_abandoned(directories, border.user_directory)
    try:
        copy = _copy(directories, border)
    except NotCopied as problem:
        messages = (*earlier, READ_ONLY.format(problem))
        wrapped = wrap_in_bubblewrap(executable, border, command, cwd)
        return msgspec.structs.replace(wrapped, write_back=lambda: messages)
    try:
        wrapped = wrap_in_bubblewrap(executable, border, command, cwd, copy.mounts)
    except BaseException:
        copy.discard()
        raise

    def clean_up() -> None:
        wrapped.clean_up()
        copy.keep()
        copy.discard()

    def write_back() -> tuple[str, ...]:
        return (*earlier, *copy.keep())

    return msgspec.structs.replace(wrapped, clean_up=clean_up, write_back=write_back, git_settings=SETTINGS)


def _copy(directories: GitDirectories, border: Border) -> GitDataCopy:
    """The copy is mounted on top of everything else, so nothing inside the git directory may be hidden."""
    if border.user_directory is None:
        raise NotCopied("there is no directory for the copy that commands cannot write")
    hidden = (*border.home.areas, *border.home.hidden, *border.kept_from_model)
    for path in hidden:
        if path.is_relative_to(directories.own) or path.is_relative_to(directories.common):
            raise NotCopied(f"{str(path)!r} in it is hidden from commands")
    return GitDataCopy(directories, border.user_directory, border.kept_from_model)
