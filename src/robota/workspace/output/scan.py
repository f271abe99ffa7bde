"""A separate program that prints the lines of a file that match a pattern. Its argument is the request as JSON.

It is a process and not a function, because a regular expression can take forever, and only a process can be killed. It
imports nothing from robota, so that it starts quickly.
"""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

PIECE_BYTES = 64 * 1024
SHOWN_BEFORE = 100
SHOWN_CHARACTERS = 500
NUMBERS_CHARACTERS = 20


def main() -> None:
    """Read the request from the command line and print the matches."""
    request = json.loads(sys.argv[1])
    try:
        pattern = re.compile(request["pattern"], re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        sys.stdout.write(json.dumps({"invalid": str(error)}))
        return
    with open(request["path"], "rb") as file:  # noqa: PTH123 - pathlib would take half of the start
        sys.stdout.write(json.dumps(scan(file, pattern, request["offset"], request["room"])))


def scan(file: BinaryIO, pattern: "re.Pattern[str]", offset: int, room: int) -> dict[str, Any]:
    """Count all matching lines from `offset` on, and return the first and what more fits into `room` characters."""
    lines: list[tuple[int, int, str, bool]] = []
    matches = last_match = end = 0
    for line, piece_offset, data in pieces(file):
        end = piece_offset + len(data)
        if piece_offset < offset or line == last_match:
            continue
        text = data.decode("utf-8", "replace").rstrip("\r\n")
        match = pattern.search(text)
        if match is not None:
            matches, last_match = matches + 1, line
            excerpt = around(text, match.start())
            room -= len(excerpt) + NUMBERS_CHARACTERS
            if room >= 0 or not lines:
                lines.append((line, piece_offset, excerpt, len(text) > SHOWN_CHARACTERS))
    return {"matches": matches, "found": lines, "total_bytes": end}


def pieces(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Lines with number and position; a very long line comes in pieces with the same number."""
    line, offset = 1, 0
    while text := file.readline(PIECE_BYTES):
        yield line, offset, text
        offset += len(text)
        line += text.endswith(b"\n")


def around(text: str, at: int) -> str:
    """The part of a long line that shows the match."""
    if len(text) <= SHOWN_CHARACTERS:
        return text
    start = max(0, min(at - SHOWN_BEFORE, len(text) - SHOWN_CHARACTERS))
    end = start + SHOWN_CHARACTERS
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


if __name__ == "__main__":
    main()
