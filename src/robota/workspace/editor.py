"""The person's own editor, for a text they want to change."""

import asyncio
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from robota.workspace.programs import find_program

USUAL: Final = ("nano", "vim", "vi")


async def edit_text(text: str, env: Mapping[str, str]) -> str | None:
    """The text as the person left it, with the terminal theirs meanwhile; None if no editor could be used."""
    command = _editor(env)
    if command is None:
        return None
    return await asyncio.to_thread(_edited, text, command)


def _editor(env: Mapping[str, str]) -> list[str] | None:
    for name in ("VISUAL", "EDITOR"):
        words = _words(env.get(name, ""))
        program = find_program(words[0], env) if words else None
        if program is not None:
            return [program, *words[1:]]
    program = next((found for name in USUAL if (found := find_program(name, env))), None)
    return None if program is None else [program]


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _edited(text: str, command: list[str]) -> str | None:
    with tempfile.TemporaryDirectory(prefix="robota-edit-") as directory:
        file = Path(directory) / "text"
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        try:
            done = subprocess.run([*command, str(file)], check=False)
        except OSError:
            return None
        if done.returncode != 0:
            return None
        changed = file.read_bytes().decode("utf-8", "surrogateescape")
    # Editors end a file with a newline; a text that had none is not meant to get one.
    return changed if text.endswith("\n") else changed.removesuffix("\n")
