"""The interface that clients use to open the user's editor, without knowing how it is started."""

from collections.abc import Awaitable, Callable

import msgspec


class NotEdited(msgspec.Struct, frozen=True):
    """No editor could be used."""

    why: str


# Lets the user change a text in an editor.
EditText = Callable[[str], Awaitable[str | NotEdited]]
