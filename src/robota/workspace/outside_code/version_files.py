"""Files that choose which version of a program runs in a directory.

The programs of asdf, mise, pyenv and the like on the PATH are shims, which look for such a file from the directory they
start in upwards. Instead of a version it may name a directory, and the shim then runs what is there.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.outside_code.code_search import CodeFiles

NAMES: Final = (
    *(".tool-versions", ".python-version", ".ruby-version", ".node-version", ".java-version", ".go-version"),
    *(".php-version", ".perl-version", ".lua-version", ".terraform-version", ".erlang-version", ".elixir-version"),
)
MAX_BYTES: Final = 64 * 1024
COMMENT: Final = re.compile(rb"#[^\n]*")
# No version begins like a path, and none leads upwards.
NAMING_A_DIRECTORY: Final = re.compile(rb"(?:^|\s)(?:path:|[/~.])|\.\.")


def with_version_files(code: CodeFiles, cwd: Path, root: Path) -> CodeFiles:
    """The code, with the files that make shims run programs of the workspace."""
    naming = [path for path in _candidates(cwd, root) if _names_a_directory(path)]
    if not naming:
        return code
    return msgspec.structs.replace(
        code,
        files=tuple(dict.fromkeys((*code.files, *naming))),
        unbounded=code.unbounded or f"{naming[0].name} names a directory to take programs from",
    )


def _candidates(cwd: Path, root: Path) -> Iterator[Path]:
    """The files in the workspace that a shim would find."""
    for directory in (cwd, *cwd.parents):
        if not directory.is_relative_to(root):
            return
        yield from (directory / name for name in NAMES)


def _names_a_directory(path: Path) -> bool:
    """Whether it does, or may do so because it is too long or cannot be read; a directory is not such a file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        mode = os.fstat(descriptor).st_mode
        data = os.read(descriptor, MAX_BYTES + 1) if stat.S_ISREG(mode) else b""
    finally:
        os.close(descriptor)
    if not stat.S_ISREG(mode):
        return not stat.S_ISDIR(mode)
    return len(data) > MAX_BYTES or NAMING_A_DIRECTORY.search(COMMENT.sub(b"", data)) is not None
