"""Commands that no mode approves: deleting what everything else rests on."""

import fnmatch
import re
from typing import Final

from robota.policy.protected.path_resolver import Places
from robota.workspace.shell.script import Argv
from robota.workspace.shell.wrappers import program

# `*` and the like at the end: everything in the directory before it.
ALL_WITHIN: Final = re.compile(r"(?:^|(?<=/))[*?]*\*[*?]*/?$")
DELETING: Final = frozenset({"rm", "rmdir", "shred", "unlink"})


def critical_target(argv: Argv, places: Places, directory: str) -> str | None:
    """The word that tells to delete the root or a child of it, home, the workspace, or a directory above these."""
    if program(argv) not in DELETING:
        return None
    for word in argv[1:]:
        if word.startswith("-"):
            continue
        stripped = ALL_WITHIN.sub("", word).rstrip("/") or ("/" if word.startswith("/") else ".")
        if any(_is_critical(location, places) for location in places.locations(stripped, directory)):
            return word
    return None


def _is_critical(location: str, places: Places) -> bool:
    if location.count("/") <= 1:
        return True
    anchors = [places.root, *([places.home] if places.home else [])]
    above = [str(each) for anchor in anchors for each in (anchor, *anchor.parents)]
    return any(fnmatch.fnmatchcase(each, location) for each in above)
