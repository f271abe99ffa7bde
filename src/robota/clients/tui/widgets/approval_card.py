"""The card of a request for approval: one frame with what is asked, the reasons, and the keys that answer it."""

from collections.abc import Iterator
from typing import Final, assert_never

import msgspec

from robota.clients.terminal.width import columns_of, wrapped
from robota.clients.tui.flows.approval_keys import (
    NUMBERS,
    OTHER_ANSWERS,
    WITHOUT_SANDBOX,
    ApprovalCard,
    CardChoice,
    CardStep,
    choices,
)
from robota.clients.tui.painted_rows import wrap_row
from robota.clients.tui.theme import Piece, Role, Theme, safe
from robota.clients.tui.widgets.frame import FrameEdges, framed, inner_width
from robota.protocol.asks.ask import ApprovalAsk, ApprovalVerdict, CallSubject
from robota.protocol.views import DiffsView, DiffView, TerminalView

PARTS_SHOWN: Final = 6
COMMAND_ROWS: Final = 8
COMMAND_MARGIN: Final = 8
ANSWER_MARGIN: Final = 6
FOCUS_WIDTH: Final = 2
OTHERS_GAP: Final = "  "
WAITS_FOR_PAUSE: Final = "…"
TAB_ANSWERS: Final = "Press Tab to answer; your draft is kept."
DRAFT_KEPT: Final = "Your draft is kept; Tab returns to it."
RULE_KEYS: Final = "s this session   p this project   u all your projects   b back"
KEYS: Final = "Up/Down Enter select"
ESC_STOPS: Final = "Esc stops"
ESC_DENIES: Final = "Esc denies it"
CONFINED_EXISTS: Final = "Confined mode (Shift+Tab) runs sandboxed commands without asking."
ACCEPTS_EDITS: Final = "Shift+Tab accepts edits from now on"


class CardSize(msgspec.Struct, frozen=True, kw_only=True):
    """Which parts of a card are shown: what the sandbox denies, the reasons, and the answers in full sentences."""

    has_kept_out: bool = True
    has_reasons: bool = True
    has_short_answers: bool = False


class CardDrawing(msgspec.Struct, frozen=True, kw_only=True):
    """The room there is, whether keys are for the card, and whether something is written in the input.

    `accepts_edits`: a change of the permission mode would stop this kind of question. `is_beside`: an agent asks, whose
    call alone Esc denies.
    """

    width: int
    room: int
    takes_keys: bool
    has_draft: bool
    accepts_edits: bool = False
    is_beside: bool = False


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
    for size in CARD_SIZES:
        if size.has_short_answers and card.step is not CardStep.ANSWERS:
            continue
        rows = list(card_rows(card, theme, drawing, size))
        if len(rows) <= drawing.room:
            return CardLayout(rows, size.has_short_answers)
    return CardLayout(list(low_card_rows(card, theme, drawing)), is_low=True)


def card_rows(card: ApprovalCard, theme: Theme, drawing: CardDrawing, size: CardSize = WHOLE_CARD) -> Iterator[str]:
    """The rows of the card. Keys are shown only when they are accepted, so that typing does not answer."""
    command = short_command(card.asked, drawing.width)
    frame = FrameEdges(
        title=_command_title(card) if command else f"{card.asked.title}?",
        note=_size_of_change(card.asked),
        keys=_keys_of(card, drawing),
        edge=Role.WARNING if drawing.takes_keys else Role.DIM,
    )
    yield from framed(_inside(card, command, theme, drawing, size), frame, theme, drawing.width)


def low_card_rows(card: ApprovalCard, theme: Theme, drawing: CardDrawing) -> Iterator[str]:
    """The card in two rows, without a frame: the question, and the keys."""
    yield theme.row([("? ", Role.WARNING), (_low_title(card), Role.BOLD)], drawing.width)
    if not drawing.takes_keys:
        words = TAB_ANSWERS if drawing.has_draft else WAITS_FOR_PAUSE
        yield theme.row([(f"  {words}", Role.DIM)], drawing.width)
    else:
        yield theme.row([("  ", Role.PLAIN), *_short_row(card, drawing.width - 2)], drawing.width)


