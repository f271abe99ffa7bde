"""Decide when a card accepts keys: text typed for something else must not answer it."""

from typing import Final

import msgspec

QUIET_S: Final = 0.4
# Users pause longer in the middle of a sentence.
QUIET_WITH_DRAFT_S: Final = 2.0


class TypingPause(msgspec.Struct, frozen=True, kw_only=True):
    """When the card was shown, or the last key that was not for it was pressed."""

    since: float

    def is_over(self, now: float, *, has_draft: bool = False) -> bool:
        """Whether the user has not typed for so long that a key is for the card."""
        return now - self.since >= (QUIET_WITH_DRAFT_S if has_draft else QUIET_S)


class CardFocus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the keys go to a card or to the input below it.

    `is_turned_to`: the user pressed Tab to answer. `is_writing`: they began to write although the card took keys, so
    that it waits until they press Tab or the input is empty again.
    """

    pause: TypingPause
    is_turned_to: bool = False
    is_writing: bool = False

    def takes_keys(self, now: float, *, has_draft: bool) -> bool:
        """Whether a key goes to the card now. Text typed earlier never does, nor does it block later keys for long."""
        if self.is_turned_to:
            return True
        return not (self.is_writing and has_draft) and self.pause.is_over(now, has_draft=has_draft)

    def typed(self, now: float) -> "CardFocus":
        """After a key that went to the input."""
        return msgspec.structs.replace(self, pause=TypingPause(since=now))

    def turned_to(self) -> "CardFocus":
        """After Tab in the input."""
        return msgspec.structs.replace(self, is_turned_to=True, is_writing=False)

    def left(self, now: float, *, is_writing: bool) -> "CardFocus":
        """After Tab in the card, or a letter there that answers nothing."""
        return CardFocus(pause=TypingPause(since=now), is_writing=is_writing)
