"""Lines as numbers: equal lines have equal numbers, however they are indented and whatever ends them."""

from array import array
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

HASH_BYTES: Final = 8
# SQLite keeps signed numbers of 64 bits.
MASK: Final = (1 << 63) - 1
NO_WORDS: Final = bytes(byte for byte in range(128) if not chr(byte).isalnum())

LineHashes = tuple[int, ...]


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a file without their endings and trailing blanks. A file with a NUL byte is no text: it has none."""
    if b"\0" in data:
        return []
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.rstrip() for line in lines]


def line_hash(line: bytes) -> int:
    """The number of a line, as `lines_of` gives it."""
    return int.from_bytes(blake2b(line.strip(), digest_size=HASH_BYTES).digest()) & MASK


def hashes_of(lines: Iterable[bytes]) -> LineHashes:
    """The numbers of lines."""
    return tuple(line_hash(line) for line in lines)


def weight(line: bytes) -> int:
    """How much a line says: its letters and digits. A brace says nothing, so many lines are equal by chance."""
    return len(line.translate(None, delete=NO_WORDS))


def packed(hashes: LineHashes) -> bytes:
    """The numbers as bytes, to be kept."""
    return array("q", hashes).tobytes()


def unpacked(data: bytes) -> LineHashes:
    """The numbers in bytes that `packed` made; what is left over is dropped."""
    numbers = array("q")
    numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    return tuple(numbers)
