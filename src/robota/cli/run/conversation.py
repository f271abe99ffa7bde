"""Run a conversation in the terminal of this process: in the terminal UI, or in plain lines."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from robota.app.session import OpenSession
from robota.clients.terminal.editor import EditText, NotEdited
from robota.commands.session_commands import with_commands
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import SessionWanted

if TYPE_CHECKING:
    from robota.workspace.process.terminal_guard import GuardProcess


async def converse_here(
    opened: OpenSession, prompt: str | None, *, plain: bool, can_be_resumed: bool = True
) -> int | SessionWanted:
    """Talk with the user until they leave; returns the exit code, or the session to continue with."""
    session = with_commands(opened, os.environ)
    if not plain and can_draw(os.environ):
        from robota.clients.tui.screen.lean_prompt_toolkit import load_without_shortcuts

        load_without_shortcuts()
        from robota.cli.run.screen_conversation import converse_drawn

        end = await converse_drawn(session, opened, prompt, _editing(opened), guard_terminal)
        if can_be_resumed and isinstance(end, int) and opened.session.state().cline_messages:
            sys.stdout.write(f"To resume this session: robota --resume {opened.options.session_id}\n")
    else:
        end = await _converse_in_lines(session, opened, prompt)
    _forget_unwritten()
    return end


def can_draw(env: Mapping[str, str]) -> bool:
    """Whether the terminal can move its cursor, and the terminal UI is installed."""
    if env.get("TERM", "dumb") in ("dumb", "unknown", "") or env.get("ROBOTA_UI") == "plain":
        return False
    from importlib.util import find_spec

    return find_spec("prompt_toolkit") is not None and find_spec("rich") is not None


async def _converse_in_lines(session: SessionPort, opened: OpenSession, prompt: str | None) -> int | SessionWanted:
    from robota.clients.plain.client import Terminal, converse
    from robota.clients.terminal.line_writer import LineWriter

    if prompt is None:
        where = f"Robota in {opened.options.cwd}, {opened.options.model}."
        LineWriter(sys.stdout).prose(f"{where} Describe a task to start, or type /help.", indent="  ")
    terminal = Terminal(
        input=sys.stdin.fileno(),
        out=sys.stdout,
        edit=_editing(opened),
        is_past_shown=opened.is_past_shown,
        start_guard=guard_terminal if os.environ.get("TERM", "dumb") != "dumb" else None,
    )
    return await converse(session, prompt, terminal)


def guard_terminal(modes: Sequence[Any]) -> "GuardProcess":
    """Start the process that restores the terminal if we are killed. Imported after the first screen."""
    from robota.workspace.process.terminal_guard import GuardProcess

    return GuardProcess(sys.stdout.fileno(), modes)


def _editing(opened: OpenSession) -> EditText:
    """How a text is edited in the user's editor."""

    async def edit(text: str) -> str | NotEdited:
        from robota.workspace.user_programs.editor import EditorProblem, edit_text

        try:
            return await edit_text(text, os.environ, opened.options.cwd)
        except EditorProblem as problem:
            return NotEdited(str(problem))

    return edit


def _forget_unwritten() -> None:
    """Discard output that a closed terminal could not show, so that the process does not fail at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
