"""The rows of a conversation as an immutable sequence that is cheap to grow."""

from collections.abc import Iterable, Iterator

import msgspec

from robota.protocol.message import Message

PAGE_SIZE = 64


class MessageRows(msgspec.Struct, frozen=True, kw_only=True):
    """Full pages and a growing tail.

    A new row copies at most one page, and once in 64 rows the list of pages; everything else is shared with
    the value before. A tuple of all rows would copy the whole transcript each time.
    """

    pages: tuple[tuple[Message, ...], ...] = ()
    tail: tuple[Message, ...] = ()

    def __len__(self) -> int:
        return len(self.pages) * PAGE_SIZE + len(self.tail)

    def __iter__(self) -> Iterator[Message]:
        for page in self.pages:
            yield from page
        yield from self.tail

    def __reversed__(self) -> Iterator[Message]:
        yield from reversed(self.tail)
        for page in reversed(self.pages):
            yield from reversed(page)

    def __getitem__(self, index: int) -> Message:
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        page, within = divmod(at, PAGE_SIZE)
        return self.pages[page][within] if page < len(self.pages) else self.tail[within]

    def last(self) -> Message | None:
        return self[-1] if len(self) else None

    def index_of(self, ts: int) -> int | None:
        """The index of the newest row with this `ts`; searched from the end, because only new rows change."""
        index = len(self)
        for row in reversed(self):
            index -= 1
            if row.ts == ts:
                return index
        return None

    def appended(self, message: Message) -> "MessageRows":
        tail = (*self.tail, message)
        if len(tail) < PAGE_SIZE:
            return MessageRows(pages=self.pages, tail=tail)
        return MessageRows(pages=(*self.pages, tail))

    def newest(self, pages: int) -> "MessageRows":
        """The newest full pages, at most `pages`, and the rows after them."""
        return MessageRows(pages=self.pages[-pages:], tail=self.tail)

    def replaced(self, index: int, message: Message) -> "MessageRows":
        page, within = divmod(index, PAGE_SIZE)
        if page == len(self.pages):
            return MessageRows(pages=self.pages, tail=_with_replaced(self.tail, within, message))
        changed = _with_replaced(self.pages[page], within, message)
        return MessageRows(pages=(*self.pages[:page], changed, *self.pages[page + 1 :]), tail=self.tail)


def rows_of(messages: Iterable[Message]) -> MessageRows:
    """The rows of an existing conversation."""
    rows = tuple(messages)
    full = len(rows) - len(rows) % PAGE_SIZE
    pages = tuple(rows[start : start + PAGE_SIZE] for start in range(0, full, PAGE_SIZE))
    return MessageRows(pages=pages, tail=rows[full:])


def _with_replaced(page: tuple[Message, ...], within: int, message: Message) -> tuple[Message, ...]:
    return (*page[:within], message, *page[within + 1 :])
