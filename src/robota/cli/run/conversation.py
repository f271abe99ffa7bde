"""A conversation at this process's own terminal."""

import os
import sys

from robota.app.commands import with_commands
from robota.app.session import OpenSession
from robota.cli.run.command_actions import command_actions
from robota.clients.plain.client import NotEdited, Terminal, converse
from robota.clients.terminal.line_writer import LineWriter
from robota.protocol.slash_commands import SessionWanted
from robota.workspace.process.editor import EditorProblem, edit_text


async def converse_here(opened: OpenSession, prompt: str | None) -> int | SessionWanted:
    """Talk with the person at the terminal until they leave; returns the exit code, or where they go on."""
    if prompt is None:
        where = f"Robota in {opened.options.cwd}, {opened.options.model}."
        LineWriter(sys.stdout).prose(f"{where} Say what to do; /help shows what else.", indent="  ")
    terminal = Terminal(input=sys.stdin.fileno(), out=sys.stdout, edit=_edited)
    session = with_commands(opened, command_actions(opened), os.environ)
    end = await converse(session, prompt, terminal)
    _forget_unwritten()
    return end


async def _edited(text: str) -> str | NotEdited:
    try:
        return await edit_text(text, os.environ)
    except EditorProblem as problem:
        return NotEdited(str(problem))


def _forget_unwritten() -> None:
    """What a closed window could not show any more is no reason to fail at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
