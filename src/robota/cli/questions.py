"""Ask the user at a terminal: plain lines, and menus where rows can be redrawn."""

import getpass
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from threading import current_thread, main_thread

from robota.cli.arrow_menu import can_show_menu, chosen_in_menu
from robota.cli.output import print_prose, prose_lines, terminal_width
from robota.clients.terminal.width import cut_columns
from robota.text.visible import printable_name

WIDEST = 10_000


class Cancelled(Exception):
    """The user left with Ctrl+C or Ctrl+D."""


def at_terminal() -> bool:
    """Whether somebody can read a question and answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def ask(question: str, default: str | None = None) -> str:
    """One line; empty means the default."""
    return _answer(_typed_line, question, default)


def ask_secret(question: str, default: str | None = None) -> str:
    """One line that is not shown while it is typed."""
    return _answer(getpass.getpass, f"{question} (not shown)", default)


def confirm(question: str, *, default: bool) -> bool:
    """Ask until the answer is yes or no; an empty line means `default`."""
    while True:
        answer = ask(f"{question} {'[Y/n]' if default else '[y/N]'}").lower()
        if answer in ("", "y", "yes", "n", "no"):
            return default if not answer else answer.startswith("y")
        print("Please answer y or n.")


def choose(title: str, options: Sequence[str], *, names: Sequence[str] = (), default: int = 0) -> int:
    """The place of what was chosen by its number: of the options, a row each, or of the names behind them."""
    print_prose(title)
    width = (terminal_width() or WIDEST) - 1
    if can_show_menu(os.environ, len(options) + len(names)):
        place = chosen_in_menu(list(_rows((*options, *names), (), width)), default)
        if place is None:
            raise Cancelled
        return place
    for row in _rows(options, names, width):
        print(row)
    while True:
        answer = ask("Number", str(default + 1))
        if answer.isdecimal() and 1 <= int(answer) <= len(options) + len(names):
            return int(answer) - 1
        print(f"Please give a number from 1 to {len(options) + len(names)}.")


def _rows(options: Sequence[str], names: Sequence[str], width: int) -> Iterator[str]:
    """One row an option, so that what was said above stays on the screen; names need half a row each."""
    for number, option in enumerate(options, 1):
        yield cut_columns(f"  {number:>2}  {printable_name(option)}", width)
    half = -(-len(names) // 2)
    for place in range(half):
        pair = [each for each in (place, place + half) if each < len(names)]
        cells = [f"  {len(options) + each + 1:>2}  {printable_name(names[each])}" for each in pair]
        yield cut_columns("".join(f"{cell:<{width // 2}}" for cell in cells).rstrip(), width)


def _answer(read: Callable[[str], str], question: str, default: str | None) -> str:
    *above, last = prose_lines(f"{question} [{default}]: " if default else f"{question}: ")
    try:
        for line in above:
            print(line)
        answer = read(last).strip()
    except (EOFError, KeyboardInterrupt) as error:
        print()
        raise Cancelled from error
    return answer or (default or "")


def _typed_line(prompt: str) -> str:
    """Like `input`, which misses a Ctrl+C between printing the prompt and reading: it would still wait for Enter."""
    if not sys.stdin.isatty() or current_thread() is not main_thread():
        return input(prompt)
    print(prompt, end="", flush=True)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    # A signal writes into this pipe, also one that arrives just before `select`.
    previous = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    try:
        while sys.stdin not in select.select([sys.stdin, woken], [], [])[0]:
            os.read(woken, 1024)
    finally:
        signal.set_wakeup_fd(previous)
        os.close(woken)
        os.close(wake)
    return input()