def short_command(asked: ApprovalAsk, width: int) -> tuple[str, ...]:
    """The rows of a command that the card shows whole; empty for other calls, and for one that is printed instead."""
    if not isinstance(asked.view, TerminalView):
        return ()
    room = max(1, width - COMMAND_MARGIN)
    lines = [safe(line) for line in asked.view.command.split("\n")]
    rows = tuple(line[at : at + room] for line in lines for at in range(0, len(line) or 1, room))
    fits = len(rows) <= COMMAND_ROWS and all(columns_of(row) <= room for row in rows)
    return rows if fits else ()


def _inside(
    card: ApprovalCard, command: tuple[str, ...], theme: Theme, drawing: CardDrawing, size: CardSize
) -> Iterator[str]:
    room = inner_width(drawing.width)
    for number, line in enumerate(command):
        yield theme.row([("$ " if number == 0 else "  ", Role.DIM), (line, Role.BOLD)], room)
    if size.has_reasons:
        yield from _reasons(card.asked.verdict, theme, room)
    if size.has_kept_out and card.kept_out:
        yield from _wrapped(f"The sandbox blocks: {card.kept_out}.", Role.DIM, theme, room)
    if size.has_kept_out and card.names_confined:
        yield from _wrapped(CONFINED_EXISTS, Role.DIM, theme, room)
    if not drawing.takes_keys:
        yield theme.row([(TAB_ANSWERS if drawing.has_draft else WAITS_FOR_PAUSE, Role.DIM)], room)
        return
    if drawing.has_draft:
        yield theme.row([(DRAFT_KEPT, Role.DIM)], room)
    yield from [theme.row(_short_row(card, room), room)] if size.has_short_answers else _step_rows(card, theme, room)


def _keys_of(card: ApprovalCard, drawing: CardDrawing) -> str:
    if not drawing.takes_keys or card.step is not CardStep.ANSWERS:
        return ""
    words = (KEYS, *((ACCEPTS_EDITS,) if drawing.accepts_edits else ()), ESC_DENIES if drawing.is_beside else ESC_STOPS)
    return "   ".join(words)


def _size_of_change(asked: ApprovalAsk) -> tuple[Piece, ...]:
    match asked.view:
        case DiffView() | DiffsView() as view:
            files = (view,) if isinstance(view, DiffView) else view.files
            added, removed = sum(file.added for file in files), sum(file.removed for file in files)
            return (f"+{added} ", Role.ADDED), (f"-{removed}", Role.REMOVED)
        case _:
            return ()


def _short_row(card: ApprovalCard, room: int) -> tuple[Piece, ...]:
    """The keys on one row."""
    match card.step:
        case CardStep.ANSWERS:
            return ((_short_answers(card, room), Role.ACTIVE),)
        case CardStep.RULES:
            return (("s p u b", Role.ACTIVE),)
        case CardStep.HUNKS:
            return (("Space y b", Role.ACTIVE),)
        case never:
            assert_never(never)


def _command_title(card: ApprovalCard) -> str:
    """The second question about a command must not look like the first, which asked less."""
    if card.asked.verdict.rule != WITHOUT_SANDBOX:
        return "Run this command?"
    opened = _opened(card.asked)
    return f"Open the sandbox for {', '.join(opened)}?" if opened else "Let this command past the sandbox?"


def _opened(asked: ApprovalAsk) -> tuple[str, ...]:
    """The hosts and directories that a second try needs; empty if it runs without a sandbox."""
    subject = asked.subject
    opened = subject.input.get("opened") if isinstance(subject, CallSubject) else ()
    return tuple(each for each in opened if isinstance(each, str)) if isinstance(opened, list | tuple) else ()


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
            return card.asked.verdict.suggestions[index].shown
        case CardStep.HUNKS:
            return f"{'[x]' if index in card.chosen else '[ ]'} change {index + 1}"
        case never:
            assert_never(never)


def _reasons(verdict: ApprovalVerdict, theme: Theme, room: int) -> Iterator[str]:
    if verdict.reason:
        yield from _wrapped(verdict.reason, Role.DIM, theme, room)
    if len(verdict.parts) > 1:
        for part in verdict.parts[:PARTS_SHOWN]:
            role = Role.DIM if part.decision == "allow" else Role.WARNING
            yield theme.row([(f"  {part.decision:5}  ", role), (part.text, Role.PLAIN)], room)
        if len(verdict.parts) > PARTS_SHOWN:
            yield theme.row([(f"  ... +{len(verdict.parts) - PARTS_SHOWN} parts", Role.DIM)], room)
    for warning in verdict.warnings:
        yield from _wrapped(f"! {warning}", Role.ERROR, theme, room, "  ")


