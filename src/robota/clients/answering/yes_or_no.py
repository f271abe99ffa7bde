"""Recognize yes and no in plain language. Pure."""

from typing import Final

YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"n", "no"})
# Only as a whole line: with other words they may mean anything.
CLEAR_YES: Final = YES | {
    "yep", "yeah", "ok", "okay", "sure", "go", "go ahead", "go on", "do it", "do that", "please do", "yes please",
    "run it", "allow", "allow it", "approve", "approved", "fine", "sounds good", "looks good", "proceed",
}  # fmt: skip
CLEAR_NO: Final = NO | {
    "nope", "nah", "don't", "do not", "dont", "no thanks", "no way", "never", "stop", "cancel", "deny", "reject",
    "don't do that", "don't do it",
}  # fmt: skip


def is_clear_yes(line: str) -> bool:
    """Whether a line only says yes."""
    return _plain(line) in CLEAR_YES


def is_clear_no(line: str) -> bool:
    """Whether a line only says no."""
    return _plain(line) in CLEAR_NO


def _plain(line: str) -> str:
    return " ".join(line.lower().replace("’", "'").replace(",", " ").rstrip(".! ").split())
