"""The lines of a file after a change, as its result shows them, so that nobody has to read the file again."""

from typing import Final

import msgspec

from robota.protocol.views import DiffHunk, DiffView

MAX_LINES: Final = 60
MAX_LINE_CHARACTERS: Final = 500


def changed_lines(view: DiffView, path: str) -> str:
    """The new lines of each change, numbered, with a few around them. The rest is named with the call that shows it."""
    shown: list[str] = []
    width = len(str(max((hunk.new_start + hunk.new_count for hunk in view.hunks), default=1)))
    for number, hunk in enumerate(view.hunks):
        lines = [line for line in hunk.lines if line.new_line is not None]
        room = MAX_LINES - len(shown)
        shown += ["----"] if number and room > 0 else []
        shown += [f"{line.new_line:>{width}} | {_cut_line(line.text)}" for line in lines[:room]]
        if len(lines) > room:
            first = lines[room].new_line if room > 0 else lines[0].new_line
            return "\n".join([*shown, _next_call(view.hunks[number:], path, first or 1)])
    return "\n".join([*shown, *_whole_line(view.hunks, path)])


def _whole_line(hunks: tuple[DiffHunk, ...], path: str) -> list[str]:
    """The call that shows the first line that is cut, as an example."""
    for hunk in hunks:
        for line in hunk.lines:
            if line.new_line is not None and len(line.text) > MAX_LINE_CHARACTERS:
                call = {"path": path, "offset": line.new_line, "limit": 1}
                return [f"[Long lines end with .... For a whole one: read_file {msgspec.json.encode(call).decode()}]"]
    return []


def size_of_change(view: DiffView) -> str:
    """How many lines were added and removed."""
    return f"+{view.added} -{view.removed} lines"


def _next_call(hunks: tuple[DiffHunk, ...], path: str, first: int) -> str:
    last = hunks[-1].new_start + hunks[-1].new_count - 1
    call = {"path": path, "offset": first, "limit": max(last - first + 1, 1)}
    return f"[The other changed lines: read_file {msgspec.json.encode(call).decode()}]"


def _cut_line(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARACTERS else f"{line[:MAX_LINE_CHARACTERS]}..."
