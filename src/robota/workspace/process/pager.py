"""Show text that is longer than the screen in the user's pager."""

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import get_terminal_size
from typing import Final

from robota.text.steering import spelled_steering
from robota.workspace.process.environment import find_program

# Keep colours, exit at once if the text fits, and leave the text on the screen at the end.
LESS_OPTIONS: Final = ("-R", "-F", "-X")


def page_text(text: str, env: Mapping[str, str]) -> None:
    """Page the text if it is longer than the screen and there is a pager; else print it."""
    command = _pager(env) if text.count("\n") >= get_terminal_size().lines else None
    if command is None:
        sys.stdout.write(text)
        return
    try:
        subprocess.run(command, input=spelled_steering(text).encode("utf-8", "replace"), check=False)
    except OSError:
        sys.stdout.write(text)


def _pager(env: Mapping[str, str]) -> list[str] | None:
    if env.get("TERM", "dumb") == "dumb":
        return None
    wanted = env.get("ROBOTA_PAGER", env.get("PAGER", "less"))
    try:
        words = shlex.split(wanted)
    except ValueError:
        return None
    program = find_program(words[0], env, not_beneath=Path.cwd()) if words else None
    if program is None or words[0] == "cat":
        return None
    return [program, *words[1:], *(LESS_OPTIONS if words[0].rpartition("/")[2] == "less" else ())]
