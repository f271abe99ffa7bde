"""The card of a request for approval: the reasons, and the keys that answer it."""

from collections.abc import Iterator
from typing import Final, assert_never

import msgspec

from robota.clients.terminal.width import columns_of, wrapped
from robota.clients.tui.flows.approval_keys import WITHOUT_SANDBOX, ApprovalCard, CardStep, choices
from robota.clients.tui.painted_rows import wrap_row
from robota.clients.tui.theme import Role, Theme, safe
from robota.protocol.asks.ask import ApprovalAsk, ApprovalVerdict
from robota.protocol.views import DiffView, TerminalView

PARTS_SHOWN: Final = 6
COMMAND_ROWS: Final = 8
COMMAND_MARGIN: Final = 8
ANSWER_MARGIN: Final = 4
WAITS_FOR_PAUSE: Final = "  …"
TAB_ANSWERS: Final = "  Press Tab to answer; your draft is kept."
DRAFT_KEPT: Final = "  Your draft is kept; Tab returns to it."


class CardSize(msgspec.Struct, frozen=True, kw_only=True):
    """Which parts of a card are shown: what the sandbox denies, the reasons, and the answers in full sentences."""

    has_kept_out: bool = True
    has_reasons: bool = True
    has_short_answers: bool = False


class CardDrawing(msgspec.Struct, frozen=True, kw_only=True):
    """The room there is, whether keys are for the card, and whether something is written in the input."""

    width: int
    room: int
    takes_keys: bool
    has_draft: bool


class CardLayout(msgspec.Struct, frozen=True):
    """The rows of a card; `is_low` if its answers are shown as keys only."""

    rows: list[str]
    is_low: bool


WHOLE_CARD: Final = CardSize()
# The largest that fits is shown. The reasons are more important than full sentences for the keys.
CARD_SIZES: Final = (
    WHOLE_CARD,
    CardSize(has_kept_out=False),
    CardSize(has_kept_out=False, has_short_answers=True),
    CardSize(has_kept_out=False, has_reasons=False),
)


def card_layout(card: ApprovalCard, theme: Theme, drawing: CardDrawing) -> CardLayout:
    """As much of the card as there is room for; the answers are shown whole or as keys only."""
    width, takes_keys, has_draft = drawing.width, drawing.takes_keys, drawing.has_draft
    for size in CARD_SIZES:
        if size.has_short_answers and card.step is not CardStep.ANSWERS:
            continue
        rows = list(card_rows(card, theme, width, size, takes_keys=takes_keys, has_draft=has_draft))
        if len(rows) <= drawing.room:
            return CardLayout(rows, size.has_short_answers)
    rows = list(low_card_rows(card, theme, width, takes_keys=takes_keys, has_draft=has_draft))
    return CardLayout(rows, is_low=True)


def card_rows(
    card: ApprovalCard, theme: Theme, width: int, size: CardSize = WHOLE_CARD, *, takes_keys: bool, has_draft: bool
) -> Iterator[str]:
    """The rows of the card. Keys are shown only when they are accepted, so that typing does not answer."""
    command = short_command(card.asked, width)
    title = _command_title(card) if command else f"{card.asked.title}?"
    yield theme.row([("? ", Role.WARNING), (title, Role.BOLD)], width)
    for number, line in enumerate(command):
        yield theme.row([("    $ " if number == 0 else "      ", Role.DIM), (line, Role.PLAIN)], width)
    if size.has_reasons:
        yield from _reasons(card.asked.verdict, theme, width)
    if size.has_kept_out and card.kept_out:
        for line in wrapped(f"  The sandbox blocks: {card.kept_out}.", width, "  ").split("\n"):
            yield theme.row([(line, Role.DIM)], width)
    if not takes_keys:
        yield theme.row([(TAB_ANSWERS if has_draft else WAITS_FOR_PAUSE, Role.DIM)], width)
        return
    if has_draft:
        yield theme.row([(DRAFT_KEPT, Role.DIM)], width)
    if size.has_short_answers:
        yield _short_row(card, theme, width)
    else:
        yield from _step_rows(card, theme, width)


def low_card_rows(card: ApprovalCard, theme: Theme, width: int, *, takes_keys: bool, has_draft: bool) -> Iterator[str]:
    """The card in two rows: the question, and the keys."""
    yield theme.row([("? ", Role.WARNING), (_low_title(card), Role.BOLD)], width)
    if not takes_keys:
        yield theme.row([(TAB_ANSWERS if has_draft else WAITS_FOR_PAUSE, Role.DIM)], width)
    else:
        yield _short_row(card, theme, width)


