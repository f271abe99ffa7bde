"""Hashes of lines, which ignore indentation and line endings."""

from array import array
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

HASH_BYTES: Final = 8
# SQLite stores signed 64-bit integers.
MASK: Final = (1 << 63) - 1
NO_WORDS: Final = bytes(byte for byte in range(128) if not chr(byte).isalnum())

LineHashes = tuple[int, ...]


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a file without line endings and trailing blanks; none if it has a NUL byte and so is binary."""
    if b"\0" in data:
        return []
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.rstrip() for line in lines]


def line_hash(line: bytes) -> int:
    """The hash of a line from `lines_of`."""
    return int.from_bytes(blake2b(line.strip(), digest_size=HASH_BYTES).digest()) & MASK


def hashes_of(lines: Iterable[bytes]) -> LineHashes:
    """The hashes of lines."""
    return tuple(line_hash(line) for line in lines)


def weight(line: bytes) -> int:
    """The number of letters and digits in a line. Lines with few, such as a brace, are often equal by chance."""
    return len(line.translate(None, delete=NO_WORDS))


def packed(hashes: LineHashes) -> bytes:
    """The hashes as bytes, for storage."""
    return array("q", hashes).tobytes()


def unpacked(data: bytes) -> LineHashes:
    """The hashes from bytes of `packed`; an incomplete rest is dropped."""
    numbers = array("q")
    numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    return tuple(numbers)
