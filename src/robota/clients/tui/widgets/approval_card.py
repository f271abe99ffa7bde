"""The card of a request for approval: why it is asked, and the keys that answer it."""

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from robota.clients.terminal.width import columns_of, wrapped
from robota.clients.tui.flows.approval_keys import ApprovalCard, CardChoice, CardStep, choices
from robota.clients.tui.painted_rows import broken
from robota.clients.tui.theme import Role, Theme, safe
from robota.protocol.asks.ask import ApprovalAsk, ApprovalVerdict
from robota.protocol.views import DiffView, TerminalView

PARTS_SHOWN: Final = 6
COMMAND_ROWS: Final = 8
COMMAND_MARGIN: Final = 8
ANSWER_MARGIN: Final = 4


def card_rows(
    card: ApprovalCard, theme: Theme, width: int, *, takes_keys: bool, has_draft: bool, has_details: bool = True
) -> Iterator[str]:
    """The rows of the card. Keys are shown only when they count, so nobody answers by typing on.

    Without details: not why it is asked.
    """
    command = short_command(card.asked, width)
    title = "Run this command?" if command else f"{card.asked.title}?"
    yield theme.row([("? ", Role.WARNING), (title, Role.BOLD)], width)
    for number, line in enumerate(command):
        yield theme.row([("    $ " if number == 0 else "      ", Role.DIM), (line, Role.PLAIN)], width)
    if has_details:
        yield from _reasons(card.asked.verdict, theme, width)
        if card.kept_out:
            for line in wrapped(f"  The sandbox keeps out: {card.kept_out}.", width, "  ").split("\n"):
                yield theme.row([(line, Role.DIM)], width)
    if has_draft:
        yield theme.row([("  Tab answers this; you go on typing.", Role.DIM)], width)
    elif not takes_keys:
        yield theme.row([("  …", Role.DIM)], width)
    else:
        yield from _step_rows(card, theme, width)


def low_card_rows(card: ApprovalCard, theme: Theme, width: int, *, takes_keys: bool) -> Iterator[str]:
    """The card where it has only two rows: what is asked, and the keys."""
    yield theme.row([("? ", Role.WARNING), (_low_title(card), Role.BOLD)], width)
    if not takes_keys:
        yield theme.row([("  …", Role.DIM)], width)
        return
    answers = _short_answers(choices(card), width - len("  "))
    keys = {CardStep.ANSWERS: answers, CardStep.RULES: "s p u b", CardStep.HUNKS: "Space y b"}[card.step]
    yield theme.row([("  ", Role.PLAIN), (keys, Role.ACTIVE)], width)


def _short_answers(answers: Sequence[CardChoice], room: int) -> str:
    """The keys on one row, with a word for as many as fit, yes and no before the others; else the keys alone."""
    without = [answer.key for answer in reversed(answers) if answer.key not in ("y", "n")]
    for count in range(len(without) + 1):
        told = (each.key if each.key in without[:count] else f"{each.key} {each.short}" for each in answers)
        row = "  ".join(told)
        if len(row) <= room:
            return row
    return " ".join(answer.key for answer in answers)


def _low_title(card: ApprovalCard) -> str:
    """The row that is chosen, or what is asked about."""
    place = card.rows.index or 0
    match card.step:
        case CardStep.ANSWERS:
            return card.asked.title
        case CardStep.RULES:
            return " ".join(card.asked.verdict.suggestions[place].rules)
        case CardStep.HUNKS:
            return f"{'[x]' if place in card.chosen else '[ ]'} change {place + 1}"
        case never:
            assert_never(never)


def short_command(asked: ApprovalAsk, width: int) -> tuple[str, ...]:
    """The rows of a command that the card shows whole; empty if it is none, or so long that it is printed instead."""
    if not isinstance(asked.view, TerminalView):
        return ()
    room = max(1, width - COMMAND_MARGIN)
    lines = [safe(line) for line in asked.view.command.split("\n")]
    rows = tuple(line[at : at + room] for line in lines for at in range(0, len(line) or 1, room))
    fits = len(rows) <= COMMAND_ROWS and all(columns_of(row) <= room for row in rows)
    return rows if fits else ()


def _reasons(verdict: ApprovalVerdict, theme: Theme, width: int) -> Iterator[str]:
    for line in wrapped(f"  {verdict.reason}", width, "  ").split("\n") if verdict.reason else ():
        yield theme.row([(line, Role.DIM)], width)
    if len(verdict.parts) > 1:
        for part in verdict.parts[:PARTS_SHOWN]:
            role = Role.DIM if part.decision == "allow" else Role.WARNING
            yield theme.row([(f"    {part.decision:5}  ", role), (part.text, Role.PLAIN)], width)
        if len(verdict.parts) > PARTS_SHOWN:
            yield theme.row([(f"    ... +{len(verdict.parts) - PARTS_SHOWN} parts", Role.DIM)], width)
    for warning in verdict.warnings:
        for line in wrapped(f"  ! {warning}", width, "    ").split("\n"):
            yield theme.row([(line, Role.ERROR)], width)


def _step_rows(card: ApprovalCard, theme: Theme, width: int) -> Iterator[str]:
    match card.step:
        case CardStep.ANSWERS:
            for place, choice in enumerate(choices(card)):
                yield from _choice(choice.key, choice.words, place == card.rows.index, theme, width)
        case CardStep.RULES:
            for place, offered in enumerate(card.asked.verdict.suggestions):
                words = f"{' '.join(offered.rules)}  ({offered.covers})"
                yield from _choice("", words, place == card.rows.index, theme, width)
            yield from _keys("s this session   p this project, also later   u all your projects   b back", theme, width)
        case CardStep.HUNKS:
            yield from _hunk_rows(card, theme, width)
        case never:
            assert_never(never)


def _hunk_rows(card: ApprovalCard, theme: Theme, width: int) -> Iterator[str]:
    view = card.asked.view
    for place in card.rows.visible:
        box = "[x]" if place in card.chosen else "[ ]"
        hunk = view.hunks[place] if isinstance(view, DiffView) and place < len(view.hunks) else None
        where = "" if hunk is None else f" from line {hunk.new_start}"
        words = f"{box} change {place + 1}{where}"
        yield from _choice(str(place + 1), words, place == card.rows.index, theme, width)
    yield from _keys(f"Space or number changes it   y approves {len(card.chosen)}   b back", theme, width)


def _choice(key: str, words: str, is_chosen: bool, theme: Theme, width: int) -> Iterator[str]:
    """An answer, word for word: nobody grants a rule of which they have seen the beginning."""
    role = Role.CHOSEN if is_chosen else Role.PLAIN
    signs = theme.paint("> " if is_chosen else "  ", Role.ACTIVE) + theme.paint(f"{key:1} ", Role.ACTIVE)
    for number, line in enumerate(_whole(words, max(1, width - ANSWER_MARGIN))):
        yield (" " * ANSWER_MARGIN if number else signs) + theme.paint(line, role)


def _keys(words: str, theme: Theme, width: int) -> Iterator[str]:
    for line in wrapped(f"  {words}", width, "  ").split("\n"):
        yield theme.row([(line.rstrip(), Role.BOLD)], width)


def _whole(words: str, room: int) -> Iterator[str]:
    """The words on so many lines as they need, broken between words where that is possible."""
    for line in wrapped(safe(words), room + 1, "").split("\n"):
        yield from broken(line, room)
