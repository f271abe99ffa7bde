"""The output of commands in terminals of an editor: a file that grows, and the program that prints it there."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from robota.workspace.process.python_child import module_command

POLL_S: Final = 0.05
ENDED: Final = ".ended"


class OutputFiles:
    """A directory of files with output, one for each command. `close` removes it."""

    def __init__(self) -> None:
        self._directory = TemporaryDirectory(prefix="robota-output-")
        self._numbers = count(1)

    def open(self) -> "OutputFile":
        """A file for the output of another command."""
        return OutputFile(Path(self._directory.name) / str(next(self._numbers)))

    def close(self) -> None:
        """Remove all files; programs that still print them end."""
        self._directory.cleanup()


class OutputFile:
    """The `TerminalOutput` of one command."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch(0o600)

    @property
    def command(self) -> list[str]:
        return list(module_command("robota", ("acp", "--show-output", str(self._path))))

    def write(self, text: str) -> None:
        with suppress(OSError), self._path.open("a", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)

    def end(self, exit_code: int) -> None:
        with suppress(OSError):
            self._path.with_suffix(ENDED).write_text(str(exit_code))


def print_output(path: Path) -> int:
    """Print what the file has and gets, until the command has ended; returns its exit code."""
    try:
        with path.open("rb") as file:
            for piece in _pieces(file.fileno(), path):
                sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
        return int(path.with_suffix(ENDED).read_text() or 0)
    except (OSError, ValueError):
        return 1  # the session is over


def _pieces(file: int, path: Path) -> Iterator[bytes]:
    while True:
        is_over = path.with_suffix(ENDED).exists() or not path.exists()
        while piece := os.read(file, 65_536):
            yield piece
        if is_over:
            return
        time.sleep(POLL_S)
