"""Paths in the workspace that steer tools, hooks and secrets: writing them is always worth a question."""

from pathlib import Path

from robota.contracts.tool import Effect
from robota.contracts.verdict import Subject
from robota.policy.paths import beneath, matches_pattern

PROTECTED = (
    ".git",
    ".gitmodules",
    ".robota",
    ".orchestration",
    ".env",
    ".env.*",
    ".envrc",
    ".mcp.json",
    ".claude",
    ".cursor",
    ".vscode",
    ".idea",
    ".husky",
    ".gitattributes",
)

LOOKING = frozenset({Effect.READ, Effect.TALK})


def protected_pattern(subject: Subject, root: Path) -> str | None:
    """The pattern of the first protected path the call would do more to than read."""
    # A command's only path is where it runs; what it writes there, only a sandbox can tell.
    if subject.effects and subject.effects <= LOOKING:
        return None
    for path in subject.touches.paths:
        place = beneath(root, path)
        for pattern in PROTECTED:
            if place is not None and matches_pattern(_as_spelled_loosely(place), pattern, ignore_case=True):
                return pattern
    return None


def _as_spelled_loosely(place: str) -> str:
    """Some file systems drop dots and spaces at the end of a name, so `.git./config` is `.git/config` there."""
    return "/".join(part.rstrip(". ") or part for part in place.split("/"))
