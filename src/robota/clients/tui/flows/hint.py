"""A hint below the input, which goes away by itself."""

from typing import Final

import msgspec

HINT_S: Final = 5.0


class Hint(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence for the user, and until when it is shown. An offer that it makes is valid as long."""

    text: str = ""
    until: float = 0.0

    def shown(self, now: float) -> str:
        """The sentence; empty when its time is over."""
        return self.text if now < self.until else ""


NO_HINT: Final = Hint()
