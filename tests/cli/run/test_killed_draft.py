"""What is being written when robota is killed is offered at the next start in that directory."""

import signal
import stat
from pathlib import Path

from tests.cli.scripts import script
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal

DONE = {"text": "All done."}


def kept(robota: Robota) -> list[Path]:
    """The files with drafts."""
    return sorted((robota.home / ".robota" / "unsent").glob("*/*"))


def is_kept(robota: Robota, text: str) -> bool:
    """Whether this draft is on disk; a file may be removed while it is looked at."""
    try:
        return any(text in path.read_text() for path in kept(robota))
    except FileNotFoundError:
        return False


def write(robota: Robota, terminal: ScreenTerminal, text: str) -> None:
    terminal.sees("Idle")
    terminal.press(text)
    terminal.wait_until(lambda: is_kept(robota, text))


def kill(terminal: ScreenTerminal) -> None:
    terminal.send(signal.SIGKILL)
    assert terminal.end() != 0


def test_a_draft_is_back_in_the_input_after_kill_9(robota: Robota) -> None:
    script(robota, DONE)
    with ScreenTerminal(robota) as terminal:
        write(robota, terminal, "half a thought")
        [path] = kept(robota)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        kill(terminal)
    for _ in range(2):  # also if it is killed again before a key is pressed
        with ScreenTerminal(robota) as terminal:
            rows = "\n".join(terminal.sees("half a thought"))
            assert "What you were writing when Robota was killed is in the input again." in rows
            kill(terminal)
    with ScreenTerminal(robota) as terminal:
        terminal.sees("half a thought")
        terminal.press(" and the rest\r")
        terminal.sees("All done.")
        assert "> half a thought and the rest" in "\n".join(terminal.rows)
        terminal.wait_until(lambda: not kept(robota))
        kill(terminal)
    with ScreenTerminal(robota) as terminal:
        assert "half a thought" not in "\n".join(terminal.sees("Idle")), "it was sent"


def test_a_draft_that_was_cleared_is_removed(robota: Robota) -> None:
    script(robota, DONE)
    with ScreenTerminal(robota) as terminal:
        write(robota, terminal, "half a thought")
        terminal.press("\x03")
        terminal.wait_until(lambda: not kept(robota))


def test_drafts_of_two_sessions_in_one_directory_are_both_kept(robota: Robota) -> None:
    script(robota, DONE)
    with ScreenTerminal(robota) as first, ScreenTerminal(robota) as second:
        write(robota, first, "the first thought")
        write(robota, second, "the second thought")
        with ScreenTerminal(robota) as third:
            assert "thought" not in "\n".join(third.sees("Idle")), "their sessions still run"
        assert len(kept(robota)) == 2
        kill(first)
        kill(second)
    with ScreenTerminal(robota) as terminal:
        assert "the first thought" not in "\n".join(terminal.sees("the second thought"))
        terminal.press("\x1b[A")
        terminal.sees("the first thought")


def test_a_regular_end_leaves_the_draft_to_the_history_alone(robota: Robota) -> None:
    script(robota, DONE)
    with ScreenTerminal(robota) as terminal:
        write(robota, terminal, "half a thought")
        terminal.send(signal.SIGTERM)
        terminal.end()
    assert not kept(robota)
    with ScreenTerminal(robota) as terminal:
        assert "half a thought" not in "\n".join(terminal.sees("Idle"))
        terminal.press("\x1b[A")
        terminal.sees("half a thought")
