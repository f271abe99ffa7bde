"""What the terminal UI does in the world: the reducer returns these, the shell performs them."""

from typing import TYPE_CHECKING

import msgspec

from robota.clients.terminal.line import Line
from robota.clients.tui.flows.entered_text import Written
from robota.clients.tui.theme import Background, Role
from robota.protocol import events as protocol
from robota.protocol.appearance import Appearance
from robota.protocol.commands import Command, NewTask, QueueMessage
from robota.protocol.message import QueuedMessage
from robota.protocol.slash_commands import CommandChoice, ContextShown, NextStep
from robota.protocol.views import DiffView

if TYPE_CHECKING:
    from robota.clients.render.past_rows import PastConversation
    from robota.clients.tui.events import TimerEvent
    from robota.clients.tui.state import ListPurpose
    from robota.protocol.asks.ask import ApprovalAsk

# What a command was submitted for; its receipt comes back with it.


class AnyCommand(msgspec.Struct, frozen=True):
    """Nothing more to do; a refusal is shown."""


class StopRequest(msgspec.Struct, frozen=True):
    """Stop the turn."""


class SentText(msgspec.Struct, frozen=True):
    """Send a text of the user; `command` is set if another command may be tried after a refusal."""

    written: Written
    command: NewTask | QueueMessage | None = None


class SlashRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Run a slash command. `opened_by` are the commands of the lists that it was chosen from.

    `written` is set if it was typed: several lines may turn out not to be a command.
    """

    line: str
    opened_by: tuple[str, ...] = ()
    written: Written | None = None
    is_steering: bool = False


class CompletionRequest(msgspec.Struct, frozen=True):
    """Complete what is written at the caret."""

    text: str
    caret: int


class TakeBack(msgspec.Struct, frozen=True):
    """Move a queued message to the input; `is_quiet` if a refusal is not worth a message."""

    entry: QueuedMessage
    is_quiet: bool = False


class RemoveFromQueue(msgspec.Struct, frozen=True):
    """Remove a queued message."""


Request = AnyCommand | StopRequest | SentText | SlashRequest | CompletionRequest | TakeBack | RemoveFromQueue


class Submit(msgspec.Struct, frozen=True):
    """Submit a command to the session."""

    command: Command
    request: Request = AnyCommand()


# Printing into the scrollback.


class PrintText(msgspec.Struct, frozen=True):
    """Print a message."""

    text: str
    role: Role = Role.DIM


class PrintLines(msgspec.Struct, frozen=True):
    """Print lines that clients share."""

    lines: tuple[Line, ...]


class PrintPrompt(msgspec.Struct, frozen=True):
    """Print a text as the user entered it."""

    text: str


class PrintEvent(msgspec.Struct, frozen=True):
    """Print what an event has finished."""

    event: protocol.Event


class PrintPast(msgspec.Struct, frozen=True):
    """Print the conversation of earlier processes; `is_shown` if it is on the screen already."""

    past: "PastConversation"
    task_id: str | None
    is_shown: bool


class PrintSubject(msgspec.Struct, frozen=True, kw_only=True):
    """Print the subject of a request for approval: as much as may be shown at once, or everything."""

    asked: "ApprovalAsk"
    is_whole: bool


class PrintContext(msgspec.Struct, frozen=True):
    """Print what fills the context window."""

    shown: ContextShown


class PrintUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Print the usage of a turn, if it has changed."""

    used: protocol.TokenUsage
    context: protocol.ContextUpdate | None
    is_stopped: bool = False


class NoteUsage(msgspec.Struct, frozen=True):
    """Take this usage as already shown: it is from before this process."""

    used: protocol.TokenUsage


class NotePastes(msgspec.Struct, frozen=True):
    """The labels of texts that were pasted into a prompt, with those texts."""

    pastes: tuple[tuple[str, str], ...]


class ShowChangeOf(msgspec.Struct, frozen=True):
    """Show the change at the end of this call, because it differs from what was approved."""

    call_id: str


# Full screens and other programs.


class OpenTranscript(msgspec.Struct, frozen=True):
    """Show the complete conversation in full screen."""


class OpenDiff(msgspec.Struct, frozen=True):
    """Show changed files in full screen."""

    files: tuple[DiffView, ...]


class OpenBrowser(msgspec.Struct, frozen=True):
    """Let the user choose in full screen, with previews."""

    choice: CommandChoice
    purpose: "ListPurpose"


class OpenAgents(msgspec.Struct, frozen=True):
    """Show the agents in full screen, or the conversation of the one that works on this task."""

    task_id: str | None = None


class NoticeOnPage(msgspec.Struct, frozen=True):
    """Show a warning at the bottom of an open full screen."""

    text: str


class RunEditor(msgspec.Struct, frozen=True):
    """Open a text in the user's editor."""

    text: str


class ReadClipboard(msgspec.Struct, frozen=True):
    """Read the image in the clipboard."""


class CopyText(msgspec.Struct, frozen=True):
    """Copy a text to the clipboard."""

    text: str


# The rest.


class KeepPrompt(msgspec.Struct, frozen=True):
    """Store a text in the history of prompts."""

    text: str


class NotifyUser(msgspec.Struct, frozen=True):
    """Notify a user who looks elsewhere. `is_away` if no key was pressed for a while."""

    text: str
    is_away: bool


class Paint(msgspec.Struct, frozen=True):
    """Use the colours of this appearance on this background."""

    appearance: Appearance
    background: Background | None


class AskBackground(msgspec.Struct, frozen=True):
    """Ask the terminal for its background."""


class After(msgspec.Struct, frozen=True):
    """Report an event after some time."""

    seconds: float
    event: "TimerEvent"


class OpenInbox(msgspec.Struct, frozen=True):
    """Show the open questions of all sessions, and answer them there."""


class Quit(msgspec.Struct, frozen=True):
    """End the conversation; the session is unchanged."""

    result: int | NextStep = 0


PrintEffect = (
    PrintText
    | PrintLines
    | PrintPrompt
    | PrintEvent
    | PrintPast
    | PrintSubject
    | PrintContext
    | PrintUsage
    | NoteUsage
    | NotePastes
    | ShowChangeOf
)
Effect = (
    Submit
    | PrintEffect
    | OpenTranscript
    | OpenDiff
    | OpenBrowser
    | OpenAgents
    | NoticeOnPage
    | RunEditor
    | ReadClipboard
    | CopyText
    | KeepPrompt
    | NotifyUser
    | OpenInbox
    | Paint
    | AskBackground
    | After
    | Quit
)
