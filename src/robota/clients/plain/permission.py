"""A question about a permission, as lines: what would happen, why it is asked, and the answers there are. Pure."""

from typing import Final

import msgspec

from robota.clients.lines.diagnostics import BOLD, DIM, GREEN, RED
from robota.clients.plain.answers import suggestions_of
from robota.clients.plain.ask_text import object_in
from robota.protocol.message import Message

LINES_SHOWN: Final = 200
INSET: Final = "    "
COLOURS: Final = {"+": GREEN, "-": RED, "@": DIM}


class Line(msgspec.Struct, frozen=True):
    text: str
    colour: str | None = None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked about. `hunks` is the number of changes that can be chosen from, 0 if there is no choice."""

    lines: tuple[Line, ...]
    hunks: int = 0


def subject_of(ask: Message) -> Shown:
    """The command, or the change to a file, whole."""
    if ask.ask == "command":
        first, *more = (ask.text or "").split("\n")
        return Shown(lines=(Line(f"{INSET}$ {first}", BOLD), *(Line(f"{INSET}  {line}", BOLD) for line in more)))
    about = object_in(ask)
    diff = about.get("diff")
    if isinstance(diff, str) and diff:
        return _diff(diff, is_new=about.get("tool") == "newFileCreated")
    told = [f"{name}: {line}" for name, value in about.items() for line in str(value).split("\n") if name != "tool"]
    return Shown(lines=tuple(Line(INSET + line) for line in told or (ask.text or "").split("\n")))


def cut(shown: Shown) -> tuple[Line, ...]:
    """At most a few screens; how much more there is, is said."""
    left_out = len(shown.lines) - LINES_SHOWN
    if left_out <= 0:
        return shown.lines
    return (*shown.lines[:LINES_SHOWN], Line(f"{INSET}({left_out:,} more lines: type all to see them)", RED))


def reasons_of(ask: Message) -> tuple[Line, ...]:
    """Why it is asked, what is said of each part of a command, and what cannot be seen in the text."""
    verdict = ask.verdict or {}
    lines = [Line(f"  {verdict['reason']}", DIM)] if verdict.get("reason") else []
    parts = verdict.get("parts") or ()
    if len(parts) > 1:
        lines += [Line(f"{INSET}{part['decision']:5}  {part['text']}", DIM) for part in parts]
    return (*lines, *(Line(f"  ! {warning}", RED) for warning in verdict.get("warnings") or ()))


def choices_of(ask: Message, hunks: int, *, can_change: bool) -> tuple[Line, ...]:
    """The answers, the usual ones first."""
    first = "  y yes   n no (n and some words: no, and why)" + ("   e change it first" if can_change else "")
    lines = [first]
    for number, suggestion in enumerate(suggestions_of(ask), start=1):
        rules = " ".join(suggestion["rules"])
        lines.append(f"  {number} yes, and from now on in this session: {rules} ({suggestion['covers']})")
    if len(lines) > 1:
        lines.append("  1p the same for this project, 1u for you everywhere")
    if hunks:
        lines.append(f"  h 1,{hunks} only these of the {hunks} changes")
    return tuple(Line(line) for line in lines)


def _diff(diff: str, *, is_new: bool) -> Shown:
    rows = diff.removesuffix("\n").split("\n")
    hunks = sum(row.startswith("@@ ") for row in rows)
    can_choose = hunks > 1 and not is_new
    lines, number = [], 0
    for row in rows:
        number += row.startswith("@@ ")
        mark = f"[{number}] " if can_choose and row.startswith("@@ ") else ""
        lines.append(Line(f"{INSET}{mark}{row}", COLOURS.get(row[:1])))
    return Shown(lines=tuple(lines), hunks=hunks if can_choose else 0)
