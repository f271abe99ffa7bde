"""Which hidden files ripgrep searches all the same: a pattern with `!` in an ignore file brings them back."""

import os
import re
from collections.abc import Sequence
from typing import Final

IGNORE_FILES: Final = frozenset({".gitignore", ".ignore", ".rgignore"})
OF_THE_REPOSITORY: Final = ".git/info/exclude"
MAX_FILES: Final = 200
MAX_BYTES: Final = 64 * 1024
MAX_PATTERNS: Final = 50
ANY_NAME: Final = ("*",)
# Of names with these signs in a pattern nobody here says which ones fit.
OTHER_SIGNS: Final = re.compile(r"[\[\]{}\\]")


def unhidden_names(root: str, start: str, below: Sequence[str]) -> tuple[str, ...]:
    """Patterns that fit the name of each file and directory that is brought back; any name if nobody can tell.

    `below` are the files below `start`. Ignore files above the workspace are the person's own and not looked at.
    """
    parts = [] if start == "." else start.split("/")
    above = ["/".join([*parts[:count], name]) for count in range(len(parts)) for name in IGNORE_FILES]
    found = [path for path in below if path.rpartition("/")[2] in IGNORE_FILES]
    if len(found) > MAX_FILES:
        return ANY_NAME
    patterns: dict[str, None] = {}
    for path in (*above, *found, OF_THE_REPOSITORY):
        text = _beginning(os.path.join(root, path))  # noqa: PTH118 - paths are text here
        if len(text) > MAX_BYTES:
            return ANY_NAME
        patterns.update(dict.fromkeys(_name(line) for line in text.splitlines() if line.startswith("!")))
    return ANY_NAME if len(patterns) > MAX_PATTERNS else tuple(patterns)


def _name(line: str) -> str:
    """What the last name of a path must fit; in a pattern for everything below a directory that is any name."""
    last = line[1:].rstrip().rstrip("/").rpartition("/")[2]
    return "*" if OTHER_SIGNS.search(line) or not last.strip("*") else last


def _beginning(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, MAX_BYTES + 1).decode("utf-8", "replace")
    except OSError:
        # A directory of that name.
        return ""
    finally:
        os.close(descriptor)
