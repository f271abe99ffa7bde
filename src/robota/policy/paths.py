"""Paths for rules: normalised as text and matched by gitignore-like patterns. Nothing is looked up on disk."""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

PIECES = re.compile(r"/\*\*/|^\*\*/|/\*\*$|\*\*|\*|\?|.", re.DOTALL)
MEANINGS = {
    "/**/": "/(?:.*/)?",
    "**/": "(?:.*/)?",
    "/**": "/.*",
    "**": ".*",
    "*": "[^/]*",
    "?": "[^/]",
}


def beneath(root: Path, path: str) -> str | None:
    """The path as seen from the root, without `.` and `..`; None if it leads out. The root itself is `.`."""
    base = posixpath.normpath(str(root))
    whole = posixpath.normpath(posixpath.join(base, path))
    if whole == base:
        return "."
    # Component by component: /ws-evil does not lie beneath /ws.
    prefix = base if base.endswith("/") else base + "/"
    return whole[len(prefix) :] if whole.startswith(prefix) else None


def problem_with_pattern(pattern: str) -> str | None:
    """Why a pattern cannot be used, if it cannot."""
    if pattern.startswith("!"):
        return "a pattern cannot be negated with '!'"
    if "[" in pattern:
        return "character classes are not supported; write '?' for one character"
    if ".." in pattern.split("/"):
        return "a pattern cannot leave the workspace with '..'"
    if not pattern.strip("/"):
        return "the pattern is empty; write '**' for everything"
    return None


def matches_pattern(path: str, pattern: str, *, ignore_case: bool) -> bool:
    """Whether the pattern names the path or a directory it lies in."""
    return _compiled(pattern, ignore_case).fullmatch(path) is not None


def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    # `re` keeps compiled expressions by itself.
    return re.compile("".join(_expression(pattern)), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _expression(pattern: str) -> Iterator[str]:
    """As in gitignore: a slash ties the pattern to the root, without one it may match at any depth."""
    body = pattern.rstrip("/").removeprefix("./")
    if "/" not in body:
        yield "(?:.*/)?"
    for piece in PIECES.findall(body.removeprefix("/")):
        yield MEANINGS.get(piece, re.escape(piece))
    yield "(?:/.*)?"
