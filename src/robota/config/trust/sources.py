"""The files of a workspace that could configure Robota, each with its hash.

Links are followed only where skills, commands, agents and output styles are, which are used with the very bytes of the
snapshot, and only to other files of the workspace. Special files are never opened. So a repository cannot point at
something else.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from robota.config.paths import CLAUDE_LOCAL_SETTINGS, CLAUDE_SETTINGS, LOCAL_SETTINGS, PROJECT_SETTINGS
from robota.config.trust.lock_file import Part, digest_of_parts

FILES: Final = (
    CLAUDE_SETTINGS,
    CLAUDE_LOCAL_SETTINGS,
    PROJECT_SETTINGS,
    LOCAL_SETTINGS,
    ".mcp.json",
    ".robota/mcp.json",
    ".robota/modes.yaml",
    ".roomodes",
    ".worktreeinclude",
)
# Agents whose skills and commands are used, in order of precedence.
SKILL_HOLDERS: Final = (".robota", ".claude", ".agents", ".gemini", ".codex", ".roo", ".opencode", ".cursor")
DIRECTORIES: Final = (
    *(
        f"{place}/{kind}"
        for place in (".claude", ".robota")
        for kind in ("agents", "commands", "hooks", "output-styles", "plugins", "prompts", "skills", "tools")
    ),
    *(f"{place}/{kind}" for place in SKILL_HOLDERS[2:] for kind in ("commands", "skills")),
    ".agents/agents",
)
# Where links to other files of the workspace are followed.
FOLLOWED_KINDS: Final = ("skills", "commands", "agents", "output-styles")
MAX_DEPTH: Final = 12
# The largest plugins in use have 3,000 files and 35 MiB.
MAX_FILES: Final = 10_000
MAX_BYTES: Final = 64 * 1024 * 1024
MAX_KEPT_LENGTH: Final = 256 * 1024
READ_AT_ONCE: Final = 1024 * 1024
# How the digest of a link begins.
LINK: Final = "link"

CLOSED: Final = -1
_LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ConfigSource(msgspec.Struct, frozen=True, kw_only=True):
    """One file. `data` is None if it is too long or not a regular file; then it is never read as settings.

    `linked_to` is the path in the workspace that a link led to, if the file was found through one.
    """

    path: str
    digest: str
    data: bytes | None = None
    linked_to: str = ""

    @property
    def is_link(self) -> bool:
        """Whether it is a link that was not followed."""
        return self.digest.startswith(LINK)


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one workspace at one moment. Settings are parsed from these very bytes, not read again."""

    root: Path
    sources: tuple[ConfigSource, ...] = ()
    problem: str | None = None

    @property
    def digest(self) -> str:
        return digest_of_parts(self.parts)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The files as parts of an agreement about all of them."""
        return tuple(Part(name=source.path, digest=source.digest, data=source.data) for source in self.sources)

    def data_of(self, path: str) -> bytes | None:
        return next((source.data for source in self.sources if source.path == path), None)


class TooMuch(Exception):
    """There are too many files or bytes to check."""


def take_snapshot(root: Path) -> Snapshot:
    """Snapshot all files below `root` that could be loaded as configuration."""
    look = _Look(root)
    problem = None
    try:
        for path in FILES:
            with _parent(root, path) as parent:
                look.at_file(parent, path)
        for path in DIRECTORIES:
            with _parent(root, path) as parent:
                look.at_directory(parent, path)
    except TooMuch:
        problem = f"its configuration is larger than {MAX_FILES:,} files or {MAX_BYTES >> 20} MiB"
    sources = tuple(sorted(look.found, key=lambda source: source.path))
    return Snapshot(root=root, sources=sources, problem=problem)


def snapshot_of_tree(root: Path) -> Snapshot:
    """Snapshot all files below `root`, not only configuration."""
    look = _Look()
    problem = None
    try:
        descriptor = os.open(root, _LOOK | os.O_DIRECTORY)
        try:
            look.inside(descriptor, "")
        finally:
            os.close(descriptor)
    except OSError as error:
        problem = f"it cannot be read ({error.strerror})"
    except TooMuch:
        problem = f"it is larger than {MAX_FILES:,} files or {MAX_BYTES >> 20} MiB"
    return Snapshot(root=root, sources=tuple(sorted(look.found, key=lambda source: source.path)), problem=problem)


@contextmanager
def _parent(root: Path, path: str) -> Iterator[int | None]:
    """The directory of a file, opened component by component; None if it is missing or a link."""
    opened: list[int] = []
    try:
        opened.append(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        for step in path.split("/")[:-1]:
            opened.append(os.open(step, _LOOK | os.O_DIRECTORY, dir_fd=opened[-1]))
    except OSError:
        parent = None
    else:
        parent = opened[-1]
    try:
        yield parent
    finally:
        for descriptor in opened:
            os.close(descriptor)


class _Look:
    """The files found so far, within limits. With a workspace, links within it are followed where that is allowed."""

    def __init__(self, workspace: Path | None = None) -> None:
        self.found: list[ConfigSource] = []
        self._bytes = 0
        self._workspace = None if workspace is None else os.path.realpath(workspace)
        self._followed: list[str] = []  # the real paths of the directories that links led into

    def at_file(self, parent: int | None, path: str) -> None:
        name = path.rpartition("/")[2]
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False) if parent is not None else None
        except OSError:
            status = None
        if parent is None or status is None:
            return
        if path in FILES and stat.S_ISDIR(status.st_mode):
            return  # cannot be loaded; the sandbox creates one while a command runs
        if len(self.found) >= MAX_FILES:
            raise TooMuch
        if stat.S_ISLNK(status.st_mode):
            self.found.append(_unread(path, LINK, os.readlink(name, dir_fd=parent)))
            self._follow(path)
        elif stat.S_ISREG(status.st_mode):
            self.found.append(self._read(parent, name, path))
        else:
            self.found.append(_unread(path, "special", ""))

    def _follow(self, path: str) -> None:
        """Add what a link leads to within the workspace, under the path of the link."""
        target = None if self._workspace is None else _target_in(self._workspace, path)
        # A link to a directory that it is in itself would never end.
        if self._workspace is None or target is None or any(_is_in(each, target) for each in self._followed):
            return
        self._followed.append(target)
        before = len(self.found)
        try:
            # Opened without following anything: what was resolved may have been replaced.
            with _parent(Path(self._workspace), target) as parent:
                self._at_target(parent, target.rpartition("/")[2], path)
        finally:
            self._followed.pop()
        if len(self.found) > before:
            # A link is represented by its target.
            linked = (msgspec.structs.replace(each, linked_to=target) for each in self.found[before:])
            self.found[before - 1 :] = linked

    def _at_target(self, parent: int | None, name: str, path: str) -> None:
        try:
            descriptor = CLOSED if parent is None else os.open(name, _LOOK, dir_fd=parent)
        except OSError:
            descriptor = CLOSED
        if parent is None or descriptor == CLOSED:
            return
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                if path.count("/") > MAX_DEPTH:
                    raise TooMuch
                self.inside(descriptor, f"{path}/")
            elif stat.S_ISREG(mode):
                self.found.append(self._read(parent, name, path))
        finally:
            os.close(descriptor)

    def at_directory(self, parent: int | None, path: str) -> None:
        if parent is None:
            return
        try:
            descriptor = os.open(path.rpartition("/")[2], _LOOK | os.O_DIRECTORY, dir_fd=parent)
        except OSError:
            # Missing, a link or a file: recorded as such and not entered.
            self.at_file(parent, path)
            return
        try:
            if path.count("/") > MAX_DEPTH:
                raise TooMuch
            self.inside(descriptor, f"{path}/")
        finally:
            os.close(descriptor)

    def inside(self, directory: int, prefix: str) -> None:
        """Add everything in an open directory; `scandir` mostly knows the type of each entry without a `stat`."""
        with os.scandir(directory) as listed:
            entries = sorted((entry.name, _is_file(entry)) for entry in listed)
        for name, is_file in entries:
            if is_file and len(self.found) < MAX_FILES:
                self.found.append(self._read(directory, name, f"{prefix}{name}"))
            else:
                self.at_directory(directory, f"{prefix}{name}")

    def _read(self, parent: int, name: str, path: str) -> ConfigSource:
        try:
            descriptor = os.open(name, _LOOK, dir_fd=parent)
        except OSError as error:
            return _unread(path, "unreadable", str(error.strerror))
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return _unread(path, "special", "")
            data = _read_all(descriptor, status.st_size, MAX_BYTES - self._bytes + 1)
        except OSError as error:
            return _unread(path, "unreadable", str(error.strerror))
        finally:
            os.close(descriptor)
        self._bytes += len(data)
        if self._bytes > MAX_BYTES:
            raise TooMuch
        digest = hashlib.sha256(data).hexdigest()
        return ConfigSource(path=_printable(path), digest=digest, data=data if len(data) <= MAX_KEPT_LENGTH else None)


def _target_in(workspace: str, path: str) -> str | None:
    """Where a link of the workspace leads within it; None if it is not followed."""
    if not any(kind in path.split("/")[1:2] for kind in FOLLOWED_KINDS):
        return None
    real = os.path.realpath(f"{workspace}/{path}")
    if not real.startswith(f"{workspace}/"):
        return None
    target = real[len(workspace) + 1 :]
    # Names that begin with a dot may be secrets, or the repository itself.
    is_hidden = any(name.startswith(".") and name not in SKILL_HOLDERS for name in target.split("/"))
    return None if is_hidden else target


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def _read_all(descriptor: int, size: int, most: int) -> bytes:
    """Read a file up to the limit with `os.read`, which is cheaper than a file object for small files."""
    data = os.read(descriptor, min(size + 1, most))
    while len(data) != size and len(data) < most:
        more = os.read(descriptor, min(most - len(data), READ_AT_ONCE))
        if not more:
            break
        data += more
    return data


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a regular file; False also if the type is not known yet."""
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _unread(path: str, kind: str, detail: str) -> ConfigSource:
    """An entry that was not read. Its kind is not hashed as content, because a file could contain the same text."""
    digest = hashlib.sha256(detail.encode("utf-8", "surrogateescape")).hexdigest()
    return ConfigSource(path=_printable(path), digest=f"{kind}-{digest}")


def _printable(path: str) -> str:
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")
