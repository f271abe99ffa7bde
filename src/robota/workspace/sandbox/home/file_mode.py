"""The mode of a file, for places that may not exist or may be closed to us."""

from pathlib import Path


def mode_of(place: Path) -> int:
    """The mode without following links; 0 if it cannot be read, because then a command cannot read it either."""
    try:
        return place.stat(follow_symlinks=False).st_mode
    except OSError:
        return 0


def mode_behind(place: Path) -> int:
    """The mode of what a path leads to; 0 if it leads nowhere, or through a directory that is closed to us."""
    try:
        return place.stat().st_mode
    except OSError:
        return 0
