"""The state of the terminal UI: one immutable value that determines the screen and the meaning of every key."""

from typing import TYPE_CHECKING

import msgspec

from robota.clients.tui.flows.draft import Draft
from robota.clients.tui.key_table import USUAL, Action, Bindings
from robota.clients.tui.theme import Background
from robota.clients.view.model import ViewModel
from robota.protocol.appearance import Appearance
from robota.protocol.message import Message

if TYPE_CHECKING:
    from robota.clients.tui.effects import Effect
    from robota.clients.tui.flows.approval_keys import ApprovalCard
    from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt
    from robota.clients.tui.flows.list_picker import ListPicker
    from robota.clients.tui.flows.panel import Panel
    from robota.clients.tui.flows.question_answers import OfferedAnswers
    from robota.clients.tui.flows.queue_list import QueueList
    from robota.clients.tui.flows.quick_approvals import QuickApprovals
    from robota.clients.tui.flows.typing_pause import CardFocus, TypingPause
    from robota.protocol.asks.ask import ApprovalAsk


class Window(msgspec.Struct, frozen=True):
    """The size of the terminal."""

    columns: int = 80
    rows: int = 24


class Hint(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence for the user, until when it is shown, and what it offers for the next press of the same key."""

    text: str = ""
    until: float = 0.0
    offered: Action | None = None


class PreviousPrompts(msgspec.Struct, frozen=True):
    """A list whose options are prompts for the input."""


class CommandOptions(msgspec.Struct, frozen=True):
    """A list whose options are commands; `opened_by` are the commands of the lists that led to it, and its own."""

    opened_by: tuple[str, ...]


ListPurpose = PreviousPrompts | CommandOptions


class ListDialog(msgspec.Struct, frozen=True, kw_only=True):
    """An open list above the input."""

    picker: "ListPicker"
    purpose: ListPurpose


class QuestionDialog(msgspec.Struct, frozen=True, kw_only=True):
    """An open yes/no question, and the effects of its answers."""

    prompt: "ConfirmPrompt"
    pause: "TypingPause"
    on_yes: "tuple[Effect, ...]"
    on_no: "tuple[Effect, ...]"


class QueueDialog(msgspec.Struct, frozen=True):
    """The open list of queued messages."""

    entries: "QueueList"


class PanelDialog(msgspec.Struct, frozen=True):
    """An open panel."""

    panel: "Panel"


Dialog = ListDialog | QuestionDialog | QueueDialog | PanelDialog


class AskedApproval(msgspec.Struct, frozen=True):
    """A request for approval, and its row."""

    asked: "ApprovalAsk"
    message: Message


class CardEdit(msgspec.Struct, frozen=True):
    """The input is used to edit the subject of a request; `draft` is the text that was there before."""

    draft: str


class CardReply(msgspec.Struct, frozen=True):
    """The input is used to answer a request in words; `draft` is the text that was there before."""

    draft: str


class OpenApproval(msgspec.Struct, frozen=True, kw_only=True):
    """The request whose card is shown. A yes counts only if everything was shown."""

    request: AskedApproval
    card: "ApprovalCard"
    focus: "CardFocus"
    shown_at: float
    is_all_shown: bool
    input_use: CardEdit | CardReply | None = None


class Colours(msgspec.Struct, frozen=True, kw_only=True):
    """The chosen appearance, one that a list previews, and the background, if the terminal has reported it."""

    chosen: Appearance = Appearance()
    previewed: Appearance | None = None
    background: Background | None = None
    may_ask_background: bool = False

    @property
    def shown(self) -> Appearance:
        """The appearance on the screen."""
        return self.previewed or self.chosen


class ScreenState(msgspec.Struct, frozen=True, kw_only=True):
    """The whole state. `now` is the time of the newest event; the terminal reports its size with each.

    Only one `approval` is shown; the others wait in their order. A dialog is never open at the same time.
    """

    now: float = 0.0
    window: Window = Window()
    has_vi_keys: bool = False
    bindings: Bindings = USUAL
    view: ViewModel = ViewModel()
    draft: Draft = Draft()
    approval: OpenApproval | None = None
    waiting_approvals: tuple[AskedApproval, ...] = ()
    quick_approvals: "QuickApprovals | None" = None
    answers: "OfferedAnswers | None" = None  # to the question in which an arrow was pressed last
    has_named_confined: bool = False  # on a card
    undo_call: str | None = None  # the newest call that changed files without approval
    dialog: Dialog | None = None
    hint: Hint = Hint()
    last_key_at: float = 0.0
    last_news_at: float = 0.0  # from the session
    is_stopping: bool = False
    working_since: float | None = None
    retry_at: float = 0.0
    colours: Colours = Colours()
    git_branch: str = ""
    status_output: str = ""  # of the user's status command

    @property
    def shown_hint(self) -> str:
        """The hint, as long as it is shown."""
        return self.hint.text if self.now < self.hint.until else ""

    @property
    def uses_input_for_card(self) -> bool:
        """Whether the input is used to edit the subject of a request, or to answer it in words."""
        return self.approval is not None and self.approval.input_use is not None

    @property
    def prompt_draft(self) -> str:
        """The prompt that is being written, also while a card uses the input."""
        if self.approval is not None and self.approval.input_use is not None:
            return self.approval.input_use.draft
        return self.draft.expanded
