"""What differs between a line and its counterpart, word by word."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

# Longer lines are not compared, nor are lines with little in common.
MAX_COMPARED_LENGTH: Final = 1000
ALIKE: Final = 0.4
WORD: Final = re.compile(r"\w+|\s+|.")

Span = tuple[int, int]


def changed_spans(text: str, counterpart: str) -> Sequence[Span]:
    """The parts of a text that its counterpart lacks; none if the whole line is another one."""
    if not counterpart or len(text) + len(counterpart) > MAX_COMPARED_LENGTH:
        return ()
    words, others = WORD.findall(text), WORD.findall(counterpart)
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    blocks = matcher.get_matching_blocks()
    common = sum(len(word) for block in blocks for word in words[block.a : block.a + block.size] if not word.isspace())
    written = sum(len(word) for word in (*words, *others) if not word.isspace())
    if not written or 2 * common / written < ALIKE:
        return ()
    return list(_gaps(words, [(block.a, block.a + block.size) for block in blocks]))


def _gaps(words: Sequence[str], kept: Sequence[Span]) -> Iterator[Span]:
    """Where the words between the kept ones are."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    at = 0
    for begin, end in kept:
        if begin > at:
            yield ends[at], ends[begin]
        at = end
