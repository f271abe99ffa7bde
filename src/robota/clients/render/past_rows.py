"""Rows of a conversation that was led before, as lines: what was said word for word, what was done in a line."""

from collections.abc import Iterator, Sequence
from typing import Final

from robota.clients.render.past_calls import is_call_row, past_call
from robota.clients.terminal.line import BOLD, DIM, Line
from robota.protocol.message import Message
from robota.text.visible import single_line, visible

ROWS_SHOWN: Final = 30
TITLE_LENGTH: Final = 120
SPOKEN: Final = frozenset({"text", "completion_result"})
TAB: Final = frozenset("\t")


def past_rows(rows: Sequence[Message], older: int, most: int = ROWS_SHOWN) -> Iterator[Line]:
    """The lines of the newest rows; there are `older` ones before them. What is still asked is left out."""
    shown = [row for row in rows if is_past_row(row)]
    more = more_before(rows, older, len(shown) > most)
    if more:
        yield Line(more, DIM)
    # The first row of all is what the person asked.
    first = rows[0].ts if rows and not older else 0
    for row in shown[-most:]:
        if row.say == "user_feedback" or row.ts == first:
            yield from _said(row, "> ", BOLD)
        elif row.say in SPOKEN:
            yield from _said(row, "", None)
        else:
            yield Line(f"    {past_title(row)}", DIM)


def more_before(rows: Sequence[Message], older: int, are_cut: bool) -> str:
    """How to see what came before these rows; empty if nothing did."""
    if are_cut:
        return "(There is more before this: /history shows it.)"
    return f"({older:,} rows before this: /history {len(rows)} {rows[0].ts})" if older and rows else ""


def is_past_row(row: Message) -> bool:
    """Whether a row of the past is worth showing: words, and what was done."""
    if row.type == "ask" or is_call_row(row):
        return is_call_row(row)
    # What went wrong with a call is told with it.
    is_told = row.say == "user_feedback" or (row.say == "error" and row.call_id is None)
    return row.say in SPOKEN or (is_told and bool(row.text))


def _said(row: Message, sign: str, colour: str | None) -> Iterator[Line]:
    text = (row.text or "") + (" [interrupted]" if row.interrupted else "")
    for line in text.rstrip("\n").split("\n"):
        yield Line(sign + visible(line.rstrip(), TAB), colour)


def past_title(row: Message) -> str:
    """What was done, on one line."""
    return single_line(past_call(row).title if is_call_row(row) else row.text or "", TITLE_LENGTH)
