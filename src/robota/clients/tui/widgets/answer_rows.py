"""The answers that a question of the model offers, in a frame."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from robota.clients.answering.question_line import FIRST_IS_TAKEN, offered_text
from robota.clients.terminal.width import wrapped
from robota.clients.tui.flows.question_answers import OfferedAnswers
from robota.clients.tui.painted_rows import wrap_row
from robota.clients.tui.theme import Role, Theme, safe
from robota.clients.tui.widgets.frame import FRAME_ROWS, FrameEdges, framed, inner_width
from robota.protocol.asks.ask import PlanAsk
from robota.text.counted import counted

TITLE: Final = "Your answer"
KEYS: Final = "Up/Down Enter select   or type a number, or other words   Esc stops"
PLAN_KEYS: Final = "Up/Down Enter select   Ctrl+G edit   or type what to change   Esc stops"


def answer_rows(offered: OfferedAnswers, theme: Theme, width: int, room: int) -> list[str]:
    """The answers, each in full; in a low window those around the chosen one, without a frame."""
    inside = inner_width(width)
    each = [list(_answer(offered, index, theme, inside)) for index in range(offered.rows.count)]
    limit = offered.asked.default_after_s
    if limit is not None:
        each.append([theme.row([(FIRST_IS_TAKEN.format(counted(round(limit), "second")), Role.DIM)], inside)])
    rows = [row for answer in each for row in answer]
    if len(rows) + FRAME_ROWS > room:
        visible = replace(offered.rows, height=max(1, room)).visible
        return [row for index in visible for row in each[index]][: max(0, room)]
    keys = PLAN_KEYS if isinstance(offered.asked, PlanAsk) else KEYS
    return list(framed(rows, FrameEdges(title=TITLE, keys=keys, edge=Role.WARNING), theme, width))


def _answer(offered: OfferedAnswers, index: int, theme: Theme, room: int) -> Iterator[str]:
    is_chosen = index == offered.rows.index
    number = f"{index + 1} "
    signs = theme.paint(f"{theme.glyphs.focus if is_chosen else ' '} ", Role.ACTIVE) + theme.paint(number, Role.ACTIVE)
    margin = 2 + len(number)
    lines = wrapped(safe(offered_text(offered.asked.suggestions[index])), max(1, room - margin) + 1, "").split("\n")
    for at, line in enumerate(each for words in lines for each in wrap_row(words.rstrip(), max(1, room - margin))):
        yield (" " * margin if at else signs) + theme.paint(line, Role.CHOSEN if is_chosen else Role.PLAIN)
