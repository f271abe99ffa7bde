"""What a person typed at a question about a permission, and what it means. Pure."""

import json
import re
from typing import Any, Final

import msgspec

from robota.protocol.commands import AskResponse
from robota.protocol.message import Message

PLAIN: Final = dict.fromkeys(("y", "yes"), "yesButtonClicked") | dict.fromkeys(("n", "no"), "noButtonClicked")
SCOPES: Final = {"": "session", "s": "session", "p": "project", "u": "user"}
RULE_CHOICE: Final = re.compile(r"(\d{1,2})([spu]?)")
HUNK_CHOICE: Final = re.compile(r"h\s*(\d+(?:[\s,]+\d+)*)")


class Again(msgspec.Struct, frozen=True):
    """That was no answer; here is what would be one."""

    hint: str


class ShowAll(msgspec.Struct, frozen=True):
    """Show everything again, and what was cut off too."""


class ChangeIt(msgspec.Struct, frozen=True):
    """Let the person change the command or the text first."""


Meaning = AskResponse | Again | ShowAll | ChangeIt

HINT: Final = "Type y for yes, n for no, or another of the choices above. Words, with or without n, say no and why."


def meaning_of(typed: str, ask: Message, hunks: int) -> Meaning:
    """The answer in a line. Nothing but a clear yes is one: an empty line, or words, never allow anything."""
    line = typed.strip()
    word, _, rest = line.partition(" ")
    if "\n" in line:
        return _several_lines(line, ask)
    if response := PLAIN.get(word.lower()):
        return AskResponse(ask_response=response, ts=ask.ts, text=rest.strip() or None)
    if line in ("e", "edit"):
        return ChangeIt()
    if line in ("all", "?"):
        return ShowAll()
    if rule := RULE_CHOICE.fullmatch(line):
        return _with_rule(ask, int(rule[1]), SCOPES[rule[2]])
    if chosen := HUNK_CHOICE.fullmatch(line):
        return _with_hunks(ask, [int(number) for number in re.findall(r"\d+", chosen[1])], hunks)
    if rest:
        return AskResponse(ask_response="noButtonClicked", ts=ask.ts, text=line)
    return Again(HINT)


def changed_input(ask: Message, arguments: dict[str, Any]) -> AskResponse:
    """Yes, but with these arguments."""
    return AskResponse(ask_response="objectResponse", ts=ask.ts, text=json.dumps({"input": arguments}))


def suggestions_of(ask: Message) -> list[dict[str, Any]]:
    """The sets of rules that would stop the question; each has `rules` and what they cover."""
    return list((ask.verdict or {}).get("suggestions") or ())


def _several_lines(text: str, ask: Message) -> Meaning:
    """A paste may say no and why at length. It is no clear yes, even if it happens to begin like one."""
    first, rest = text.split(maxsplit=1)
    response = PLAIN.get(first.lower())
    if response == "yesButtonClicked":
        return Again(f"Several lines at once are no yes. {HINT}")
    return AskResponse(ask_response="noButtonClicked", ts=ask.ts, text=rest if response else text)


def _with_rule(ask: Message, number: int, scope: str) -> Meaning:
    offered = suggestions_of(ask)
    if not 1 <= number <= len(offered):
        return Again(f"There is no choice {number}. {HINT}")
    rules = tuple(offered[number - 1]["rules"])
    return AskResponse(ask_response="yesButtonClicked", ts=ask.ts, grant=rules, grant_scope=scope)


def _with_hunks(ask: Message, numbers: list[int], hunks: int) -> Meaning:
    if not all(1 <= number <= hunks for number in numbers):
        return Again(f"The changes are numbered 1 to {hunks}. {HINT}" if hunks else f"There is no diff. {HINT}")
    chosen = sorted({number - 1 for number in numbers})
    return AskResponse(ask_response="objectResponse", ts=ask.ts, text=json.dumps({"hunks": chosen}))
