"""Changes files that several processes share: one writer at a time, all files or none, and nothing left behind.

Every writer holds the lock of the directory from reading to writing, so no change is lost. New contents are written to
drafts first; the change is made by renaming them. If there is more than one, a journal is written before the first
rename; who finds it later finishes the change. Drafts that no journal names belong to killed writers, because a live
one would hold the lock.
"""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from robota.config.durable_file import (
    MAX_READ_BYTES,
    PRIVATE,
    directory_inside,
    make_private_directory,
    only_writer,
    read_file,
)

JOURNAL: Final = "unfinished-change.json"
JOURNALS: Final = "unfinished-changes"
DRAFT: Final = re.compile(r"\..+\.\d+\.new", re.DOTALL)


class RenameStep(msgspec.Struct, frozen=True, tag="rename"):
    """Give a draft or a directory its new name; both are relative to the directory of the transaction."""

    source: str
    target: str


class RemoveStep(msgspec.Struct, frozen=True, tag="remove"):
    """Remove a file."""

    target: str


Step = RenameStep | RemoveStep


class UnfinishedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change that is decided but perhaps not made, and the directory that it belongs to."""

    device: int
    inode: int
    steps: tuple[Step, ...]


class Transaction:
    """Reads files of a directory, and collects changes. They are made together when the transaction ends."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._written: dict[str, tuple[bytes, int]] = {}
        self._removed: set[str] = set()
        self._moved: list[RenameStep] = []

    def read(self, name: str, *, follow: bool = True, most: int = MAX_READ_BYTES) -> bytes | None:
        """The content of a file, including changes of this transaction; None if there is no file. Raises `OSError`."""
        if name in self._written:
            return self._written[name][0]
        if name in self._removed:
            return None
        try:
            return read_file(self._directory / name, follow=follow, most=most)
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes, *, mode: int = PRIVATE) -> None:
        """Replace a file. Missing directories on the way are made; links on the way are refused."""
        self._removed.discard(name)
        self._written[name] = (data, mode)

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        self._written.pop(name, None)
        self._removed.add(name)

    def move(self, source: str, target: str) -> None:
        """Rename a directory. Its target does not exist."""
        self._moved.append(RenameStep(source, target))

    def keep_backup(self, name: str, *, follow: bool = True) -> Path | None:
        """Copy a file to a `.bak` beside it, now; None if there is no file."""
        data = self.read(name, follow=follow)
        if data is None:
            return None
        backup = f"{name}.bak"
        _take(self._directory, _staged(self._directory, backup, data, PRIVATE))
        return self._directory / backup

    def commit(self, journal: Path | None) -> None:
        """Make the changes. Raises `OSError`, and then nothing is changed."""
        staged: list[RenameStep] = []
        try:
            for name, (data, mode) in self._written.items():
                staged.append(_staged(self._directory, name, data, mode))
            steps: tuple[Step, ...] = (*self._moved, *staged, *map(RemoveStep, sorted(self._removed)))
            if len(steps) == 1:
                _take(self._directory, steps[0])
            elif steps:
                assert journal is not None, "a change of several files needs a journal"
                _write_journal(journal, self._directory, steps)
        except BaseException:
            for draft in staged:
                with suppress(OSError):
                    (self._directory / draft.source).unlink()
            raise
        if len(steps) > 1 and journal is not None:
            for step in steps:
                _take(self._directory, step)
            _remove_journal(journal)


@contextmanager
def transaction(
    directory: Path, *, journal: Path | None = None, inside: Sequence[str] = (), make: bool = True
) -> Iterator[Transaction]:
    """Hold the lock of a directory while its files are read and changed. Raises `OSError` if that is not possible.

    With an exception nothing is changed. `journal` is where a change of several files is noted; it must be in the
    user's own directory. `inside` are the directories below that have files, too.
    """
    with only_writer(directory, make=make):
        _recover(directory, journal, inside)
        files = Transaction(directory)
        yield files
        files.commit(journal)


