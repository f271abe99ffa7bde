"""Decide when a card accepts keys: text typed for something else must not answer it."""

from typing import Final

import msgspec

QUIET_S: Final = 0.4


class TypingPause(msgspec.Struct, frozen=True, kw_only=True):
    """The newest moment at which a card was put up, or a key came that was not for it."""

    since: float

    def is_over(self, now: float) -> bool:
        """Whether the user has not typed for long enough that a key is meant for the card."""
        return now - self.since >= QUIET_S
