"""The content of the context window as bars: one for the whole window, and one for each kind of entry."""

from collections.abc import Iterator
from typing import Final

from robota.clients.render.context_ledger import FREE, SIGNS, LedgerSum, headline, ledger_details, ledger_sums
from robota.clients.terminal.width import columns_of, cut_columns
from robota.clients.tui.theme import Piece, Role, Theme, safe
from robota.protocol.events import ContextUpdate
from robota.protocol.ledger import LedgerKind

MAX_WIDTH: Final = 80
MAX_TITLE_WIDTH: Final = 34
FULL: Final = "█"
EMPTY: Final = "░"
CONDENSING: Final = "│"
# Grouped by colour: fixed parts, instructions and summaries, then the conversation by origin.
ROLES: Final = {
    LedgerKind.SYSTEM: Role.DIM,
    LedgerKind.TOOLS: Role.DIM,
    LedgerKind.MCP_SERVER: Role.DIM,
    LedgerKind.INSTRUCTIONS: Role.NAME,
    LedgerKind.CONDENSATION: Role.NAME,
    LedgerKind.REMINDER: Role.NAME,
    LedgerKind.PERSON: Role.SUCCESS,
    LedgerKind.MODEL: Role.ACTIVE,
    LedgerKind.FILE: Role.WARNING,
    LedgerKind.OUTPUT: Role.ERROR,
}


def context_rows(update: ContextUpdate, theme: Theme, width: int, *, is_whole: bool) -> Iterator[str]:
    """The picture of the window, then the largest things in it."""
    yield theme.paint(headline(update), Role.BOLD)
    if update.max_tokens:
        yield "  " + theme.row(_window(update, theme, max(4, min(MAX_WIDTH, width - 3))), width)
    sums = list(ledger_sums(update.entries))
    title = min(MAX_TITLE_WIDTH, max((columns_of(_title(each)) for each in sums), default=0))
    most = max((each.tokens for each in sums), default=0)
    for each in sums:
        yield theme.row(_kind(each, update, title, most, width), width)
    yield from map(theme.line, ledger_details(update, width, whole=is_whole))


def _window(update: ContextUpdate, theme: Theme, columns: int) -> Iterator[Piece]:
    """Every kind in its colour, or as its letter; a line marks where condensing begins."""
    cells: list[Piece] = []
    tokens = 0
    for kind, (letter, _) in SIGNS.items():
        tokens += sum(entry.tokens for entry in update.entries if entry.kind is kind)
        upto = min(columns, round(columns * tokens / update.max_tokens))
        cells += [(FULL if theme.has_colours else letter, ROLES[kind])] * (upto - len(cells))
    cells += [(EMPTY if theme.has_colours else FREE, Role.DIM)] * (columns - len(cells))
    if update.condense_at is not None:
        cells[min(columns - 1, round(columns * update.condense_at / update.max_tokens))] = (CONDENSING, Role.WARNING)
    yield from cells


def _kind(each: LedgerSum, update: ContextUpdate, title_width: int, most: int, width: int) -> Iterator[Piece]:
    letter, role = SIGNS[each.kind][0], ROLES[each.kind]
    title = cut_columns(_title(each), title_width)
    share = f"{100 * each.tokens / update.max_tokens:5.1f} %" if update.max_tokens else ""
    gap = " " * (title_width - columns_of(title))
    front = f"{title}{gap} {each.tokens:>9,} {share} "
    room = min(MAX_WIDTH, width) - columns_of(front) - 4
    yield f"  {letter} ", role
    yield front, Role.PLAIN
    if room > 0 and most:
        yield FULL * max(1, round(room * each.tokens / most)), role


def _title(each: LedgerSum) -> str:
    return safe(f"{each.title}{each.count}")
