"""Counts and durations in words."""

from typing import Final

UNITS: Final = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000))


def counted(number: int, thing: str, things: str = "") -> str:
    """`1 file`, `2,000 files`; `things` is an irregular plural."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def duration_in_words(milliseconds: int) -> str:
    """A duration in the largest unit that fits, such as "3 hours"."""
    for name, length in UNITS:
        count = milliseconds // length
        if count >= 1:
            return counted(count, name)
    return "a moment"
