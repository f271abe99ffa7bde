"""Edit a text in the user's editor."""

import asyncio
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from robota.workspace.process.environment import find_program

USUAL: Final = ("nano", "vim", "vi")


class EditorProblem(Exception):
    """Editing failed. The message says why."""


async def edit_text(text: str, env: Mapping[str, str], workspace: Path) -> str:
    """Run the editor in the terminal and return the edited text. Raises `EditorProblem`.

    Commands can write to `workspace`, so an editor there is used only if the user names it by its path.
    """
    return await asyncio.to_thread(_edited, text, _editor(env, workspace))


def _editor(env: Mapping[str, str], workspace: Path) -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        command = env.get(name, "")
        if command.strip():
            words = _words(command)
            program = find_program(words[0], env, not_beneath=workspace) if words else None
            if program is None:
                raise EditorProblem(f"The editor {command!r} of ${name} was not found outside the workspace.")
            return [program, *words[1:]]
    program = next((found for name in USUAL if (found := find_program(name, env, not_beneath=workspace))), None)
    if program is None:
        raise EditorProblem(f"No editor: $EDITOR is not set, and none of {', '.join(USUAL)} is installed.")
    return [program]


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _edited(text: str, command: list[str]) -> str:
    with tempfile.TemporaryDirectory(prefix="robota-edit-") as directory:
        file = Path(directory) / "text"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            done = subprocess.run([*command, str(file)], check=False)
        except OSError as error:
            raise EditorProblem(f"The editor {command[0]} could not be started: {error.strerror}.") from error
        if done.returncode != 0:
            raise EditorProblem(f"The editor {command[0]} failed (exit code {done.returncode}).")
        try:
            changed = file.read_bytes().decode("utf-8", "surrogatepass")
        except (OSError, UnicodeDecodeError) as error:
            raise EditorProblem(f"What the editor left cannot be read: {error}.") from error
    # Editors add a newline at the end of the file; remove it if the text had none.
    return changed if text.endswith("\n") else changed.removesuffix("\n")
