"""The new content of a file in pieces, most of them views of the old: megabytes need not be copied to be written."""

import msgspec


class Pieces(msgspec.Struct, frozen=True):
    """Bytes that are written one after another. `bytes(pieces)` joins them."""

    parts: tuple[bytes | memoryview, ...]

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def __bytes__(self) -> bytes:
        return b"".join(self.parts)


Content = bytes | Pieces
