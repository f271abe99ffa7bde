"""A diff made of SEARCH/REPLACE blocks: its text becomes blocks, or an error that says which marker is wrong.

The markers stand at the beginning of a line of their own:

    <<<<<<< SEARCH
    :start_line:12        (optional; :end_line: is read too)
    -------               (optional)
    the lines that are there
    =======
    the lines that shall be there
    >>>>>>> REPLACE

A line of the file that looks like a marker is written with a backslash before it.
"""

import re
from collections.abc import Sequence
from enum import Enum

import msgspec

SEARCH = "<<<<<<< SEARCH"
SEPARATOR = "======="
REPLACE = ">>>>>>> REPLACE"
RULE = "-------"
FORMAT = (
    f"{SEARCH}\n:start_line:N (optional)\n{RULE}\nlines as they are\n{SEPARATOR}\nlines as they shall be\n{REPLACE}"
)

CONFLICT_MARKS = ("<<<<<<<", ">>>>>>>")
LINE_MARKS = (":start_line:", ":end_line:")
LINE_NUMBER = re.compile(r":(start|end)_line:\s*(\d+)\s*")
ESCAPED = re.compile(r"\\(\\*(?:<<<<<<<|=======|>>>>>>>|-------|:start_line:|:end_line:))")


class DiffBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Lines to find and what they become. `number` counts the blocks of a diff from 1."""

    number: int
    search: tuple[str, ...]
    replace: tuple[str, ...]
    start_line: int | None = None


class BadDiff(Exception):
    """The diff cannot be read. The text is written for the model."""


class BlockSection(Enum):
    """Where in the diff a line stands; the value is the marker that ends this place."""

    OUTSIDE = SEARCH
    IN_SEARCH = SEPARATOR
    IN_REPLACE = REPLACE


AFTER = {
    BlockSection.OUTSIDE: BlockSection.IN_SEARCH,
    BlockSection.IN_SEARCH: BlockSection.IN_REPLACE,
    BlockSection.IN_REPLACE: BlockSection.OUTSIDE,
}


def read_blocks(diff: str) -> tuple[DiffBlock, ...]:
    """The blocks of a diff, in its order. What stands between blocks is passed over."""
    lines = diff.replace("\r\n", "\n").split("\n")
    place = BlockSection.OUTSIDE
    parts: dict[BlockSection, list[str]] = {each: [] for each in BlockSection}
    blocks: list[DiffBlock] = []
    for number, line in enumerate(lines, 1):
        marker = _marker(line)
        if marker is None:
            _check_replacement(line, place, number)
            parts[place].append(line)
            continue
        if marker != place.value:
            raise _misplaced(marker, place.value, number, lines)
        if place is BlockSection.IN_REPLACE:
            blocks.append(_block(len(blocks) + 1, parts[BlockSection.IN_SEARCH], parts[BlockSection.IN_REPLACE]))
            parts = {each: [] for each in BlockSection}
        place = AFTER[place]
    if place is not BlockSection.OUTSIDE:
        raise BadDiff(
            f"Unexpected end of sequence: the diff ended where '{place.value}' was expected.\n{_what_to_do()}"
        )
    if not blocks:
        raise BadDiff(f"The diff holds no block: no line begins with '{SEARCH}'.\n{_what_to_do()}")
    return tuple(blocks)


def _marker(line: str) -> str | None:
    """The marker that a line is, or the whole line if it only looks like one."""
    text = line.rstrip()
    if text in {SEARCH, f"{SEARCH}>"}:  # some models close the marker like a tag
        return SEARCH
    if text in {SEPARATOR, REPLACE} or text.startswith(CONFLICT_MARKS):
        return text
    return None


def _check_replacement(line: str, place: BlockSection, number: int) -> None:
    if place is BlockSection.IN_REPLACE and line.startswith(LINE_MARKS):
        raise BadDiff(
            f"Line {number} of the diff is {line.rstrip()!r}, inside a REPLACE part. Line numbers stand right after "
            f"'{SEARCH}' only; if the line belongs to the file, put a backslash before it.\n{_what_to_do()}"
        )


def _misplaced(found: str, expected: str, number: int, lines: Sequence[str]) -> BadDiff:
    where = f"Line {number} of the diff is malformed: found '{found}' where '{expected}' was expected."
    if found not in {SEARCH, SEPARATOR, REPLACE} or (found == SEPARATOR and _blocks_are_complete(lines)):
        where += (
            " It looks like a merge conflict marker. If the line belongs to the file, put a backslash before it: "
            f"'\\{found}'."
        )
    return BadDiff(f"{where}\n{_what_to_do()}")


def _blocks_are_complete(lines: Sequence[str]) -> bool:
    """Whether the counts fit together, so that a marker too many is rather a line of the file."""
    markers = [_marker(line) for line in lines]
    searches = markers.count(SEARCH)
    return searches == markers.count(REPLACE) and markers.count(SEPARATOR) >= searches


def _block(number: int, search: list[str], replace: list[str]) -> DiffBlock:
    start_line, rest = _header(search, number)
    return DiffBlock(
        number=number,
        search=tuple(_unescaped(line) for line in rest),
        replace=tuple(_unescaped(line) for line in replace),
        start_line=start_line,
    )


def _header(search: list[str], number: int) -> tuple[int | None, list[str]]:
    """The start line that a SEARCH part begins with, if it does, and its lines after that."""
    start_line, rest = None, search
    while rest and rest[0].startswith(LINE_MARKS):
        match = LINE_NUMBER.fullmatch(rest[0])
        if match is None:
            raise BadDiff(f"Block {number} begins with {rest[0]!r}, which names no line.\n{_what_to_do()}")
        if match[1] == "start":
            start_line = int(match[2]) or None
        rest = rest[1:]
    return start_line, rest[1:] if rest and rest[0].rstrip() == RULE else rest


def _unescaped(line: str) -> str:
    match = ESCAPED.match(line)
    return line[1:] if match else line


def _what_to_do() -> str:
    return (
        f"Nothing was changed. Give the whole diff again; each block is, with every marker alone on its line:\n{FORMAT}"
    )
