"""Check out a checkpoint outside the workspace, to run tests in it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from robota.workspace.checkpoints.store import CheckpointStore
from robota.workspace.files.path_status import may_be_present

SCRATCH_PREFIX: Final = "robota-bisect-"
# Caches of test tools are not needed.
NOT_LINKED: Final = frozenset({".robota", ".git", ".pytest_cache", "__pycache__", ".mypy_cache", ".ruff_cache"})


@contextmanager
def scratch_directory(store: CheckpointStore, checkpoint: str) -> Iterator[Path]:
    """A directory with the files of the checkpoint, removed afterwards.

    Ignored entries at the top of the workspace, such as `.venv` or `node_modules`, are linked: tests need them, and
    they are in no checkpoint.
    """
    directory = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX)).resolve()
    try:
        with store.opened() as opened:
            opened.check_out(opened.completed(checkpoint), directory)
            ignored = opened.ignored_at_top()
        for name in ignored:
            path = directory / os.fsdecode(name)
            if path.name not in NOT_LINKED and not may_be_present(path):
                path.symlink_to(store.workspace / os.fsdecode(name))
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
