"""The directory that commands see as /tmp is gone after the session, whatever they did in it, and however it ended."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robota.workspace.problems import CommandNotStarted
from robota.workspace.sandbox.private_tmp import PREFIX, PrivateTmp
from robota.workspace.sandbox.session_sandbox import SessionSandbox

HOLD = """
import sys
from pathlib import Path
from robota.workspace.sandbox.private_tmp import PrivateTmp
held = PrivateTmp([Path(sys.argv[1])])
print(held.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
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
    (place / "ws").mkdir()
    sandbox = SessionSandbox(place / "ws", home=None, user_directory=place / "user")
    temporary = sandbox.backend.border.temporary
    assert temporary.is_relative_to(place / "user")
    subprocess.run(["bash", "-c", leave.format(temporary)], check=True)
    sandbox.close()
    assert not list((place / "ws").iterdir()) and not list((place / "user" / "tmp").iterdir())


def test_commands_cannot_put_a_link_in_place_of_their_tmp(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next command would have what the link leads to as its /tmp, writable."""
    root, outside = place / "ws", place / "outside"
    for directory in (root / "tmp", outside):
        directory.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(root / "tmp"))
    sandbox = SessionSandbox(root, home=None, user_directory=place / "user")
    replace = f"for each in tmp/*; do mv $each aside; ln -s {outside} $each; done; true"
    for command in (replace, "touch /tmp/mine"):
        wrapped = sandbox.wrap(["/bin/bash", "-c", command], root)
        if not wrapped.is_sandboxed:
            pytest.skip("no sandbox works here")
        subprocess.run(wrapped.argv, pass_fds=wrapped.descriptors, cwd=root, check=False, capture_output=True)
        wrapped.clean_up()
    sandbox.close()
    assert not list(outside.iterdir())


def test_without_a_place_that_commands_cannot_write_no_command_runs(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with pytest.raises(CommandNotStarted, match="inside the workspace"):
        SessionSandbox(place, home=None).wrap(["true"], place)


@pytest.mark.parametrize(("root", "user"), [("ws", "ws/own"), ("user/ws", "user"), ("ws", "ws"), ("ws", "ws/link/own")])
def test_robotas_own_directory_and_the_workspace_are_not_one_in_the_other(place: Path, root: str, user: str) -> None:
    """A command could move a directory that contains Robota's, and so get at its state."""
    (place / root).mkdir(parents=True)
    (place / "ws").mkdir(exist_ok=True)
    (place / "ws" / "link").symlink_to(".")
    with pytest.raises(CommandNotStarted, match="Set ROBOTA_HOME to a directory elsewhere"):
        SessionSandbox(place / root, home=None, user_directory=place / user).wrap(["true"], place / root)


def test_leftovers_of_a_killed_session_are_removed_and_those_of_a_running_one_kept(place: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        held = grown_old(Path(other.stdout.readline().strip()))
        PrivateTmp([place]).remove()
        assert held.is_dir()
        other.kill()
    PrivateTmp([place]).remove()
    assert not list(place.iterdir())


def test_what_is_young_or_no_directory_of_ours_stays(place: Path) -> None:
    (place / f"{PREFIX}young").mkdir()
    grown_old(place / f"{PREFIX}young").touch()
    (place / f"{PREFIX}link").symlink_to("/")
    (place / f"{PREFIX}file").touch()
    grown_old(place / f"{PREFIX}file")
    PrivateTmp([place]).remove()
    assert sorted(entry.name for entry in place.iterdir()) == [f"{PREFIX}{name}" for name in ("file", "link", "young")]
