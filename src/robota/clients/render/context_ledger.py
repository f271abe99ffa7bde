"""Format the context window as lines: a bar, a table of its content, and the largest entries."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from robota.clients.terminal.line import BOLD, DIM, Line
from robota.clients.terminal.width import cut_columns, wrapped
from robota.protocol.events import CondensePreview, ContextUpdate
from robota.protocol.ledger import Fate, LedgerEntry, LedgerKind
from robota.text.counted import counted
from robota.text.visible import visible

MAX_BAR_WIDTH: Final = 80
USUAL_WIDTH: Final = 80
MAX_SHOWN: Final = 12
MAX_PREVIEWED: Final = 6
FREE: Final = "."
CONDENSING: Final = "|"
# The letter in the bar, and the label in the table.
SIGNS: Final = {
    LedgerKind.SYSTEM: ("S", "system prompt"),
    LedgerKind.TOOLS: ("T", "tools"),
    LedgerKind.MCP_SERVER: ("X", "MCP server"),
    LedgerKind.INSTRUCTIONS: ("I", "instructions"),
    LedgerKind.CONDENSATION: ("C", "condensed"),
    LedgerKind.REMINDER: ("R", "reminders"),
    LedgerKind.PERSON: ("P", "your messages"),
    LedgerKind.MODEL: ("M", "model replies"),
    LedgerKind.FILE: ("F", "files read"),
    LedgerKind.OUTPUT: ("O", "tool output"),
}
FATES: Final = {
    Fate.KEPT: "kept verbatim",
    Fate.PINNED: "kept because it is pinned",
    Fate.SUMMARISED: "summarised",
    Fate.LEFT_OUT: "removed",
}
# Kinds whose entries are listed individually; of the others only the sum is shown.
SINGLE: Final = frozenset({LedgerKind.MCP_SERVER, LedgerKind.INSTRUCTIONS})


class LedgerSum(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of one kind of entry, or of one entry; `count` is the number of entries."""

    kind: LedgerKind
    title: str
    tokens: int
    count: str = ""


def ledger_lines(update: ContextUpdate, width: int | None = None, *, whole: bool = False) -> Iterator[Line]:
    """The complete description of the window; with `whole`, all entries instead of the largest."""
    columns = width or USUAL_WIDTH
    yield Line(headline(update), BOLD)
    if update.max_tokens:
        yield Line(f"  {_bar(update, min(MAX_BAR_WIDTH, columns - 3))}")
    for each in ledger_sums(update.entries):
        share = _share(each.tokens, update)
        yield Line(
            cut_columns(f"  {SIGNS[each.kind][0]} {each.tokens:>9,}  {share}  {each.title}{each.count}", columns - 1)
        )
    free = update.max_tokens - update.used_tokens
    if free > 0:
        yield Line(f"  {FREE} {free:>9,}  {_share(free, update)}  free", DIM)
    yield from ledger_details(update, columns, whole=whole)


def ledger_details(update: ContextUpdate, columns: int, *, whole: bool) -> Iterator[Line]:
    """The largest entries, or all; when the conversation will be condensed, and its cost."""
    yield from _single_entries(update, columns, whole=whole)
    for words in (*_prospect(update), *_cost(update)):
        yield from (Line(line, DIM) for line in wrapped(words, columns, "").split("\n"))


def headline(update: ContextUpdate) -> str:
    """A line that says how full the window is."""
    used = f"about {update.used_tokens:,}" if update.is_estimated else f"{update.used_tokens:,}"
    if not update.max_tokens:
        return f"{used} tokens in the context (context window size unknown)"
    return f"{used} of {update.max_tokens:,} tokens in the context ({update.used_percentage:.0f} %)"


def _bar(update: ContextUpdate, width: int) -> str:
    """The bar: a letter for each kind, in the order of the table, and a line where condensing begins."""
    filled = ""
    tokens = 0
    for kind, (sign, _) in SIGNS.items():
        tokens += sum(entry.tokens for entry in update.entries if entry.kind is kind)
        upto = min(width, round(width * tokens / update.max_tokens))
        filled += sign * (upto - len(filled))
    bar = filled.ljust(width, FREE)
    if update.condense_at is None:
        return bar
    index = min(width - 1, round(width * update.condense_at / update.max_tokens))
    return bar[:index] + CONDENSING + bar[index + 1 :]


