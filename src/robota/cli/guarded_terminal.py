"""The terminal for all commands: it gets only text, and no control sequences, whatever a command prints.

What they print comes from logs, file names, settings and servers, and each of some hundred places would have to think
of that. Streams that are no terminal stay as they are: what is in a pipe is for a program.
"""

import codecs
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from robota.text.steering import spelled_steering


def guard_terminals() -> None:
    """From now on `sys.stdout` and `sys.stderr` let only text through, if they are terminals."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream.isatty():
            setattr(sys, name, GuardedTerminal(stream))


def steered(stream: TextIO) -> TextIO:
    """The terminal behind a stream, for what draws on it; other streams as they are."""
    return stream.terminal if isinstance(stream, GuardedTerminal) else stream


class GuardedTerminal:
    """A stream of text in front of a terminal."""

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal
        self.buffer = _GuardedBytes(self)

    def write(self, text: str) -> int:
        """Write the text, with what would steer the terminal spelled out."""
        self.terminal.write(spelled_steering(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.terminal, name)


class _GuardedBytes:
    """The binary stream of the terminal. A character may arrive in two pieces."""

    def __init__(self, terminal: GuardedTerminal) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: bytes) -> int:
        """Write text that is UTF-8."""
        self._terminal.write(self._decoder.decode(data))
        return len(data)

    def flush(self) -> None:
        """Let the terminal have it now."""
        self._terminal.flush()
