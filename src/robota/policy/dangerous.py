"""Commands that no mode approves: deleting what everything else rests on."""

from typing import Final

from robota.policy.places import Places
from robota.workspace.shell.script import Argv
from robota.workspace.shell.wrappers import program

DELETING: Final = frozenset({"rm", "rmdir", "shred", "unlink"})


def critical_target(argv: Argv, places: Places, directory: str) -> str | None:
    """The word that tells to delete the root or a child of it, home, the workspace, or a directory above these."""
    if program(argv) not in DELETING:
        return None
    for word in argv[1:]:
        if word.startswith("-"):
            continue
        stripped = word.removesuffix("*").rstrip("/") or "/"
        if any(_is_critical(location, places) for location in places.locations(stripped, directory)):
            return word
    return None


def _is_critical(location: str, places: Places) -> bool:
    if location.count("/") <= 1:
        return True
    anchors = [str(places.root), *([str(places.home)] if places.home else [])]
    return any(anchor == location or anchor.startswith(location + "/") for anchor in anchors)
