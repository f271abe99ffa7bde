"""Describes the text in a file that is nearest to lines that were not found, for the model."""

from collections.abc import Sequence

import msgspec
from rapidfuzz import fuzz, process

CANDIDATES = 20
MAX_COMPARED = 20_000
SHOWN_LINES = 30
SHOWN_CHARACTERS = 500
# Any two lines have some letters in common; what is less alike only leads astray.
LEAST_PERCENT = 40

CUT = f"(Lines are cut after {SHOWN_CHARACTERS} characters here. Read the file to see them whole.)"


class Nearest(msgspec.Struct, frozen=True, kw_only=True):
    """Lines `first` to `last`, counted from 1, and their similarity in percent."""

    first: int
    last: int
    percent: int


def nearest_text(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """The similarity of the nearest lines, and these lines with their numbers."""
    near = _nearest_lines(list(lines), list(wanted))
    if near is None:
        return "Nothing in the file is similar to it."
    percent = min(near.percent, 99)  # text that differs is never 100 % alike
    shown = range(near.first, min(near.last, near.first + SHOWN_LINES - 1) + 1)
    return "\n".join(
        [
            f"The nearest text, {percent} % alike, is at {_line_range(near)}:",
            *(f"{number} | {lines[number - 1][:SHOWN_CHARACTERS]}" for number in shown),
            *([f"({near.last - shown[-1]} more lines)"] if near.last > shown[-1] else []),
            *([CUT] if any(len(lines[number - 1]) > SHOWN_CHARACTERS for number in shown) else []),
        ]
    )


def _line_range(near: Nearest) -> str:
    return f"line {near.first}" if near.first == near.last else f"lines {near.first}-{near.last}"


def _nearest_lines(lines: list[str], wanted: list[str]) -> Nearest | None:
    """The most similar range with as many lines as wanted; None if nothing is similar."""
    if not lines or not any(line.strip() for line in wanted):
        return None
    text = "\n".join(wanted)[:MAX_COMPARED]
    best: tuple[float, int] = (0.0, 0)
    for start in _starts(lines, wanted):
        window = "\n".join(lines[start : start + len(wanted)])[:MAX_COMPARED]
        best = max(best, (fuzz.ratio(text, window), -start))
    percent, start = round(best[0]), -best[1]
    if percent < LEAST_PERCENT:
        return None
    return Nearest(first=start + 1, last=min(len(lines), start + len(wanted)), percent=percent)


def _starts(lines: list[str], wanted: list[str]) -> set[int]:
    """Candidate positions: those that align the longest wanted line with a similar line of the file."""
    telling = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    alike = process.extract(wanted[telling], lines, scorer=fuzz.ratio, limit=CANDIDATES)
    last_start = max(0, len(lines) - len(wanted))
    return {min(max(0, index - telling), last_start) for _, _, index in alike}
