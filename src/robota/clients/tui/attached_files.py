"""Insert images from the clipboard and files dropped on the terminal into the input."""

from collections.abc import Awaitable, Callable

import msgspec

from robota.clients.tui.flows.dropped_paths import dropped_paths
from robota.clients.tui.screen.input_area import InputArea


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
ReadClipboard = Callable[[], Awaitable[AttachedImage | NotAttached]]


def nothing_dropped(path: str) -> None:
    """The fallback without access to files: a path is text."""
    return None


async def no_clipboard() -> NotAttached:
    """The fallback without a clipboard."""
    return NotAttached("The clipboard cannot be read here.")


def put_paste(area: InputArea, pasted: str, look: LookAtFile) -> str:
    """Insert a paste into the input: dropped files as files or images, anything else as text. Returns the problem."""
    paths = dropped_paths(pasted)
    files = [look(path) for path in paths]
    if not files or any(file is None for file in files):
        area.paste(pasted)
        return ""
    problems = []
    for path, file in zip(paths, files, strict=True):
        match file:
            case AttachedImage(data_url):
                area.paste_image(data_url)
            case MentionedFile(mention):
                area.insert(f"{mention} ")
            case NotAttached(why):
                problems.append(why)
                area.insert(f"{path} ")
    return " ".join(problems)
