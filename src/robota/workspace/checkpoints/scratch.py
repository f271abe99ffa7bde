"""A checkpoint checked out outside the workspace, to try something in it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from robota.workspace.checkpoints.store import CheckpointStore

SCRATCH_PREFIX: Final = "robota-bisect-"
# What tests leave of themselves is not needed by other tests.
NOT_LINKED: Final = frozenset({".robota", ".git", ".pytest_cache", "__pycache__", ".mypy_cache", ".ruff_cache"})


@contextmanager
def scratch_directory(store: CheckpointStore, checkpoint: str) -> Iterator[Path]:
    """A directory with the files of the checkpoint, removed afterwards.

    What the ignore rules leave out at the top of the workspace, such as `.venv` or `node_modules`, is linked: tests
    need it, and it is in no checkpoint.
    """
    directory = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX)).resolve()
    try:
        with store.opened() as opened:
            opened.check_out(opened.completed(checkpoint), directory)
            ignored = opened.ignored_at_top()
        for name in ignored:
            place = directory / os.fsdecode(name)
            if place.name not in NOT_LINKED and not os.path.lexists(place):
                place.symlink_to(store.workspace / os.fsdecode(name))
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
