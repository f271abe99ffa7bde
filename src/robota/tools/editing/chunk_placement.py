"""Where in a file the chunks of a patch belong, and the edits that they make.

Chunks are in file order: each is searched for below the previous one.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby, product

import msgspec

from robota.tools.editing.indentation import Indentation, UnclearIndentation
from robota.tools.editing.matching import LOOSE, Match, SearchedLines, numbers
from robota.tools.editing.patch_format import Chunk, PatchLine
from robota.workspace.text.source import LineEdit

IN_ORDER = "Chunks must be in the order of the file."


class PlacedChunk(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk, the range of lines that it matches (as indices), and its edits.

    Context lines keep the text of the file. `passed_over` says how the chunk differs from the text in the file.
    """

    number: int
    start: int
    end: int
    edits: tuple[LineEdit, ...]
    passed_over: str = ""


class UnplacedChunk(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk that cannot be applied, and why. `sought` are the lines that were not found, if that is the reason."""

    number: int
    reason: str
    sought: tuple[str, ...] = ()


class _Ambiguous(Exception):
    """The chunk matches in more than one place."""


class _NoContext(Exception):
    """A line after `@@` is not in the file."""


def place_chunks(lines: SearchedLines, chunks: Sequence[Chunk]) -> tuple[list[PlacedChunk], list[UnplacedChunk]]:
    """Locate each chunk, or explain why it cannot be placed."""
    placed: list[PlacedChunk] = []
    unplaced: list[UnplacedChunk] = []
    below = 0
    for chunk in chunks:
        outcome = _place_chunk(lines, chunk, below)
        if isinstance(outcome, PlacedChunk):
            placed.append(outcome)
            # A chunk that appends to the file says nothing about the position of the next one.
            is_appended = outcome.start == outcome.end and outcome.start == lines.count
            below = below if is_appended else outcome.end
        else:
            unplaced.append(outcome)
    return sorted(placed, key=lambda each: each.start), unplaced


def _place_chunk(lines: SearchedLines, chunk: Chunk, below: int) -> PlacedChunk | UnplacedChunk:
    try:
        contexts = _context_places(lines, chunk.contexts, below)
        readings = _readings(chunk)
        if not _old(readings[-1].lines):
            start = _place_of_addition(chunk, contexts, below, lines.count)
            return _placed(lines, readings[-1], start)
        place = _place_at_match(lines, readings, contexts, below)
    except (_Ambiguous, _NoContext, UnclearIndentation) as problem:
        return UnplacedChunk(number=chunk.number, reason=str(problem))
    if place is not None:
        return place
    sought = _old(readings[-1].lines)
    return UnplacedChunk(number=chunk.number, reason=_not_found(lines, chunk, sought, below), sought=sought)


def _placed(lines: SearchedLines, chunk: Chunk, start: int, match: Match = Match.EXACT) -> PlacedChunk:
    old = _old(chunk.lines)
    end = start + len(old)
    indentation = Indentation(old, lines.between(start, end))
    edits: list[LineEdit] = []
    at = 0
    for stays, run in groupby(chunk.lines, key=lambda line: line.mark == " "):
        part = tuple(run)
        gone = len(_old(part))
        if not stays:
            new_lines = indentation.of_file([line.text for line in part if line.mark == "+"], at, at + gone)
            edits.append(LineEdit(start_line=start + at + 1, end_line=start + at + gone, new_lines=new_lines))
        at += gone
    return PlacedChunk(number=chunk.number, start=start, end=end, edits=tuple(edits), passed_over=match.value)


def _readings(chunk: Chunk) -> list[Chunk]:
    """The chunk as written, and without trailing empty lines, which may not belong to it."""
    if not 0 < chunk.spare_blanks < len(chunk.lines):
        return [chunk]
    return [chunk, msgspec.structs.replace(chunk, lines=chunk.lines[: -chunk.spare_blanks])]


def _place_at_match(
    lines: SearchedLines, readings: Sequence[Chunk], contexts: Sequence[int] | None, below: int
) -> PlacedChunk | None:
    """Place the chunk at its only match or, with a context and an exact match, at the first one below the context."""
    first = below if contexts is None else max(below, contexts[0] + 1)
    for match, chunk in product(Match, readings):
        old = _old(chunk.lines)
        places = lines.places(old, match, max(first, lines.count - len(old)) if chunk.at_end else first)
        if match is Match.EXACT and contexts is not None:
            places = _first_below_each(places, contexts)
        if len(places) > 1:
            raise _Ambiguous(_several(places, match))
        if places:
            return _placed(lines, chunk, places[0], match)
    return _on_the_context_line(lines, readings[-1], contexts, below)


def _on_the_context_line(
    lines: SearchedLines, chunk: Chunk, contexts: Sequence[int] | None, below: int
) -> PlacedChunk | None:
    """Some models repeat the line after `@@` as the first line of the chunk."""
    places = set(lines.places(_old(chunk.lines), Match.EXACT, below)) & set(contexts or ())
    return _placed(lines, chunk, places.pop()) if len(places) == 1 else None


def _place_of_addition(chunk: Chunk, contexts: Sequence[int] | None, below: int, count: int) -> int:
    """The position of a chunk that only adds lines: below its context, or at the end of the file."""
    if contexts is None or chunk.at_end:
        return count
    if len(contexts) > 1:
        raise _Ambiguous(
            f"The line after '@@' occurs at {len(contexts)} places: lines {numbers(contexts)}. Put another '@@' line "
            "with what encloses the right one before it."
        )
    if contexts[0] + 1 < below:
        raise _NoContext(f"The line '@@ {chunk.contexts[-1]}' is above the previous chunk. {IN_ORDER}")
    return contexts[0] + 1


def _context_places(lines: SearchedLines, contexts: Sequence[str], below: int) -> list[int] | None:
    """The lines that match the innermost context; None if the chunk has no context.

    The search starts below the previous chunk, then covers the whole file: two chunks may be in the same function.
    """
    if not contexts:
        return None
    for start in (below, 0):
        places = _innermost(lines, contexts, start)
        if places:
            return places
    missing = next(at for at in range(len(contexts)) if not _innermost(lines, contexts[: at + 1], 0))
    where = f"below '@@ {contexts[missing - 1]}'" if missing else "in the file"
    raise _NoContext(f"The line '@@ {contexts[missing]}' is not {where}.")


def _innermost(lines: SearchedLines, contexts: Sequence[str], start: int) -> list[int]:
    """The lines from `start` that match the last context below the one before it, and so on."""
    places = _line_places(lines, contexts[0], start)
    for context in contexts[1:]:
        if not places:
            break
        # Only the first match below each outer line counts; later ones belong to something else.
        places = _first_below_each(_line_places(lines, context, places[0] + 1), places)
    return places


def _line_places(lines: SearchedLines, text: str, start: int) -> list[int]:
    for match in (Match.EXACT, *LOOSE):
        places = lines.places((text,), match, start)
        if places:
            return places
    beginnings = lines.beginning_with(text, start)
    return beginnings if len(beginnings) == 1 else []


def _first_below_each(places: Sequence[int], uppers: Sequence[int]) -> list[int]:
    """The first place below each of `uppers`, if it comes before the next of them."""
    firsts: list[int] = []
    for upper, following in zip(uppers, [*uppers[1:], None], strict=True):
        index = bisect_right(places, upper)
        if index < len(places) and (following is None or places[index] < following):
            firsts.append(places[index])
    return firsts


def _several(places: Sequence[int], match: Match) -> str:
    how = "occur" if match is Match.EXACT else f"have no exact match ({match.value}), but close ones"
    return (
        f"Its lines {how} at {len(places)} places: lines {numbers(places)}. Add lines of context, or a line "
        "'@@ ' with the class or function that encloses the right one."
    )


def _not_found(lines: SearchedLines, chunk: Chunk, sought: Sequence[str], below: int) -> str:
    where = "at the end of the file" if chunk.at_end else f"below line {below}" if below else "in the file"
    if chunk.contexts:
        where += f", after '@@ {chunk.contexts[-1]}'"
    elsewhere = lines.places(sought, Match.EXACT)
    reason = f"Its lines are not {where}"
    if not elsewhere:
        return f"{reason}."
    return f"{reason}; they occur at line {numbers(elsewhere)}. {IN_ORDER}"


def _old(lines: Sequence[PatchLine]) -> tuple[str, ...]:
    return tuple(line.text for line in lines if line.mark != "+")
