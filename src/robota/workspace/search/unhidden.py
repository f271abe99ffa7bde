"""Find the hidden files that ripgrep searches anyway, because a `!` pattern in an ignore file includes them."""

import os
import re
from collections.abc import Sequence
from typing import Final

IGNORE_FILES: Final = frozenset({".gitignore", ".ignore", ".rgignore"})
REPOSITORY_EXCLUDES: Final = ".git/info/exclude"
MAX_FILES: Final = 200
MAX_BYTES: Final = 64 * 1024
MAX_PATTERNS: Final = 50
ANY_NAME: Final = ("*",)
# Patterns with these characters are not evaluated here.
OTHER_CHARACTERS: Final = re.compile(r"[\[\]{}\\]")


def unhidden_names(root: str, start: str, below: Sequence[str]) -> tuple[str, ...]:
    """Patterns for the names of files and directories that are included again; any name if that is unknown.

    `below` are the files below `start`. Ignore files above the workspace belong to the user and are not read.
    """
    parts = [] if start == "." else start.split("/")
    above = ["/".join([*parts[:count], name]) for count in range(len(parts)) for name in IGNORE_FILES]
    ignore_files = [path for path in below if path.rpartition("/")[2] in IGNORE_FILES]
    if len(ignore_files) > MAX_FILES:
        return ANY_NAME
    patterns: dict[str, None] = {}
    for path in (*above, *ignore_files, REPOSITORY_EXCLUDES):
        text = _beginning(os.path.join(root, path))  # noqa: PTH118 - paths are text here
        if len(text) > MAX_BYTES:
            return ANY_NAME
        patterns.update(dict.fromkeys(_name(line) for line in text.splitlines() if line.startswith("!")))
    return ANY_NAME if len(patterns) > MAX_PATTERNS else tuple(patterns)


def _name(line: str) -> str:
    """The pattern for the last name of a path; any name if the pattern covers everything below a directory."""
    last = line[1:].rstrip().rstrip("/").rpartition("/")[2]
    return "*" if OTHER_CHARACTERS.search(line) or not last.strip("*") else last


def _beginning(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, MAX_BYTES + 1).decode("utf-8", "replace")
    except OSError:
        # For example a directory of that name.
        return ""
    finally:
        os.close(descriptor)