def _step_rows(card: ApprovalCard, theme: Theme, room: int) -> Iterator[str]:
    match card.step:
        case CardStep.ANSWERS:
            yield from _answer_rows(card, theme, room)
        case CardStep.RULES:
            for index, offered in enumerate(card.asked.verdict.suggestions):
                words = f"{offered.shown}  ({offered.covers})"
                yield from _choice("", words, index == card.rows.index, theme, room)
            yield from _wrapped(
                "s this session   p this project   u all your projects   b back", Role.BOLD, theme, room
            )
        case CardStep.HUNKS:
            yield from _hunk_rows(card, theme, room)
        case never:
            assert_never(never)


def _answer_rows(card: ApprovalCard, theme: Theme, room: int) -> Iterator[str]:
    """A row for each answer, and one for what can be done before answering."""
    answers = choices(card)
    chosen = None if card.rows.index is None else answers[card.rows.index]
    others = [answer for answer in answers if answer.key in OTHER_ANSWERS]
    for answer in answers:
        if answer not in others:
            key = f"{NUMBERS.get(answer.key, ' ')} {answer.key}"
            is_pressed = card.wants_rule and answer.key == "a"
            yield from _choice(key, answer.words, answer is chosen or is_pressed, theme, room)
    yield from _others_rows(others, chosen, theme, room)


def _others_rows(others: list[CardChoice], chosen: CardChoice | None, theme: Theme, room: int) -> Iterator[str]:
    """As many on a row as fit."""
    row, left = "", 0
    for answer in others:
        words = f"{answer.key} {answer.words}"
        wide = len(OTHERS_GAP) + FOCUS_WIDTH + columns_of(words)
        if wide > left and row:
            yield row
            row = ""
        left = (room if not row else left) - wide
        is_chosen = answer is chosen
        sign = theme.glyphs.focus if is_chosen else " "
        row += OTHERS_GAP + theme.paint(f"{sign} ", Role.ACTIVE)
        row += theme.paint(answer.key, Role.CHOSEN if is_chosen else Role.ACTIVE)
        row += theme.row(
            [(words[len(answer.key) :], Role.CHOSEN if is_chosen else Role.PLAIN)], room - FOCUS_WIDTH * 2 - 1
        )
    if row:
        yield row


def _hunk_rows(card: ApprovalCard, theme: Theme, room: int) -> Iterator[str]:
    view, glyphs = card.asked.view, theme.glyphs
    for index in card.rows.visible:
        box = glyphs.done if index in card.chosen else glyphs.open
        hunk = view.hunks[index] if isinstance(view, DiffView) and index < len(view.hunks) else None
        where = "" if hunk is None else f" from line {hunk.new_start}"
        words = f"{box} change {index + 1}{where}"
        yield from _choice(f"  {index + 1}", words, index == card.rows.index, theme, room)
    yield from _wrapped(f"Space or number toggles   y approves {len(card.chosen)}   b back", Role.BOLD, theme, room)


def _choice(key: str, words: str, is_chosen: bool, theme: Theme, room: int) -> Iterator[str]:
    """An answer in full: a rule must not be granted when only its beginning was shown."""
    role = Role.CHOSEN if is_chosen else Role.PLAIN
    number, letter = key[:-1], key[-1:]
    signs = theme.paint(f"{theme.glyphs.focus if is_chosen else ' '} ", Role.ACTIVE)
    signs += theme.paint(f"{number:2}", Role.DIM) + theme.paint(f"{letter:1} ", Role.ACTIVE)
    for at, line in enumerate(_whole(words, max(1, room - ANSWER_MARGIN))):
        yield (" " * ANSWER_MARGIN if at else signs) + theme.paint(line, role)


def _wrapped(words: str, role: Role, theme: Theme, room: int, indent: str = "") -> Iterator[str]:
    for line in _whole(words, room, indent):
        yield theme.row([(line, role)], room)


def _whole(words: str, room: int, indent: str = "") -> Iterator[str]:
    """The text wrapped between words where possible."""
    for line in wrapped(safe(words), room + 1, indent).split("\n"):
        yield from wrap_row(line.rstrip(), room)
