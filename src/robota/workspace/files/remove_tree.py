"""Remove a directory tree, even one that ordinary tools fail to remove."""

import os
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

HEAP_PREFIX: Final = "robota-tmp-"


def remove_tree(directory: Path) -> None:
    """Remove a tree, even with read-only directories, as in Go's module cache, or paths over the system's limit."""
    with suppress(OSError):
        heap = Path(tempfile.mkdtemp(prefix=HEAP_PREFIX, dir=directory.parent))
        with suppress(OSError):
            _remove_on(heap, directory)
        heap.rmdir()


def _remove_on(heap: Path, directory: Path) -> None:
    """Move every directory to the top level of `heap` before its content is removed, so that no path gets long."""
    free = (heap / str(number) for number in count())
    waiting = [_moved(directory, next(free))]
    while waiting:
        path = waiting.pop()
        with suppress(OSError):
            with os.scandir(path) as entries:
                children = list(entries)
            for entry in children:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(_moved(Path(entry.path), next(free)))
                else:
                    Path(entry.path).unlink()
            path.rmdir()


def _moved(directory: Path, path: Path) -> Path:
    directory.chmod(0o700)
    return directory.rename(path)
