"""`robota` in tmux, as many people run it: a terminal that is neither ours nor the emulator's of the other tests."""

import contextlib
import os
import select
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.harness.terminal import LONGEST_WAIT_S

PANE = "robota:0.0"


class TmuxWindow:
    """One window of a server of its own, with a shell in it that has started `robota`."""

    def __init__(
        self, robota: Robota, *arguments: str, columns: int = 80, rows: int = 24, env: Mapping[str, str] | None = None
    ) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="tmux-")
        place = Path(self._directory.name)
        self._socket = place / "socket"
        self._written = place / "written"
        os.mkfifo(self._written)
        self._news = os.open(self._written, os.O_RDONLY | os.O_NONBLOCK)
        self._env = {**clean_environment(robota.home), "TERM": "xterm-256color", "PS1": "shell: ", **(env or {})}
        size = ("-x", str(columns), "-y", str(rows))
        place_and_shell = ("-c", str(robota.workspace), "bash", "--norc", "--noprofile", "-i")
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "robota", *size, *place_and_shell)
        # Whatever the pane is sent tells us that there is something new to look at.
        self._tmux("pipe-pane", "-t", PANE, f"cat > {shlex.quote(str(self._written))}")
        self.sees("shell:")
        self.type(shlex.join([str(EXECUTABLE), *arguments]))
        self.press("Enter")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: type[BaseException] | BaseException | TracebackType | None) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._tmux("kill-server")
        os.close(self._news)
        self._directory.cleanup()

    def type(self, text: str) -> None:
        """Type characters."""
        self._tmux("send-keys", "-t", PANE, "-l", text)

    def press(self, *keys: str) -> None:
        """Press keys by the names that tmux has for them."""
        self._tmux("send-keys", "-t", PANE, *keys)

    def paste(self, text: str) -> None:
        """Paste a text as a terminal does: in brackets if the program wants that."""
        subprocess.run([*self._command, "load-buffer", "-"], input=text.encode(), env=self._env, check=True)
        self._tmux("paste-buffer", "-p", "-t", PANE)

    def resize(self, columns: int, rows: int) -> None:
        """Make the window another size."""
        self._tmux("resize-window", "-t", PANE, "-x", str(columns), "-y", str(rows))

    def close(self) -> None:
        """Close the window under the program."""
        self._tmux("kill-pane", "-t", PANE)

    def screen(self) -> str:
        """What stands on the screen now."""
        return self._tmux("capture-pane", "-p", "-t", PANE)

    def everything(self) -> str:
        """What stands on the screen and what has gone up from it, rows that were broken made whole."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-", "-t", PANE)

    def sees(self, words: str) -> str:
        """Wait until the words stand on the screen; the screen then."""
        return self._looked(words, is_wanted=True)

    def sees_no_more(self, words: str) -> str:
        """Wait until the words are gone from the screen; the screen then."""
        return self._looked(words, is_wanted=False)

    def _looked(self, words: str, *, is_wanted: bool) -> str:
        deadline = time.monotonic() + LONGEST_WAIT_S
        while ((shown := self.screen()).find(words) >= 0) is not is_wanted:
            left = deadline - time.monotonic()
            assert left > 0, f"waited for {words!r} in vain (wanted: {is_wanted}):\n{shown}"
            # tmux draws a moment after it has passed the bytes on, so the last look may have been too early.
            select.select([self._news], [], [], min(left, 0.05))
            with contextlib.suppress(BlockingIOError):
                os.read(self._news, 1 << 20)
        return shown

    @property
    def _command(self) -> list[str]:
        return ["tmux", "-S", str(self._socket)]

    def _tmux(self, *arguments: str) -> str:
        command = [*self._command, *arguments]
        # The server goes on with the streams of who starts it, so none of them may be a pipe that is read to its end.
        with tempfile.TemporaryFile() as output:
            subprocess.run(command, env=self._env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=True)
            output.seek(0)
            return output.read().decode()
