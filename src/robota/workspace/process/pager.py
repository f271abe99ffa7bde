"""Show text that is longer than the screen in the user's pager."""

import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import get_terminal_size
from typing import Final

from robota.text.steering import spelled_steering
from robota.workspace.outside_program import ProgramRefused, chosen_program, run_outside

# Keep colours, exit at once if the text fits, and leave the text on the screen at the end.
LESS_OPTIONS: Final = ("-R", "-F", "-X")


def page_text(text: str, env: Mapping[str, str]) -> None:
    """Page the text if it is longer than the screen and there is a pager; else print it."""
    command = _pager(env) if text.count("\n") >= get_terminal_size().lines else None
    if command is None:
        sys.stdout.write(text)
        return
    try:
        data = spelled_steering(text).encode("utf-8", "replace")
        run_outside(command, workspace=Path.cwd(), env=env, cwd=Path.cwd(), input=data)
    except OSError:
        sys.stdout.write(text)


def _pager(env: Mapping[str, str]) -> list[str] | None:
    if env.get("TERM", "dumb") == "dumb":
        return None
    command = env.get("ROBOTA_PAGER", env.get("PAGER", "less"))
    try:
        words = chosen_program(command, env, Path.cwd())
    except ProgramRefused:
        return None
    name = words[0].rpartition("/")[2]
    return None if name == "cat" else [*words, *(LESS_OPTIONS if name == "less" else ())]
