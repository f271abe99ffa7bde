"""Checkpoints of one workspace: captured into a private object store, compared, and shown as diffs.

A checkpoint is a commit in that store. Its message records what could not be captured, and unusual file modes.
"""

import json
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfile
from typing import Final

import msgspec

from robota.workspace.checkpoints.checkpoint_change import CheckpointChange, CheckpointFile
from robota.workspace.checkpoints.checkpoint_details import CheckpointDetails, details_now
from robota.workspace.checkpoints.ignored_files import IgnoredLimits
from robota.workspace.checkpoints.packing import (
    STRAIGHT_TO_PACK,
    bytes_on_disk,
    keep_only,
    needs_packing,
    needs_rewriting,
    pack_loose,
    write_commit,
    writes_in_bulk,
)
from robota.workspace.checkpoints.private_git import IN_TWO_PARTS, INDEX, CheckpointError, PrivateGit, private_git
from robota.workspace.checkpoints.restore import OpenTop, recover
from robota.workspace.checkpoints.scan import MAX_MATCHING_S, SLOW_RULES_NAME, Scan, Scanner
from robota.workspace.checkpoints.store_directory import CheckpointList, ListedCheckpoint, locked_store
from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.problems import RootReplaced

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
KEEP_DAYS: Final = 30
MAX_BYTES: Final = 2 * 1024**3
# From this many files on, a capture writes one pack instead of loose objects.
PACKED_FROM: Final = 100
MAX_FILES: Final = 300_000
DAY_S: Final = 86_400
NEWEST_NAME: Final = "newest.json"
# Exists while the index may be ahead of the newest checkpoint.
UNSAVED_NAME: Final = "unsaved"
FIRST_NAMED_NAME: Final = "first-named"
ID_LENGTH: Final = 40
NOTHING: Final = b"0" * ID_LENGTH


