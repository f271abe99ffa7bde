"""Which files a pattern such as `src/*.py` stands for: what the shell would put in its place."""

import fnmatch
import os
import re
from typing import Final

SIGNS: Final = frozenset("*?[")
# A set of characters; a bracket that is never closed is just a bracket.
CLASS: Final = re.compile(r"\[[!^]?+\]?+[^\]/]*+\]")
MAX_ENTRIES: Final = 5_000
MAX_PATTERN_LENGTH: Final = 4_096
MAX_CLASSES: Final = 50
# Said of a pattern that stands for too much or is too strange: it may mean anything.
ANYTHING: Final = ("/",)


def files_matching(directory: str, pattern: str) -> tuple[str, ...]:
    """The paths that a pattern stands for in an absolute directory now; `ANYTHING` if that cannot be told."""
    if len(pattern) > MAX_PATTERN_LENGTH or pattern.count("[") > MAX_CLASSES:
        return ANYTHING
    if any(sign in pattern for sign in ("[:", "[.", "[=", "\\")):
        return ANYTHING
    if any("[" in found[1:] for found in CLASS.findall(pattern)):
        return ANYTHING
    found = ["" if pattern.startswith("/") else directory]
    seen = 0
    for name in pattern.removeprefix("/").split("/"):
        if not SIGNS.intersection(name):
            found = [f"{place}/{name}" for place in found]
            continue
        wanted = CLASS.sub(lambda found: found[0].replace("[^", "[!", 1), name)
        fitting: list[str] = []
        for place in found:
            names = [*_names(place or "/"), ".", ".."]
            seen += len(names)
            if seen > MAX_ENTRIES:
                return ANYTHING
            fitting += [f"{place}/{each}" for each in names if _fits(each, wanted)]
        found = fitting
    return tuple(path for path in found if os.path.lexists(path))


def _names(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry, _ in zip(entries, range(MAX_ENTRIES + 1), strict=False)]
    except OSError:
        return []


def _fits(name: str, wanted: str) -> bool:
    """A name that begins with a dot needs one in the pattern; the directory above is such a name, for older shells."""
    if name.startswith(".") != wanted.startswith("."):
        return False
    # Without a language in its environment a shell counts bytes instead of characters.
    return fnmatch.fnmatchcase(name, wanted) or (
        not name.isascii() and fnmatch.fnmatchcase(_in_bytes(name), _in_bytes(wanted))
    )


def _in_bytes(text: str) -> str:
    return os.fsencode(text).decode("latin-1")
