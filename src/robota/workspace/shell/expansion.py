"""Expand patterns such as `src/*.py` to the files that the shell would replace them with."""

import fnmatch
import os
import re
from typing import Final

SIGNS: Final = frozenset("*?[")
# A character class; a bracket that is never closed is a literal bracket.
CLASS: Final = re.compile(r"\[[!^]?+\]?+[^\]/]*+\]")
MAX_ENTRIES: Final = 5_000
MAX_PATTERN_LENGTH: Final = 4_096
MAX_CLASSES: Final = 50
# The result for a pattern that is too complex or matches too much: it may mean anything.
ANYTHING: Final = ("/",)


def files_matching(directory: str, pattern: str) -> tuple[str, ...]:
    """The paths that match a pattern in an absolute directory now; `ANYTHING` if that cannot be determined."""
    if len(pattern) > MAX_PATTERN_LENGTH or pattern.count("[") > MAX_CLASSES:
        return ANYTHING
    if any(sign in pattern for sign in ("[:", "[.", "[=", "\\")):
        return ANYTHING
    if any("[" in character_class[1:] for character_class in CLASS.findall(pattern)):
        return ANYTHING
    paths = ["" if pattern.startswith("/") else directory]
    seen = 0
    for name in pattern.removeprefix("/").split("/"):
        if not SIGNS.intersection(name):
            paths = [f"{parent}/{name}" for parent in paths]
            continue
        glob = CLASS.sub(lambda match: match[0].replace("[^", "[!", 1), name)
        fitting: list[str] = []
        for parent in paths:
            names = [*_names(parent or "/"), ".", ".."]
            seen += len(names)
            if seen > MAX_ENTRIES:
                return ANYTHING
            fitting += [f"{parent}/{each}" for each in names if _fits(each, glob)]
        paths = fitting
    return tuple(path for path in paths if os.path.lexists(path))


def _names(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry, _ in zip(entries, range(MAX_ENTRIES + 1), strict=False)]
    except OSError:
        return []


def _fits(name: str, glob: str) -> bool:
    """Whether a name matches. A leading dot must be explicit; for older shells, `..` is such a name."""
    if name.startswith(".") != glob.startswith("."):
        return False
    # Without a locale in its environment, a shell counts bytes instead of characters.
    return fnmatch.fnmatchcase(name, glob) or (
        not name.isascii() and fnmatch.fnmatchcase(_in_bytes(name), _in_bytes(glob))
    )


def _in_bytes(text: str) -> str:
    return os.fsencode(text).decode("latin-1")
