"""Format a transcript as lines of text: the user's text, the model's, and each call, shortened or complete."""

from collections.abc import Iterator
from typing import Final, assert_never

from robota.clients.terminal.line import BOLD, DIM, GREEN, INSET, RED, Line
from robota.protocol.transcript import Called, Noted, Prompted, Reasoned, Replied, Transcript
from robota.text.visible import single_line, visible

TAB: Final = frozenset("\t")
MAX_TITLE_LENGTH: Final = 200
SHORT_OUTPUT_LINES: Final = 10
SHORT_DIFF_LINES: Final = 20
SIGN_COLOURS: Final = {"+": GREEN, "-": RED, "@": DIM}


def transcript_lines(entry: Transcript, *, whole_output: bool = False) -> Iterator[Line]:
    """The lines of one entry, with invisible characters shown, after an empty line."""
    margin = "  " * entry.depth
    yield Line("")
    match entry:
        case Prompted():
            images = f" [{entry.images} images]" if entry.images else ""
            yield from _lines(entry.text + images, margin + "> ", BOLD)
        case Replied():
            yield from _lines(entry.text + (" [interrupted]" if entry.interrupted else ""), margin)
        case Reasoned():
            yield from _lines(entry.text, margin + INSET, DIM)
        case Noted():
            yield from _lines(f"({entry.text})", margin + INSET, DIM)
        case Called():
            yield from _call(entry, margin, whole_output)
        case never:
            assert_never(never)


def call_title(entry: Called) -> str:
    """A call on one line."""
    return single_line(entry.title, MAX_TITLE_LENGTH)


def _call(entry: Called, margin: str, whole_output: bool) -> Iterator[Line]:
    status_text = "" if entry.status == "success" else f" [{single_line(entry.status)}]"
    asked = f" (answer: {single_line(entry.answer)})" if entry.answer else ""
    yield Line(f"{margin}* {call_title(entry)}{status_text}{asked}", RED if status_text else None)
    if entry.diff:
        yield from _first_lines(_diff(entry.diff, margin), None if whole_output else SHORT_DIFF_LINES, margin)
    if entry.output and (whole_output or not entry.diff):
        lines = list(_lines(entry.output, f"{margin}{INSET}| ", DIM))
        hidden = 0 if whole_output else max(0, len(lines) - SHORT_OUTPUT_LINES)
        if hidden:
            yield Line(f"{margin}{INSET}({hidden} lines before)", DIM)
        yield from lines[hidden:]


def _diff(diff: str, margin: str) -> Iterator[Line]:
    for line in diff.split("\n"):
        yield Line(f"{margin}{INSET}{visible(line.rstrip(), TAB)}", SIGN_COLOURS.get(line[:1]))


def _first_lines(lines: Iterator[Line], most: int | None, margin: str) -> Iterator[Line]:
    shown = list(lines)
    yield from shown[:most]
    if most is not None and len(shown) > most:
        yield Line(f"{margin}{INSET}({len(shown) - most} more lines)", DIM)


def _lines(text: str, margin: str, colour: str | None = None) -> Iterator[Line]:
    for line in text.rstrip("\n").split("\n"):
        yield Line((margin + visible(line.removesuffix("\r"), TAB)).rstrip(), colour)