def ledger_sums(entries: Sequence[LedgerEntry]) -> Iterator[LedgerSum]:
    """The sum of each kind; for some kinds, each entry individually."""
    for kind, (_, title) in SIGNS.items():
        of_kind = [entry for entry in entries if entry.kind is kind]
        if kind in SINGLE:
            for entry in of_kind:
                yield LedgerSum(kind=kind, title=f"{title} {visible(entry.title)}", tokens=entry.tokens)
        elif of_kind:
            count = f" ({len(of_kind)})" if len(of_kind) > 1 else ""
            yield LedgerSum(kind=kind, title=title, tokens=sum(entry.tokens for entry in of_kind), count=count)


def _single_entries(update: ContextUpdate, columns: int, *, whole: bool) -> Iterator[Line]:
    """The entries that the user can act on: turns of the conversation, with the number for pinning them."""
    turns = [entry for entry in update.entries if entry.turn is not None]
    if not turns:
        return
    shown = turns if whole else sorted(turns, key=lambda entry: -entry.tokens)[:MAX_SHOWN]
    yield Line("")
    yield Line("  turn    tokens  what" if whole else "  turn    tokens  largest entries", DIM)
    for entry in shown:
        sign, pinned = SIGNS[entry.kind][0], " (pinned)" if entry.is_pinned else ""
        undo = f" ({entry.reduction_id})" if entry.reduction_id else ""
        yield Line(
            cut_columns(
                f"  {entry.turn:>4} {entry.tokens:>9,}  {sign} {visible(entry.title)}{pinned}{undo}", columns - 1
            )
        )
    if len(turns) > len(shown):
        yield Line(f"  ({len(turns) - len(shown)} more)", DIM)


def _prospect(update: ContextUpdate) -> Iterator[str]:
    if update.condense_at is None:
        return
    yield ""
    when = f"Condensing starts at {update.condense_at:,} tokens"
    left = update.requests_to_condensing
    if update.used_tokens >= update.condense_at:
        yield f"{when}: before the next request."
    elif left is None:
        yield f"{when}."
    else:
        yield f"{when}, at this rate after about {counted(left, 'more request')}."


def _cost(update: ContextUpdate) -> Iterator[str]:
    cached = ""
    if update.cached_tokens:
        saved = f", which saved ${update.saved_cost:.4f}" if update.saved_cost else ""
        cached = f" {update.cached_tokens:,} tokens came from the provider's cache{saved}."
    cost = "unknown" if update.total_cost is None else f"${update.total_cost:.4f}"
    yield f"Cost so far: {cost}.{cached}"


def _share(tokens: int, update: ContextUpdate) -> str:
    return f"{100 * tokens / update.max_tokens:>5.1f} %" if update.max_tokens else ""


def condense_preview_lines(preview: CondensePreview, width: int | None = None) -> Iterator[Line]:
    """What would be kept verbatim, summarised and removed, the largest of each first."""
    columns = width or USUAL_WIDTH
    yield Line(f"Condensing now would leave {preview.kept_tokens:,} of {_tokens(preview.prev_context_tokens)}", BOLD)
    yield Line("and add a summary, the todo list and file names.", BOLD)
    for fate, title in FATES.items():
        with_fate = [entry for entry in preview.entries if entry.fate is fate]
        if with_fate:
            yield Line(f"  {title}: {_tokens(sum(entry.tokens for entry in with_fate))}")
            yield from _largest(with_fate, columns)
    yield Line("/pin TURN keeps a turn verbatim.", DIM)


def _largest(entries: Sequence[LedgerEntry], columns: int) -> Iterator[Line]:
    for entry in sorted(entries, key=lambda entry: -entry.tokens)[:MAX_PREVIEWED]:
        turn = "" if entry.turn is None else str(entry.turn)
        sign = SIGNS[entry.kind][0]
        yield Line(cut_columns(f"  {turn:>4} {entry.tokens:>9,}  {sign} {visible(entry.title)}", columns - 1), DIM)
    if len(entries) > MAX_PREVIEWED:
        yield Line(f"       ({len(entries) - MAX_PREVIEWED} more)", DIM)


def _tokens(count: int) -> str:
    return f"{count:,} tokens"
