"""The end of a conversation that another process led, as it looked there: a few rows, as lines."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from robota.clients.terminal.line import BOLD, DIM, Line
from robota.protocol.message import Message
from robota.text.visible import single_line, visible

ROWS_SHOWN: Final = 30
TITLE_LENGTH: Final = 120
SPOKEN: Final = frozenset({"text", "completion_result"})
TAB: Final = frozenset("\t")


def past_rows(rows: Sequence[Message]) -> Iterator[Line]:
    """The lines of the newest rows. What is still asked is left out: it is asked anew."""
    shown = [row for row in rows if _is_shown(row)]
    if len(shown) > ROWS_SHOWN:
        yield Line(f"({len(shown) - ROWS_SHOWN} earlier lines: robota sessions show)", DIM)
    first = rows[0].ts if rows else 0
    for row in shown[-ROWS_SHOWN:]:
        if row.say == "user_feedback" or row.ts == first:
            yield from _said(row, "> ", BOLD)
        elif row.say in SPOKEN:
            yield from _said(row, "", None)
        else:
            yield Line(f"    {_title(row)}", DIM)


def _is_shown(row: Message) -> bool:
    if row.type == "ask":
        return row.ask in ("command", "tool", "use_mcp_server") and bool(row.is_answered)
    return row.say in SPOKEN or (row.say in ("user_feedback", "tool", "error") and bool(row.text))


def _said(row: Message, sign: str, colour: str | None) -> Iterator[Line]:
    text = (row.text or "") + (" [interrupted]" if row.interrupted else "")
    for line in text.rstrip("\n").split("\n"):
        yield Line(sign + visible(line.rstrip(), TAB), colour)


def _title(row: Message) -> str:
    """What was done, on one line: of a call the text is JSON, of a command it is the command."""
    try:
        told = msgspec.json.decode(row.text or "")
    except msgspec.DecodeError:
        told = None
    if not isinstance(told, dict):
        return single_line(row.text or "", TITLE_LENGTH)
    what = next((str(value) for name, value in told.items() if name != "tool" and isinstance(value, str)), "")
    return single_line(f"{told.get('tool', row.ask or '')} {what}", TITLE_LENGTH)
