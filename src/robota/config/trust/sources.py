"""The files of a workspace that could configure Robota, each with its hash.

Links are never followed and special files never opened, so that a repository cannot point at something else.
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
DIRECTORIES: Final = (
    *(
        f"{place}/{kind}"
        for place in (".claude", ".robota")
        for kind in ("agents", "commands", "hooks", "output-styles", "plugins", "prompts", "skills", "tools")
    ),
    ".gemini/commands",
    *(f"{place}/{kind}" for place in (".agents", ".roo", ".opencode", ".cursor") for kind in ("commands", "skills")),
)
MAX_DEPTH: Final = 12
MAX_FILES: Final = 2000
MAX_BYTES: Final = 32 * 1024 * 1024
MAX_KEPT_LENGTH: Final = 256 * 1024
READ_AT_ONCE: Final = 1024 * 1024

_LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ConfigSource(msgspec.Struct, frozen=True, kw_only=True):
    """One file. `data` is None if it is too long or not a regular file; then it is never read as settings."""

    path: str
    digest: str
    data: bytes | None = None


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
    look = _Look()
    problem = None
    try:
        for path in FILES:
            with _parent(root, path) as parent:
                look.at_file(parent, path)
        for path in DIRECTORIES:
            with _parent(root, path) as parent:
                look.at_directory(parent, path)
    except TooMuch:
        problem = f"its configuration is larger than {MAX_FILES} files or {MAX_BYTES >> 20} MiB"
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
        problem = f"it is larger than {MAX_FILES} files or {MAX_BYTES >> 20} MiB"
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
    """The files found so far, within limits."""

    def __init__(self) -> None:
        self.found: list[ConfigSource] = []
        self._bytes = 0

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
            self.found.append(_unread(path, "link", os.readlink(name, dir_fd=parent)))
        elif stat.S_ISREG(status.st_mode):
            self.found.append(self._read(parent, name, path))
        else:
            self.found.append(_unread(path, "special", ""))

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
