"""Runs the console blocks of a page as a reader would type them, and compares what they print.

A line that begins with `$ ` is a command, lines with `> ` go on with it, the rest is what it prints: `…` stands for
anything, on a line of its own for any number of lines. A command without output may print what it likes.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from tests.harness.cli import Finished, clean_environment, run

BLOCK: Final = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
MARK: Final = "--- next command ---"


class TypedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command of a page, and the lines that stand below it."""

    text: str
    printed: str


def typed_commands(page: str) -> Iterator[TypedCommand]:
    """The commands of all console blocks of a page, in order."""
    for block in BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *rest = part.rstrip("\n").split("\n")
            more = [line.removeprefix("> ").removeprefix(">") for line in rest if line.startswith(">")]
            printed = [line for line in rest if not line.startswith(">")]
            yield TypedCommand(text="\n".join([first, *more]), printed="\n".join(printed))


def run_commands(commands: list[TypedCommand], cwd: Path, home: Path, programs: Path) -> list[str]:
    """What each printed, typed one after another in one shell that finds `robota` among these programs."""
    script = "".join(f"{command.text}\nprintf '%s\\n' '{MARK}'\n" for command in commands)
    return run_script(f"exec 2>&1\n{script}", cwd, home, programs).stdout.split(f"{MARK}\n")[:-1]


def run_script(script: str, cwd: Path, home: Path, *programs: Path) -> Finished:
    """Run it in a shell that finds the programs in these directories first of all."""
    environment = clean_environment(home)
    environment["PATH"] = os.pathsep.join([*map(str, programs), environment["PATH"]])
    return run(["bash", "--norc", "-c", script], cwd, environment, "")


def looks_like(printed: str, expected: str) -> bool:
    """Whether a command printed what the page shows."""
    lines = expected.split("\n")
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else _line_pattern(line) for line in lines)
    return not expected or re.fullmatch(pattern, _without_trailing_blanks(printed)) is not None


def _line_pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.rstrip().split("…")) + "\n"


def _without_trailing_blanks(printed: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in printed.rstrip("\n").split("\n"))
