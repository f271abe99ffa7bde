"""What stands in a file instead of lines that are not there: a paragraph that a model can act on."""

from collections.abc import Sequence

from robota.tools.editing.similar_text import nearest_lines

SHOWN_LINES = 30
SHOWN_CHARACTERS = 500


def nearest_text(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """How alike the nearest lines are, and these lines with their numbers."""
    near = nearest_lines(list(lines), list(wanted))
    if near is None:
        return "Nothing in the file resembles it."
    percent = min(near.percent, 99)  # what is not the same is never wholly alike
    shown = range(near.first, min(near.last, near.first + SHOWN_LINES - 1) + 1)
    return "\n".join(
        [
            f"The nearest text, {percent} % alike, is at lines {near.first}-{near.last}:",
            *(f"{number} | {lines[number - 1][:SHOWN_CHARACTERS]}" for number in shown),
            *([f"({near.last - shown[-1]} more lines)"] if near.last > shown[-1] else []),
        ]
    )
