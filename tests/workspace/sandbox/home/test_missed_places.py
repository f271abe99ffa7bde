"""A program that misses something in the hidden home: it is told how to open it, and never whether it exists."""

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
    assert f"{str(place)!r} is hidden" in told
    assert f"robota config set sandbox.readable {place} --add" in told


def test_what_is_said_does_not_depend_on_what_exists(home: Path, tmp_path: Path) -> None:
    """A command can print any path, and the model reads what is said about it."""
    (present,) = ran("echo ~/.tool/settings.toml: not found; exit 1", home, tmp_path / "ws").missed_places
    (absent,) = ran("echo ~/.tool/settings.json: not found; exit 1", home, tmp_path / "ws").missed_places
    assert present.replace("toml", "json") == absent


@pytest.mark.parametrize("command", ["cat {home}/.tool/settings.toml || true", "cat {home}/../x"])
def test_nothing_is_said_about_other_places_or_what_did_not_matter(home: Path, tmp_path: Path, command: str) -> None:
    assert ran(command.format(home=home), home, tmp_path / "ws").missed_places == ()


def test_nothing_is_said_about_what_commands_can_see(home: Path) -> None:
    (home / "ws").mkdir()
    assert ran(f"cat {home}/ws/nothing", home, home / "ws").missed_places == ()
