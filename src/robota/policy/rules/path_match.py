"""Paths for rules: normalised as text and matched by gitignore-like patterns. Nothing is looked up on disk."""

import fnmatch
import posixpath
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ANY_DEPTH: Final = "**"


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
    """Whether the pattern names the path or a directory it lies in.

    As in gitignore: a slash ties the pattern to the root, without one it may match at any depth. Name by name, so that
    no pattern, whoever wrote it, can make this take long.
    """
    if ignore_case:
        path, pattern = _folded(path), _folded(pattern)
    wanted = _names_of(pattern)
    # Every place in the pattern up to which the names so far could be meant.
    reached = _with_skipped({0}, wanted)
    for name in path.split("/"):
        fitting = {place for place in reached if wanted[place] == ANY_DEPTH}
        fitting |= {place + 1 for place in reached if fits_name(name, wanted[place])}
        reached = _with_skipped(fitting, wanted)
        if len(wanted) in reached:
            return True
    return False


def _folded(text: str) -> str:
    """Some file systems take names for the same that differ in case, or in how an accent is put on a letter."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).casefold()


def fits_name(name: str, pattern: str) -> bool:
    """Whether a pattern with `*` and `?` fits the whole of one name."""
    if "*" not in pattern and "?" not in pattern:
        return name == pattern
    # This module knows how not to try every combination of the stars.
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))


def _names_of(pattern: str) -> tuple[str, ...]:
    body = pattern.rstrip("/").removeprefix("./")
    names = body.removeprefix("/").split("/")
    if names[-1] == ANY_DEPTH:
        # Whatever lies deeper lies in what this names.
        names[-1] = "*"
    return tuple(names) if "/" in body else (ANY_DEPTH, *names)


def _with_skipped(places: set[int], wanted: tuple[str, ...]) -> set[int]:
    """A `**` may stand for no directory at all."""
    found = set(places)
    for place, name in enumerate(wanted):
        if place in found and name == ANY_DEPTH:
            found.add(place + 1)
    return found


def directories_above(pattern: str) -> Iterator[str]:
    """Patterns for the directories that lead to what the pattern names."""
    pieces = (pattern if pattern.startswith(("/", "~/")) else "/" + pattern.removeprefix("./")).split("/")
    for length in range(1, len(pieces)):
        above = "/".join(pieces[:length])
        if above.strip("/~") and pieces[length - 1] != "**":
            yield above
