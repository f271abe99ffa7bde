"""Indents new lines when a model quotes the file with a different indentation.

Each line of the quotation maps its indentation to the one that the same line has in the file. New lines are indented
with this mapping. If it is ambiguous, the edit is refused instead of guessing.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

import msgspec

UNCLEAR = (
    "Its indentation differs from the file in more than one way, so the indentation of the new lines is unclear. "
    "Copy the lines with their exact indentation from the file."
)
# Above this many pairs of lines the comparison takes seconds, so all lines are replaced.
MAX_PAIRS = 4_000_000


class UnclearIndentation(Exception):
    """The indentation of the new lines cannot be determined."""


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """The quoted lines from index `start` up to, but not including, `end` become `new_lines`."""

    start: int
    end: int
    new_lines: tuple[str, ...]


class Meaning(msgspec.Struct, frozen=True, kw_only=True):
    """The indentation of one quoted line, and that of the same line in the file."""

    quoted: str
    actual: str


MARGIN = Meaning(quoted="", actual="")


def rewritten(there: Sequence[str], old: Sequence[str], new: Sequence[str]) -> Iterator[Rewritten]:
    """The changes to the lines `there` when `old`, which quotes them, becomes `new`.

    Lines that `new` keeps from `old` are not touched.
    """
    indentation = Indentation(old, there)
    for tag, start, end, first, last in _changes(old, new):
        if tag != "equal":
            yield Rewritten(start=start, end=end, new_lines=indentation.of_file(new[first:last], start, end))


class Indentation:
    """Translates the indentation of a quotation into that of the file."""

    def __init__(self, quoted: Sequence[str], there: Sequence[str]) -> None:
        self._meanings = [
            Meaning(quoted=indentation_of(one), actual=indentation_of(other)) if one.strip() else None
            for one, other in zip(quoted, there, strict=True)
        ]
        meanings = [meaning for meaning in self._meanings if meaning is not None]
        self._differs = any(meaning.quoted != meaning.actual for meaning in meanings)
        # Quotations are often stripped as a whole: then the first line says nothing about the others.
        only_first_differs = len(meanings) > 1 and all(meaning.quoted == meaning.actual for meaning in meanings[1:])
        self._clear = _unambiguous(meanings[1:] if only_first_differs else meanings)

    def of_file(self, new: Sequence[str], start: int, end: int) -> tuple[str, ...]:
        """The new lines that replace the quoted lines `start` to `end`, indented as in the file."""
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
        """The indentation in the file of equally indented quoted lines: of all of them, or else of the nearest."""
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
        """Indent relative to the quoted lines as in the quotation, if all of them give the same result."""
        results = {_shift(own, meaning) for meaning in self._clear}
        return results.pop() if len(results) == 1 else None

    def _scaled(self, own: str) -> str | None:
        """Convert the indentation unit, for example two spaces to four, or eight spaces to a tab."""
        clear = self._clear if len(self._clear) > 1 else [MARGIN, *self._clear]
        steps = {_step(outer, inner) for outer, inner in pairwise(clear)}
        step = steps.pop() if len(steps) == 1 else None
        outer = [each for each in clear if own.startswith(each.quoted)]
        if step is None or not outer:
            return None
        rest = own[len(outer[-1].quoted) :]
        count = len(rest) // len(step.quoted)
        return outer[-1].actual + step.actual * count if step.quoted * count == rest else None


def indentation_of(line: str) -> str:
    """The leading whitespace of a line."""
    return line[: len(line) - len(line.lstrip())]


def _unambiguous(meanings: Sequence[Meaning]) -> list[Meaning]:
    """The mappings for which a quoted indentation has only one counterpart in the file, outermost first."""
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
    """The additional indentation of the inner line; None unless it is deeper in both quotation and file."""
    is_deeper = inner.quoted.startswith(outer.quoted) and inner.actual.startswith(outer.actual)
    step = Meaning(quoted=inner.quoted[len(outer.quoted) :], actual=inner.actual[len(outer.actual) :])
    return step if is_deeper and step.quoted and step.actual else None


def _is_mixed(indentation: str) -> bool:
    return len(set(indentation)) > 1


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    if len(old) * len(new) > MAX_PAIRS:
        return [("replace", 0, len(old), 0, len(new))]
    return list(SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
