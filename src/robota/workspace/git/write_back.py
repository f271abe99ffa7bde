"""Write back what a command did to its copy of git data: objects first, then everything else under git's own locks."""

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.git.data_names import HEAD, INDEX, LOGS, MOST_BYTES, OBJECTS, TREES, problem_with
from robota.workspace.git.hidden_entries import without_marks
from robota.workspace.git.index_gitlinks import GITLINK, UnreadableIndex, read_gitlinks, read_index
from robota.workspace.git.loose_objects import BadObject, take_objects

NOT_KEPT: Final = "The command's changes to the git data were discarded: {}."
ANOTHER_GIT: Final = "another git process has changed {} meanwhile, or is about to. Check git status, then try again"
SUBMODULE: Final = (
    "it adds {!r} as a submodule, and the repository that lies there can be changed by commands. "
    "Run it without the sandbox"
)
LEFT_BEHIND: Final = ("rebase-merge", "rebase-apply", "sequencer")
UNFINISHED: Final = "Discarded, because it can name programs to run: {}. Do that step by step instead."

# The directory of `refs/heads/topic/one` may be removed when it is empty; `refs/heads` may not.
NESTED: Final = 3
MOST_FILES: Final = 20_000

Times = tuple[int, int, int]


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """How a file and its copy looked when the copy was made."""

    before: Times
    copied: Times


class CopiedDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A git directory and the copy of its data. `names` are the data files in it, besides `TREES`.

    `hidden` are paths of the working tree that commands do not see; the index of the copy marks them as unchanged.
    """

    real: Path
    copy: Path
    names: frozenset[str]
    stamps: dict[str, Stamp]
    hidden: tuple[str, ...] = ()


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The new content of a file; None to delete it. `before` is None for a new file."""

    directory: Path
    name: str
    before: Times | None
    data: bytes | None
    mtime_ns: int = 0

    @property
    def file(self) -> Path:
        return self.directory / self.name


class NotTakenOver(Exception):
    """Nothing may be written back, for this reason."""


def stamp(status: os.stat_result) -> Times:
    """A value that differs after every change of the file."""
    return status.st_mtime_ns, status.st_size, status.st_ino


def write_back(top: Path, own: CopiedDirectory, common: CopiedDirectory) -> tuple[str, ...]:
    """Write back everything, or only the objects, which are harmless. Returns sentences about what was not."""
    directories = (own,) if own is common else (common, own)
    try:
        changes = [change for each in directories for change in _changes(each)]
        for change in changes:
            _check(change)
            if change.name == INDEX and change.data is not None:
                for path in _new_submodules(change.data, own.real):
                    _check_submodule(path, top, common.real)
        take_objects(common.copy / OBJECTS, common.real / OBJECTS)
        _apply(changes)
    except (NotTakenOver, BadObject, UnreadableIndex) as problem:
        return (NOT_KEPT.format(problem),)
    except OSError as error:
        return (NOT_KEPT.format(f"{error.filename}: {error.strerror}"),)
    unfinished = [name for name in LEFT_BEHIND if (own.copy / name).exists() and not (own.real / name).exists()]
    return (UNFINISHED.format(", ".join(unfinished)),) if unfinished else ()


def _changes(directory: CopiedDirectory) -> Iterator[Change]:
    found = dict(islice(_files(directory), MOST_FILES + 1))
    if len(found) > MOST_FILES:
        raise NotTakenOver(f"there are more than {MOST_FILES} files")
    for name, known in directory.stamps.items():
        if name not in found:
            yield Change(directory=directory.real, name=name, before=known.before, data=None)
    for name, status in found.items():
        was = directory.stamps.get(name)
        if was is None or was.copied != stamp(status):
            data = (directory.copy / name).read_bytes()
            if name == INDEX:
                data = without_marks(data, directory.hidden)
            before = was.before if was else None
            yield Change(directory=directory.real, name=name, before=before, data=data, mtime_ns=status.st_mtime_ns)


