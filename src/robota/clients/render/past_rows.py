"""Select and format the rows of an earlier conversation: texts, and calls with their results."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from robota.clients.render.view_lines import result_lines, title_line, todo_lines
from robota.clients.terminal.line import BOLD, DIM, RED, Line
from robota.protocol.calls import SPEAKING, CallPurpose, PastCall
from robota.protocol.message import BACKGROUND_OUTPUT, SPOKEN, Message, TodoItem
from robota.protocol.views import TodoView
from robota.text.visible import visible

ROWS_SHOWN: Final = 30
# A terminal takes seconds for a few megabytes, and users do not scroll back that far.
CHARACTERS_SHOWN: Final = 200_000
TAB: Final = frozenset("\t")
BULLET: Final = "*"


class PastConversation(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a conversation and their calls; there are `older` rows before them."""

    rows: Sequence[Message]
    calls: Sequence[PastCall] = ()
    older: int = 0

    def items(self) -> "list[Message | PastCall]":
        """The texts and calls to show, in order."""
        items: list[Message | PastCall] = [row for row in self.rows if _is_told(row)]
        made = (call for call in self.calls if call.purpose not in SPEAKING)
        return sorted([*items, *made], key=lambda item: item.after if isinstance(item, PastCall) else item.ts)

    def newest_items(self) -> "list[Message | PastCall]":
        """The items to show when the conversation is resumed: at least one, and not too much text."""
        newest: list[Message | PastCall] = []
        characters = 0
        for item in reversed(self.items()[-ROWS_SHOWN:]):
            characters += 0 if isinstance(item, PastCall) else len(item.text or "")
            if newest and characters > CHARACTERS_SHOWN:
                break
            newest.append(item)
        return newest[::-1]

    def more_before(self, shown: "Sequence[Message | PastCall]") -> str:
        """A hint on how to see what came before the shown items; empty if nothing did."""
        if len(self.items()) > len(shown):
            return "(Earlier messages: /history)"
        if not self.older or not self.rows:
            return ""
        return f"({self.older:,} earlier messages: /history {len(self.rows)} {self.rows[0].ts})"

    def is_prompt(self, row: Message) -> bool:
        """Whether it is text of the user; the first row is the prompt."""
        is_first = not self.older and row.ts == self.rows[0].ts
        return is_first or row.say == "user_feedback"


def past_lines(past: PastConversation, *, is_whole: bool = False, bullet: str = BULLET) -> Iterator[Line]:
    """The newest items, or all, as lines. An open ask is left out."""
    items = past.items() if is_whole else past.newest_items()
    if more := past.more_before(items):
        yield Line(more, DIM)
    for index, item in enumerate(items):
        if isinstance(item, PastCall):
            yield from _call(item, bullet)
            continue
        if index or more:
            yield Line("")
        if past.is_prompt(item):
            yield from _text_lines(item, "> ", BOLD)
        elif item.say in SPOKEN:
            yield from _text_lines(item, "", None)
        elif item.say == BACKGROUND_OUTPUT:
            yield from _text_lines(item, "", DIM)
        else:
            yield from _text_lines(item, "! ", RED)


def _is_told(row: Message) -> bool:
    """Whether the row is text; errors of calls are shown with the call."""
    if row.say in SPOKEN or row.say == BACKGROUND_OUTPUT:
        return True
    return bool(row.text) and (row.say == "user_feedback" or (row.say == "error" and row.call_id is None))


def _call(call: PastCall, bullet: str) -> Iterator[Line]:
    yield title_line(call.title, bullet)
    if isinstance(call.view, TodoView):
        yield from todo_lines(msgspec.convert(call.view.items, tuple[TodoItem, ...]))
    duration_ms = 0 if call.purpose is CallPurpose.SUBTASK else call.duration_ms
    yield from result_lines(call.status, call.reason, call.view, duration_ms)


def _text_lines(row: Message, sign: str, colour: str | None) -> Iterator[Line]:
    text = (row.text or "") + (" [interrupted]" if row.interrupted else "")
    for line in text.rstrip("\n").split("\n"):
        yield Line(sign + visible(line.rstrip(), TAB), colour)
