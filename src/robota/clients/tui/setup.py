"""The terminal UI's access to the machine it runs on."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from robota.clients.terminal.editor import EditText
from robota.clients.tui.attached_files import LookAtFile, ReadClipboard, no_clipboard, nothing_dropped
from robota.clients.tui.file_links import FileAddress, no_links
from robota.clients.tui.status_line import StatusSetup
from robota.clients.tui.theme import Background, Palette, Theme
from robota.protocol.appearance import Appearance

if TYPE_CHECKING:
    from robota.clients.terminal.guard import StartGuard
    from robota.clients.tui.draft_keeper import DraftStore


class ScreenSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Appearance, an editor, the branch, and the prompts of earlier runs."""

    theme: Theme
    edit: EditText
    git_branch: Callable[[], str]
    prompts: Sequence[str] = ()
    on_prompt: Callable[[str], None] = lambda prompt: None
    left_draft: str = ""  # of a process that was killed
    open_drafts: "Callable[[], DraftStore] | None" = None  # called when something is written
    greeting: Sequence[str] = ()
    is_past_shown: bool = False
    has_vi_keys: bool = False
    # The colours for the chosen theme and the background of the terminal, if that is known.
    palette: Callable[[Appearance, Background | None], Palette] | None = None
    asks_background: bool = False
    status: StatusSetup = StatusSetup()
    look_at_file: LookAtFile = nothing_dropped
    read_clipboard: ReadClipboard = no_clipboard
    file_address: FileAddress = no_links
    start_guard: "StartGuard | None" = None
