"""A question about a permission, as lines: what would happen, why it is asked, and the answers there are. Pure."""

import json
from typing import Any, Final

import msgspec

from robota.clients.plain.answers import suggestions_of
from robota.clients.plain.ask_text import object_in
from robota.clients.render.diagnostics import BOLD, DIM, GREEN, RED
from robota.protocol.message import Message
from robota.text.visible import visible

LINES_SHOWN: Final = 200
CHARACTERS_SHOWN: Final = 2000  # of a line
INSET: Final = "    "
TAB: Final = frozenset("\t")  # a new line would begin a line of its own
# Stands before the diff of each file where a call changes several; only those of one file can be chosen from.
FILE_HEAD: Final = "*** "
COLOURS: Final = {"+": GREEN, "-": RED, "@": DIM}


class Line(msgspec.Struct, frozen=True):
    text: str
    colour: str | None = None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked about. `hunks` is the number of changes that can be chosen from, 0 if there is no choice."""

    lines: tuple[Line, ...]
    hunks: int = 0


def subject_of(ask: Message) -> Shown:
    """The command, the call of another's tool, or the change to a file, whole."""
    if ask.ask == "command":
        first, *more = visible_lines(ask.text or "")
        return Shown(lines=(Line(f"{INSET}$ {first}", BOLD), *(Line(f"{INSET}  {line}", BOLD) for line in more)))
    about = object_in(ask)
    if ask.ask == "use_mcp_server":
        return _foreign_call(about)
    diff = about.get("diff")
    if isinstance(diff, str) and diff:
        return _diff(about, diff)
    told = {name: value for name, value in about.items() if name != "tool"}
    if len(told) == 1:
        return _text(str(*told.values()))
    return Shown(lines=_named(told)) if told else _text(ask.text or "")


def cut(shown: Shown) -> tuple[Line, ...]:
    """At most a few screens; how much more there is, is said."""
    left_out = len(shown.lines) - LINES_SHOWN
    lines = tuple(piece for line in shown.lines[:LINES_SHOWN] for piece in _cut_line(line))
    if left_out <= 0:
        return lines
    return (*lines, Line(f"{INSET}({left_out:,} more lines: type all to see them)", RED))


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


def visible_lines(text: str) -> list[str]:
    return [visible(line.removesuffix("\r"), TAB) for line in text.split("\n")]


def _cut_line(line: Line) -> tuple[Line, ...]:
    left_out = len(line.text) - CHARACTERS_SHOWN
    if left_out <= 0:
        return (line,)
    more = Line(f"{INSET}({left_out:,} more characters in this line: type all to see them)", RED)
    return Line(line.text[:CHARACTERS_SHOWN], line.colour), more


def _text(text: str) -> Shown:
    return Shown(lines=tuple(Line(INSET + line) for line in visible_lines(text)))


def _named(values: dict[str, Any]) -> tuple[Line, ...]:
    """Each value behind its name; the further lines of a value stand beneath its first one."""
    lines = []
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *more = visible_lines(text)
        lines += [Line(f"{INSET}{visible(name, TAB)}: {first}"), *(Line(f"{INSET}  {line}") for line in more)]
    return tuple(lines)


def _foreign_call(about: dict[str, Any]) -> Shown:
    """Which server and which tool, then the arguments; what they do is known to the server alone."""
    what = about.get("toolName") or about.get("uri") or about.get("type")
    head = Line(
        f"{INSET}{visible(str(what), TAB)} of the MCP server {visible(str(about.get('serverName')), TAB)}", BOLD
    )
    arguments = _decoded(about.get("arguments"))
    if isinstance(arguments, dict):
        return Shown(lines=(head, *_named(arguments)))
    return Shown(lines=(head, *_text(str(arguments)).lines) if arguments else (head,))


def _decoded(arguments: object) -> object:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return arguments


def _diff(about: dict[str, Any], diff: str) -> Shown:
    is_new = about.get("tool") == "newFileCreated"
    rows = visible_lines(diff.removesuffix("\n"))
    hunks = sum(row.startswith("@@ ") for row in rows)
    can_choose = hunks > 1 and not is_new and not rows[0].startswith(FILE_HEAD)
    lines, number = [Line(f"{INSET}{visible(str(about.get('path', '')), TAB)}{' (new file)' * is_new}", BOLD)], 0
    for row in rows:
        number += row.startswith("@@ ")
        mark = f"[{number}] " if can_choose and row.startswith("@@ ") else ""
        lines.append(Line(f"{INSET}{mark}{row}", COLOURS.get(row[:1])))
    return Shown(lines=tuple(lines), hunks=hunks if can_choose else 0)
