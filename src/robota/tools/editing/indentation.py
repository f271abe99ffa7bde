"""How new lines are indented where a model's quotation is indented otherwise than the file.

The lines that a quotation and the file have in common tell which indentation of the file each one of the quotation
means. New lines are indented by that. Where it cannot be told, the edit is refused rather than guessed.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

import msgspec

UNCLEAR = (
    "Its indentation differs from the file in more than one way, so the indentation of the new lines is unclear. "
    "Copy the lines with their exact indentation from the file."
)
# Above this many pairs of lines comparing takes seconds; then the lines are replaced as a whole.
MAX_PAIRS = 4_000_000


class UnclearIndentation(Exception):
    """How new lines shall be indented cannot be told."""


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """The quoted lines from index `start` up to but not including `end` become `new_lines`."""

    start: int
    end: int
    new_lines: tuple[str, ...]


class Meaning(msgspec.Struct, frozen=True, kw_only=True):
    """The indentation of one quoted line, and that of the same line in the file."""

    quoted: str
    actual: str


MARGIN = Meaning(quoted="", actual="")


def rewritten(there: Sequence[str], old: Sequence[str], new: Sequence[str]) -> Iterator[Rewritten]:
    """What changes in the lines `there` when `old`, the quotation of them, becomes `new`.

    Lines that `new` keeps of `old` are left alone, as they stand in the file.
    """
    indentation = Indentation(old, there)
    for tag, start, end, first, last in _changes(old, new):
        if tag != "equal":
            yield Rewritten(start=start, end=end, new_lines=indentation.of_file(new[first:last], start, end))


class Indentation:
    """Translates indentation of a quotation into that of the file."""

    def __init__(self, quoted: Sequence[str], there: Sequence[str]) -> None:
        self._meanings = [
            Meaning(quoted=indentation_of(one), actual=indentation_of(other)) if one.strip() else None
            for one, other in zip(quoted, there, strict=True)
        ]
        known = [meaning for meaning in self._meanings if meaning is not None]
        self._differs = any(meaning.quoted != meaning.actual for meaning in known)
        # Texts are often stripped as a whole: then the first line says nothing about the others.
        only_first_differs = len(known) > 1 and all(meaning.quoted == meaning.actual for meaning in known[1:])
        self._clear = _unambiguous(known[1:] if only_first_differs else known)

    def of_file(self, new: Sequence[str], start: int, end: int) -> tuple[str, ...]:
        """New lines that take the place of the quoted lines `start` to `end`, indented as the file is."""
        if not self._differs:
            return tuple(new)
        is_line_for_line = len(new) == end - start
        return tuple(
            self._moved(line, range(start + at, start + at + 1) if is_line_for_line else range(start, end))
            for at, line in enumerate(new)
        )

    def _moved(self, line: str, replaced: range) -> str:
        if not line.strip():
            return line
        own = indentation_of(line)
        meant = self._of_same(own, replaced)
        if meant is None:
            meant = self._shifted(own)
        if meant is None:
            meant = self._scaled(own)
        if meant is None:
            raise UnclearIndentation(UNCLEAR)
        return meant + line[len(own) :]

    def _of_same(self, own: str, replaced: range) -> str | None:
        """What quoted lines with the same indentation mean: all of them, or else those next to the place."""
        same = [at for at, meaning in enumerate(self._meanings) if meaning is not None and meaning.quoted == own]
        inside = [at for at in same if at in replaced]
        around = [*[at for at in same if at < replaced.start][-1:], *[at for at in same if at >= replaced.stop][:1]]
        for places in (same, inside or around):
            meant = {meaning.actual for at in places if (meaning := self._meanings[at]) is not None}
            if len(meant) == 1:
                return meant.pop()
        if same:
            raise UnclearIndentation(UNCLEAR)
        return None

    def _shifted(self, own: str) -> str | None:
        """As much more or less than the quoted lines as in the quotation, if they all agree about it."""
        results = {_shift(own, meaning) for meaning in self._clear}
        return results.pop() if len(results) == 1 else None

    def _scaled(self, own: str) -> str | None:
        """By the steps in which both are indented, as with two blanks for four, or a tab for eight."""
        known = self._clear if len(self._clear) > 1 else [MARGIN, *self._clear]
        steps = {_step(outer, inner) for outer, inner in pairwise(known)}
        step = steps.pop() if len(steps) == 1 else None
        outer = [each for each in known if own.startswith(each.quoted)]
        if step is None or not outer:
            return None
        rest = own[len(outer[-1].quoted) :]
        count = len(rest) // len(step.quoted)
        return outer[-1].actual + step.actual * count if step.quoted * count == rest else None


def indentation_of(line: str) -> str:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def _unambiguous(meanings: Sequence[Meaning]) -> list[Meaning]:
    """Those whose quoted indentation means only one of the file, the outermost first."""
    by_quoted: dict[str, set[str]] = {}
    for meaning in meanings:
        by_quoted.setdefault(meaning.quoted, set()).add(meaning.actual)
    return [
        Meaning(quoted=quoted, actual=actual.pop())
        for quoted, actual in sorted(by_quoted.items(), key=lambda item: len(item[0]))
        if len(actual) == 1
    ]


def _shift(own: str, meaning: Meaning) -> str | None:
    quoted, actual = meaning.quoted, meaning.actual
    if own.startswith(quoted):
        shifted = actual + own[len(quoted) :]
        return None if _is_mixed(shifted) and not _is_mixed(own) else shifted
    missing = quoted[len(own) :]
    if not quoted.startswith(own) or _is_mixed(actual + missing):
        return None
    return actual[: max(0, len(actual) - len(missing))]


def _step(outer: Meaning, inner: Meaning) -> Meaning | None:
    """By what the second is indented more than the first; None if it is not, in either."""
    is_deeper = inner.quoted.startswith(outer.quoted) and inner.actual.startswith(outer.actual)
    step = Meaning(quoted=inner.quoted[len(outer.quoted) :], actual=inner.actual[len(outer.actual) :])
    return step if is_deeper and step.quoted and step.actual else None


def _is_mixed(indentation: str) -> bool:
    return len(set(indentation)) > 1


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    if len(old) * len(new) > MAX_PAIRS:
        return [("replace", 0, len(old), 0, len(new))]
    return list(SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
