"""What to do about a path that does not exist: a file beside it with a similar name, or a tool that finds it."""

from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Final

import msgspec

from robota.contracts.workspace import Files
from robota.text.visible import printable_name
from robota.workspace.problems import FileProblem

MAX_LOOKED_AT: Final = 1_000
MAX_NAMED: Final = 3
# Two short names are alike by their suffix alone: a.txt and gone.txt.
LEAST_ALIKE: Final = 0.75


def where_else(path: str, files: Files) -> str:
    """A sentence that names files with similar names in the same directory, or the call that looks for the name."""
    place = PurePosixPath(path)
    near = [repr(printable_name(each)) for each in _near(place, files)]
    if near:
        return f"Did you mean {' or '.join(near)}?"
    call = msgspec.json.encode({"pattern": f"**/{place.name}"}).decode()
    return f"Find it with glob {call}, or list its directory with list_files."


def _near(place: PurePosixPath, files: Files) -> list[str]:
    try:
        entries = files.list(str(place.parent), False, MAX_LOOKED_AT).entries
    except FileProblem:
        return []
    names = {entry.rpartition("/")[2].lower(): entry for entry in entries if not entry.endswith("/")}
    found = [names[name] for name in get_close_matches(place.name.lower(), names, MAX_NAMED, LEAST_ALIKE)]
    return [name if place.parent == PurePosixPath() else str(place.parent / PurePosixPath(name).name) for name in found]
