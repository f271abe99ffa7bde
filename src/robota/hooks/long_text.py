"""Shortens long output of hooks for the model; the whole text is stored beside the log."""

from collections.abc import Callable
from typing import Final

from robota.log.errors import LogWriteError

MOST_CHARACTERS: Final = 10_000
PREVIEW_CHARACTERS: Final = 2_000

# Stores a text beside the log and returns its name.
StoreText = Callable[[bytes], str]


def with_preview(text: str, store: StoreText | None) -> str:
    """The text, or a preview with the name under which the whole is stored."""
    if len(text) <= MOST_CHARACTERS:
        return text
    name = None if store is None else _stored(text, store)
    if name is None:
        return f"{text[:MOST_CHARACTERS]}\n[… {len(text) - MOST_CHARACTERS} more characters of hook output omitted]"
    rest = f"{len(text) - PREVIEW_CHARACTERS} more characters of hook output; all of it is saved as {name}"
    return f"{text[:PREVIEW_CHARACTERS]}\n[… {rest}, read_command_output shows it]"


def _stored(text: str, store: StoreText) -> str | None:
    try:
        return store(text.encode("utf-8", "replace"))
    except LogWriteError:
        return None
