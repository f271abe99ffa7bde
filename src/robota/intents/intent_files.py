"""The user's files in `.orchestration/`, read again when they change."""

import errno
import os
import stat
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from robota.intents.intent import Intent, IntentProblem, read_intents
from robota.intents.scope import matches
from robota.workspace.files.gitignore import GitIgnore

DIRECTORY: Final = ".orchestration"
INTENTS: Final = f"{DIRECTORY}/active_intents.yaml"
NEVER_TOUCHED: Final = f"{DIRECTORY}/.intentignore"
LESSONS: Final = f"{DIRECTORY}/AGENT.md"
MAP: Final = f"{DIRECTORY}/intent_map.md"
MAX_BYTES: Final = 1_000_000
PLACE: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class IntentFiles:
    """The current content of the files."""

    def __init__(self, root: Path, home: Path | None = None, top: Path | None = None) -> None:
        """`home` has the files; patterns start from `top`. Both are the workspace, unless something else is given."""
        self.root = root
        self.home = home or root
        self.top = top or self.root
        self._read: dict[str, tuple[tuple[int, ...], str]] = {}
        self._parsed: tuple[str, tuple[Intent, ...]] | None = None
        self._never: _IgnoreList | None = None

    @property
    def start(self) -> str:
        """The path from the top to the workspace, with a slash at its end; empty if they are the same."""
        return "" if self.root == self.top else f"{self.root.relative_to(self.top)}/"

    def intents(self) -> tuple[Intent, ...]:
        """All intents, or `IntentProblem` if the file is gone or wrong."""
        text = self.text(INTENTS)
        if self._parsed is None or self._parsed[0] is not text:
            self._parsed = (text, read_intents(text))
        return self._parsed[1]

    def known_intents(self) -> tuple[Intent, ...]:
        """All intents; none if the file is gone or wrong."""
        try:
            return self.intents()
        except IntentProblem:
            return ()

    def intent(self, id: str) -> Intent | None:
        """The intent with that id, or None."""
        return next((intent for intent in self.intents() if intent.id == id), None)

    def is_never_touched(self, path: str) -> bool:
        """Whether `.intentignore` excludes the path from all intents. It can only deny."""
        as_written, folded = self._ignored().patterns
        # Some file systems ignore case. The path may be a directory, so patterns for directories count, too.
        return any(
            matches(patterns, spelling, is_directory=is_directory)
            for patterns, spelling in ((as_written, path), (folded, path.casefold()))
            for is_directory in (False, True)
        )

    def is_never_selected(self, id: str) -> bool:
        """Whether `.intentignore` lists the intent itself."""
        return id in self._ignored().lines

    def _ignored(self) -> "_IgnoreList":
        try:
            text = self.text(NEVER_TOUCHED)
        except FileNotFoundError:
            text = ""
        if self._never is None or self._never.text is not text:
            self._never = _ignore_list(text)
        return self._never

    def lessons(self) -> str:
        """The text of the lessons file; empty if there is none."""
        try:
            return self.text(LESSONS)
        except (FileNotFoundError, IntentProblem):
            return ""

    def text(self, name: str) -> str:
        """The text of a file, cached until it changes. Symlinks are not followed."""
        path = self.home / name
        try:
            status = path.lstat()
        except FileNotFoundError:
            if name != INTENTS:
                raise
            raise IntentProblem(f"{name} is gone") from None
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if self._read.get(name, ((), ""))[0] != stamp:
            self._read[name] = (stamp, _plain_text(self.home, name))
        return self._read[name][1]


class _IgnoreList(msgspec.Struct, frozen=True, kw_only=True):
    """`.intentignore`: its lines, and their patterns as written and in lower case."""

    text: str
    lines: frozenset[str]
    patterns: tuple[GitIgnore, GitIgnore]


def _ignore_list(text: str) -> _IgnoreList:
    lines = text.splitlines()
    try:
        patterns = GitIgnore(lines), GitIgnore([line.casefold() for line in lines])
    except ValueError as problem:
        raise IntentProblem(f"{NEVER_TOUCHED} cannot be used: {problem}") from problem
    return _IgnoreList(text=text, lines=frozenset(line.strip() for line in lines), patterns=patterns)


def has_intents(root: Path) -> bool:
    """Whether a workspace has a file of intents."""
    return os.path.lexists(root / INTENTS)


def open_plain(root: Path, name: str, flags: int = os.O_RDONLY, mode: int = 0o644) -> int:
    """Open a regular file without following links or blocking. Raises `OSError` for anything else."""
    directory = os.open(root / DIRECTORY, PLACE)
    try:
        secure = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(PurePosixPath(name).name, secure, mode, dir_fd=directory)
    finally:
        os.close(directory)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a plain file", name)
    return descriptor


def _plain_text(root: Path, name: str) -> str:
    try:
        with os.fdopen(open_plain(root, name), "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise IntentProblem(f"{name} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise IntentProblem(f"{name} has more than {MAX_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise IntentProblem(f"{name} is not UTF-8") from error
