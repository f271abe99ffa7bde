"""Parses a diff of SEARCH/REPLACE blocks, or reports which marker is wrong.

Each marker is on a separate line and starts in the first column:

    <<<<<<< SEARCH
    :start_line:12        (optional; :end_line: is accepted, too)
    -------               (optional)
    the lines in the file
    =======
    the lines that replace them
    >>>>>>> REPLACE

A line of the file that could be mistaken for a marker is escaped with a backslash. If the first marker of a block has a
different number of angle brackets, the other markers must have the same length, and shorter ones are text.
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
    f"{SEARCH}\n:start_line:N (optional)\n{RULE}\nlines as they are\n{SEPARATOR}\nlines as they should be\n{REPLACE}"
)

LINE_MARKS = (":start_line:", ":end_line:")
LINE_NUMBER = re.compile(r":(start|end)_line:\s*\[?\s*(\d+)\s*\]?\s*")
# Some models close the marker like a tag.
OPENING = re.compile(r"(<{5,}) SEARCH>?")
USUAL_LENGTH = 7
ESCAPED = re.compile(r"\\(\\*(?:<<<<<<<|=======|>>>>>>>|-------|:start_line:|:end_line:))")


class DiffBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Lines to find, and their replacement. `number` counts the blocks of a diff from 1."""

    number: int
    search: tuple[str, ...]
    replace: tuple[str, ...]
    start_line: int | None = None


class BadDiff(Exception):
    """The diff cannot be parsed. The text is written for the model."""


class BlockSection(Enum):
    """The section of a diff that a line is in."""

    OUTSIDE = "outside"
    IN_SEARCH = "in SEARCH"
    IN_REPLACE = "in REPLACE"


AFTER = {
    BlockSection.OUTSIDE: BlockSection.IN_SEARCH,
    BlockSection.IN_SEARCH: BlockSection.IN_REPLACE,
    BlockSection.IN_REPLACE: BlockSection.OUTSIDE,
}


class Markers(msgspec.Struct, frozen=True, kw_only=True):
    """The markers of a block, which are as long as its first one."""

    length: int = USUAL_LENGTH

    def ending(self, section: BlockSection) -> str:
        """The marker that ends a section."""
        match section:
            case BlockSection.OUTSIDE:
                return f"{'<' * self.length} SEARCH"
            case BlockSection.IN_SEARCH:
                return "=" * self.length
            case BlockSection.IN_REPLACE:
                return f"{'>' * self.length} REPLACE"

    def of(self, line: str) -> str | None:
        """The marker on this line, or the whole line if it only resembles one; None for text."""
        text = line.rstrip()
        if text == f"{self.ending(BlockSection.OUTSIDE)}>":
            return text[:-1]
        is_conflict = text.startswith(("<" * self.length, ">" * self.length))
        return text if is_conflict or text == self.ending(BlockSection.IN_SEARCH) else None


def read_blocks(diff: str) -> tuple[DiffBlock, ...]:
    """Parse the blocks of a diff, in order. Text between blocks is ignored."""
    lines = diff.replace("\r\n", "\n").split("\n")
    section, markers = BlockSection.OUTSIDE, Markers()
    parts: dict[BlockSection, list[str]] = {each: [] for each in BlockSection}
    blocks: list[DiffBlock] = []
    for number, line in enumerate(lines, 1):
        if section is BlockSection.OUTSIDE:
            opening = OPENING.fullmatch(line.rstrip())
            markers = Markers(length=len(opening[1])) if opening else Markers()
        marker = markers.of(line)
        if marker is None:
            _check_replacement(line, section, number)
            parts[section].append(line)
            continue
        if marker != markers.ending(section):
            raise _misplaced(marker, markers, section, number, lines)
        if section is BlockSection.IN_REPLACE:
            blocks.append(_block(len(blocks) + 1, parts[BlockSection.IN_SEARCH], parts[BlockSection.IN_REPLACE]))
            parts = {each: [] for each in BlockSection}
        section = AFTER[section]
    if section is not BlockSection.OUTSIDE:
        expected = markers.ending(section)
        raise BadDiff(f"Unexpected end of sequence: the diff ended where '{expected}' was expected.\n{_what_to_do()}")
    if not blocks:
        raise BadDiff(f"The diff contains no block: no line begins with '{SEARCH}'.\n{_what_to_do()}")
    return tuple(blocks)


def _check_replacement(line: str, section: BlockSection, number: int) -> None:
    if section is BlockSection.IN_REPLACE and line.startswith(LINE_MARKS):
        raise BadDiff(
            f"Line {number} of the diff is {line.rstrip()!r}, inside a REPLACE part. Line numbers go right after "
            f"'{SEARCH}' only; if the line belongs to the file, put a backslash before it.\n{_what_to_do()}"
        )


def _misplaced(marker: str, markers: Markers, section: BlockSection, number: int, lines: Sequence[str]) -> BadDiff:
    where = f"Line {number} of the diff is malformed: found '{marker}' where '{markers.ending(section)}' was expected."
    is_separator = marker == markers.ending(BlockSection.IN_SEARCH)
    is_marker = marker in {markers.ending(each) for each in BlockSection}
    if not is_marker or (is_separator and _blocks_are_complete(markers, lines)):
        where += (
            " It looks like a merge conflict marker. If the line belongs to the file, put a backslash before it: "
            f"'\\{marker}'."
        )
    return BadDiff(f"{where}\n{_what_to_do()}")


def _blocks_are_complete(markers: Markers, lines: Sequence[str]) -> bool:
    """Whether the marker counts are consistent, so that an extra marker is probably a line of the file."""
    kinds = [markers.of(line) for line in lines]
    searches, separators, replaces = (kinds.count(markers.ending(section)) for section in BlockSection)
    return searches == replaces and separators >= searches


def _block(number: int, search: list[str], replace: list[str]) -> DiffBlock:
    start_line, rest = _header(search, number)
    return DiffBlock(
        number=number,
        search=tuple(_unescaped(line) for line in rest),
        replace=tuple(_unescaped(line) for line in replace),
        start_line=start_line,
    )


def _header(search: list[str], number: int) -> tuple[int | None, list[str]]:
    """The start line at the beginning of a SEARCH part, if there is one, and the lines after it."""
    start_line, rest = None, search
    first = next((line for line in search if line.strip()), "")
    if first.startswith((*LINE_MARKS, RULE)) and not search[0].strip():
        rest = search[search.index(first) :]
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
