"""Which files of a workspace no `.gitignore` excludes, found without git.

git's own matcher takes exponential time for some patterns, which anyone who may write a `.gitignore` can choose. Then
this one is used: it is slower for ordinary patterns, but its time is bounded for all of them.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from robota.workspace.files.ignore import LEFT_OUT_OF_LISTINGS, IgnoreFiles, PathParts, Patterns
from robota.workspace.problems import Ignored

GIT: Final = ".git"


def unignored_files(root: Path) -> Iterator[bytes]:
    """The files and links that are not ignored, relative to `root`. Raises `Ignored` if an ignore file is unusable."""
    rules = IgnoreFiles(root, LEFT_OUT_OF_LISTINGS)
    waiting: list[tuple[PathParts, Patterns]] = [((), Patterns())]
    while waiting:
        directory, above = waiting.pop()
        patterns = rules.with_file_of(directory, above)
        for entry in _entries(root, directory):
            parts = (*directory, entry.name)
            is_directory = entry.is_dir(follow_symlinks=False)
            if entry.name.lower() == GIT or patterns.match(parts, is_directory=is_directory):
                continue
            if is_directory:
                waiting.append((parts, patterns))
            else:
                yield os.fsencode("/".join(parts))


def _entries(root: Path, directory: PathParts) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root.joinpath(*directory)) as entries:
            return list(entries)
    except PermissionError:
        return []
    except OSError as error:
        raise Ignored(f"{'/'.join(directory)!r} cannot be read: {error.strerror}") from error
