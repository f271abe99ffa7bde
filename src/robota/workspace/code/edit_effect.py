"""What an edit changed about the diagnostics of files: what is new, and how much is gone."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Final

import msgspec

from robota.workspace.code.answer import Finding

# Notes and hints say nothing about what an edit broke.
MAX_SEVERITY: Final = 2


class FileEffect(msgspec.Struct, frozen=True):
    """The diagnostics of one file that came with an edit, and the number of those that went."""

    path: str
    new: tuple[Finding, ...]
    fixed: int


class EditEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit changed, in its file first; None if the server did not say in time."""

    files: tuple[FileEffect, ...] | None
    source: str


def file_effect(
    path: str, before: Iterable[Finding], after: Iterable[Finding], moved_to: Callable[[int], int | None]
) -> FileEffect:
    """Compare the diagnostics before and after an edit; `moved_to` says where a line is afterwards, None if changed.

    One whose line was changed is the same if it still says the same somewhere.
    """
    gone = Counter((moved_to(each.line), _said(each)) for each in before if each.severity <= MAX_SEVERITY)
    unmatched = []
    for each in after:
        place = (each.line, _said(each))
        if gone[place]:
            gone[place] -= 1
        elif each.severity <= MAX_SEVERITY:
            unmatched.append(each)
    left = Counter[tuple[int, str, str]]()
    for (_, said), count in gone.items():
        left[said] += count
    new = []
    for each in unmatched:
        if left[_said(each)]:
            left[_said(each)] -= 1
        else:
            new.append(each)
    return FileEffect(path, tuple(sorted(new, key=lambda each: (each.severity, each.line))), left.total())


def moved_lines(before: str, after: str) -> Callable[[int], int | None]:
    """Where each line of a text, counted from 1, is after an edit; None for those in the part that was edited."""
    old, new = before.splitlines(), after.splitlines()
    head = _common(old, new)
    tail = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - head)

    def moved(line: int) -> int | None:
        if line <= head:
            return line
        return line + len(new) - len(old) if line > len(old) - tail else None

    return moved


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _said(finding: Finding) -> tuple[int, str, str]:
    return finding.severity, finding.code, finding.message
