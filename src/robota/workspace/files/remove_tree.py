"""Removing a directory with everything in it, whatever a program has done to make that hard."""

import os
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

HEAP_PREFIX: Final = "robota-tmp-"


def remove_tree(directory: Path) -> None:
    """Also what is closed to its owner, as Go's cache of modules is, or lies deeper than a path can be long."""
    with suppress(OSError):
        heap = Path(tempfile.mkdtemp(prefix=HEAP_PREFIX, dir=directory.parent))
        with suppress(OSError):
            _remove_on(heap, directory)
        heap.rmdir()


def _remove_on(heap: Path, directory: Path) -> None:
    """Every directory is first laid on the heap, beside the one it was in, so that none is ever deep."""
    free = (heap / str(number) for number in count())
    waiting = [_moved(directory, next(free))]
    while waiting:
        place = waiting.pop()
        with suppress(OSError):
            with os.scandir(place) as entries:
                found = list(entries)
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(_moved(Path(entry.path), next(free)))
                else:
                    Path(entry.path).unlink()
            place.rmdir()


def _moved(directory: Path, place: Path) -> Path:
    directory.chmod(0o700)
    return directory.rename(place)
