"""Text that arrives in many small pieces."""

import msgspec

PAGE_CHARS = 2048


class StreamedText(msgspec.Struct, frozen=True, kw_only=True):
    """Immutable text that is cheap to append to: a piece copies the tail (at most a page), not the whole text."""

    pages: tuple[str, ...] = ()
    tail: str = ""

    def plus(self, delta: str) -> "StreamedText":
        tail = self.tail + delta
        if len(tail) < PAGE_CHARS:
            return StreamedText(pages=self.pages, tail=tail)
        return StreamedText(pages=(*self.pages, tail))

    def __str__(self) -> str:
        return "".join(self.pages) + self.tail
