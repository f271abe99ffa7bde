"""Ignored files in checkpoints: what no program can make again is saved, and what is not saved is said."""

import os
from pathlib import Path

from robota.workspace.checkpoints.ignored_files import IgnoredLimits, select_ignored
from robota.workspace.checkpoints.store import CheckpointStore
from tests.workspace.checkpoints.restoring import restore

LIMITS = IgnoredLimits(files=5, total_bytes=1000, file_bytes=600)


def write(workspace: Path, path: str, size: int = 10) -> None:
    (workspace / path).parent.mkdir(parents=True, exist_ok=True)
    (workspace / path).write_bytes(b"x" * size)


def test_data_is_saved_and_caches_and_packages_are_not(store: CheckpointStore, workspace: Path) -> None:
    (workspace / ".gitignore").write_text("data/\n*.db\n__pycache__/\n.venv/\nmy-env/\nnode_modules/\n")
    kept = ("local.db", "data/a", "data/deep/b")
    for path in (*kept, "__pycache__/c.pyc", ".venv/x", "my-env/pyvenv.cfg", "my-env/y", "data/node_modules/z"):
        write(workspace, path)
    saved = store.capture(ignored=LIMITS)
    assert saved.unsaved == ()
    for path in (*kept, ".venv/x", "data/node_modules/z"):
        (workspace / path).unlink()
    restore(store, saved.id)
    assert all((workspace / path).exists() for path in kept)
    assert not (workspace / ".venv/x").exists() and not (workspace / "data/node_modules/z").exists()


def test_what_is_beyond_the_limits_is_named_and_does_not_displace_small_files(
    store: CheckpointStore, workspace: Path
) -> None:
    (workspace / ".gitignore").write_text("*.db\nmany/\nhuge\n")
    write(workspace, "huge", 700)
    write(workspace, "small.db", 100)
    write(workspace, "large.db", 500)
    for number in range(6):
        write(workspace, f"many/{number}")
    saved = store.capture(ignored=LIMITS)
    assert saved.unsaved == ("huge", "many")
    (workspace / "small.db").unlink()
    (workspace / "large.db").unlink()
    restore(store, saved.id)
    assert (workspace / "small.db").exists() and (workspace / "large.db").exists()


def test_a_later_checkpoint_goes_on_saving_them(store: CheckpointStore, workspace: Path) -> None:
    (workspace / ".gitignore").write_text("*.db\n")
    write(workspace, "a.db")
    store.capture(ignored=LIMITS)
    (workspace / "a.db").write_text("later")
    later = store.capture()
    (workspace / "a.db").unlink()
    restore(store, later.id)
    assert (workspace / "a.db").read_text() == "later"


def test_a_file_that_cannot_be_looked_at_makes_its_directory_unsaved(tmp_path: Path) -> None:
    """Also if the file would make it one of installed packages: its path is too long for a system call."""
    write(tmp_path, "local.db")
    write(tmp_path, "data/a")
    deepest = os.open(tmp_path / "data", os.O_RDONLY)
    length = len(os.fsencode(tmp_path / "data"))
    while length < 4090:
        name = "d" * min(4090 - length - 1, 200 if length < 3880 else 255)
        os.mkdir(name, dir_fd=deepest)
        above, deepest = deepest, os.open(name, os.O_RDONLY, dir_fd=deepest)
        os.close(above)
        length += 1 + len(name)
    os.close(os.open("pyvenv.cfg", os.O_CREAT | os.O_WRONLY, dir_fd=deepest))
    os.close(deepest)
    selected = select_ignored(os.fsencode(tmp_path), [b"data", b"local.db"], LIMITS)
    assert (selected.saved, selected.unsaved) == ((b"local.db",), ("data",))
