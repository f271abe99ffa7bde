"""A home with tool chains, caches and credentials, and a sandbox that is built while it is the user's home."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.sandbox.border import build_border
from tests.workspace.sandbox.cells import Cell, make

SYSTEM = "/usr/bin:/bin"


def write(home: Path, files: Mapping[str, str]) -> None:
    """Write files below the home; programs, which begin with `#!`, are made executable."""
    for name, text in files.items():
        place = home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        if text.startswith("#!"):
            place.chmod(0o755)


@contextmanager
def outside_of_tmp() -> Iterator[Path]:
    """A directory that commands see as it is: their /tmp is another."""
    with tempfile.TemporaryDirectory(prefix="robota-test-", dir="/var/tmp") as directory:
        yield Path(directory).resolve()


def live_in(cell: Cell, monkeypatch: pytest.MonkeyPatch, *path: str, **variables: str) -> None:
    """Make the cell's home the user's, with these directories of it first on the PATH, and build the sandbox anew."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(cell.home))
    monkeypatch.setenv("PATH", ":".join([*(str(cell.home / each) for each in path), SYSTEM]))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    renew(cell)


def renew(cell: Cell, *readable: str) -> None:
    """Build the sandbox anew; `readable` is the setting of that name."""
    border = build_border(HeldRoot(cell.root), cell.temporary, home=cell.home, readable=readable)
    cell.sandbox = make(cell.kind, border)
