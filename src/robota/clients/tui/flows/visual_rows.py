"""Compute the visual rows of the input, and move the cursor up and down by a row."""

from collections.abc import Iterator
from itertools import pairwise

from robota.clients.terminal.width import columns_of


def moved_by_row(text: str, caret: int, room: int, by: int) -> int | None:
    """The caret one row above (-1) or below (1), in the same column if that row is long enough; None at the edge.

    `room` is the number of columns in a row; longer lines are wrapped where the next character does not fit.
    """
    rows = list(pairwise([*_row_starts(text, max(1, room)), len(text) + 1]))
    row = max(place for place, (begin, _) in enumerate(rows) if begin <= caret)
    if not 0 <= row + by < len(rows):
        return None
    column = columns_of(text[rows[row][0] : caret])
    begin, end = rows[row + by]
    place = begin
    while place < end - 1 and columns_of(text[begin : place + 1]) <= column:
        place += 1
    return place


def _row_starts(text: str, room: int) -> Iterator[int]:
    yield 0
    used = 0
    for place, character in enumerate(text):
        if character == "\n":
            used = 0
            yield place + 1
            continue
        columns = columns_of(character)
        if used and used + columns > room:
            used = 0
            yield place
        used += columns
