"""Write back what a command did to its copy of git data: objects first, then everything else under git's own locks.

Both sides are held by descriptor and no link is followed on either: the copy was in the hands of the command, and the
git directory may come from a malicious archive. Each file is read once, and what was read is checked.
"""

import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from robota.text.visible import printable_name
from robota.workspace.files.path_status import may_be_present
from robota.workspace.git.data_names import HEAD, INDEX, LFS, LOGS, MAX_BYTES, OBJECT_ID, OBJECTS, TREES, problem_with
from robota.workspace.git.hidden_entries import without_marks
from robota.workspace.git.index_gitlinks import GITLINK, UnreadableIndex, read_gitlinks, read_index, staged_entries
from robota.workspace.git.loose_objects import BadObject, take_lfs_files, take_objects
from robota.workspace.git.plain_directory import PlainDirectory, UnsafeEntry

NOT_KEPT: Final = "The command's changes to the git data were discarded: {}."
ANOTHER_GIT: Final = "another git process has changed {} meanwhile, or is about to. Check git status, then try again"
SUBMODULE: Final = (
    "it adds {!r} as a submodule, and the repository that lies there can be changed by commands. "
    "Run it without the sandbox"
)
STASH_KEPT: Final = " Only the stash that it made is kept: see git stash list"
COMMITS_KEPT: Final = " What it committed is not lost: {}. `git branch NAME COMMIT` brings one back"
REPLACED: Final = "the git directory was replaced while the command ran. Check its present content, then try again"
LEFT_BEHIND: Final = ("rebase-merge", "rebase-apply", "sequencer")
UNFINISHED: Final = "Discarded, because it can name programs to run: {}. Do that step by step instead."

# The directory of `refs/heads/topic/one` may be removed when it is empty; `refs/heads` may not.
NESTED: Final = 3
MAX_FILES: Final = 20_000
MAX_COMMITS_NAMED: Final = 5
NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
STASH: Final = frozenset({"refs/stash", f"{LOGS}/refs/stash"})
COMMIT: Final = re.compile(OBJECT_ID + rb"\n")
# A git that only looks around, such as an editor's, holds the lock of the index for a moment.
MAX_LOCK_WAIT_S: Final = 2.0
PAUSE_S: Final = 0.01

Times = tuple[int, int, int]


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """How a file and its copy looked when the copy was made."""

    before: Times
    copied: Times


class CopiedDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A git directory and the copy of its data, each with its device and inode when the copy was made.

    `names` are the data files in it, apart from `TREES`. `hidden` are paths of the working tree that commands do not
    see; the index of the copy marks them as unchanged.
    """

    real: Path
    real_identity: tuple[int, int]
    copy: Path
    copy_identity: tuple[int, int]
    names: frozenset[str]
    stamps: dict[str, Stamp]
    hidden: tuple[str, ...] = ()


class _Sides(msgspec.Struct, frozen=True, kw_only=True):
    """A git directory and its copy, both open."""

    real: PlainDirectory
    copy: PlainDirectory
    known: CopiedDirectory


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    """The new content of a file; None to delete it. `before` is None for a new file.

    Of the index, `index_before` is the file with what it contained when the copy was made.
    """

    real: PlainDirectory
    name: str
    before: Times | None
    data: bytes | None
    mtime_ns: int = 0
    index_before: Path | None = None

    @property
    def parent_path(self) -> str:
        """The directory of the file."""
        return self.name.rpartition("/")[0]

    @property
    def base(self) -> str:
        """The name of the file in its directory."""
        return self.name.rpartition("/")[2]


class NotTakenOver(Exception):
    """Nothing may be written back, for this reason."""


def stamp(status: os.stat_result) -> Times:
    """A value that differs after every change of the file."""
    return status.st_mtime_ns, status.st_size, status.st_ino


def write_back(top: Path, own: CopiedDirectory, common: CopiedDirectory) -> tuple[str, ...]:
    """Write back everything, or only what harms nobody. Returns sentences about what was not.

    Raises `OSError`, on a full disk for example. Nothing is lost then: it can be tried again with the same copy.
    """
    try:
        with _opened(own) as own_sides, _opened(common) as common_sides:
            each_once = (own_sides,) if own is common else (common_sides, own_sides)
            changes = [change for sides in each_once for change in _changes(sides)]
            for change in changes:
                _check(change)
                if change.name == INDEX and change.data is not None:
                    for path in _new_submodules(change.data, own.real):
                        _check_submodule(path, top, common.real)
            _take_stored(common_sides)
            messages = _apply_or_rescue(changes)
            unfinished = [name for name in LEFT_BEHIND if _is_new(own_sides, name)]
    except (NotTakenOver, UnsafeEntry, BadObject, UnreadableIndex) as problem:
        return (_not_kept(str(problem)),)
    return (*messages, UNFINISHED.format(", ".join(unfinished))) if unfinished else messages


def index_before(copy: Path) -> Path:
    """Where the index as it was is kept: next to the copy, out of reach for the command."""
    return copy.with_name(f"{copy.name}.index")


def _apply_or_rescue(changes: Sequence[_Change]) -> tuple[str, ...]:
    try:
        _apply(changes)
    except NotTakenOver as problem:
        return (_not_kept(f"{problem}.{_rescued(changes)}"),)
    return ()


def _rescued(changes: Sequence[_Change]) -> str:
    """What remains of changes that were refused. `git stash` has removed from the files what only its stash holds."""
    stash = [change for change in changes if change.name in STASH and change.data is not None]
    if stash:
        with suppress(NotTakenOver):
            _apply(stash)
            return STASH_KEPT
    commits = [change for change in changes if COMMIT.fullmatch(change.data or b"") and change.name not in STASH]
    named = [f"{change.name} is {(change.data or b'')[:12].decode()}" for change in (*stash[:1], *commits)]
    return COMMITS_KEPT.format(", ".join(named[:MAX_COMMITS_NAMED])) if named else ""


def _not_kept(reason: str) -> str:
    # Names in it come from the command: some bytes cannot be logged, and a terminal would obey others.
    return NOT_KEPT.format(printable_name(reason))


@contextmanager
def _opened(copied: CopiedDirectory) -> Iterator[_Sides]:
    with PlainDirectory.at(copied.real) as real, PlainDirectory.at(copied.copy) as copy:
        if (real.identity, copy.identity) != (copied.real_identity, copied.copy_identity):
            raise NotTakenOver(REPLACED)
        yield _Sides(real=real, copy=copy, known=copied)


def _is_new(sides: _Sides, name: str) -> bool:
    return sides.copy.status(name) is not None and sides.real.status(name) is None


def _take_stored(sides: _Sides) -> None:
    """Take over what is stored by content hash."""
    with sides.copy.directory(OBJECTS) as source, sides.real.directory(OBJECTS) as store:
        take_objects(source, store)
    if sides.copy.status(LFS) is not None:
        with sides.copy.directory(LFS) as source, sides.real.directory(LFS, make=True) as store:
            take_lfs_files(source, store)


def _changes(sides: _Sides) -> Iterator[_Change]:
    gone = set(sides.known.stamps)
    for number, (name, directory, status) in enumerate(islice(_files(sides), MAX_FILES + 1)):
        if number == MAX_FILES:
            raise NotTakenOver(f"there are more than {MAX_FILES} files")
        gone.discard(name)
        was = sides.known.stamps.get(name)
        if was is None or was.copied != stamp(status):
            data, status = directory.read(name.rpartition("/")[2], MAX_BYTES)
            if name == INDEX:
                data = without_marks(data, sides.known.hidden)
            yield _Change(
                real=sides.real,
                name=name,
                before=was.before if was else None,
                data=data,
                mtime_ns=status.st_mtime_ns,
                index_before=index_before(sides.known.copy) if name == INDEX else None,
            )
    for name in gone:
        yield _Change(real=sides.real, name=name, before=sides.known.stamps[name].before, data=None)


def _files(sides: _Sides) -> Iterator[tuple[str, PlainDirectory, os.stat_result]]:
    """The data files in the copy."""
    for name in sides.known.names:
        status = sides.copy.status(name)
        if status is not None:
            yield name, sides.copy, status
    for tree in TREES:
        for entry in sides.copy.tree(tree):
            if not entry.is_directory and not entry.name.endswith(".lock"):
                yield entry.name, entry.parent, entry.status


def _check(change: _Change) -> None:
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
    if may_be_present(git) and not Path(leads_to).is_relative_to(common / "modules"):
        raise NotTakenOver(SUBMODULE.format(path))


def _after_gitdir(git: Path) -> str:
    try:
        return git.read_text().partition("gitdir:")[2].strip() if stat.S_ISREG(git.lstat().st_mode) else ""
    except (OSError, ValueError):
        return ""


def _apply(changes: Sequence[_Change]) -> None:
    """Make the changes. The new contents are written first: a full disk is noticed before anything is removed."""
    removed = [change for change in changes if change.data is None]
    with ExitStack() as drafts:
        new = [(change, _draft(change, drafts)) for change in changes if change.data is not None]
        with ExitStack() as locks:
            for change in removed:
                _lock(change, locks)
            for change in changes:
                _require_unchanged(change)
            for change in removed:
                _remove(change.real, change.name)
        for change in removed:
            if change.name.count("/") >= NESTED:
                parent, _, name = change.parent_path.rpartition("/")
                with change.real.directory(parent) as directory:
                    _remove_empty(directory, name)
        with ExitStack() as locks:
            for change, _ in new:
                _lock(change, locks)
            for change, _ in new:
                _require_unchanged(change)
            for change, draft in new:
                _put_in_place(change, draft)


def _draft(change: _Change, drafts: ExitStack) -> str:
    """Write the new content to a file at the top of the git directory, and return its name."""
    draft = f"tmp_{secrets.token_hex(6)}"
    descriptor = os.open(draft, NEW_FILE, 0o666, dir_fd=change.real.descriptor)
    drafts.callback(_remove, change.real, draft)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(change.data or b"")
        stream.flush()
        os.utime(descriptor, ns=(change.mtime_ns, change.mtime_ns))
    return draft


def _lock(change: _Change, locks: ExitStack) -> None:
    """Create git's lock file; a reflog is covered by the lock of its ref. Another git may have it for a moment."""
    if change.name.startswith(f"{LOGS}/"):
        return
    deadline = time.monotonic() + MAX_LOCK_WAIT_S
    with change.real.directory(change.parent_path, make=True) as directory:
        while True:
            try:
                os.close(os.open(f"{change.base}.lock", NEW_FILE, 0o666, dir_fd=directory.descriptor))
                break
            except FileExistsError as error:
                if time.monotonic() > deadline:
                    raise NotTakenOver(ANOTHER_GIT.format(change.name)) from error
                time.sleep(PAUSE_S)
    locks.callback(_remove, change.real, f"{change.name}.lock")


