"""Parse the line that the user types at a request for approval. Pure."""

import re
from typing import Final

import msgspec

from robota.clients.answering.yes_or_no import NO, YES, is_clear_no, is_clear_yes
from robota.protocol.asks.answer import Answer, Approve, ApproveHunks, GrantScope, Reject
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.views import DiffView

SCOPES: Final = {
    "": GrantScope.SESSION,
    "s": GrantScope.SESSION,
    "p": GrantScope.PROJECT,
    "u": GrantScope.USER,
}
RULE_CHOICE: Final = r"(\d{1,2})([spu]?)"
HUNK_CHOICE: Final = r"h\s*(\d+(?:[\s,]+\d+)*)"
HINT: Final = (
    "Type y to approve, n to reject, or one of the choices above. Any other text rejects it and is sent as the reason."
)


class Again(msgspec.Struct, frozen=True):
    """The line is not an answer; contains a hint on what would be one."""

    hint: str


class ShowAll(msgspec.Struct, frozen=True):
    """Show everything again, including what was cut off."""


class EditFirst(msgspec.Struct, frozen=True):
    """Let the user change the editable field first."""


Meaning = Answer | Again | ShowAll | EditFirst


def meaning_of(typed: str, asked: ApprovalAsk) -> Meaning:
    """The answer in a line. Only a clear yes approves: an empty line or other words never allow anything."""
    line = typed.strip()
    word, _, rest = line.partition(" ")
    if "\n" in line:
        return _several_lines(line)
    if is_clear_yes(line) or word.lower() in YES:
        return Approve(text=rest.strip() if word.lower() in YES else "")
    if is_clear_no(line) or word.lower() in NO:
        return Reject(text=rest.strip() if word.lower() in NO else "")
    if line in ("e", "edit"):
        return EditFirst()
    if line in ("all", "?"):
        return ShowAll()
    return _choice(line, asked) or (Reject(text=line) if rest else Again(HINT))


def _choice(line: str, asked: ApprovalAsk) -> Meaning | None:
    """A rule or hunks, selected by number."""
    if rule := re.fullmatch(RULE_CHOICE, line):
        return _with_rule(asked, int(rule[1]), SCOPES[rule[2]])
    if chosen := re.fullmatch(HUNK_CHOICE, line):
        return _with_hunks({int(number) for number in re.findall(r"\d+", chosen[1])}, asked)
    return None


def _several_lines(text: str) -> Meaning:
    """A paste of several lines may reject and explain. It never approves, even if it begins with a yes."""
    first, rest = text.split(maxsplit=1)
    if first.lower() in YES:
        return Again(f"Several lines at once are not accepted as approval. {HINT}")
    return Reject(text=rest if first.lower() in NO else text)


def _with_rule(asked: ApprovalAsk, number: int, scope: GrantScope) -> Meaning:
    offered = asked.verdict.suggestions
    if not 1 <= number <= len(offered):
        return Again(f"There is no choice {number}. {HINT}")
    return Approve(grant=offered[number - 1].rules, grant_scope=scope)


def _with_hunks(numbers: set[int], asked: ApprovalAsk) -> Meaning:
    hunks = asked.choosable_hunks
    if not hunks:
        is_only_change = isinstance(asked.view, DiffView) and len(asked.view.hunks) == 1
        return Approve() if is_only_change and numbers == {1} else Again(f"There are no changes to choose from. {HINT}")
    if not all(1 <= number <= hunks for number in numbers):
        return Again(f"The changes are numbered 1 to {hunks}. {HINT}")
    return ApproveHunks(hunks=tuple(sorted(number - 1 for number in numbers)))
