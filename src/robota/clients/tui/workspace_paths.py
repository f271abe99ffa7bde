"""Paths below the workspace, shown relative to it."""

import re

from msgspec.structs import replace

from robota.clients.view.model import LiveTool
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.views import DiffsView, DiffView, TerminalView, View

# What runs is shown as it will run.
COMMANDS = ("Bash ", "BackgroundProcess ")


def relative_text(text: str, workspace: str) -> str:
    """The text with paths below the workspace as they are seen from there."""
    if not workspace or workspace not in text:
        return text
    return re.sub(rf"(?<![\w./~-]){re.escape(workspace.rstrip('/'))}/(?=[^\s/])", "", text)


def relative_ask(asked: ApprovalAsk, workspace: str) -> ApprovalAsk:
    """The subject of an ask with short paths; a command stays as it is."""
    if isinstance(asked.view, TerminalView):
        return asked
    return replace(asked, title=relative_text(asked.title, workspace), view=_relative_view(asked.view, workspace))


def relative_call(call: LiveTool, workspace: str) -> LiveTool:
    """A call with short paths; a command stays as it is."""
    if call.label in map(str.strip, COMMANDS) or call.title.startswith(COMMANDS):
        return call
    title = relative_text(call.title, workspace)
    first_arg = relative_text(call.first_arg, workspace)
    return replace(call, title=title, first_arg=first_arg, view=_relative_view(call.view, workspace))


def _relative_view(view: View | None, workspace: str) -> View | None:
    match view:
        case DiffView():
            return replace(view, path=relative_text(view.path, workspace))
        case DiffsView():
            return replace(view, files=tuple(replace(f, path=relative_text(f.path, workspace)) for f in view.files))
        case _:
            return view
