"""Images in the clipboard, and files dropped on the terminal."""

import re
import shlex
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import unquote

import msgspec

MAX_PASTE_LENGTH: Final = 10_000
BARE_PATH: Final = r"/[^\n\\'\"]*"
FILE_URL: Final = r"file://(?:localhost)?(?=/)"


class AttachedImage(msgspec.Struct, frozen=True):
    """An image as a data URL."""

    data_url: str


class MentionedFile(msgspec.Struct, frozen=True):
    """A file or directory of the workspace, as it is mentioned."""

    mention: str


class NotAttached(msgspec.Struct, frozen=True):
    """Why there is nothing to attach."""

    why: str


DroppedFile = AttachedImage | MentionedFile | NotAttached
LookAtFile = Callable[[str], DroppedFile | None]
ClipboardReader = Callable[[], Awaitable[AttachedImage | NotAttached]]


def nothing_dropped(path: str) -> None:
    """The fallback without access to files: a path is text."""
    return None


async def no_clipboard() -> NotAttached:
    """The fallback without a clipboard."""
    return NotAttached("The clipboard cannot be read here.")


def dropped_files(pasted: str, look: LookAtFile) -> tuple[tuple[str, DroppedFile], ...]:
    """The files that were dropped on the terminal, with their paths; none if the paste is anything else."""
    looked_at = [(path, look(path)) for path in dropped_paths(pasted)]
    files = tuple((path, file) for path, file in looked_at if file is not None)
    return files if len(files) == len(looked_at) else ()


def dropped_paths(pasted: str) -> tuple[str, ...]:
    """The absolute paths, if the paste is nothing but paths: quoted, with backslashes, or as file URLs; else none."""
    text = pasted.strip()
    if not text or len(text) > MAX_PASTE_LENGTH:
        return ()
    if re.fullmatch(BARE_PATH, text) and " /" not in text:
        return (text,)  # some terminals paste a path with spaces unquoted
    try:
        words = shlex.split(text)
    except ValueError:
        return ()
    paths = tuple(unquote(re.sub(FILE_URL, "", word)) if re.match(FILE_URL, word) else word for word in words)
    return paths if all(path.startswith("/") for path in paths) else ()
