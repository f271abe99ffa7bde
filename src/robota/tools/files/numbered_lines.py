"""Lines of a file as a model is shown them: numbered, cut to what it can take, with the way to read on."""

import msgspec

MAX_LINE_CHARACTERS = 2000
MAX_CHARACTERS = 90_000  # a little below what the engine gives to a model as one result
ROOM_FOR_NUMBER = 10


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """Some lines of a text, the first of which is line `first`; `total` is None if nobody has counted to the end."""

    first: int
    lines: list[str]
    total: int | None

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


def shown_lines(lines: list[str], first: int, last: int, total: int | None) -> Shown:
    """The lines `first` to `last`, or as many of them as a result can hold, each cut if it is very long."""
    taken: list[str] = []
    room = MAX_CHARACTERS
    for line in lines[first - 1 : last]:
        shown = line if len(line) <= MAX_LINE_CHARACTERS else line[: MAX_LINE_CHARACTERS - 3] + "..."
        room -= len(shown) + ROOM_FOR_NUMBER
        if room < 0:
            break
        taken.append(shown)
    return Shown(first=first, lines=taken, total=total)


def numbered(shown: Shown) -> str:
    width = len(str(shown.last))
    return "\n".join(f"{number:>{width}} | {line}" for number, line in enumerate(shown.lines, shown.first))


def range_notice(shown: Shown) -> str:
    """Which lines these are, unless they are all, and how to get those that follow."""
    if shown.last == shown.total:
        return "" if shown.first == 1 else f"Showing lines {shown.first}-{shown.last} of {shown.total} total lines.\n"
    of_all = "of more" if shown.total is None else f"of {shown.total} total lines"
    return (
        f"IMPORTANT: content truncated. Showing lines {shown.first}-{shown.last} {of_all}. "
        f"To read on, use offset={shown.last + 1} and limit={len(shown.lines)}.\n\n"
    )