def _remove(real: PlainDirectory, path: str) -> None:
    parent, _, name = path.rpartition("/")
    with suppress(FileNotFoundError, UnsafeEntry), real.directory(parent) as directory:
        os.unlink(name, dir_fd=directory.descriptor)


def _put_in_place(change: _Change, draft: str) -> None:
    with change.real.directory(change.parent_path, make=True) as directory:
        status = directory.status(change.base)
        if status is not None and stat.S_ISDIR(status.st_mode):
            _remove_empty(directory, change.base)
        os.rename(draft, change.base, src_dir_fd=change.real.descriptor, dst_dir_fd=directory.descriptor)


def _require_unchanged(change: _Change) -> None:
    try:
        with change.real.directory(change.parent_path) as directory:
            status = directory.status(change.base)
    except (FileNotFoundError, UnsafeEntry):  # a branch `topic` may give way to `topic/new`; writing follows no link
        status = None
    now = None if status is None else stamp(status)
    is_empty_place = change.before is None and status is not None and stat.S_ISDIR(status.st_mode)
    if now != change.before and not is_empty_place and not _is_equivalent(change, status):
        raise NotTakenOver(ANOTHER_GIT.format(change.name))


def _is_equivalent(change: _Change, status: os.stat_result | None) -> bool:
    """Whether what is there now is what this change makes of it, or an index that was only refreshed.

    The former is what a killed or failed attempt leaves. `git status` refreshes the times and sizes in an index, and
    editors run it whenever a file changes.
    """
    if status is None or change.data is None:
        return status is None and change.data is None
    try:
        with change.real.directory(change.parent_path) as directory:
            now, _ = directory.read(change.base, MAX_BYTES)
        if now == change.data or change.index_before is None:
            return now == change.data
        return staged_entries(now) == staged_entries(change.index_before.read_bytes())
    except (OSError, UnsafeEntry, UnreadableIndex):
        return False


def _remove_empty(parent: PlainDirectory, name: str) -> None:
    """Remove directories without files: git leaves them behind, and they block a ref of that name."""
    for _, directories, _, descriptor in os.fwalk(name, topdown=False, dir_fd=parent.descriptor):
        for each in directories:
            with suppress(OSError):
                os.rmdir(each, dir_fd=descriptor)
    with suppress(OSError):
        os.rmdir(name, dir_fd=parent.descriptor)
