"""What happens to the terminal UI: keys, changes of the text, events of the session, results of effects, timers."""

from typing import TYPE_CHECKING

import msgspec

from robota.clients.terminal.editor import NotEdited
from robota.clients.tui.attached_files import AttachedImage, DroppedFile, NotAttached
from robota.clients.tui.theme import Background
from robota.protocol import events as protocol
from robota.protocol.commands import Receipt
from robota.protocol.slash_commands import CommandOption

if TYPE_CHECKING:
    from robota.clients.tui.effects import Request
    from robota.clients.tui.state import ListPurpose


class KeyPressed(msgspec.Struct, frozen=True):
    """A key that is not left to the editor of the input."""

    key: str


class TextEdited(msgspec.Struct, frozen=True):
    """The user has typed into the input."""

    text: str
    caret: int


class CursorMoved(msgspec.Struct, frozen=True):
    """The cursor is elsewhere in the same text."""

    caret: int


class Pasted(msgspec.Struct, frozen=True):
    """A paste, and the files it names, if it consists of paths of files that exist."""

    text: str
    files: tuple[tuple[str, DroppedFile], ...] = ()


class Started(msgspec.Struct, frozen=True):
    """The screen can be drawn. `left_draft` is the unsent text of a process that was killed."""

    left_draft: str = ""


class SessionOpened(msgspec.Struct, frozen=True, kw_only=True):
    """The first event of the session, the branch, and the prompt that begins the conversation."""

    event: protocol.Event
    git_branch: str = ""
    prompt: str | None = None
    is_past_shown: bool = False


class SessionEvent(msgspec.Struct, frozen=True):
    """A later event of the session."""

    event: protocol.Event


class SessionClosed(msgspec.Struct, frozen=True):
    """The session sends no more events."""


class Received(msgspec.Struct, frozen=True):
    """The reply of the session to a submitted command."""

    request: "Request"
    receipt: Receipt


class OptionPicked(msgspec.Struct, frozen=True):
    """The option that was picked in a full screen; None if it was closed."""

    purpose: "ListPurpose"
    option: CommandOption | None


class EditorClosed(msgspec.Struct, frozen=True):
    """The edited text, or why it was not edited."""

    text: str | NotEdited


class ClipboardRead(msgspec.Struct, frozen=True):
    """The image in the clipboard, or why there is none."""

    content: AttachedImage | NotAttached


class BackgroundReported(msgspec.Struct, frozen=True):
    """The terminal has reported its background."""

    background: Background


class StatusPrinted(msgspec.Struct, frozen=True):
    """The output of the user's status command."""

    output: str


class CompletionDue(msgspec.Struct, frozen=True):
    """It is time to request completions again: files were still being indexed."""

    text: str
    caret: int


class SecondPassed(msgspec.Struct, frozen=True):
    """A second of the work that began at `since` is over."""

    since: float


class RedrawDue(msgspec.Struct, frozen=True):
    """Something on the screen depends on the time, and may look different now."""


TimerEvent = CompletionDue | SecondPassed | RedrawDue
InputEvent = KeyPressed | TextEdited | CursorMoved | Pasted
SessionNews = SessionOpened | SessionEvent | SessionClosed
EffectResult = Received | OptionPicked | EditorClosed | ClipboardRead | BackgroundReported | StatusPrinted
UiEvent = Started | InputEvent | SessionNews | EffectResult | TimerEvent