def _short_row(card: ApprovalCard, theme: Theme, width: int) -> str:
    """The keys on one row."""
    answers = _short_answers(card, width - len("  "))
    keys = {CardStep.ANSWERS: answers, CardStep.RULES: "s p u b", CardStep.HUNKS: "Space y b"}[card.step]
    return theme.row([("  ", Role.PLAIN), (keys, Role.ACTIVE)], width)


def _command_title(card: ApprovalCard) -> str:
    """The second question about a command must not look like the first, which asked less."""
    leaves_sandbox = card.asked.verdict.rule == WITHOUT_SANDBOX
    return "Let this command past the sandbox?" if leaves_sandbox else "Run this command?"


def _short_answers(card: ApprovalCard, room: int) -> str:
    """The keys on one row, with a word for as many as fit, yes and no before the others; else the keys alone.

    A sign marks the one that an arrow has chosen, because Enter gives that answer.
    """
    answers = choices(card)
    signs = [">" if index == card.rows.index else "" for index in range(len(answers))]
    without = [answer.key for answer in reversed(answers) if answer.key not in ("y", "n")]
    for count in range(len(without) + 1):
        told = (each.key if each.key in without[:count] else f"{each.key} {each.short}" for each in answers)
        row = "  ".join(map("".join, zip(signs, told, strict=True)))
        if len(row) <= room:
            return row
    return " ".join(sign + answer.key for sign, answer in zip(signs, answers, strict=True))


def _low_title(card: ApprovalCard) -> str:
    """The selected row, or the subject."""
    index = card.rows.index or 0
    match card.step:
        case CardStep.ANSWERS:
            leaves_sandbox = card.asked.verdict.rule == WITHOUT_SANDBOX
            return f"Past the sandbox: {card.asked.title}" if leaves_sandbox else card.asked.title
        case CardStep.RULES:
            return " ".join(card.asked.verdict.suggestions[index].rules)
        case CardStep.HUNKS:
            return f"{'[x]' if index in card.chosen else '[ ]'} change {index + 1}"
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
            for index, choice in enumerate(choices(card)):
                yield from _choice(choice.key, choice.words, index == card.rows.index, theme, width)
        case CardStep.RULES:
            for index, offered in enumerate(card.asked.verdict.suggestions):
                words = f"{' '.join(offered.rules)}  ({offered.covers})"
                yield from _choice("", words, index == card.rows.index, theme, width)
            yield from _keys("s this session   p this project   u all your projects   b back", theme, width)
        case CardStep.HUNKS:
            yield from _hunk_rows(card, theme, width)
        case never:
            assert_never(never)


def _hunk_rows(card: ApprovalCard, theme: Theme, width: int) -> Iterator[str]:
    view = card.asked.view
    for index in card.rows.visible:
        box = "[x]" if index in card.chosen else "[ ]"
        hunk = view.hunks[index] if isinstance(view, DiffView) and index < len(view.hunks) else None
        where = "" if hunk is None else f" from line {hunk.new_start}"
        words = f"{box} change {index + 1}{where}"
        yield from _choice(str(index + 1), words, index == card.rows.index, theme, width)
    yield from _keys(f"Space or number toggles   y approves {len(card.chosen)}   b back", theme, width)


def _choice(key: str, words: str, is_chosen: bool, theme: Theme, width: int) -> Iterator[str]:
    """An answer in full: a rule must not be granted when only its beginning was shown."""
    role = Role.CHOSEN if is_chosen else Role.PLAIN
    signs = theme.paint("> " if is_chosen else "  ", Role.ACTIVE) + theme.paint(f"{key:1} ", Role.ACTIVE)
    for number, line in enumerate(_whole(words, max(1, width - ANSWER_MARGIN))):
        yield (" " * ANSWER_MARGIN if number else signs) + theme.paint(line, role)


def _keys(words: str, theme: Theme, width: int) -> Iterator[str]:
    for line in wrapped(f"  {words}", width, "  ").split("\n"):
        yield theme.row([(line.rstrip(), Role.BOLD)], width)


def _whole(words: str, room: int) -> Iterator[str]:
    """The text wrapped between words where possible."""
    for line in wrapped(safe(words), room + 1, "").split("\n"):
        yield from wrap_row(line, room)
