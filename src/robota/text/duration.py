"""Durations in words."""

from typing import Final

UNITS: Final = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000))


def duration_in_words(milliseconds: int) -> str:
    """A duration in the largest unit that fits, such as "3 hours"."""
    for name, length in UNITS:
        count = milliseconds // length
        if count >= 1:
            return f"{count} {name}{'s' if count > 1 else ''}"
    return "a moment"
