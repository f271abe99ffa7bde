"""Keys at a request for approval: which key gives which answer.

Only keys that are shown give an answer. Enter counts only on a row selected with an arrow key, and keys pressed while
the user is still typing something else are not for the card (`typing_pause`).
"""

from enum import Enum, auto
from typing import Final

import msgspec
from msgspec.structs import replace

from robota.clients.tui.flows.quick_approvals import RuleProposal
from robota.clients.tui.flows.selection import Selection
from robota.protocol.asks.answer import Answer, Approve, ApproveHunks, GrantScope, Reject
from robota.protocol.asks.ask import ApprovalAsk, FilesLeftBehind
from robota.protocol.views import TerminalView


class CardStep(Enum):
    """What the card shows: the answers, the rules that could be granted, or the hunks to choose from."""

    ANSWERS = auto()
    RULES = auto()
    HUNKS = auto()


class CardAction(Enum):
    """What the user wants to do before they answer."""

    EDIT = auto()
    SAY_WORDS = auto()
    SEE_ALL = auto()
    STOP_TURN = auto()


class CardChoice(msgspec.Struct, frozen=True):
    """A row of the card: the key that selects it, its text, and a short form."""

    key: str
    words: str
    short: str


# The rule that policy names for a command that would run outside the sandbox.
WITHOUT_SANDBOX: Final = "sandbox"
NUMBERS: Final = {"y": "1", "a": "2", "n": "3"}
SAME_KEYS: Final = {**{number: key for key, number in NUMBERS.items()}, "d": "n"}
# What can be done before answering; the card shows these on one row.
OTHER_ANSWERS: Final = frozenset("rhew")
SCOPES: Final = {"s": GrantScope.SESSION, "p": GrantScope.PROJECT, "u": GrantScope.USER, "enter": GrantScope.SESSION}
STEPS: Final = {"up": -1, "down": 1}


