"""A workspace and its checkpoint store."""

import os
from pathlib import Path

import pytest

from robota.workspace.checkpoints.store import CheckpointStore


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def store(tmp_path: Path, workspace: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "store", workspace, os.environ, max_file_bytes=100_000)
