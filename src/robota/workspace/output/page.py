"""Read a page of a stored output: whole lines between two positions of the file, with their numbers."""

from pathlib import Path
from typing import Final

import msgspec

CHUNK_BYTES: Final = 1024 * 1024
# How far a page may be moved so that it begins and ends with a line.
SNAP_BYTES: Final = 4096


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """`start` and `end` are byte positions; `first_line` counts from 1. `begins_inside`: it starts within a line."""

    text: str
    start: int
    end: int
    total_bytes: int
    first_line: int
    begins_inside: bool


def read_page(path: Path, offset: int, limit: int) -> Page:
    """Read at most `limit` bytes from `offset` on; the end is moved back to the end of a line if one is near."""
    with path.open("rb") as file:
        total = file.seek(0, 2)
        start = min(offset, total)
        first_line, last_byte = 1 + _count_lines(path, start), b"\n"
        if start:
            file.seek(start - 1)
            last_byte = file.read(1)
        file.seek(start)
        data = file.read(limit)
    if start + len(data) < total:
        data = _without_rest(data)
    return Page(
        text=data.decode("utf-8", "replace"),
        start=start,
        end=start + len(data),
        total_bytes=total,
        first_line=first_line,
        begins_inside=last_byte != b"\n",
    )


def _count_lines(path: Path, until: int) -> int:
    """The number of line ends before a position, without loading the file into memory."""
    lines = 0
    with path.open("rb") as file:
        while until > 0 and (chunk := file.read(min(CHUNK_BYTES, until))):
            lines += chunk.count(b"\n")
            until -= len(chunk)
    return lines


def _without_rest(data: bytes) -> bytes:
    """Cut after the last line end if it is near, else before an incomplete character."""
    border = data.rfind(b"\n", max(0, len(data) - SNAP_BYTES))
    if border >= 0:
        return data[: border + 1]
    for back in range(1, min(4, len(data))):
        byte = data[-back]
        if byte >= 0xC0:  # the first byte of a multi-byte character: is it complete?
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if back < length else data
        if byte < 0x80:
            break
    return data
