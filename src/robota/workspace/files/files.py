"""Byte-exact files beneath one root, and a record of the content that the model has read."""

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from robota.workspace.files.atomic_write import (
    Content,
    create_file,
    remove_file,
    remove_stale_drafts,
    replace_file,
)
from robota.workspace.files.confined_paths import (
    DirectoryOpener,
    HeldRoot,
    Identity,
    best_opener,
    check_regular,
    directory_within,
    identity_at,
    identity_of,
    not_regular,
    read_all,
    resolve_beneath,
    resolve_name_beneath,
    system_errors_as_problems,
)
from robota.workspace.files.ignore import KEPT_FROM_THE_MODEL, LEFT_OUT_OF_LISTINGS, IgnoreFiles, PathTooLong
from robota.workspace.files.read_tracker import (
    ReadTracker,
    Stamp,
    UnsavedBuffers,
    check_unchanged,
    expected_status,
    stamp_at,
    stamp_of,
    status_for_writing,
)
from robota.workspace.problems import (
    FileChanged,
    FileProblem,
    Ignored,
    NotADirectory,
    Overtaken,
    changed_just_now,
    hidden_by,
    too_big,
)

if TYPE_CHECKING:
    from robota.workspace.files.listing import Listing

READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileData(msgspec.Struct, frozen=True, kw_only=True):
    """The whole content of a file; `path` is its real path, `stamp` changes whenever the file does."""

    path: Path
    data: bytes
    stamp: Stamp


class LinkData(msgspec.Struct, frozen=True, kw_only=True):
    """A symbolic link itself, not its target."""

    target: str
    stamp: Stamp


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """Where a path resolved to: its real path, and the identity of the directory that held it, if there was one."""

    real: Path
    directory: Identity | None


class WriteResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a write did. `separated_links` counts other hard links, which still hold the old content."""

    path: Path
    created: bool
    separated_links: int = 0


class EditableFiles(Protocol):
    """The operations that editing text and applying changes need."""

    @property
    def root(self) -> Path: ...

    @property
    def journals_in(self) -> Path | None:
        """The user directory, where journals of change sets are kept; None to keep none."""
        ...

    def resolve(self, path: str) -> Path:
        """The real path that `path` resolves to, whether or not it exists."""
        ...

    def read(self, path: str, max_bytes: int) -> FileData:
        """The content of a regular file of at most `max_bytes`."""
        ...

    def check_read(self, path: str, file: FileData, *, required: bool) -> None:
        """Raise `FileChanged` if the model has read other content; `required`: `NotRead` if it has read none."""
        ...

    def write(self, path: str, data: Content, *, over: FileData | None = None) -> WriteResult:
        """Replace the whole file atomically, if it still is `over`, from which the new content was derived."""
        ...

    def read_link(self, path: str) -> LinkData | None:
        """The symbolic link that has this name; None if something else has it, or nothing."""
        ...

    def make_link(self, path: str, target: str) -> None:
        """Create a symbolic link; nothing may exist at `path`."""
        ...

    def remove(self, path: str, *, over: FileData | LinkData) -> None:
        """Delete the file, or the link with this name, if it is still `over`."""
        ...


class FilesOutside(msgspec.Struct, frozen=True, kw_only=True):
    """What may be read outside a root, if policy allows it.

    `find` returns the directory of a real path outside, and `is_secret` is about files there. `added` are the
    directories that the user lets the session read.
    """

    find: Callable[[str], Path | None] = lambda path: None
    is_secret: Callable[[str], bool] = lambda relative: False
    added: Callable[[], Collection[Path]] = tuple


class LocalFiles:
    """The files beneath `root`. No path leads out of it, neither by `..` nor through a symbolic link.

    It remembers what the model has read (`note_read`) and written, so that nothing is overwritten blindly, and
    refuses what a `.robotaignore` keeps from the model.
    """

    def __init__(
        self,
        root: Path,
        open_directory: DirectoryOpener | None = None,
        *,
        is_forbidden: Callable[[str], bool] = lambda relative: False,
        is_secret: Callable[[str], bool] = lambda relative: False,
        journals_in: Path | None = None,
        drafts_in: Path | None = None,
        outside: FilesOutside | None = None,
    ) -> None:
        """`open_directory` opens directories beneath the root; by default the best way that this system has.

        `is_forbidden` matches further paths, relative to the root, that must never be read, even by a search.
        `is_secret` matches paths that need approval: a search skips them unless it asks for them alone. `drafts_in` is
        the workspace whose `.robota` directory may hold drafts; the root by default.
        """
        # Files with changes that are not saved, which are read and written in the place of those on disk.
        self.buffers = UnsavedBuffers()
        self._may_be_outside = outside or FilesOutside()
        self._held_outside: dict[str, LocalFiles] | None = None
        self._outside: dict[Path, LocalFiles] = {}
        self._drafts_in = drafts_in or root
        self.journals_in = journals_in
        self._is_secret = is_secret
        self._is_forbidden = is_forbidden
        self._held = HeldRoot(Path(os.path.realpath(root)))
        self._root = self._base = self._held.path  # relative paths start at the base
        self._opener = open_directory
        self._tidied: set[Path] = set()
        self._locations: dict[tuple[str, bool], Location] | None = None
        self._noted: dict[Path, Stamp | None] = {}
        self._read_tracker = ReadTracker()
        self._kept = IgnoreFiles(self._root, KEPT_FROM_THE_MODEL)
        self._uninteresting = IgnoreFiles(self._root, LEFT_OUT_OF_LISTINGS)

    @property
    def root(self) -> Path:
        """The real path of the root."""
        return self._root

    @property
    def held_root(self) -> HeldRoot:
        """The root as it is held open."""
        return self._held

    def close(self) -> None:
        """Release the root. Idempotent; nothing can be read or written after that."""
        self._held.close()
        for files in self._outside.values():
            files.close()

    def added(self) -> Collection[Path]:
        """The directories outside the root that the user lets the session read."""
        return self._may_be_outside.added()

    def holding(self, path: str) -> "LocalFiles":
        """The files of the directory that a path is in: one outside the root that may be read, or these."""
        if self._held_outside is not None and path in self._held_outside:
            return self._held_outside[path]
        if "\0" in path:
            return self
        real = os.path.realpath(self._base / path)
        if Path(real).is_relative_to(self._root) or (place := self._may_be_outside.find(real)) is None:
            return self
        if place not in self._outside:
            files = LocalFiles(place, self._opener, is_secret=self._may_be_outside.is_secret)
            files._base = self._base
            self._outside[place] = files
        held = self._outside[place].for_call()
        if self._held_outside is not None:
            self._held_outside[path] = held
        return held

    def for_call(self) -> "LocalFiles":
        """The same files for one call: a path keeps resolving to the location that it resolved to first.

        So the location that policy judged is the one that is shown and changed. If it was swapped since, it is refused.
        """
        # A shallow copy without the `copy` module, whose import every session would pay for.
        held = LocalFiles.__new__(LocalFiles)
        held.__dict__.update(self.__dict__)
        held._locations = {}
        held._noted = {}
        held._held_outside = {}
        return held

    def stamps(self) -> dict[str, Stamp]:
        """The stamps of the files that were shown to the model or written, by their path relative to the root.

        A file that is gone has an empty stamp.
        """
        stamps = {real: stamp_at(real) if stamp is None else stamp for real, stamp in self._noted.items()}
        return {str(real.relative_to(self._root)): stamp for real, stamp in stamps.items()}

    def changed_by_others(self) -> dict[str, Stamp]:
        """Files that changed since the model last read or wrote them, with their new stamps; empty if gone."""
        return {str(real.relative_to(self._root)): now for real, now in self._read_tracker.changed()}

    def recall(self, stamps: Mapping[str, Stamp]) -> tuple[str, ...]:
        """Restore what the model knew about these files in an earlier process; returns the files changed since.

        The model must read these again before it overwrites or edits them.
        """
        changed: list[str] = []
        for path, stamp in stamps.items():
            try:
                real = resolve_beneath(self._root, path)
            except FileProblem:
                continue
            now = stamp_at(real)
            is_same = now[1:] == tuple(stamp)[1:]  # device numbers may change with a restart
            if not is_same:
                changed.append(path)
            if now:
                self._read_tracker.recall(real, now if is_same else tuple(stamp))
        return tuple(changed)

    def resolve(self, path: str) -> Path:
        """The real path beneath the root that `path` resolves to, whether or not it exists."""
        return self._locate(path).real

    def relative(self, path: str) -> str:
        """The resolved path relative to the root, for display."""
        return str(self.resolve(path).relative_to(self._root))

    def is_ignored(self, relative: str, *, is_directory: bool = False) -> bool:
        """Whether a rule or a `.robotaignore` hides this path, relative to the root, from the model."""
        try:
            return self._is_forbidden(relative) or self._kept.match(Path(relative).parts, is_directory=is_directory)
        except PathTooLong:
            return True

    def is_secret(self, relative: str) -> bool:
        """Whether a path, relative to the root, has the name of a file that holds secrets."""
        return self._is_secret(relative)

    def read(self, path: str, max_bytes: int) -> FileData:
        """The content of a regular file of at most `max_bytes`."""
        saved = self.read_saved(path, max_bytes)
        unsaved = self.buffers.get(saved.path)
        if unsaved is None:
            return saved
        if len(unsaved) > max_bytes:
            raise too_big(path, len(unsaved), max_bytes)
        return FileData(path=saved.path, data=unsaved, stamp=saved.stamp)

    def read_saved(self, path: str, max_bytes: int) -> FileData:
        """The content on disk, also of a file with unsaved changes."""
        with self._opened(path) as (real, file, status):
            if status.st_size > max_bytes:
                raise too_big(path, status.st_size, max_bytes)
            data = read_all(file, status.st_size, max_bytes)
        if len(data) > max_bytes:
            raise too_big(path, len(data), max_bytes)
        return FileData(path=real, data=data, stamp=stamp_of(status))

    def read_part(self, path: str, start: int, most: int) -> FileData:
        """At most `most` bytes of a regular file from offset `start`; none after its end."""
        with self._opened(path) as (real, file, status):
            unsaved = self.buffers.get(real)
            data = os.pread(file, most, start) if unsaved is None else unsaved[start : start + most]
            return FileData(path=real, data=data, stamp=stamp_of(status))

    @contextmanager
    def _opened(self, path: str) -> Iterator[tuple[Path, int, os.stat_result]]:
        """Open a regular file for reading."""
        location = self._file(path)
        real = location.real
        with system_errors_as_problems(path), self._parent(location) as parent:
            check_regular(path, os.lstat(real.name, dir_fd=parent).st_mode)
            # O_NONBLOCK: if a pipe replaces the file at this moment, opening it must not hang.
            with os.fdopen(os.open(real.name, READ_FLAGS, dir_fd=parent), "rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                check_regular(path, status.st_mode)
                yield real, file.fileno(), status

    def note_read(self, file: FileData) -> None:
        """Record that the model has been shown this content."""
        self._read_tracker.note_read(file.path, file.data, file.stamp)
        self._noted[file.path] = file.stamp

    def forget_reads(self) -> None:
        """Forget what the model has read and written: it must read a file again before it replaces it."""
        self._read_tracker.forget_all()

    def check_read(self, path: str, file: FileData, *, required: bool) -> None:
        """Raise `FileChanged` if the model has read other content; `required`: `NotRead` if it has read none."""
        self._read_tracker.check(path, file.path, file.data, file.stamp, required=required)

    def write(self, path: str, data: Content, *, over: FileData | None = None) -> WriteResult:
        """Replace the whole file atomically, if it still is `over`, from which the new content was derived.

        Without `over`, any existing content is replaced.
        """
        location = self._file(path)
        real = location.real
        self._check_not_rules(path, real)
        if (unsaved := self.buffers.get(real)) is not None:
            if over is not None and over.data != unsaved:
                raise changed_just_now(path)
            self.buffers.write(real, bytes(data))
            self._read_tracker.note_written(real, data, None)
            return WriteResult(path=real, created=False)
        with (
            _problems(path),
            self._parent(location, create=True) as parent,
            self._drafts() as drafts,
        ):
            self._tidy_up(real.parent, parent)
            before = status_for_writing(path, real.name, parent)
            check_unchanged(path, before, None if over is None else over.stamp)
            if before is None:
                create_file(parent, real.name, data)
                stamp = None
            else:
                look = partial(expected_status, path, real.name, parent, None if over is None else over.stamp)
                stamp = stamp_of(replace_file(parent, real.name, data, look, drafts))
        self._read_tracker.note_written(real, data, stamp)
        self._noted[real] = None
        return WriteResult(path=real, created=before is None, separated_links=before.st_nlink - 1 if before else 0)

    def read_link(self, path: str) -> LinkData | None:
        """The symbolic link that has this name; None if something else has it, or nothing."""
        location = self._name(path)
        try:
            with self._parent(location) as parent:
                status = os.lstat(location.real.name, dir_fd=parent)
                if not stat.S_ISLNK(status.st_mode):
                    return None
                return LinkData(target=os.readlink(location.real.name, dir_fd=parent), stamp=stamp_of(status))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def make_link(self, path: str, target: str) -> None:
        """Create a symbolic link; nothing may exist at `path`. Its target is judged when the link is followed."""
        location = self._name(path)
        self._check_not_rules(path, location.real)
        with system_errors_as_problems(path), self._parent(location, create=True) as parent:
            os.symlink(target, location.real.name, dir_fd=parent)
            os.fsync(parent)

    def remove(self, path: str, *, over: FileData | LinkData) -> None:
        """Delete the file, or the link with this name, if it is still `over`. Other hard links keep the content."""
        location = self._name(path) if isinstance(over, LinkData) else self._file(path)
        name = location.real.name
        self._check_not_rules(path, location.real)
        with _problems(path), self._parent(location) as parent, self._drafts() as drafts:
            look = partial(expected_status, path, name, parent, over.stamp, is_link=isinstance(over, LinkData))
            remove_file(parent, name, look, drafts)
        self._read_tracker.forget(location.real)
        self._noted[location.real] = ()

    def list(self, path: str, recursive: bool, limit: int) -> "Listing":
        """The entries of a directory in tree order, at most `limit`, without ignored ones."""
        from robota.workspace.files.listing import list_directory

        real = self.resolve(path)
        above = real.relative_to(self._root).parts
        if above and self._kept.match(above, is_directory=True):
            raise hidden_by(KEPT_FROM_THE_MODEL, path)
        rules = [self._kept]
        if recursive and not self._uninteresting.match(above, is_directory=True):
            rules.append(self._uninteresting)
        with system_errors_as_problems(path), self._directory(real) as directory:
            return list_directory(directory, recursive=recursive, limit=limit, above=above, rules=rules)

    def directory(self, path: str) -> Path:
        """The real path of a directory that exists."""
        real = self.resolve(path)
        if not real.is_dir():
            raise NotADirectory(f"{path!r} is not an existing directory.")
        return real

    def _file(self, path: str) -> Location:
        """Resolve a path that could be a file and is not hidden from the model."""
        location = self._locate(path)
        if location.real == self._root:
            raise not_regular(path, os.lstat(self._root).st_mode)
        self._check_not_ignored(path, location)
        return location

    def _name(self, path: str) -> Location:
        """Like `_file`, but a link at the end of the path is not followed."""
        location = self._locate(path, follow=False)
        self._check_not_ignored(path, location)
        return location

    def _check_not_ignored(self, path: str, location: Location) -> None:
        as_written = Path(os.path.normpath(self._base / path))
        for each in {location.real, as_written}:
            if each.is_relative_to(self._root) and self._kept.match(each.relative_to(self._root).parts):
                raise hidden_by(KEPT_FROM_THE_MODEL, path)

    def _locate(self, path: str, *, follow: bool = True) -> Location:
        self._held.check()
        location = self._locations.get((path, follow)) if self._locations is not None else None
        if location is None:
            place = path if self._base == self._root else str(self._base / path)
            real = resolve_beneath(self._root, place) if follow else resolve_name_beneath(self._root, place)
            location = Location(real=real, directory=identity_at(real.parent))
            if self._locations is not None:
                self._locations[path, follow] = location
        return location

    @contextmanager
    def _parent(self, location: Location, *, create: bool = False) -> Iterator[int]:
        """Open the directory of a location without following links; it must be the directory that was judged."""
        with self._directory(location.real.parent, create=create) as parent:
            if location.directory is not None and identity_of(os.fstat(parent)) != location.directory:
                raise FileChanged(
                    f"The directory of {str(location.real.relative_to(self._root))!r} was replaced meanwhile. Nothing "
                    "was changed. Try again."
                )
            yield parent

    def _directory(self, directory: Path, *, create: bool = False) -> AbstractContextManager[int]:
        """Open a directory, given by its resolved path, starting at the root that was there from the beginning."""
        return directory_within(self._held.descriptor, directory.relative_to(self._root), self._open, create=create)

    def _open(self, root: int, relative: str) -> int:
        # Chosen when first needed: finding the best way takes longer than listing a directory.
        return (self._opener or best_opener())(root, relative)

    def _drafts(self) -> AbstractContextManager[int | None]:
        # Imported only to write.
        from robota.workspace.files.drafts import drafts_directory

        return drafts_directory(self._drafts_in)

    def _tidy_up(self, directory: Path, descriptor: int) -> None:
        """Before the first write in a directory, remove what a killed session may have left there."""
        if directory not in self._tidied:
            self._tidied.add(directory)
            remove_stale_drafts(descriptor, time.time())

    def _check_not_rules(self, path: str, real: Path) -> None:
        if real.name == KEPT_FROM_THE_MODEL:
            raise Ignored(f"{path!r} lists what is hidden from you. It was not changed. Ask the user to change it.")


@contextmanager
def _problems(path: str) -> Iterator[None]:
    try:
        with system_errors_as_problems(path):
            yield
    except Overtaken as error:
        raise changed_just_now(path, error.kept) from error
