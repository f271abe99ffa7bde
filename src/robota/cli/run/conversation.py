"""Run a conversation in the terminal of this process: in the terminal UI, or in plain lines."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from robota.app.session import OpenSession
from robota.clients.terminal.editor import EditText, NotEdited
from robota.commands.session_commands import with_commands
from robota.config.settings.schema import OnHangup
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import NextStep
from robota.serving.left_running import LeftRunning
from robota.serving.shown_session import ShownSession, shown_session

# The name that Claude Code has for it.
LEFT_BY_USER: Final = "prompt_input_exit"
CLIENT: Final = "robota"

if TYPE_CHECKING:
    from robota.workspace.process.terminal_guard import GuardProcess


async def converse_here(
    opened: OpenSession, prompt: str | None, *, plain: bool, can_be_resumed: bool = True
) -> int | NextStep | LeftRunning:
    """Talk with the user until they leave; returns the exit code, or the session to continue with."""
    survives = opened.settings.values.on_hangup is OnHangup.DETACH and _is_at_terminal()
    try:
        end = await converse(with_commands(opened, os.environ, CLIENT), shown_session(opened), prompt, plain=plain)
    except OSError:
        if not survives or _is_at_terminal():
            raise
        end = 0
    if end == 0 and not opened.is_closing:
        opened.session.ends_because = LEFT_BY_USER
    if isinstance(end, int) and survives and not _is_at_terminal():
        from robota.serving.detached import leave_terminal

        leave_terminal()
        return LeftRunning()
    is_drawn = not plain and can_draw(os.environ)
    if is_drawn and can_be_resumed and end == 0 and not opened.is_closing and opened.session.state().cline_messages:
        sys.stdout.write(f"To resume this session: robota --resume {opened.options.session_id}\n")
    _forget_unwritten()
    return end


async def converse(session: SessionPort, shown: ShownSession, prompt: str | None, *, plain: bool) -> int | NextStep:
    """Talk with the user about a session of this process or another one, in the terminal UI or in plain lines."""
    if not plain and can_draw(os.environ):
        from robota.clients.tui.screen.lean_prompt_toolkit import load_without_shortcuts

        load_without_shortcuts()
        from robota.cli.run.screen_conversation import converse_drawn

        return await converse_drawn(session, shown, prompt, _editing(shown), guard_terminal, _open_inbox)
    return await _converse_in_lines(session, shown, prompt)


def _is_at_terminal() -> bool:
    """Whether the user still has a terminal; that it has died is seen in many ways, but always here."""
    return os.isatty(sys.stdin.fileno())


def can_draw(env: Mapping[str, str]) -> bool:
    """Whether the terminal can move its cursor, and the terminal UI is installed."""
    if env.get("TERM", "dumb") in ("dumb", "unknown", "") or env.get("ROBOTA_UI") == "plain":
        return False
    from importlib.util import find_spec

    return find_spec("prompt_toolkit") is not None and find_spec("rich") is not None


async def _converse_in_lines(session: SessionPort, shown: ShownSession, prompt: str | None) -> int | NextStep:
    from robota.clients.plain.client import Terminal
    from robota.clients.plain.client import converse as converse_in_lines
    from robota.clients.terminal.line_writer import LineWriter

    if prompt is None:
        where = f"Robota in {shown.cwd}, {shown.model}."
        LineWriter(sys.stdout).prose(f"{where} Describe a task to start, or type /help.", indent="  ")
    terminal = Terminal(
        input=sys.stdin.fileno(),
        out=sys.stdout,
        edit=_editing(shown),
        open_inbox=_open_inbox,
        is_past_shown=shown.is_past_shown,
        start_guard=guard_terminal if os.environ.get("TERM", "dumb") != "dumb" else None,
    )
    return await converse_in_lines(session, prompt, terminal)


def guard_terminal(modes: Sequence[Any]) -> "GuardProcess":
    """Start the process that restores the terminal if we are killed. Imported after the first screen."""
    from robota.workspace.process.terminal_guard import GuardProcess

    return GuardProcess(sys.stdout.fileno(), modes)


def _editing(shown: ShownSession) -> EditText:
    """How a text is edited in the user's editor."""

    async def edit(text: str) -> str | NotEdited:
        from robota.workspace.user_programs.editor import EditorProblem, edit_text

        try:
            return await edit_text(text, os.environ, shown.cwd)
        except EditorProblem as problem:
            return NotEdited(str(problem))

    return edit


async def _open_inbox() -> None:
    """Let the user answer the questions of all sessions, in a process that lasts as long as that takes."""
    from robota.workspace.user_programs.run_robota import run_again

    await run_again(("inbox",), os.environ)


def _forget_unwritten() -> None:
    """Discard output that a closed terminal could not show, so that the process does not fail at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
