"""What a person puts into the input besides text: images of the clipboard, and files that they drop on the terminal."""

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
    """Where files cannot be looked at, a path is text."""
    return None


async def no_clipboard() -> NotAttached:
    """Where there is no clipboard to look at."""
    return NotAttached("The clipboard cannot be read here.")


def put_paste(area: InputArea, pasted: str, look: LookAtFile) -> str:
    """Put a paste into the input: dropped files as what they are, anything else as text. Returns what went wrong."""
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
