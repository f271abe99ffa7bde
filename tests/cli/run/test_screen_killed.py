"""What `kill -9` leaves of the terminal, under a shell that restores nothing and under one that does."""

import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.scripts import script
from tests.harness.cli import EXECUTABLE, Robota
from tests.harness.programs import needs
from tests.harness.screen import ScreenTerminal

pytestmark = needs("dash")

SLOWLY = {"text": "First words. " + "More words. " * 500, "chunkDelayMs": 50}
DASH = ("dash", "-i")
BASH = ("bash", "--norc", "-i")


class Shell(ScreenTerminal):
    """An interactive shell in which robota is started by hand."""

    def __init__(self, robota: Robota, program: str, *arguments: str, path: str = os.environ["PATH"]) -> None:
        super().__init__(robota, *arguments, program=program, env={"PS1": "shell: ", "PATH": path})
        self.sees("shell:")
        self.before = self.modes()

    def start(self, *arguments: str) -> tuple[int, int]:
        """Start robota; its process and that of its guard."""
        self.press(f"{shlex.join([str(EXECUTABLE), *arguments])}\r")
        self.sees("or type /help" if "--plain" in arguments else "Idle")
        process = os.tcgetpgrp(self._ours)
        self.wait_until(lambda: bool(guards_of(process)))
        (guard,) = guards_of(process)
        return process, guard

    def ended(self, process: int) -> None:
        """Wait for the end of a process."""
        self.wait_until(lambda: not Path(f"/proc/{process}").exists())

    @property
    def is_paste_marked(self) -> bool:
        """Whether the terminal marks pastes, by what it was sent last."""
        return self.screen.rfind("\x1b[?2004h") > self.screen.rfind("\x1b[?2004l")


def children_of(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def guards_of(process: int) -> list[int]:
    """The children of a process that guard its terminal."""
    return [each for each in children_of(process) if b"terminal-guard" in Path(f"/proc/{each}/cmdline").read_bytes()]


@contextmanager
def shell(robota: Robota, program: str, *arguments: str, path: str = os.environ["PATH"]) -> Iterator[Shell]:
    script(robota, SLOWLY)
    with Shell(robota, program, *arguments, path=path) as terminal:
        yield terminal


@pytest.mark.parametrize("place", ["input", "page", "stream", "plain"])
def test_under_a_shell_that_restores_nothing_the_terminal_is_as_before(robota: Robota, place: str) -> None:
    with shell(robota, *DASH) as terminal:
        process, guard = terminal.start(*(["--plain"] if place == "plain" else []))
        if place == "page":
            terminal.press("\x0f")
            terminal.wait_for("\x1b[?1049h")
            terminal.wait_for("\x1b[?2004h")
        elif place == "stream":
            terminal.press("say it\r")
            terminal.sees("More words.")
        os.kill(process, signal.SIGKILL)
        terminal.ended(guard)
        assert terminal.modes() == terminal.before
        terminal.press("echo al''ive\r")
        terminal.wait_for("alive")
        terminal.wait_until(lambda: not terminal.is_paste_marked)
        for off, on in (("?1049l", "?1049h"), ("?1004l", "?1004h"), ("?25h", "?25l"), ("?2026l", "?2026h")):
            assert terminal.screen.rfind(off) >= terminal.screen.rfind(on), (off, on)


def test_a_shell_with_a_line_editor_keeps_what_it_has_set_itself(robota: Robota) -> None:
    with shell(robota, *BASH) as terminal:
        process, guard = terminal.start()
        os.kill(process, signal.SIGKILL)
        terminal.wait_for("Killed")
        terminal.ended(guard)
        assert terminal.modes() == terminal.before
        assert terminal.is_paste_marked
        assert terminal.screen.rfind("?1004l") > terminal.screen.rfind("?1004h")


@pytest.mark.parametrize("is_asked", [True, False])
def test_another_program_in_the_foreground_is_left_alone(robota: Robota, is_asked: bool) -> None:
    with shell(robota, *DASH) as terminal:
        process, guard = terminal.start()
        if is_asked:
            terminal.press("\x1a")
        else:
            os.kill(process, signal.SIGSTOP)
        terminal.wait_for("Stopped")
        terminal.press("cat; echo ov''er\r" if is_asked else "cat; echo ov''er\n")
        terminal.wait_until(lambda: os.tcgetpgrp(terminal._ours) not in (process, os.getsid(guard)))
        modes, written = terminal.modes(), len(terminal.screen)
        os.kill(process, signal.SIGKILL)
        terminal.ended(guard)
        assert terminal.modes() == modes
        assert "\x1b" not in terminal.screen[written:]


def test_the_next_program_of_a_script_is_left_alone(robota: Robota) -> None:
    with shell(robota, "sh", "-c", f"printf 'shell: '; read -r _; {EXECUTABLE}; cat") as terminal:
        terminal.press("\r")
        terminal.sees("Idle")
        process = children_of(terminal._process.pid)[0]
        terminal.wait_until(lambda: bool(guards_of(process)))
        (guard,) = guards_of(process)
        modes = terminal.modes()
        os.kill(process, signal.SIGKILL)
        terminal.ended(guard)
        assert terminal.modes() == modes
        assert terminal.is_paste_marked


def test_the_guard_runs_no_program_that_a_command_can_replace(robota: Robota) -> None:
    # Commands may write to the workspace, and an active virtual environment there is on the PATH.
    programs = robota.workspace / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("stty", "sleep", "ps", "tr"):
        (programs / name).write_text('#!/bin/sh\n: >"$0.was-run"\n')
        (programs / name).chmod(0o755)
    with shell(robota, *DASH, path=f"{programs}:{os.environ['PATH']}") as terminal:
        process, guard = terminal.start()
        os.kill(process, signal.SIGKILL)
        terminal.ended(guard)
        assert terminal.modes() == terminal.before
    assert not list(programs.glob("*.was-run"))


def test_an_ordinary_end_leaves_no_guard(robota: Robota) -> None:
    with shell(robota, *DASH) as terminal:
        _, guard = terminal.start()
        terminal.press("\x04")
        terminal.ended(guard)
        terminal.wait_until(lambda: terminal.modes() == terminal.before)
        terminal.wait_until(lambda: not terminal.is_paste_marked)
