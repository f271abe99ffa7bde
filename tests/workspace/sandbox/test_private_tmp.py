"""The directory that commands see as /tmp is gone after the session, whatever they did in it, and however it ended."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robota.workspace.sandbox.private_tmp import PREFIX, PrivateTmp
from robota.workspace.sandbox.session_sandbox import SessionSandbox

HOLD = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from robota.workspace.sandbox.private_tmp import PrivateTmp
held = PrivateTmp()
print(held.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def grown_old(directory: Path) -> Path:
    an_hour_ago = time.time() - 3600
    os.utime(directory, (an_hour_ago, an_hour_ago))
    return directory


@pytest.mark.parametrize(
    "leave",
    [
        "mkdir -p {0}/a/b && touch {0}/a/c && chmod 555 {0}/a",
        "mkdir -p {0}/a/b && chmod 0 {0}/a/b {0}/a",
        "ln -s / {0}/link && mkfifo {0}/pipe && ln -s nowhere {0}/broken",
        "cd {0} && exec python3 -c \"import os; [os.mkdir('a') or os.chdir('a') for _ in range(1100)]\"",
    ],
)
def test_nothing_stays_whatever_was_left_in_it(place: Path, leave: str) -> None:
    sandbox = SessionSandbox(place, home=None)
    temporary = sandbox.backend.border.temporary
    subprocess.run(["bash", "-c", leave.format(temporary)], check=True)
    sandbox.close()
    assert not list(place.iterdir())


def test_leftovers_of_a_killed_session_are_removed_and_those_of_a_running_one_kept(place: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        held = grown_old(Path(other.stdout.readline().strip()))
        PrivateTmp().remove()
        assert held.is_dir()
        other.kill()
    PrivateTmp().remove()
    assert not list(place.iterdir())


def test_what_is_young_or_no_directory_of_ours_stays(place: Path) -> None:
    (place / f"{PREFIX}young").mkdir()
    grown_old(place / f"{PREFIX}young").touch()
    (place / f"{PREFIX}link").symlink_to("/")
    (place / f"{PREFIX}file").touch()
    grown_old(place / f"{PREFIX}file")
    PrivateTmp().remove()
    assert sorted(entry.name for entry in place.iterdir()) == [f"{PREFIX}{name}" for name in ("file", "link", "young")]
