"""Where in a file the blocks of a diff belong, and the edits that they make.

All blocks are located in the original file, so that line numbers keep their meaning.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from robota.tools.editing.diff_blocks import DiffBlock
from robota.tools.editing.indentation import UnclearIndentation, rewritten
from robota.tools.editing.matching import LOOSE, Match, SearchedLines, numbers
from robota.tools.editing.pasted_text import NUMBERED, unnumbered
from robota.workspace.text.source import LineEdit

# How far from its start line a block may be found.
BUFFER_LINES = 40

BLANKS_PASSED_OVER = "blank lines around its SEARCH part were ignored"
NUMBERS_REMOVED = "line numbers were removed from it"
IDENTICAL = "Its SEARCH and REPLACE parts are identical, so it changes nothing."


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A block, the range of lines that it matches (as indices), and its edits.

    Unchanged lines are not touched. `passed_over` says how the block differs from the text in the file.
    """

    number: int
    start: int
    end: int
    edits: tuple[LineEdit, ...]
    passed_over: str = ""


class Unplaced(msgspec.Struct, frozen=True, kw_only=True):
    """A block that cannot be applied, and why. With `is_missing`, the nearest text should be shown."""

    block: DiffBlock
    reason: str
    is_missing: bool = False


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One interpretation of a block."""

    search: tuple[str, ...]
    replace: tuple[str, ...]
    hint: int | None
    passed_over: str = ""


def place_blocks(lines: SearchedLines, blocks: Sequence[DiffBlock]) -> tuple[list[Placed], list[Unplaced]]:
    """Locate each block, or explain why it cannot be placed; overlapping blocks cannot."""
    outcomes = [_place_block(lines, block) for block in blocks]
    placed = sorted((each for each in outcomes if isinstance(each, Placed)), key=lambda each: each.start)
    unplaced = [each for each in outcomes if isinstance(each, Unplaced)]
    unplaced += _overlapping(placed, {block.number: block for block in blocks})
    return placed, sorted(unplaced, key=lambda each: each.block.number)


def _place_block(lines: SearchedLines, block: DiffBlock) -> Placed | Unplaced:
    if not any(line.strip() for line in block.search):
        return Unplaced(block=block, reason="Its SEARCH part is empty. Repeat some lines next to the place you mean.")
    if block.search == block.replace:
        return Unplaced(block=block, reason=IDENTICAL)
    for reading, match in _attempts(block):
        places = lines.places(reading.search, match, *_window(reading))
        if not places:
            continue
        if reading.search == reading.replace:
            return Unplaced(block=block, reason=IDENTICAL)
        chosen = _chosen(places, reading.hint, match)
        if chosen is None:
            return Unplaced(block=block, reason=_ambiguous(places, match))
        return _placed(lines, block, reading, chosen, match)
    return Unplaced(block=block, reason=_not_found(lines, block), is_missing=True)


def _placed(lines: SearchedLines, block: DiffBlock, reading: Reading, start: int, match: Match) -> Placed | Unplaced:
    end = start + len(reading.search)
    try:
        changes = tuple(rewritten(lines.between(start, end), reading.search, reading.replace))
    except UnclearIndentation as problem:
        return Unplaced(block=block, reason=f"Its SEARCH text is at line {start + 1}. {problem}")
    return Placed(
        number=block.number,
        start=start,
        end=end,
        edits=tuple(
            LineEdit(start_line=start + each.start + 1, end_line=start + each.end, new_lines=each.new_lines)
            for each in changes
        ),
        passed_over=" and ".join(filter(None, (reading.passed_over, match.value))),
    )


def _attempts(block: DiffBlock) -> Iterator[tuple[Reading, Match]]:
    """From strictest to loosest, so that an exact match always wins."""
    written = Reading(search=block.search, replace=block.replace, hint=block.start_line)
    unnumbered = _without_numbers(block)
    readings = [written, unnumbered] if unnumbered else [written]
    yield from ((reading, Match.EXACT) for reading in readings)
    yield from ((reading, match) for reading in readings for match in LOOSE)
    bare = _without_blank_edges(block)
    if bare is not None:
        yield from ((bare, match) for match in Match)
    if any(NUMBERED.match(line) for line in block.search):
        yield from ((_with_fewer_numbers(block), match) for match in Match)


def _without_blank_edges(block: DiffBlock) -> Reading | None:
    """The block without blank lines around its SEARCH part, which may be cosmetic; None if it has none."""
    written = [bool(line.strip()) for line in block.search]
    before, after = written.index(True), written[::-1].index(True)
    if not before and not after:
        return None
    replace = list(block.replace)
    while before and replace and not replace[0].strip():
        replace, before = replace[1:], before - 1
    while after and replace and not replace[-1].strip():
        replace, after = replace[:-1], after - 1
    first = written.index(True)
    search = block.search[first : len(written) - written[::-1].index(True)]
    hint = None if block.start_line is None else block.start_line + first
    return Reading(search=search, replace=tuple(replace), hint=hint, passed_over=BLANKS_PASSED_OVER)


def _without_numbers(block: DiffBlock) -> Reading | None:
    """The block as if copied from a listing: every SEARCH line starts with its number."""
    numbered = [NUMBERED.match(line) for line in block.search]
    if not all(numbered):
        return None
    first = numbered[0]
    return Reading(
        search=tuple(match[2] for match in numbered if match),
        replace=tuple(unnumbered(line) for line in block.replace),
        hint=block.start_line or (int(first[1]) if first else None),
        passed_over=NUMBERS_REMOVED,
    )


def _with_fewer_numbers(block: DiffBlock) -> Reading:
    """The last resort: remove line numbers from all lines that have one."""
    return Reading(
        search=tuple(unnumbered(line) for line in block.search),
        replace=tuple(unnumbered(line) for line in block.replace),
        hint=block.start_line,
        passed_over=NUMBERS_REMOVED,
    )


def _overlapping(placed: Sequence[Placed], blocks: Mapping[int, DiffBlock]) -> Iterator[Unplaced]:
    """The blocks, sorted by position, that begin before an earlier one ends."""
    if not placed:
        return
    furthest = placed[0]
    for each in placed[1:]:
        if each.start < furthest.end:
            reason = (
                f"It overlaps block {furthest.number}: both mean line {each.start + 1}. Join the two into one block, "
                "or leave one out."
            )
            yield Unplaced(block=blocks[each.number], reason=reason)
        furthest = max(furthest, each, key=lambda one: one.end)


def _window(reading: Reading) -> tuple[int, int | None]:
    if reading.hint is None:
        return 0, None
    return reading.hint - BUFFER_LINES - 1, reading.hint + len(reading.search) + BUFFER_LINES


def _chosen(places: Sequence[int], hint: int | None, match: Match) -> int | None:
    """Choose a match: the only one, the one at the hinted line, or among exact matches the nearest to it."""
    if len(places) == 1:
        return places[0]
    if hint is None:
        return None
    if hint - 1 in places:
        return hint - 1
    nearest, second = sorted(places, key=lambda place: abs(place - hint + 1))[:2]
    is_clear = abs(nearest - hint + 1) < abs(second - hint + 1)
    return nearest if match is Match.EXACT and is_clear else None


def _ambiguous(places: Sequence[int], match: Match) -> str:
    how = "occurs" if match is Match.EXACT else f"has no exact match ({match.value}), but close ones"
    return (
        f"Its SEARCH text {how} at {len(places)} places: lines {numbers(places)}. Name the one you mean with "
        "':start_line:N', or repeat more lines around it."
    )


def _not_found(lines: SearchedLines, block: DiffBlock) -> str:
    if block.start_line is None:
        return "Its SEARCH text is not in the file."
    elsewhere = lines.places(block.search, Match.EXACT)
    reason = f"Its SEARCH text is not within {BUFFER_LINES} lines of line {block.start_line}"
    return f"{reason}; it occurs at line {numbers(elsewhere)}." if elsewhere else f"{reason}."
