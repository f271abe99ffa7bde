"""`robota` at a real terminal: a user reads what appears and types when asked."""

import codecs
import contextlib
import os
import pty
import re
import select
import subprocess
import termios
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from tests.harness.cli import EXECUTABLE, Robota, clean_environment

LONGEST_WAIT_S = 120.0  # only a test that fails waits that long
POLL_S = 0.05
BETWEEN_KEYS_S = 3.0
# A numbered entry of a list; two of them may stand in one line.
ENTRY = re.compile(r"(?:^|  ) *(\d+)  (.*?)(?=  +\d+  |$)", re.MULTILINE)


class Terminal:
    """A process with a terminal of its own. `screen` is everything that ever appeared on it."""

    def __init__(
        self,
        robota: Robota,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] | None = None,
        program: str = str(EXECUTABLE),
    ) -> None:
        self._ours, theirs = pty.openpty()
        if size is not None:
            termios.tcsetwinsize(theirs, (size[1], size[0]))
        self._process = subprocess.Popen(
            [program, *arguments],
            cwd=robota.workspace,
            env={**clean_environment(robota.home), **(env or {})},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        self.screen = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may come in two pieces
        self._read_to = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._close()

    def wait_for(self, words: str) -> str:
        """Everything new up to and with these words."""
        deadline = time.monotonic() + LONGEST_WAIT_S
        while words not in self.screen[self._read_to :]:
            assert self._read(deadline), f"{words!r} never appeared:\n{self.screen}"
        end = self.screen.index(words, self._read_to) + len(words)
        new, self._read_to = self.screen[self._read_to : end], end
        return new

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that does not show on the screen."""
        deadline = time.monotonic() + LONGEST_WAIT_S
        while not condition():
            assert time.monotonic() < deadline, self.screen
            self._read(min(deadline, time.monotonic() + POLL_S))

    def answer(self, question: str, text: str) -> None:
        """Wait for a question, then type the answer and Enter."""
        self.wait_for(question)
        self.press(text + "\n")

    def choose(self, question: str, label: str, prompt: str = "Number") -> None:
        """Choose from a numbered list by the words of an entry; two of them may stand in one line."""
        self.wait_for(question)
        entries = ENTRY.findall(self.wait_for(prompt))
        number = next(number for number, text in entries if label in text)
        self.press(number + "\n")

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def end(self) -> int:
        """Read to the end; the exit code."""
        deadline = time.monotonic() + LONGEST_WAIT_S
        while self._read(deadline):
            pass
        return self._process.wait(LONGEST_WAIT_S)

    def hang_up(self) -> int:
        """Wait until the conversation waits for words, say none, and read to the end; the exit code."""
        self.wait_for("\n> ")
        self.press("\x04")
        return self.end()

    def leave(self, key: str) -> int:
        """Press a key until the process ends; the exit code. Python does not see a Ctrl+C just before it reads."""
        for _ in range(40):
            self.press(key)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(BETWEEN_KEYS_S)
                break
        return self.end()

    def send(self, number: int) -> None:
        """Send a signal to the process alone."""
        self._process.send_signal(number)

    def modes(self) -> list[Any]:
        """The modes of the terminal now."""
        return termios.tcgetattr(self._ours)  # both ends of a pty share them

    def vanish(self) -> int:
        """Close the window while the process runs; its exit code."""
        self._close()
        return self._process.wait(LONGEST_WAIT_S)

    def _close(self) -> None:
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            return False
        self.screen += self._decoder.decode(data).replace("\r\n", "\n")
        return bool(data)


def _take_terminal() -> None:
    """Make the terminal the controlling one of the new session, so that Ctrl+C reaches the process.

    Whoever runs the tests may ignore signals (`nohup` SIGHUP, a shell in the background Ctrl+C); children inherit that.
    """
    import fcntl
    import signal

    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
