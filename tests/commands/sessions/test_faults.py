"""Sessions on a machine where something is wrong: a clear word, no traceback, and nothing is lost."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.scripts import call, script, sessions
from tests.harness.cli import EXECUTABLE, Finished, Robota, clean_environment, run

NEW_MOUNTS = ("unshare", "--map-root-user", "--mount")
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && cd "$PWD" && exec "$@"'

needs_mounts = pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.run([*NEW_MOUNTS, "true"], capture_output=True).returncode != 0,
    reason="no mounts of our own here",
)


@pytest.fixture
def session(robota: Robota) -> str:
    """A session that changed a file, and its id."""
    (robota.workspace / "a.txt").write_text("old\n")
    edit = call("edit_file", path="a.txt", old_string="old", new_string="new")
    script(robota, {"calls": [edit]}, {"text": "needle"})
    assert robota("-p", "go", "--permission-mode", "acceptEdits").code == 0
    [directory] = sessions(robota)
    return directory.name


def on_read_only(robota: Robota, place: Path, *arguments: str) -> Finished:
    command = [*NEW_MOUNTS, "sh", "-c", READ_ONLY, str(place), str(EXECUTABLE), *arguments]
    return run(command, robota.workspace, clean_environment(robota.home), "")


@needs_mounts
@pytest.mark.parametrize("action", ["list", "search needle", "show", "export", "fork"])
@pytest.mark.parametrize("place", ["home", "workspace"])
def test_what_can_be_done_on_a_read_only_disk_is_done(robota: Robota, session: str, place: str, action: str) -> None:
    """The home or the workspace cannot be written."""
    words = action.split() if action in ("list", "search needle") else [action, session]
    done = on_read_only(robota, getattr(robota, place), "sessions", *words)
    assert done.code == 0 and "Traceback" not in done.stderr, done


@needs_mounts
@pytest.mark.parametrize(
    "arguments", [("-c", "-p", "more"), ("answer", "ID", "more"), ("sessions", "rename", "ID", "n"), ("rewind",)]
)
def test_what_cannot_be_done_on_a_read_only_disk_is_said(
    robota: Robota, session: str, arguments: tuple[str, ...]
) -> None:
    """Resuming, renaming and restoring need a writable disk."""
    if arguments == ("rewind",):
        arguments = ("rewind", "restore", "1", "--yes")
    log = sessions(robota)[0] / "log.jsonl"
    before = log.read_bytes()
    done = on_read_only(robota, robota.workspace, *(session if each == "ID" else each for each in arguments))
    assert done.code in (1, 3) and "Read-only file system. Nothing was changed" in done.stderr, done
    assert log.read_bytes() == before and (robota.workspace / "a.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    "arguments", ["sessions list", "sessions search x", "sessions show ID", "state ID", "rewind list", "-c -p x"]
)
def test_a_working_directory_that_was_deleted(robota: Robota, session: str, arguments: str) -> None:
    (robota.workspace / "gone").mkdir()
    words = arguments.replace("ID", session).split()
    command = ["bash", "-c", 'cd gone && rmdir ../gone && exec "$@"', "gone", str(EXECUTABLE), *words]
    done = run(command, robota.workspace, clean_environment(robota.home), "")
    assert done.code in (1, 3) and "cannot be used: No such file or directory" in done.stderr, done
    assert "Traceback" not in done.stderr


def test_a_workspace_that_was_moved(robota: Robota, session: str) -> None:
    """Its sessions are found, and say where they were written."""
    moved = Robota(robota.workspace.with_name("moved"), robota.home)
    robota.workspace.rename(moved.workspace)
    assert "not written on this machine in this directory" in moved("sessions", "show", session).stderr
    refused = moved("-r", session, "-p", "more")
    assert refused.code == 3 and "--yes" in refused.stderr
    script(moved, {"text": "Here again."})
    assert moved("-r", session, "-p", "more", "--yes").stdout == "Here again.\n"


@pytest.mark.parametrize("arguments", ["sessions list", "sessions show ID", "sessions search needle", "state ID"])
def test_without_a_home(robota: Robota, session: str, arguments: str) -> None:
    """`$HOME` is missing, or is a file."""
    words = arguments.replace("ID", session).split()
    for home in ("", "/dev/null"):
        done = robota(*words, env={"HOME": home, "ROBOTA_HOME": home})
        assert done.code == 0 and "Traceback" not in done.stderr, done


def test_an_export_replaces_no_pipe_and_no_device(robota: Robota, session: str) -> None:
    os.mkfifo(robota.workspace / "pipe")
    done = robota("sessions", "export", session, "-o", "pipe", "--force")
    assert done.code == 1 and "not a regular file" in done.stderr
    assert stat.S_ISFIFO((robota.workspace / "pipe").lstat().st_mode)
