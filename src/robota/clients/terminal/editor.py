"""The person's own editor, as clients are given it: who starts it is no business of theirs."""

from collections.abc import Awaitable, Callable

import msgspec


class NotEdited(msgspec.Struct, frozen=True):
    """No editor could be used."""

    why: str


# Lets the person change a text in an editor.
EditText = Callable[[str], Awaitable[str | NotEdited]]
