"""The files below `.orchestration/` that a person writes, read again when they have changed."""

import os
import stat
from pathlib import Path
from typing import Final

from robota.intents.intent import Intent, IntentProblem, read_intents
from robota.intents.scope import matches
from robota.workspace.files.gitignore import GitIgnore

DIRECTORY: Final = ".orchestration"
INTENTS: Final = f"{DIRECTORY}/active_intents.yaml"
NEVER_TOUCHED: Final = f"{DIRECTORY}/.intentignore"
LESSONS: Final = f"{DIRECTORY}/AGENT.md"
MOST_BYTES: Final = 1_000_000
FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class IntentFiles:
    """What stands in the files now. Nothing is remembered that the files no longer say."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._read: dict[str, tuple[tuple[int, ...], str]] = {}

    def intents(self) -> tuple[Intent, ...]:
        """All intents, or `IntentProblem` if the file is gone or wrong."""
        return read_intents(self.text(INTENTS))

    def intent(self, id: str) -> Intent | None:
        """The intent with that id, if the file has it."""
        return next((intent for intent in self.intents() if intent.id == id), None)

    def is_never_touched(self, path: str) -> bool:
        """Whether `.intentignore` keeps the path from every intent. It only ever denies."""
        try:
            text = self.text(NEVER_TOUCHED)
        except FileNotFoundError:
            return False
        try:
            return matches(GitIgnore(text.splitlines()), path)
        except ValueError as problem:
            raise IntentProblem(f"{NEVER_TOUCHED} cannot be used: {problem}") from problem

    def lessons(self) -> str:
        """What was learnt in earlier work, as the file has it; nothing if there is none."""
        try:
            return self.text(LESSONS)
        except (FileNotFoundError, IntentProblem):
            return ""

    def text(self, name: str) -> str:
        """One file as text. It is read again only if it changed; a link is not followed."""
        path = self.root / name
        try:
            found = path.lstat()
        except FileNotFoundError:
            if name != INTENTS:
                raise
            raise IntentProblem(f"{name} is gone") from None
        stamp = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if self._read.get(name, ((), ""))[0] != stamp:
            self._read[name] = (stamp, _plain_text(path, name))
        return self._read[name][1]


def has_intents(root: Path) -> bool:
    """Whether a workspace says what agents may work on."""
    return os.path.lexists(root / INTENTS)


def _plain_text(path: Path, name: str) -> str:
    try:
        with os.fdopen(os.open(path, FLAGS), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise IntentProblem(f"{name} is not a plain file")
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise IntentProblem(f"{name} cannot be read: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise IntentProblem(f"{name} has more than {MOST_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise IntentProblem(f"{name} is not UTF-8") from error
