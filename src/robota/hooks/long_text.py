"""What a hook says at length: the model gets the beginning, the whole is kept beside the log."""

from collections.abc import Callable
from typing import Final

from robota.log.errors import LogWriteError

MOST_CHARACTERS: Final = 10_000
PREVIEW_CHARACTERS: Final = 2_000

# Keeps something beside the log and says its name.
Keep = Callable[[bytes], str]


def previewed(text: str, keep: Keep | None) -> str:
    """The text, or a preview with the name under which all of it can be read."""
    if len(text) <= MOST_CHARACTERS:
        return text
    name = None if keep is None else _kept(text, keep)
    if name is None:
        return f"{text[:MOST_CHARACTERS]}\n[… {len(text) - MOST_CHARACTERS} more characters of a hook left out]"
    rest = f"{len(text) - PREVIEW_CHARACTERS} more characters of a hook; all is kept as {name}"
    return f"{text[:PREVIEW_CHARACTERS]}\n[… {rest}, read_command_output shows it]"


def _kept(text: str, keep: Keep) -> str | None:
    try:
        return keep(text.encode("utf-8", "replace"))
    except LogWriteError:
        return None