def _files(directory: CopiedDirectory) -> Iterator[tuple[str, os.stat_result]]:
    """The data files in the copy. The command has ended, so no process can swap them meanwhile."""
    for name in directory.names:
        with suppress(FileNotFoundError):
            yield name, _regular(directory.copy / name)
    waiting = [tree for tree in TREES if stat.S_ISDIR(_mode(directory.copy / tree))]
    while waiting:
        place = waiting.pop()
        for entry in os.scandir(directory.copy / place):
            name = f"{place}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                waiting.append(name)
            elif not entry.name.endswith(".lock"):
                yield name, _regular(directory.copy / name)


def _regular(file: Path) -> os.stat_result:
    status = file.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise NotTakenOver(f"{file.name} is no regular file any more")
    if status.st_size > MOST_BYTES:
        raise NotTakenOver(f"{file.name} is too large")
    return status


def _mode(place: Path) -> int:
    try:
        return place.lstat().st_mode
    except OSError:
        return 0


def _check(change: Change) -> None:
    if change.data is None:
        if change.name == HEAD:
            raise NotTakenOver("it removed HEAD")
        return
    problem = problem_with(change.name, change.data)
    if problem is not None:
        raise NotTakenOver(problem)


def _new_submodules(index: bytes, real: Path) -> set[str]:
    named = {os.fsdecode(entry.name) for entry in read_index(index).entries if entry.mode == GITLINK}
    return named - set(read_gitlinks(real)) if named else set()


def _check_submodule(path: str, top: Path, common: Path) -> None:
    """git enters submodules by itself, so a new one must be empty, or its repository out of the command's reach."""
    git = top / path / ".git"
    leads_to = os.path.realpath(git.parent / _after_gitdir(git))
    if os.path.lexists(git) and not Path(leads_to).is_relative_to(common / "modules"):
        raise NotTakenOver(SUBMODULE.format(path))


def _after_gitdir(git: Path) -> str:
    try:
        return git.read_text().partition("gitdir:")[2].strip() if stat.S_ISREG(git.lstat().st_mode) else ""
    except (OSError, ValueError):
        return ""


def _apply(changes: Sequence[Change]) -> None:
    with ExitStack() as locks:
        removed = [change for change in changes if change.data is None]
        for change in removed:
            _lock(change, locks)
        for change in changes:
            _require_unchanged(change)
        for change in removed:
            change.file.unlink()
    for change in removed:
        if change.name.count("/") >= NESTED:
            _remove_empty(change.file.parent)
    with ExitStack() as locks:
        written = [(change, _lock(change, locks)) for change in changes if change.data is not None]
        for change, _ in written:
            _require_unchanged(change)
        for change, draft in written:
            if change.file.is_dir():
                _remove_empty(change.file)
            draft.rename(change.file)


def _lock(change: Change, locks: ExitStack) -> Path:
    """Create git's lock file with the new content; a reflog is covered by the lock of its ref."""
    name = f"tmp_{secrets.token_hex(6)}" if change.name.startswith(f"{LOGS}/") else f"{change.name}.lock"
    draft = change.directory / name
    for place in (draft.parent, change.file.parent):
        place.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except FileExistsError as error:
        raise NotTakenOver(ANOTHER_GIT.format(change.name)) from error
    locks.callback(draft.unlink, missing_ok=True)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(change.data or b"")
    os.utime(draft, ns=(change.mtime_ns, change.mtime_ns))
    return draft


def _require_unchanged(change: Change) -> None:
    try:
        now: Times | None = stamp(change.file.lstat())
    except (FileNotFoundError, NotADirectoryError):
        now = None
    is_empty_place = change.before is None and change.file.is_dir()
    if now != change.before and not is_empty_place:
        raise NotTakenOver(ANOTHER_GIT.format(change.name))


def _remove_empty(directory: Path) -> None:
    """Remove an empty directory of refs: git leaves them behind, and they block a ref of the same name."""
    for place, _, _ in os.walk(directory, topdown=False):
        with suppress(OSError):
            Path(place).rmdir()