def finish_interrupted(directory: Path, journal: Path) -> None:
    """Finish the change of a killed process, if there is one. Call it before reading files that belong together."""
    if os.path.lexists(journal):
        # A directory that cannot be written is read as it is.
        with suppress(OSError), transaction(directory, journal=journal):
            pass


def remove_leftovers(directory: Path, *, journal: Path | None = None, inside: Sequence[str] = ()) -> None:
    """Remove the drafts of killed processes, and finish what they had decided. Costs little if there is nothing."""
    has_journal = journal is not None and (os.path.lexists(journal) or bool(_drafts_of(journal)))
    if has_journal or any(_drafts_in(directory / name) for name in ("", *inside)):
        with suppress(OSError), transaction(directory, journal=journal, inside=inside, make=False):
            pass


def journal_for(user_directory: Path, directory: Path) -> Path:
    """The journal for a directory outside the user's own, where others could have written one."""
    return user_directory / JOURNALS / f"{sha256(os.fsencode(directory.resolve())).hexdigest()[:32]}.json"


def is_draft(name: str) -> bool:
    """Whether a file name is that of a draft."""
    return DRAFT.fullmatch(name) is not None


def _recover(directory: Path, journal: Path | None, inside: Sequence[str]) -> None:
    if journal is not None and os.path.lexists(journal):
        _finish(directory, journal)
    left = [draft for name in ("", *inside) for draft in _drafts_in(directory / name)]
    for draft in (*left, *(() if journal is None else _drafts_of(journal))):
        draft.unlink(missing_ok=True)


def _finish(directory: Path, journal: Path) -> None:
    try:
        change = msgspec.json.decode(read_file(journal, follow=False), type=UnfinishedChange)
    except FileNotFoundError:
        return
    except msgspec.DecodeError as error:
        raise OSError(errno.EINVAL, f"{journal} is damaged; remove it", str(journal)) from error
    status = directory.stat()
    # Another directory may have taken the name since.
    if (change.device, change.inode) == (status.st_dev, status.st_ino):
        for step in change.steps:
            with suppress(FileNotFoundError):  # it was taken before
                _take(directory, step)
    _remove_journal(journal)


def _take(directory: Path, step: Step) -> None:
    with _parent_of(directory, step.target) as target:
        match step:
            case RenameStep(source):
                (directory / source).rename(target)
            case RemoveStep():
                target.unlink(missing_ok=True)
        _sync(target.parent)


def _staged(directory: Path, name: str, data: bytes, mode: int) -> RenameStep:
    """Write a draft beside its target."""
    target = PurePosixPath(name)
    draft = target.with_name(f".{target.name}.{os.getpid()}.new")
    with _parent_of(directory, str(draft)) as path:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return RenameStep(str(draft), name)


def _write_journal(journal: Path, directory: Path, steps: tuple[Step, ...]) -> None:
    status = directory.stat()
    make_private_directory(journal.parent)
    data = msgspec.json.encode(UnfinishedChange(device=status.st_dev, inode=status.st_ino, steps=steps))
    _take(journal.parent, _staged(journal.parent, journal.name, data, PRIVATE))


def _remove_journal(journal: Path) -> None:
    journal.unlink(missing_ok=True)
    _sync(journal.parent)


@contextmanager
def _parent_of(directory: Path, name: str) -> Iterator[Path]:
    """The path of a file through its directory, which is made if it is missing."""
    relative = PurePosixPath(name)
    if len(relative.parts) == 1:
        yield directory / name
        return
    with directory_inside(directory, Path(relative.parent)) as parent:
        yield parent / relative.name


def _drafts_in(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as entries:
            return [Path(entry.path) for entry in entries if entry.name.endswith(".new") and is_draft(entry.name)]
    except OSError:
        return []


def _drafts_of(journal: Path) -> list[Path]:
    return [draft for draft in _drafts_in(journal.parent) if draft.name.startswith(f".{journal.name}.")]


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
