"""Files that a session needs although git does not check them out: settings that git ignores, and files that the
repository lists in `.worktreeinclude`.

Only regular files are copied, and links are not followed. Existing files are kept, except for old settings.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.config.trust.sources import Snapshot
from robota.workspace.files.confined_paths import directory_beneath, walk_to_directory
from robota.workspace.git.run import Git, GitFailed

INCLUDE_FILE: Final = ".worktreeinclude"
HIDES_SETTINGS: Final = ".robota/.gitignore"
NEVER: Final = frozenset({".git", ".robota"})
MAX_PATTERNS: Final = 200
MAX_PATTERN_LENGTH: Final = 4096  # no path is longer
MAX_FILES: Final = 1000
MAX_BYTES: Final = 256 * 1024 * 1024
PIECE: Final = 1 << 20
LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """How many files were copied, and which were not, each with the reason."""

    files: int = 0
    left_out: tuple[str, ...] = ()


async def copy_settings(
    git: Git | None, snapshot: Snapshot, target: Path, *, ignored_there: Git | None = None
) -> Copied:
    """Copy the settings that git ignores, such as the user's own deny rules; without git, all settings.

    With `ignored_there`, the git of an existing worktree, files that are ignored there too are replaced.
    """
    paths = [HIDES_SETTINGS, *(source.path for source in snapshot.sources if source.data is not None)]
    chosen = paths if git is None else await ignored(git, paths)
    replaced = [] if ignored_there is None else await ignored(ignored_there, chosen)
    return _copy(chosen, snapshot.root, target, replaced)


async def copy_included(git: Git, snapshot: Snapshot, target: Path) -> Copied:
    """Copy the ignored files that match the include file. The caller checks first that the file is trusted."""
    patterns = _patterns(snapshot.data_of(INCLUDE_FILE))
    if not patterns:
        return Copied()
    options = [f"--exclude={pattern}" for pattern in patterns]
    listed = await git.run("ls-files", "--others", "--ignored", "-z", *options)
    paths = [path for path in listed.split("\0") if path and NEVER.isdisjoint(Path(path).parts)]
    return _copy(await ignored(git, paths), snapshot.root, target)


async def ignored(git: Git, paths: list[str]) -> list[str]:
    """The paths that git ignores in its directory."""
    if not paths:
        return []
    try:
        answer = await git.run("check-ignore", "-z", "--stdin", stdin=b"".join(os.fsencode(p) + b"\0" for p in paths))
    except GitFailed as error:
        if error.code == 1:
            return []  # None of them.
        raise
    return [path for path in answer.split("\0") if path]


def _patterns(data: bytes | None) -> list[str]:
    lines = (data or b"").decode("utf-8-sig", "surrogateescape").splitlines()
    patterns = (line for line in lines if line.strip() and not line.startswith("#") and "\0" not in line)
    return [line for line in patterns if len(line) <= MAX_PATTERN_LENGTH][:MAX_PATTERNS]


def _copy(paths: Iterable[str], source: Path, target: Path, replaced: Collection[str] = ()) -> Copied:
    files, room = 0, MAX_BYTES
    left_out: list[str] = []
    for path in paths:
        if files >= MAX_FILES:
            left_out.append(f"{path} and what follows (more than {MAX_FILES} files)")
            break
        try:
            room -= _copy_file(path, source, target, room, replace=path in replaced)
            files += 1
        except (FileExistsError, FileNotFoundError):
            continue
        except OSError as error:
            left_out.append(f"{path} ({error.strerror or error})")
    return Copied(files=files, left_out=tuple(left_out))


def _copy_file(path: str, source: Path, target: Path, room: int, *, replace: bool) -> int:
    """Copy one file and return its size. A partial copy is removed."""
    folder, name = Path(path).parent, Path(path).name
    with directory_beneath(source, source / folder, walk_to_directory) as parent, _plain(parent, name) as reading:
        status = os.fstat(reading)
        if status.st_size > room:
            raise OSError(f"more than {MAX_BYTES >> 20} MiB in all")
        with directory_beneath(target, target / folder, walk_to_directory, create=True) as target_parent:
            if replace:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=target_parent)
            writing = os.open(name, NEW, stat.S_IMODE(status.st_mode) & 0o777, dir_fd=target_parent)
            try:
                _copy_bytes(reading, writing, status.st_size)
            except OSError:
                os.unlink(name, dir_fd=target_parent)
                raise
            finally:
                os.close(writing)
    return status.st_size


@contextmanager
def _plain(parent: int, name: str) -> Iterator[int]:
    descriptor = os.open(name, LOOK, dir_fd=parent)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a plain file")
        yield descriptor
    finally:
        os.close(descriptor)


def _copy_bytes(reading: int, writing: int, size: int) -> None:
    while size > 0 and (piece := os.read(reading, min(PIECE, size))):
        size -= len(piece)
        while piece:
            piece = piece[os.write(writing, piece) :]
