"""Choose the line endings of new text in a file with mixed line endings."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

ENDING = re.compile("\r\n|\r|\n")
# Above this many pairs of lines, comparing takes seconds; then lines are paired by position only.
MAX_PAIRS = 4_000_000


def with_mixed_endings(new: str, raw: str, start: int, end: int) -> str:
    """The text `new`, which has plain newlines, with the endings for replacing `raw[start:end]`.

    An unchanged line keeps its ending; the others get the ending of the line that they replace.
    """
    above = raw[start - 1 : start]
    lines = new.split("\n")
    parts: list[str] = []
    for line, ending in zip(lines, _endings(raw, start, end, lines[:-1]), strict=False):
        parts += [line, _kept_apart(ending, line or (parts[-1] if parts else above))]
    text = "".join(parts) + lines[-1]
    if raw[end : end + 1] != "\n":
        return text
    if not text:
        return "\r" if above == "\r" else ""
    return f"{text[:-1]}\r\n" if text.endswith("\r") else text


def _kept_apart(ending: str, before: str) -> str:
    """Avoid a line feed right after a lone carriage return: they would form one ending, and a line would be lost."""
    return "\r\n" if ending == "\n" and before == "\r" else ending


def _endings(raw: str, start: int, end: int, new_lines: list[str]) -> Iterator[str]:
    old_endings = ENDING.findall(raw, start, end)
    old_lines = ENDING.split(raw[start:end])[:-1]
    ending = _nearest(raw, start)
    for i1, i2, j1, j2 in _blocks(old_lines, new_lines):
        for offset in range(j2 - j1):
            ending = old_endings[i1 + offset] if i1 + offset < i2 else ending
            yield ending


def _blocks(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """Ranges of old and new lines that correspond, equal or not."""
    if len(old) * len(new) > MAX_PAIRS:
        return [(0, len(old), 0, len(new))]
    return [(i1, i2, j1, j2) for _, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()]


def _nearest(raw: str, start: int) -> str:
    """The ending of the line above, else the next one."""
    above = max(raw.rfind("\n", 0, start), raw.rfind("\r", 0, start))
    if above >= 0:
        return "\r\n" if raw[max(0, above - 1) : above + 1] == "\r\n" else raw[above]
    below = ENDING.search(raw, start)
    return below[0] if below else "\n"
