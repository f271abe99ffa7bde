"""Find the files of a workspace that differ from the private index, and whether they can be captured.

Repositories inside the workspace are treated as plain directories: git itself would record only their current commit.
"""

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.checkpoints.ignored_files import IgnoredLimits, IgnoredSelection, select_ignored
from robota.workspace.checkpoints.private_git import CheckpointError, PrivateGit, TooMuchComputing
from robota.workspace.checkpoints.unignored_files import unignored_files
from robota.workspace.problems import Ignored
from robota.workspace.shell.reading import read_script
from robota.workspace.shell.script import Opaque, Plain

GIT_NAMES: Final = (b".git",)
OWN_DIRECTORY: Final = b".robota"
STAGING_PREFIX: Final = b".robota-restore-"
DRAFT_PREFIX: Final = b".robota-"
DRAFT_SUFFIX: Final = b".tmp"
# An ignored directory that a call names is captured up to this many files.
MAX_NAMED_FILES: Final = 2_000
EMPTY_INDEX: Final = "empty-index"
# For everything that applies ignore rules: 300,000 files take about a second.
MAX_MATCHING_S: Final = 4
# Exists in the store once the ignore rules turned out to be too much for git.
SLOW_RULES_NAME: Final = "slow-ignore-rules"


class NotCaptured(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A path that exists but is not in a checkpoint, and why."""

    path: str
    reason: str


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """Paths to record, paths to remove, and what could not be captured.

    `first_named` are ignored paths to record that no call had named before. `named` are all files that a call named,
    changed or not. `unsaved` are ignored paths that were left out of a scan that was to include them.
    """

    changed: tuple[bytes, ...]
    named: tuple[bytes, ...] = ()
    first_named: tuple[bytes, ...] = ()
    forgotten: tuple[bytes, ...] = ()
    not_captured: tuple[NotCaptured, ...] = ()
    unsaved: tuple[str, ...] = ()


class _GivenPaths(msgspec.Struct, frozen=True, kw_only=True):
    """Paths that a call named: files and links, and directories."""

    files: tuple[bytes, ...]
    directories: tuple[bytes, ...]


class _PlainParents:
    """Whether no parent directory of a path is a link, which would lead elsewhere. Each directory is checked once."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = os.fsencode(workspace)
        self._known: dict[bytes, bool] = {}

    def __call__(self, path: bytes) -> bool:
        parent = os.path.dirname(os.path.join(self._workspace, path))  # noqa: PTH118, PTH120
        if parent not in self._known:
            self._known[parent] = os.path.realpath(parent) == os.path.normpath(parent)
        return self._known[parent]


class Scanner(msgspec.Struct, frozen=True, kw_only=True):
    """Scans a workspace. `kept_out` are our own directories in it, relative to its top.

    `absent` collects paths that did not exist when a call named them: what is found there later is new.
    """

    git: PrivateGit
    max_file_bytes: int
    kept_out: tuple[bytes, ...] = ()
    absent: set[bytes] = msgspec.field(default_factory=set)

    def scan(self, named: Collection[str] = (), ignored: IgnoredLimits | None = None) -> Scan:
        """What differs from the index. `named` are paths to include even if they are ignored.

        With `ignored`, all ignored files are included up to these limits, except caches and installed packages.
        """
        listed = self._changed_paths()
        has_plain_parents = _PlainParents(self.git.workspace)
        troubles: list[NotCaptured] = []
        given = self._given_paths(named, has_plain_parents)
        selected = IgnoredSelection() if ignored is None else self._ignored(ignored)
        forced = {*given.files, *self._ignored_below(given.directories, troubles)} - listed.keys()
        if forced:
            forced -= self._unchanged(forced)
        forced |= set(selected.saved)  # git has just said that the index does not have them
        changed: list[bytes] = []
        forgotten: list[bytes] = []
        taken_for_ours = [os.fsdecode(path).rstrip("/") for path in listed if self._is_taken_for_ours(path)]
        for path, is_known in (*listed.items(), *((path, False) for path in sorted(forced))):
            if self._is_ours(path):
                continue
            trouble = self._obstacle(path) if not is_known or has_plain_parents(path) else ""
            if trouble is None:
                changed.append(path)
            elif is_known:
                forgotten.append(path)
            if trouble:
                troubles.append(NotCaptured(path=os.fsdecode(path), reason=trouble))
        return Scan(
            changed=tuple(changed),
            named=given.files,
            first_named=tuple(path for path in changed if path in forced and not self._was_absent(path)),
            forgotten=tuple(forgotten),
            not_captured=tuple(sorted(set(troubles))),
            unsaved=tuple(sorted({*selected.unsaved, *(each.path for each in troubles), *taken_for_ours})),
        )

    def _ignored(self, limits: IgnoredLimits) -> IgnoredSelection:
        """The ignored files to save. Raises `CheckpointError` if the ignore rules take too long."""
        arguments = ("-o", "-i", "--exclude-standard", "--directory", "--no-empty-directory")
        output = self.git.run("ls-files", "-z", *arguments, max_cpu_s=MAX_MATCHING_S)
        paths = [path.rstrip(b"/") for path in output.split(b"\0")[:-1]]
        limits = msgspec.structs.replace(limits, file_bytes=min(limits.file_bytes, self.max_file_bytes))
        entries = [path for path in paths if not self._is_ours(path)]
        selected = select_ignored(os.fsencode(self.git.workspace), entries, limits)
        left_out = (os.fsdecode(path) for path in (*paths, *selected.saved) if self._is_taken_for_ours(path))
        return msgspec.structs.replace(selected, unsaved=(*selected.unsaved, *left_out))

    def _changed_paths(self) -> dict[bytes, bool]:
        """Every path that is new or differs from the index, and whether the index has it."""
        slow_rules = self.git.directory / SLOW_RULES_NAME
        if not slow_rules.exists():
            try:
                return self._listed_by_git()
            except TooMuchComputing:
                slow_rules.touch()
        return self._listed_without_git()

    def _listed_without_git(self) -> dict[bytes, bool]:
        """The same, where only files in the index are compared by git."""
        output = self.git.run("ls-files", "-z", "-t", "-m", "-d")
        untracked = {entry[2:]: True for entry in output.split(b"\0")[:-1]}
        tracked = set(self.git.run("ls-files", "-z").split(b"\0"))
        try:
            return untracked | {path: False for path in unignored_files(self.git.workspace) if path not in tracked}
        except Ignored as problem:
            raise CheckpointError(str(problem)) from problem

    def _listed_by_git(self) -> dict[bytes, bool]:
        listed: dict[bytes, bool] = {}
        arguments = ("-z", "-t", "-m", "-d", "-o", "--exclude-standard")
        output = self.git.run("ls-files", *arguments, max_cpu_s=MAX_MATCHING_S)
        for entry in output.split(b"\0")[:-1]:
            path = entry[2:]
            if entry.startswith(b"?"):
                if path.endswith(b"/"):
                    listed.update(dict.fromkeys(self._files_of_repository(path), False))
                else:
                    listed.setdefault(path, False)
            else:
                listed[path] = True
        return listed

    def _files_of_repository(self, directory: bytes) -> Iterator[bytes]:
        """The files of a repository inside the workspace. Once recorded, git treats it as a plain directory."""
        if self._is_ours(directory):
            yield directory.rstrip(b"/")
            return
        empty = self.git.directory / EMPTY_INDEX
        arguments = ("-z", "-o", "--exclude-standard")
        output = self.git.run("ls-files", *arguments, below=directory, index=empty, max_cpu_s=MAX_MATCHING_S)
        for path in output.split(b"\0")[:-1]:
            if path.endswith(b"/"):
                yield from self._files_of_repository(directory + path)
            else:
                yield directory + path

    def _given_paths(self, named: Collection[str], has_plain_parents: "_PlainParents") -> "_GivenPaths":
        """The named paths that exist."""
        files: list[bytes] = []
        directories: list[bytes] = []
        for name in named:
            path = path_inside_workspace(name)
            if path is None or self._is_ours(path):
                continue
            try:
                mode = os.lstat(self._absolute(path)).st_mode
            except (OSError, ValueError):
                self.absent.add(path)
                continue
            if stat.S_ISDIR(mode):
                directories.append(path)
            elif has_plain_parents(path):
                files.append(path)
        return _GivenPaths(files=tuple(files), directories=tuple(directories))

    def _ignored_below(self, directories: Sequence[bytes], troubles: list[NotCaptured]) -> Iterator[bytes]:
        """The ignored files in these directories."""
        if not directories:
            return
        specs = [f":(top,literal){os.fsdecode(path)}" for path in directories]
        arguments = ("-o", "-i", "--exclude-standard", "--directory", "--no-empty-directory")
        try:
            output = self.git.run("ls-files", "-z", *arguments, "--", *specs, max_cpu_s=MAX_MATCHING_S)
        except TooMuchComputing as problem:
            reason = f"ignore rules that take too long: {problem}"
            troubles += [NotCaptured(path=os.fsdecode(path), reason=reason) for path in directories]
            return
        for path in output.split(b"\0")[:-1]:
            if not path.endswith(b"/"):
                yield path
                continue
            files = None if self._is_ours(path) else self._files_below(path.rstrip(b"/"))
            if files is not None:
                yield from files
            elif not self._is_ours(path):
                reason = f"a directory that the ignore rules leave out, with more than {MAX_NAMED_FILES:,} files"
                troubles.append(NotCaptured(path=os.fsdecode(path.rstrip(b"/")), reason=reason))

    def _files_below(self, directory: bytes) -> list[bytes] | None:
        paths: list[bytes] = []
        top = os.fsencode(self.git.workspace)
        for parent, directories, files in os.walk(self._absolute(directory)):
            directories[:] = [name for name in directories if name.lower() not in GIT_NAMES]
            here = os.path.relpath(parent, top)
            links = [name for name in directories if os.path.islink(os.path.join(parent, name))]  # noqa: PTH114, PTH118
            paths += [os.path.normpath(os.path.join(here, name)) for name in (*files, *links)]  # noqa: PTH118
            if len(paths) > MAX_NAMED_FILES:
                return None
        return paths

    def _unchanged(self, paths: Collection[bytes]) -> set[bytes]:
        """The paths that are in the index: if they had changed, they would have been listed."""
        spec = b"\0".join(b":(top,literal)" + path for path in sorted(paths))
        output = self.git.run("ls-files", "-z", "--", *(os.fsdecode(each) for each in spec.split(b"\0")))
        return set(output.split(b"\0")[:-1])

    def _was_absent(self, path: bytes) -> bool:
        return path in self.absent or any(path.startswith(absent + b"/") for absent in self.absent)

    def _is_ours(self, path: bytes) -> bool:
        parts = path.rstrip(b"/").split(b"/")
        name = parts[-1]
        return (
            parts[0] == OWN_DIRECTORY
            or parts[0].startswith(STAGING_PREFIX)
            or (name.startswith(DRAFT_PREFIX) and name.endswith(DRAFT_SUFFIX))
            or any(part.lower() in GIT_NAMES for part in parts)
            or any(path == kept_out or path.startswith(kept_out + b"/") for kept_out in self.kept_out)
        )

    def _is_taken_for_ours(self, path: bytes) -> bool:
        """Whether it is left out because of its name, although nothing keeps commands from changing it."""
        is_closed_to_commands = (
            path.split(b"/")[0] == OWN_DIRECTORY
            or b".git" in path.split(b"/")
            or any(path == kept_out or path.startswith(kept_out + b"/") for kept_out in self.kept_out)
        )
        return self._is_ours(path) and not is_closed_to_commands

    def _obstacle(self, path: bytes) -> str | None:
        """Why a path cannot be captured; None if it can, empty if there is no file or link."""
        absolute = self._absolute(path)
        try:
            status = os.lstat(absolute)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            return error.strerror or str(error)
        if stat.S_ISDIR(status.st_mode):
            return ""
        if stat.S_ISLNK(status.st_mode):
            return None
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        if status.st_size > self.max_file_bytes:
            return f"more than {self.max_file_bytes:,} bytes"
        return None if os.access(absolute, os.R_OK) else "not readable"

    def _absolute(self, path: bytes) -> bytes:
        return os.path.join(os.fsencode(self.git.workspace), path)  # noqa: PTH118


def path_inside_workspace(name: str) -> bytes | None:
    """The path relative to the workspace; None if it is outside, or the workspace itself."""
    try:
        path = os.path.normpath(os.fsencode(name))
    except (UnicodeEncodeError, ValueError):
        return None
    return None if path.startswith((b"/", b"../")) or path in (b".", b"..") or b"\0" in path else path


def named_paths(workspace: Path, paths: Sequence[str], commands: Sequence[str]) -> tuple[str, ...]:
    """Paths that a call names, which checkpoints include even if ignore rules exclude them.

    They are relative to the workspace: `paths`, and every word of the commands that could be one; none outside it.
    """
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
