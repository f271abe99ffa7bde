"""Edit a text in the user's editor."""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from robota.workspace.outside_program import ProgramRefused, chosen_program, find_program, run_outside

USUAL: Final = ("nano", "vim", "vi")


class EditorProblem(Exception):
    """Editing failed. The message says why."""


async def edit_text(text: str, env: Mapping[str, str], workspace: Path) -> str:
    """Run the editor in the terminal and return the edited text. Raises `EditorProblem`.

    Commands can write to `workspace`, so an editor there is not used.
    """
    return await asyncio.to_thread(_edited, text, _editor(env, workspace), env, workspace)


def _editor(env: Mapping[str, str], workspace: Path) -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        command = env.get(name, "")
        if command.strip():
            try:
                return chosen_program(command, env, workspace)
            except ProgramRefused as problem:
                text = f"The editor {command!r} of ${name} was not started: {problem.strerror}."
                raise EditorProblem(text) from problem
    program = next((path for name in USUAL if (path := find_program(name, env, not_beneath=workspace))), None)
    if program is None:
        raise EditorProblem(f"No editor: $EDITOR is not set, and none of {', '.join(USUAL)} is installed.")
    return [program]


def _edited(text: str, command: list[str], env: Mapping[str, str], workspace: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="robota-edit-") as directory:
        file = Path(directory) / "text"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            done = run_outside([*command, str(file)], workspace=workspace, env=env, cwd=Path.cwd())
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
