"""The history of prompts for the arrow keys: a file of the user with one JSON value per line."""

import contextlib
import os
from pathlib import Path
from typing import Final

import msgspec

MAX_PROMPTS: Final = 1000
MAX_FILE_BYTES: Final = 4_000_000


class KeptPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt, and the directory it was sent in."""

    cwd: str
    text: str


class PromptFile:
    """The prompts of one directory. Failures to read or write the file are ignored."""

    def __init__(self, path: Path, cwd: str) -> None:
        self._path = path
        self._cwd = cwd

    def read(self) -> tuple[str, ...]:
        """The newest prompts of this directory, the oldest first."""
        try:
            with self._path.open("rb") as file:
                file.seek(max(0, self._path.stat().st_size - MAX_FILE_BYTES))
                lines = file.read().splitlines()
        except OSError:
            return ()
        prompts = []
        for line in lines:
            with contextlib.suppress(msgspec.DecodeError):
                kept = msgspec.json.decode(line, type=KeptPrompt)
                if kept.cwd == self._cwd:
                    prompts.append(kept.text)
        return tuple(prompts[-MAX_PROMPTS:])

    def add(self, prompt: str) -> None:
        """Append a prompt."""
        text = prompt.encode("utf-8", "replace").decode("utf-8")
        line = msgspec.json.encode(KeptPrompt(cwd=self._cwd, text=text)) + b"\n"
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
