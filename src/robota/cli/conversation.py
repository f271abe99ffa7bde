"""A conversation at this process's own terminal."""

import os
import sys

from robota.app import OpenSession
from robota.clients.plain.client import Terminal, converse
from robota.workspace.editor import edit_text


async def converse_here(opened: OpenSession, prompt: str | None) -> int:
    """Talk with the person at the terminal until they leave; returns the exit code."""
    if prompt is None:
        print(f"Robota in {opened.options.cwd}, {opened.options.model}. Say what to do; /help shows what else.")
    terminal = Terminal(
        input=sys.stdin.fileno(), out=sys.stdout, err=sys.stderr, edit=lambda text: edit_text(text, os.environ)
    )
    return await converse(opened.session, prompt, terminal)