class Captured(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint; the previous one, with `is_new` false, if nothing has changed since.

    `unsaved` are ignored paths that should be in it, but are not.
    """

    id: str
    details: CheckpointDetails = CheckpointDetails()
    is_new: bool = True
    unsaved: tuple[str, ...] = ()


class CheckpointStore:
    """The checkpoints of a workspace, kept in a directory outside it. Every method may block."""

    def __init__(
        self,
        directory: Path,
        workspace: Path | HeldRoot,
        env: Mapping[str, str],
        *,
        max_file_bytes: int = MAX_FILE_BYTES,
        keep_days: int = KEEP_DAYS,
        max_bytes: int = MAX_BYTES,
        own_directories: Sequence[Path] = (),
    ) -> None:
        """`own_directories` are directories of Robota that may be inside the workspace and are not captured.

        Into a workspace that a session holds, nothing is restored once another directory has taken its place.
        """
        self._held_root = workspace if isinstance(workspace, HeldRoot) else None
        self.directory = directory
        self.workspace = Path(os.path.realpath(workspace)) if isinstance(workspace, Path) else workspace.path
        self._env = env
        self._max_file_bytes = max_file_bytes
        self._keep_days = keep_days
        self._max_bytes = max_bytes
        self._own_directories = (directory, *own_directories)
        self._absent: set[bytes] = set()

    def capture(self, named: Collection[str] = (), ignored: IgnoredLimits | None = None) -> Captured:
        """Save the current workspace. `named` are paths to include even if they are ignored.

        With `ignored`, all ignored files are included up to these limits, except caches and installed packages.
        """
        with self.opened() as opened:
            return opened.capture(named, ignored)

    def changes(self, before: str, after: str) -> tuple[CheckpointChange, ...]:
        """The paths that differ between two checkpoints, sorted."""
        with self.opened() as opened:
            return opened.changes(opened.completed(before), opened.completed(after))

    def diff(self, before: str, after: str, paths: Sequence[str] = ()) -> bytes:
        """The difference between two checkpoints as a unified diff, for these paths or for all."""
        with self.opened() as opened:
            return opened.diff(opened.completed(before), opened.completed(after), paths)

    def has(self, checkpoint: str) -> bool:
        """Whether the checkpoint still exists."""
        with self.opened() as opened:
            return opened.has(checkpoint)

    def prune(self, now_s: float) -> int:
        """Remove checkpoints that are too old or take too much space; returns how many."""
        with self.opened() as opened:
            return opened.prune(now_s - self._keep_days * DAY_S, self._max_bytes)

    @contextmanager
    def opened(self) -> Iterator["OpenStore"]:
        """The locked store, after recovery from a process that was killed."""
        with locked_store(self.directory, self.workspace) as git_directory:
            git = private_git(git_directory, self.workspace, self._env)
            scanner = Scanner(
                git=git, max_file_bytes=self._max_file_bytes, kept_out=self._kept_out(), absent=self._absent
            )
            store = OpenStore(self.directory, git, scanner, self._top)
            recover(self.directory, self.workspace, self._top)
            yield store

    @contextmanager
    def _top(self) -> Iterator[int]:
        try:
            root = self._held_root or HeldRoot(self.workspace)
            top = root.descriptor
        except RootReplaced as problem:
            raise CheckpointError(str(problem).removesuffix(".")) from problem
        except OSError as error:
            raise CheckpointError(f"{error.filename}: {error.strerror}. Nothing was changed") from error
        try:
            yield top
        finally:
            if root is not self._held_root:
                root.close()

    def _kept_out(self) -> tuple[bytes, ...]:
        """Our own directories that are inside the workspace."""
        own_paths = (Path(os.path.realpath(path)) for path in self._own_directories)
        inside = (path.relative_to(self.workspace) for path in own_paths if path.is_relative_to(self.workspace))
        return tuple(os.fsencode(path) for path in inside if path.parts)


class OpenStore:
    """A store that this process has locked."""

    def __init__(self, directory: Path, git: PrivateGit, scanner: Scanner, top: OpenTop) -> None:
        """`top` opens the workspace, into which files are restored."""
        self.top = top
        self.directory = directory
        self.git = git
        self.workspace = git.workspace
        self._scanner = scanner
        self._listed = CheckpointList(directory)
        self._details: dict[str, CheckpointDetails] = {}

    def capture(self, named: Collection[str] = (), ignored: IgnoredLimits | None = None) -> Captured:
        """See `CheckpointStore.capture`."""
        try:
            return self._capture(named, ignored)
        except CheckpointError:
            # The store may be damaged: an index that cannot be read, or one that refers to missing objects.
            if self._is_sound():
                raise
            self._put_index_aside()
            return self._capture(named, ignored)

    def _capture(self, named: Collection[str], ignored: IgnoredLimits | None) -> Captured:
        scan = self._scanner.scan(named, ignored)
        newest = self._newest()
        previous = None if newest is None else newest.details
        unsaved = None if ignored is None else scan.unsaved
        details = details_now(self.workspace, previous, scan.not_captured, (*scan.changed, *scan.named), unsaved)
        is_same = not scan.changed and not scan.forgotten and not (self.git.directory / UNSAVED_NAME).exists()
        if is_same and newest is not None and newest.details == details:
            return msgspec.structs.replace(newest, is_new=False, unsaved=scan.unsaved)
        if len(scan.changed) > MAX_FILES:
            raise CheckpointError(f"There are more than {MAX_FILES:,} files to save in {self.workspace}")
        return msgspec.structs.replace(self._save(scan, details), unsaved=scan.unsaved)

    def note_as_new(self, paths: Iterable[str]) -> None:
        """Note that these did not exist before: captured now, they are no part of earlier checkpoints."""
        self._scanner.absent.update(map(os.fsencode, paths))

    def capture_only(self, paths: Sequence[str]) -> None:
        """Save these paths, which can all be captured, without scanning the others."""
        newest = self._newest()
        if newest is not None:
            changed = tuple(map(os.fsencode, paths))
            scan = Scan(changed=changed, not_captured=newest.details.not_captured)
            self._save(scan, details_now(self.workspace, newest.details, scan.not_captured, changed))

    def _save(self, scan: Scan, details: CheckpointDetails) -> Captured:
        (self.git.directory / UNSAVED_NAME).touch()
        self._update_index(scan)
        captured, newest = Captured(id=self._commit(details), details=details), self._newest()
        self._details[captured.id] = details
        self._note(captured, scan.first_named if newest is None else newest.details.existed(scan.first_named))
        return captured

    def _update_index(self, scan: Scan) -> None:
        if scan.forgotten:
            self.git.run("update-index", "--force-remove", "-z", "--stdin", stdin=_terminated(scan.forgotten))
        if scan.changed:
            arguments = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
            is_much = len(scan.changed) >= PACKED_FROM and writes_in_bulk(self.git)
            settings = STRAIGHT_TO_PACK if is_much else ()
            self.git.run(*arguments, stdin=_terminated(scan.changed), settings=settings)

    def _commit(self, details: CheckpointDetails, index: Path | None = None, settings: Sequence[str] = ()) -> str:
        tree = self.git.run("write-tree", index=index, settings=settings).decode().strip()
        # Names may contain bytes that are not text; this JSON escapes them.
        message = json.dumps(msgspec.to_builtins(details))
        return write_commit(self.git, tree, message, int(time.time()))

    def _newest(self) -> Captured | None:
        try:
            return msgspec.convert(json.loads((self.git.directory / NEWEST_NAME).read_bytes()), Captured)
        except (OSError, ValueError):
            return None

    def _note(self, captured: Captured, first_named: Sequence[bytes]) -> None:
        draft = self.git.directory / f"{NEWEST_NAME}.new"
        draft.write_text(json.dumps(msgspec.to_builtins(captured)))
        draft.rename(self.git.directory / NEWEST_NAME)
        self._listed.add(captured.id, int(time.time()))
        if first_named:
            line = json.dumps([captured.id, [os.fsdecode(path) for path in first_named]])
            with (self.directory / FIRST_NAMED_NAME).open("a") as noted:
                noted.write(f"{line}\n")
        (self.git.directory / UNSAVED_NAME).unlink()

    def completed(self, checkpoint: str) -> str:
        """The checkpoint plus the ignored files that a call named only later, as they were when it did.

        They existed but were not captured; without this they would seem not to have existed.
        """
        added = self._named_after(checkpoint)
        if not added:
            return checkpoint
        return self._varied(checkpoint, added, self.details(checkpoint))

    def with_changes(self, checkpoint: str, changes: Sequence[CheckpointChange], target: str) -> str:
        """A checkpoint like this one, but with these paths as in the target. It is kept as long as others."""
        if not changes:
            return checkpoint
        details = self.details(checkpoint).with_modes_of(self.details(target), changes)
        entries = {
            os.fsencode(each.path): (b"0", NOTHING) if each.after is None else _entry(each.after) for each in changes
        }
        varied = self._varied(checkpoint, entries, details)
        self._listed.add(varied, int(time.time()))
        return varied

    def _varied(self, checkpoint: str, entries: Mapping[bytes, tuple[bytes, bytes]], details: CheckpointDetails) -> str:
        """A checkpoint like this one, but with other modes and contents at these paths."""
        index = self.git.directory / "varying"
        index.unlink(missing_ok=True)
        try:
            settings: Sequence[str] = ()
            if self._is_index_of(checkpoint):
                copyfile(self.git.directory / INDEX, index)
                settings = IN_TWO_PARTS
            else:
                self.git.run("read-tree", checkpoint, index=index)
            # Deletions first: a file may replace a directory.
            header = sorted(entries.items(), key=lambda entry: entry[1][0] != b"0")
            lines = b"".join(b"%s %s\t%s\0" % (mode, name, path) for path, (mode, name) in header)
            arguments = ("update-index", "--add", "--replace", "-z", "--index-info")
            self.git.run(*arguments, stdin=lines, index=index, settings=settings)
            return self._commit(details, index, settings)
        finally:
            index.unlink(missing_ok=True)

    def _is_index_of(self, checkpoint: str) -> bool:
        """Whether the main index matches the checkpoint."""
        newest = self._newest()
        return newest is not None and newest.id == checkpoint and not (self.git.directory / UNSAVED_NAME).exists()

    def _named_after(self, checkpoint: str) -> dict[bytes, tuple[bytes, bytes]]:
        """Mode and content of paths that were first named after the checkpoint, and are not in it."""
        order = self._order()
        position = order.get(checkpoint, len(order))
        newest: dict[bytes, tuple[bytes, bytes]] = {}
        for later, paths in self._first_named():
            if order.get(later, 0) > position:
                for path, entry in self._entries(later, paths).items():
                    newest.setdefault(path, entry)
        for path in self._entries(checkpoint, [os.fsdecode(path) for path in newest]) if newest else ():
            del newest[path]
        return newest

    def _order(self) -> dict[str, int]:
        return {each.id: number for number, each in enumerate(self._listed.read())}

    def _first_named(self) -> list[tuple[str, list[str]]]:
        try:
            lines = (self.directory / FIRST_NAMED_NAME).read_bytes().splitlines()
        except FileNotFoundError:
            return []
        named: list[tuple[str, list[str]]] = []
        for line in lines:
            with suppress(ValueError):  # cut off by a full disk
                checkpoint, paths = json.loads(line)
                named.append((checkpoint, paths))
        return named

    def _entries(self, checkpoint: str, paths: Sequence[str]) -> dict[bytes, tuple[bytes, bytes]]:
        self._require(checkpoint)
        try:
            output = self.git.run("--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", checkpoint, "--", *paths)
        except CheckpointError:  # pruned
            return {}
        entries = (entry.partition(b"\t") for entry in output.split(b"\0")[:-1])
        return {path: (header.split(b" ")[0], header.split(b" ")[2]) for header, _, path in entries}

    def _is_sound(self) -> bool:
        try:
            self.git.run("write-tree")
        except CheckpointError:
            return False
        return True

    def _put_index_aside(self) -> None:
        for name in (INDEX, NEWEST_NAME):
            (self.git.directory / name).unlink(missing_ok=True)

    def details(self, checkpoint: str) -> CheckpointDetails:
        """What a checkpoint records in addition to its files."""
        if checkpoint not in self._details:
            commit = self._object("commit", checkpoint)
            try:
                details = msgspec.convert(json.loads(commit.partition(b"\n\n")[2]), CheckpointDetails)
            except ValueError as error:
                raise CheckpointError(f"The checkpoint {checkpoint} cannot be read: {error}") from error
            self._details[checkpoint] = details
        return self._details[checkpoint]

    def has(self, checkpoint: str) -> bool:
        """See `CheckpointStore.has`."""
        try:
            self.details(checkpoint)
        except CheckpointError:
            return False
        return True

    def changes(self, before: str, after: str) -> tuple[CheckpointChange, ...]:
        """See `CheckpointStore.changes`."""
        for each in (before, after):
            self._require(each)
        output = self.git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after)
        fields = output.split(b"\0")[:-1]
        pairs = zip(fields[::2], fields[1::2], strict=True)
        listed = tuple(_change(header.decode(), os.fsdecode(path)) for header, path in pairs)
        return (*listed, *self._mode_changes(before, after, {each.path for each in listed}))

    def _mode_changes(self, before: str, after: str, changed_paths: Collection[str]) -> Iterator[CheckpointChange]:
        """The files that differ only in a mode that git does not store."""
        then, now = self.details(before), self.details(after)
        paths = sorted(path for path in {*then.modes, *now.modes} if path not in changed_paths)
        for name, (mode, content) in self._entries(after, paths).items() if paths else ():
            path, file = os.fsdecode(name), CheckpointFile(mode=mode.decode(), content=content.decode())
            is_executable = file.is_executable
            if then.mode_of(path, is_executable=is_executable) != now.mode_of(path, is_executable=is_executable):
                yield CheckpointChange(path=path, before=file, after=file)

    def content(self, file: CheckpointFile | None) -> bytes | None:
        """The content of a file in a checkpoint; None if there is no file."""
        return None if file is None else self._object("blob", file.content)

    def contents(self, names: Collection[str]) -> dict[str, bytes]:
        """The contents of many files at once, by object id; missing ones are left out."""
        for each in names:
            self._require(each)
        output = self.git.run("cat-file", "--batch", stdin=b"".join(b"%s\n" % each.encode() for each in names))
        contents_by_object: dict[str, bytes] = {}
        offset = 0
        while (end := output.find(b"\n", offset)) >= 0:
            header = output[offset:end].split(b" ")
            offset = end + 1
            if len(header) == 3 and header[2].isdigit():
                contents_by_object[header[0].decode()] = output[offset : offset + int(header[2])]
                offset += int(header[2]) + 1
        return contents_by_object

    def files(self, checkpoint: str) -> dict[str, CheckpointFile]:
        """Every file in a checkpoint. Raises `CheckpointError` if the checkpoint is gone."""
        self.details(checkpoint)
        listed = self._entries(checkpoint, ["."])
        return {
            os.fsdecode(path): CheckpointFile(mode=mode.decode(), content=content.decode())
            for path, (mode, content) in listed.items()
        }

    def content_at(self, checkpoint: str, path: str) -> bytes | None:
        """The content of one file in a checkpoint; None if it is not in it, or the checkpoint is gone."""
        entry = self._entries(checkpoint, [path]).get(os.fsencode(path))
        return None if entry is None else self.contents([entry[1].decode()]).get(entry[1].decode())

    def diff(self, before: str, after: str, paths: Sequence[str] = ()) -> bytes:
        """See `CheckpointStore.diff`."""
        for each in (before, after):
            self._require(each)
        only = [f":(top,literal){path}" for path in paths]
        plain = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
        try:
            return self.git.run("diff-tree", "-r", "-p", *plain, before, after, "--", *only)
        except CheckpointError:
            for each in (before, after):
                self._object("tree", each)  # raises for the one that is gone
            raise

    def check_out(self, checkpoint: str, directory: Path) -> None:
        """Write the files of a checkpoint into an empty directory outside the workspace."""
        details = self.details(checkpoint)
        index = self.git.directory / "varying"
        index.unlink(missing_ok=True)
        try:
            self.git.run("read-tree", checkpoint, index=index)
            self.git.run("checkout-index", "-a", "-q", f"--prefix={directory}/", index=index)
        finally:
            index.unlink(missing_ok=True)
        for path, mode in details.modes.items():
            if not (directory / path).is_symlink():
                (directory / path).chmod(mode)

    def ignored_at_top(self) -> tuple[bytes, ...]:
        """The names at the top of the workspace that are ignored as a whole."""
        arguments = ("-z", "-o", "-i", "--exclude-standard", "--directory")
        output = self.git.run("ls-files", *arguments, max_cpu_s=MAX_MATCHING_S)
        names = (path.rstrip(b"/") for path in output.split(b"\0")[:-1])
        return tuple(name for name in names if b"/" not in name)

    def prune(self, before_s: float, max_bytes: int) -> int:
        """Remove checkpoints older than `before_s`, then the oldest until the rest fits. The newest is always kept."""
        (self.git.directory / SLOW_RULES_NAME).unlink(missing_ok=True)  # the rules may have changed since
        listed = self._listed.read()
        newest = self._newest()
        kept = [each for each in listed if each.made_s >= before_s or (newest is not None and each.id == newest.id)]
        self._forget_but(kept, listed)
        while len(kept) > 1 and bytes_on_disk(self.git) > max_bytes:
            before, kept = kept, kept[(len(kept) + 1) // 2 :]
            self._forget_but(kept, before)
        if needs_rewriting(self.git):
            keep_only(self.git, [each.id for each in kept])
        elif needs_packing(self.git):
            pack_loose(self.git, [each.id for each in kept])
        return len(listed) - len(kept)

    def _forget_but(self, kept: Sequence[ListedCheckpoint], listed: Sequence[ListedCheckpoint]) -> None:
        if len(kept) == len(listed):
            return
        self._listed.write(kept)
        if not kept:
            self._put_index_aside()
        ids = [each.id for each in kept if self.has(each.id)]
        keep_only(self.git, ids)

    def _require(self, checkpoint: str) -> None:
        """Raise unless this is an object id: not an option, a range or a path."""
        if len(checkpoint) != ID_LENGTH or not set(checkpoint) <= set("0123456789abcdef"):
            raise CheckpointError(f"{checkpoint!r} is not a checkpoint")

    def _object(self, kind: str, name: str) -> bytes:
        self._require(name)
        try:
            return self.git.run("cat-file", kind, name)
        except CheckpointError as error:
            header = (
                f"The checkpoint {name[:12]} is no longer in the store: it was pruned, or the store was deleted. "
                "Files were not changed. The conversation alone can still be rewound"
            )
            raise CheckpointError(header) from error


def _terminated(paths: Sequence[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)


def _entry(file: CheckpointFile) -> tuple[bytes, bytes]:
    return file.mode.encode(), file.content.encode()


def _change(header: str, path: str) -> CheckpointChange:
    old_mode, new_mode, old, new, _ = header[1:].split(" ")
    return CheckpointChange(path=path, before=_state(old_mode, old), after=_state(new_mode, new))


def _state(mode: str, content: str) -> CheckpointFile | None:
    return None if set(content) == {"0"} else CheckpointFile(mode=mode, content=content)
