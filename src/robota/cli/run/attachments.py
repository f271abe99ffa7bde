"""Attach images from the clipboard and files dropped on the terminal."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from robota.clients.tui.attached_files import AttachedImage, DroppedFile, MentionedFile, NotAttached
from robota.workspace.outside_program import ProgramStart, find_program
from robota.workspace.user_programs.program_output import ProgramFailed, output_of

MAX_IMAGE_BYTES: Final = 5 * 1024 * 1024
# A program that prints the image: its name, the variable that must be set for it to work, and its arguments.
CLIPBOARD_PROGRAMS: Final = (
    ("wl-paste", "WAYLAND_DISPLAY", ("--no-newline", "--type", "image/png")),
    ("xclip", "DISPLAY", ("-selection", "clipboard", "-target", "image/png", "-out")),
    ("pngpaste", "HOME", ("-",)),
)
TIMEOUT_S: Final = 5.0


def look_at_file(path: str, root: Path) -> DroppedFile | None:
    """Resolve a dropped path: an image is attached, a file of the workspace is mentioned."""
    from robota.knowledge.mentions.parsing import mention_of_path

    file = Path(path)
    try:
        if file.is_file() and (image := _image(file)) is not None:
            return image
        inside = file.resolve(strict=True).relative_to(root)
    except (OSError, ValueError):
        return None
    mention = mention_of_path(f"{inside}/" if file.is_dir() else str(inside))
    return None if mention is None or not inside.parts else MentionedFile(mention)


async def clipboard_image(env: Mapping[str, str], cwd: Path) -> AttachedImage | NotAttached:
    """The image in the clipboard of the user's desktop."""
    for name, needed, arguments in CLIPBOARD_PROGRAMS:
        program = find_program(name, env, not_beneath=cwd) if env.get(needed) else None
        if program is None:
            continue
        try:
            reader = ProgramStart(argv=(program, *arguments), workspace=cwd, cwd=cwd, env=env)
            data = await output_of(reader, seconds=TIMEOUT_S, limit=MAX_IMAGE_BYTES)
        except ProgramFailed as failed:
            return NotAttached(f"{name} found no image in the clipboard: {failed}")
        return _attached(data, "The clipboard") or NotAttached("The clipboard does not contain an image.")
    names = ", ".join(name for name, _, _ in CLIPBOARD_PROGRAMS)
    return NotAttached(f"The clipboard cannot be read here: none of {names} works. Drop a file or type its path.")


def _image(path: Path) -> AttachedImage | NotAttached | None:
    with path.open("rb") as file:
        return _attached(file.read(MAX_IMAGE_BYTES + 1), path.name)


def _attached(data: bytes, what: str) -> AttachedImage | NotAttached | None:
    from robota.tools.files.read_file import image_type

    media_type = image_type(data)
    if media_type is None:
        return None
    if len(data) > MAX_IMAGE_BYTES:
        return NotAttached(f"{what} is larger than {MAX_IMAGE_BYTES:,} bytes, so it is not shown to the model.")
    return AttachedImage(f"data:{media_type};base64,{base64.b64encode(data).decode()}")
