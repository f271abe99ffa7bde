"""Pipes and places without permission where files of the user are expected: told at once, waited for never."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.scripts import script
from tests.harness.cli import EXECUTABLE, Robota, clean_environment

SETPRIV = shutil.which("setpriv")
# Root may enter everything; without these it is like everybody else.
POWERLESS = (
    [SETPRIV or "", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"] if os.geteuid() == 0 else []
)


@pytest.mark.parametrize(
    "arguments",
    [("-p", "hello"), ("config", "show"), ("config", "set", "language", "de"), ("--reset", "--yes"), ("doctor",)],
)
def test_settings_that_are_a_pipe_are_told_and_not_waited_for(robota: Robota, arguments: tuple[str, ...]) -> None:
    """Opening a pipe that nobody writes to would never return."""
    place = robota.home / ".robota"
    place.mkdir()
    os.mkfifo(place / "settings.json")
    done = robota(*arguments)
    assert done.code != 0 or arguments[0] == "config"
    assert "not a plain file" in done.stderr + done.stdout


@pytest.mark.parametrize("name", ["robota.lock", "update-check.json", "modes.yaml"])
def test_other_files_of_the_user_that_are_pipes_do_not_hang(robota: Robota, name: str) -> None:
    script(robota, {"text": "ok"})
    os.mkfifo(robota.home / ".robota" / name)
    settings = robota.workspace / ".robota/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "other"}')
    assert robota("-p", "hello").code == 0


@pytest.mark.skipif(os.geteuid() == 0 and SETPRIV is None, reason="root may enter every directory")
def test_a_project_directory_that_may_not_be_entered_falls_back(robota: Robota) -> None:
    """The session is stored in the user's home instead."""
    script(robota, {"text": "ok"})
    closed: Path = robota.workspace / ".robota"
    closed.mkdir()
    closed.chmod(0)
    try:
        for arguments in (("-p", "hello"), ("sessions", "list")):
            done = subprocess.run(
                [*POWERLESS, str(EXECUTABLE), *arguments],
                cwd=robota.workspace,
                env=clean_environment(robota.home),
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert "PermissionError" not in done.stderr
    finally:
        closed.chmod(0o700)
    assert list(robota.home.glob(".robota/projects/*/sessions/*"))
