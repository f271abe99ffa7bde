"""A menu at a terminal: arrows or numbers move, Enter selects. Drawn with plain lines; the caller decides where."""

import os
import re
import select
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

KEY: Final = re.compile(r"\x1b\[[AB]|\x1bO[AB]|\x1b\[[0-9;]*[~A-Za-z]|\x1b|.", re.DOTALL)
STEPS: Final = {"\x1b[A": -1, "\x1bOA": -1, "k": -1, "\x1b[B": 1, "\x1bOB": 1, "j": 1, "\t": 1}
HINT: Final = "Up/Down or a number, then Enter"
CHOSEN: Final = "\x1b[7m"
RESET: Final = "\x1b[0m"
UNFINISHED: Final = re.compile(rb"\x1b(?:\[[0-9;]*|O)?\Z")
REST_OF_KEY_S: Final = 0.05
# Places in the list that `termios.tcgetattr` returns.
LOCAL_MODES: Final = 3
CONTROL_CHARACTERS: Final = 6
LEAVING: Final = ("\x03", "\x04", "\x1b")


def can_show_menu(env: Mapping[str, str], count: int) -> bool:
    """Whether rows can be redrawn: not without a terminal, on a dumb one, or where they do not all fit."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or env.get("TERM", "dumb") == "dumb":
        return False
    return count + 2 < os.get_terminal_size(sys.stdout.fileno()).lines


def chosen_in_menu(rows: Sequence[str], default: int) -> int | None:
    """The place of the chosen row; None if the user left with Ctrl+C, Ctrl+D or Esc."""
    index, typed = default, ""
    with _single_keys():
        _draw(rows, index, is_first=True)
        for key in _keys():
            if key in ("\r", "\n"):
                return index
            if key in LEAVING:
                return None
            typed = typed + key if key.isdecimal() else ""
            index = _moved(index, key, typed, len(rows))
            _draw(rows, index)
    return None


def _moved(index: int, key: str, typed: str, count: int) -> int:
    if key in STEPS:
        return (index + STEPS[key]) % count
    for number in (typed, key):
        if number.isdecimal() and 1 <= int(number) <= count:
            return int(number) - 1
    return index


def _draw(rows: Sequence[str], index: int, *, is_first: bool = False) -> None:
    from robota.cli.guarded_terminal import steered

    up = "" if is_first else f"\x1b[{len(rows) + 1}A"
    lines = (f"{CHOSEN}{row}{RESET}" if place == index else row for place, row in enumerate(rows))
    shown = "".join(f"\r\x1b[K{line}\n" for line in (*lines, f"  ({HINT})"))
    print(up + shown, end="", flush=True, file=steered(sys.stdout))


def _keys() -> Iterator[str]:
    descriptor = sys.stdin.fileno()
    while data := os.read(descriptor, 1024):
        # Over a slow line the rest of an arrow key comes later than its Esc.
        while UNFINISHED.search(data) and select.select([descriptor], [], [], REST_OF_KEY_S)[0]:
            more = os.read(descriptor, 1024)
            if not more:
                break
            data += more
        yield from KEY.findall(data.decode("utf-8", "replace"))


@contextmanager
def _single_keys() -> Iterator[None]:
    """Keys arrive at once and are not echoed, within this context."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        modes = termios.tcgetattr(descriptor)
        modes[LOCAL_MODES] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)  # Ctrl+C is a key here
        modes[CONTROL_CHARACTERS][termios.VMIN], modes[CONTROL_CHARACTERS][termios.VTIME] = 1, 0
        # Unlike `tty.setcbreak`, this keeps the keys that were pressed as soon as the title could be read.
        termios.tcsetattr(descriptor, termios.TCSADRAIN, modes)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
