"""A program that misses something in the hidden home: what exists there is named, and how to open it."""

import asyncio
from pathlib import Path

import pytest

from robota.workspace.process.foreground import CommandOutcome
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.sandbox.session_sandbox import SessionSandbox


def ran(command: str, home: Path, root: Path) -> CommandOutcome:
    sandbox = SessionSandbox(root, home=home)
    processes = LocalProcesses(wrap=sandbox.wrap)
    try:
        if sandbox.backend.kind == "none":
            pytest.skip("no sandbox")
        outcome = asyncio.run(processes.run(command, root, 60, lambda _: None))
        assert isinstance(outcome, CommandOutcome)
        return outcome
    finally:
        processes.close()
        sandbox.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home/.tool").mkdir(parents=True)
    (tmp_path / "home/.tool/settings.toml").write_text("x = 1\n")
    (tmp_path / "ws").mkdir()
    return tmp_path / "home"


def test_a_hidden_file_that_a_failed_command_asks_for_is_named(home: Path, tmp_path: Path) -> None:
    place = home / ".tool/settings.toml"
    (told,) = ran(f"cat {place}", home, tmp_path / "ws").missed_places
    assert f"{str(place)!r} exists, but is hidden" in told
    assert f"robota config set sandbox.readable {place} --add" in told


@pytest.mark.parametrize("command", ["cat {home}/.tool/settings.toml || true", "cat {home}/nothing", "cat {home}/../x"])
def test_nothing_is_said_about_what_does_not_exist_or_did_not_matter(home: Path, tmp_path: Path, command: str) -> None:
    assert ran(command.format(home=home), home, tmp_path / "ws").missed_places == ()
