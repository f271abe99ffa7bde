"""Asking a person at a terminal: plain lines, nothing drawn."""

import getpass
import sys
from collections.abc import Callable, Sequence

from robota.cli.output import print_prose, prose_lines, terminal_width

WIDEST = 10_000


class Cancelled(Exception):
    """The person left with Ctrl-C or Ctrl-D."""


def at_terminal() -> bool:
    """Whether somebody can read a question and answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def ask(question: str, default: str | None = None) -> str:
    """One line; empty means the default."""
    return _answer(input, question, default)


def ask_secret(question: str, default: str | None = None) -> str:
    """One line that is not shown while it is typed."""
    return _answer(getpass.getpass, f"{question} (not shown)", default)


def confirm(question: str, *, default: bool) -> bool:
    """Ask until the answer is yes or no; an empty line means `default`."""
    while True:
        said = ask(f"{question} {'[Y/n]' if default else '[y/N]'}").lower()
        if said in ("", "y", "yes", "n", "no"):
            return default if not said else said.startswith("y")
        print("Please answer y or n.")


def choose(title: str, options: Sequence[str], *, free: bool = False) -> int | str:
    """The place of the option chosen by its number; the first is the default. `free` also takes other words."""
    print_prose(title)
    room = (terminal_width() or WIDEST) - len("  12  ") - 1
    for number, option in enumerate(options, 1):
        # One row each, so that what was said above the list stays on the screen.
        print(f"  {number:>2}  {option if len(option) <= room else option[: room - 1] + '…'}")
    while True:
        said = ask("Number" + (" or name" if free else ""), "1")
        if said.isdecimal() and 1 <= int(said) <= len(options):
            return int(said) - 1
        if free and said:
            return options.index(said) if said in options else said
        print(f"Please give a number from 1 to {len(options)}.")


def _answer(read: Callable[[str], str], question: str, default: str | None) -> str:
    *above, last = prose_lines(f"{question} [{default}]: " if default else f"{question}: ")
    try:
        for line in above:
            print(line)
        said = read(last).strip()
    except (EOFError, KeyboardInterrupt) as error:
        print()
        raise Cancelled from error
    return said or (default or "")
