"""What a model is shown of a command's output: all of a short one, both ends of a long one, repetitions folded."""

from collections import deque
from itertools import groupby
from typing import Final

import msgspec

MAX_CHARACTERS: Final = 30_000
# A line that does not fit is cut in two only if leaving it out would waste more than this.
WASTE_CHARACTERS: Final = 2_000


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A line with its ending, and how many times it comes in a row."""

    line: str
    count: int = 1

    @property
    def shown(self) -> str:
        plain = len(self.line) * self.count
        folded = f"{self.line}[the line above comes {self.count - 1:,} more times]\n"
        return folded if len(folded) < plain else self.line * self.count

    @property
    def characters(self) -> int:
        return len(self.line) * self.count


def shortened(head: str, tail: str, total: int) -> str:
    """`head` and `tail` are what is at hand of a text of `total` characters; the middle may be missing."""
    if total == len(head) + len(tail):
        first = last = _runs(head + tail)
        whole = "".join(run.shown for run in first)
        if len(whole) <= MAX_CHARACTERS:
            return whole
    else:
        first, last = _runs(head), _runs(tail)
    beginning, taken = _from_beginning(first, MAX_CHARACTERS // 2)
    end, taken_too = _from_end(last, MAX_CHARACTERS // 2)
    break_ = "" if beginning.endswith("\n") else "\n"
    return f"{beginning}{break_}[… {total - taken - taken_too:,} characters cut here …]\n{end}"


def last_lines(text: str, count: int) -> str:
    """The last lines, as far as there is room for them."""
    lines = text.split("\n")
    wanted = lines[-count - 1 :] if text.endswith("\n") else lines[-count:]
    end, _ = _from_end(_runs("\n".join(wanted)), MAX_CHARACTERS)
    return end


def _runs(text: str) -> deque[Run]:
    pieces = text.split("\n")
    lines = [f"{piece}\n" for piece in pieces[:-1]]
    runs = deque(Run(line=line, count=len(list(same))) for line, same in groupby(lines))
    if pieces[-1]:
        runs.append(Run(line=pieces[-1]))
    return runs


def _from_beginning(runs: deque[Run], room: int) -> tuple[str, int]:
    """Take runs while there is room. Returns what to show and how many characters of the output that is."""
    shown: list[str] = []
    characters = 0
    while runs and len(runs[0].shown) <= room:
        run = runs.popleft()
        shown.append(run.shown)
        room -= len(run.shown)
        characters += run.characters
    if runs and room > WASTE_CHARACTERS and runs[0].count == 1:
        line = runs.popleft().line
        shown.append(line[:room])
        runs.appendleft(Run(line=line[room:]))
        characters += room
    return "".join(shown), characters


def _from_end(runs: deque[Run], room: int) -> tuple[str, int]:
    shown: list[str] = []
    characters = 0
    while runs and len(runs[-1].shown) <= room:
        run = runs.pop()
        shown.append(run.shown)
        room -= len(run.shown)
        characters += run.characters
    if runs and room > WASTE_CHARACTERS and runs[-1].count == 1:
        shown.append(runs.pop().line[-room:])
        characters += room
    return "".join(reversed(shown)), characters
