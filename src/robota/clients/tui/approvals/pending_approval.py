"""An open request for approval: how much of it was shown, and its use of the input."""

from collections.abc import Iterator
from typing import Final

from robota.clients.render.view_lines import whole_view
from robota.clients.tui.flows.input_purpose import InputPurpose
from robota.clients.tui.flows.typing_pause import CardFocus, TypingPause
from robota.clients.tui.painted_rows import broken
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.diff_rows import diff_text
from robota.protocol.asks.answer import Answer, Approve, ApproveHunks, ApproveInput
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.message import Message
from robota.protocol.views import DiffsView, DiffView

ROWS_SHOWN: Final = 200
CHARACTERS_SHOWN: Final = 2000  # of a line


class PendingApproval:
    """The subject of an ask is printed completely, or up to a limit; a yes counts only when all of it was shown."""

    def __init__(self, asked: ApprovalAsk, message: Message, theme: Theme, now: float) -> None:
        self.asked = asked
        self.message = message
        self.focus = CardFocus(pause=TypingPause(since=now))
        self.shown_at = now
        self.purpose = InputPurpose.PROMPT
        self.draft = ""  # the text of the input before the card used it
        self._rows = list(_subject(asked, theme))
        self._theme = theme
        self.is_all_shown = len(self._rows) <= ROWS_SHOWN and all(len(row) <= CHARACTERS_SHOWN for row in self._rows)

    def first_rows(self, width: int) -> list[str]:
        """The rows to print above the card."""
        if self.is_all_shown:
            return self._hung(self._rows, width)
        left_out = f"    Not all {len(self._rows):,} lines are shown: press Ctrl+O to see them before you approve."
        shown = [row[:CHARACTERS_SHOWN] for row in self._rows[:ROWS_SHOWN]]
        return [*self._hung(shown, width), self._theme.paint(left_out, Role.ERROR)]

    def _hung(self, rows: list[str], width: int) -> list[str]:
        """Wrap long lines of a diff next to their line numbers; lines of a command stay whole for copying."""
        is_diff = isinstance(self.asked.view, DiffView | DiffsView)
        return [part for row in rows for part in broken(row, width)] if is_diff else rows

    def all_rows(self) -> list[str]:
        """All rows; from now on a yes counts."""
        self.is_all_shown = True
        return self._rows

    def may_answer(self, answer: Answer) -> bool:
        """Whether the user was shown everything that they would approve."""
        return self.is_all_shown or not isinstance(answer, Approve | ApproveHunks | ApproveInput)


def _subject(asked: ApprovalAsk, theme: Theme) -> Iterator[str]:
    match asked.view:
        case DiffView() as view:
            yield from diff_text(view, theme, is_whole=True, is_numbered=asked.choosable_hunks > 1)
        case DiffsView() as views:
            for file in views.files:
                yield from diff_text(file, theme, is_whole=True)
        case view:
            yield from map(theme.line, whole_view(view))
