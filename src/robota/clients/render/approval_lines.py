"""Format a request for approval as lines: what would happen, the reasons, and the possible answers. Pure."""

from typing import Final

from robota.clients.render.view_lines import whole_view
from robota.clients.terminal.line import DIM, INSET, RED, Line
from robota.protocol.asks.ask import ApprovalAsk, ApprovalVerdict

LINES_SHOWN: Final = 200
CHARACTERS_SHOWN: Final = 2000  # of a line


def subject_lines(asked: ApprovalAsk) -> tuple[Line, ...]:
    """The complete command, call of an external tool, or change to a file."""
    return tuple(whole_view(asked.view, choosable_hunks=asked.choosable_hunks))


def cut(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """At most a few screens, with the number of omitted lines."""
    left_out = len(lines) - LINES_SHOWN
    shown = tuple(piece for line in lines[:LINES_SHOWN] for piece in _cut_line(line))
    if left_out <= 0:
        return shown
    return (*shown, Line(f"{INSET}({left_out:,} more lines: type all to see them)", RED))


def reason_lines(verdict: ApprovalVerdict) -> tuple[Line, ...]:
    """The reasons, the verdict on each part of a command, and warnings about invisible characters."""
    lines = [Line(f"  {verdict.reason}", DIM)] if verdict.reason else []
    if len(verdict.parts) > 1:
        lines += [Line(f"{INSET}{part.decision:5}  {part.text}", DIM) for part in verdict.parts]
    return (*lines, *(Line(f"  ! {warning}", RED) for warning in verdict.warnings))


def choice_lines(asked: ApprovalAsk) -> tuple[Line, ...]:
    """The possible answers, the usual ones first."""
    edit = "   e edit it first" if asked.editable is not None else ""
    lines = [f"  y yes   n no (text after n is sent as the reason){edit}"]
    for number, offered in enumerate(asked.verdict.suggestions, start=1):
        rules = " ".join(offered.rules)
        lines.append(f"  {number} yes, and allow {rules} for this session ({offered.covers})")
    if len(lines) > 1:
        lines.append("  1p also in future sessions of this project, 1u in all your projects")
    if hunks := asked.choosable_hunks:
        lines.append(f"  h 1,{hunks} approve only these of the {hunks} changes")
    return tuple(Line(line) for line in lines)


def _cut_line(line: Line) -> tuple[Line, ...]:
    left_out = len(line.text) - CHARACTERS_SHOWN
    if left_out <= 0:
        return (line,)
    more = Line(f"{INSET}({left_out:,} more characters in this line: type all to see them)", RED)
    return Line(line.text[:CHARACTERS_SHOWN], line.colour), more