class ApprovalCard(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a card. `chosen` are the hunks that would be approved, counted from 0.

    `kept_out` is what the sandbox denies the command, `proposal` a rule for users who approve without reading.
    `wants_rule`: the user pressed the key for a rule where there is none. `names_confined`: the card says that there is
    a permission mode in which such commands run unasked.
    """

    asked: ApprovalAsk
    kept_out: str = ""
    proposal: RuleProposal | None = None
    step: CardStep = CardStep.ANSWERS
    rows: Selection
    chosen: frozenset[int] = frozenset()
    wants_rule: bool = False
    names_confined: bool = False


def card_for(
    asked: ApprovalAsk, *, kept_out: str = "", proposal: RuleProposal | None = None, names_confined: bool = False
) -> ApprovalCard:
    """A card as it is first shown: nothing is chosen."""
    is_confined = isinstance(asked.view, TerminalView) and asked.verdict.rule != WITHOUT_SANDBOX
    card = ApprovalCard(
        asked=asked,
        kept_out=kept_out if is_confined else "",
        proposal=proposal,
        names_confined=is_confined and names_confined,
        rows=Selection(count=0, index=None, wraps=False),
        chosen=frozenset(range(asked.choosable_hunks)),
    )
    return replace(card, rows=replace(card.rows, count=len(choices(card))))


def choices(card: ApprovalCard) -> tuple[CardChoice, ...]:
    """The answers to this ask, the usual ones first."""
    asked, offered = card.asked, card.asked.verdict.suggestions
    keeps = isinstance(asked.subject, FilesLeftBehind)
    rows = [CardChoice("y", "yes, keep it" if keeps else "yes", "keep" if keeps else "yes")]
    if card.proposal is not None:
        rows.append(CardChoice("g", card.proposal.words, "rule"))
    if offered:
        words = f"yes, and allow {offered[0].shown} for this session ({offered[0].covers})"
        rows.append(CardChoice("a", words, "rule"))
    elif asked.verdict.no_rule:
        rows.append(CardChoice("a", f"(no rule can allow it: {asked.verdict.no_rule})", "-"))
    rows.append(CardChoice("n", "no, remove it" if keeps else "no", "remove" if keeps else "no"))
    if offered:
        rows.append(CardChoice("r", "other rules", "rules"))
    if asked.choosable_hunks > 1:
        rows.append(CardChoice("h", f"some of the {asked.choosable_hunks} changes", "some"))
    if asked.editable is not None:
        rows.append(CardChoice("e", "edit it first", "edit"))
    rows.append(CardChoice("w", "reply with a message", "reply"))
    return tuple(rows)


def is_for_input(card: ApprovalCard, key: str) -> bool:
    """Whether the key is a letter of other text: then the user writes something, and the card waits."""
    is_letter = key == "space" or (len(key) == 1 and key.isprintable())
    if not is_letter or card.step is not CardStep.ANSWERS:
        return False
    return SAME_KEYS.get(key, key) not in {choice.key for choice in choices(card)}


def press(card: ApprovalCard, key: str) -> ApprovalCard | Answer | CardAction:
    """The card after a key, or the answer of the key. A key without a function changes nothing."""
    if key == "ctrl-o":
        return CardAction.SEE_ALL
    match card.step:
        case CardStep.ANSWERS:
            return _press_answer(card, key)
        case CardStep.RULES:
            return _press_rule(card, key)
        case CardStep.HUNKS:
            return _press_hunk(card, key)


def _press_answer(card: ApprovalCard, key: str) -> ApprovalCard | Answer | CardAction:
    if key in STEPS:
        return replace(card, rows=card.rows.moved(STEPS[key]))
    if key == "escape":
        return CardAction.STOP_TURN
    rows = choices(card)
    if key == "enter" and card.rows.index is not None:
        key = rows[card.rows.index].key
    key = SAME_KEYS.get(key, key)
    return _chosen(card, key) if any(row.key == key for row in rows) else card


def _chosen(card: ApprovalCard, key: str) -> ApprovalCard | Answer | CardAction:
    offered = card.asked.verdict.suggestions
    match key:
        case "y":
            return Approve()
        case "a":
            return Approve(grant=offered[0].rules) if offered else replace(card, wants_rule=True)
        case "g" if card.proposal is not None:
            return Approve(grant=card.proposal.rules)
        case "n":
            return Reject()
        case "e":
            return CardAction.EDIT
        case "w":
            return CardAction.SAY_WORDS
        case "r":
            return replace(card, step=CardStep.RULES, rows=Selection(count=len(offered), wraps=False))
        case _:
            rows = Selection(count=card.asked.choosable_hunks, wraps=False)
            return replace(card, step=CardStep.HUNKS, rows=rows)


def _press_rule(card: ApprovalCard, key: str) -> ApprovalCard | Answer:
    if key in STEPS:
        return replace(card, rows=card.rows.moved(STEPS[key]))
    if key in SCOPES:
        return Approve(grant=card.asked.verdict.suggestions[card.rows.index or 0].rules, grant_scope=SCOPES[key])
    return _first_step(card) if key in ("escape", "b") else card


def _press_hunk(card: ApprovalCard, key: str) -> ApprovalCard | Answer:
    if key in STEPS:
        return replace(card, rows=card.rows.moved(STEPS[key]))
    if key in ("y", "enter"):
        return _hunks_answer(card)
    if key in ("escape", "b"):
        return _first_step(card)
    toggled = (card.rows.index or 0) if key == "space" else _number(key)
    if toggled is None or toggled >= card.asked.choosable_hunks:
        return card
    return replace(card, chosen=card.chosen ^ {toggled})


def _first_step(card: ApprovalCard) -> ApprovalCard:
    return card_for(card.asked, kept_out=card.kept_out, proposal=card.proposal, names_confined=card.names_confined)


def _hunks_answer(card: ApprovalCard) -> Answer:
    """All hunks are a plain yes, none is a no."""
    if not card.chosen:
        return Reject()
    if len(card.chosen) == card.asked.choosable_hunks:
        return Approve()
    return ApproveHunks(hunks=tuple(sorted(card.chosen)))


def _number(key: str) -> int | None:
    return int(key) - 1 if key.isascii() and key.isdecimal() and key != "0" else None
