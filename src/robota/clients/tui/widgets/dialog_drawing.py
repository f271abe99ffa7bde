"""How to draw a dialog between the conversation and the input."""

from typing import Final

import msgspec

# With fewer free rows than this, a dialog is not shown and accepts no keys.
LOWEST_DIALOG: Final = 2


class DialogDrawing(msgspec.Struct, frozen=True, kw_only=True):
    """The room there is, whether keys are for the dialog, and whether something is written in the input."""

    width: int
    room: int
    takes_keys: bool
    has_draft: bool
