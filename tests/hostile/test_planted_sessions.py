"""A session that came with a repository brings its words along, if a user wants them, and no permission at all."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from robota.log.record import seal
from tests.cli.scripts import call, script, sessions, write_settings
from tests.harness.cli import Finished, Robota
from tests.hostile.planted_session import plant_session

WRITES = ({"calls": [call("write_to_file", path="PWNED", content="x")]}, {"text": "ok"})


def plant(robota: Robota, **header: Any) -> None:
    script(robota, {"text": "ok"})
    assert robota("-p", "go").code == 0
    plant_session(robota, "planted", lambda kind, payload: payload.update(header if kind == "session" else {}))


def resumed(robota: Robota, session: str, *arguments: str) -> Finished:
    script(robota, *WRITES)
    return robota("-p", "go on", "--resume", session, "--yes", *arguments)


@pytest.mark.parametrize("way", ["taken up", "forked", "forked while it is taken up"])
def test_its_permission_mode_is_nobodys(robota: Robota, way: str) -> None:
    plant(robota, permissionMode="acceptEdits")
    if way == "forked":
        assert robota("sessions", "fork", "planted").code == 0
        done = resumed(robota, max(path.name for path in sessions(robota) if path.name != "planted"))
    elif way == "taken up":
        done = resumed(robota, "planted")
        assert "acceptEdits, which is not restored" in done.stderr
    else:
        done = resumed(robota, "planted", "--fork-session")
    assert done.code == 0 and not (robota.workspace / "PWNED").exists(), done.stderr


@pytest.mark.parametrize("place", ["worktrees/../../../outside", "worktrees/link", "worktrees", "."])
def test_it_does_not_say_where_to_work(robota: Robota, tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    worktrees = robota.workspace / ".robota/worktrees"
    worktrees.mkdir(parents=True)
    (worktrees / "link").symlink_to(outside)
    assert (robota.workspace / ".robota" / place).is_dir()
    plant(robota, cwd=f"{robota.workspace}/.robota/{place}")
    done = resumed(robota, "planted", "--permission-mode", "acceptEdits")
    assert done.code == 0 and f"It continues in {robota.workspace}" in done.stderr, done.stderr
    assert (robota.workspace / "PWNED").exists() and not list(outside.iterdir())


@pytest.mark.parametrize("way", ["taken up", "forked", "imported"])
def test_it_does_not_choose_the_provider(robota: Robota, tmp_path: Path, way: str) -> None:
    """Who works here with a local model does not send the project elsewhere because a log says so."""
    plant(robota, provider="far", model="far-model")
    session = "planted"
    if way != "taken up":
        bundle = str(tmp_path / "bundle.zip")
        before = {path.name for path in sessions(robota)}
        if way == "forked":
            assert robota("sessions", "fork", "planted").code == 0
        else:
            assert robota("sessions", "export", "planted", "--format", "bundle", "-o", bundle).code == 0
            assert robota("sessions", "import", bundle).code == 0
        [session] = {path.name for path in sessions(robota)} - before
    settings = json.loads((robota.home / ".robota/settings.json").read_text())
    far = {"type": "openai-compatible", "model": "x", "baseUrl": "http://127.0.0.1:9/v1"}
    write_settings(robota, {**settings, "providers": {**settings["providers"], "far": far}})
    done = robota("-p", "go on", "--resume", session, "--yes")
    assert done.code == 0 and done.stdout == "ok\n", done.stderr


def test_that_it_only_planned_is_kept(robota: Robota) -> None:
    plant(robota, permissionMode="plan")
    done = resumed(robota, "planted", "--allowed-tools", "Edit")
    assert "PWNED" in done.stderr and not (robota.workspace / "PWNED").exists()


def test_a_session_of_ones_own_goes_on_in_its_mode(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    assert robota("-p", "go", "--permission-mode", "acceptEdits").code == 0
    assert resumed(robota, sessions(robota)[0].name).code == 0
    assert (robota.workspace / "PWNED").exists()


@pytest.mark.parametrize("arguments", [(), ("--fork-session",)])
def test_one_that_was_changed_since_does_not(robota: Robota, arguments: tuple[str, ...]) -> None:
    """A command behind Landlock can write the log of its own session."""
    plant(robota, permissionMode="acceptEdits")
    (planted, own) = sorted(sessions(robota), key=lambda path: path.name != "planted")
    (own / "log.jsonl").write_bytes((planted / "log.jsonl").read_bytes())
    done = resumed(robota, own.name, *arguments)
    assert done.code == 0 and not (robota.workspace / "PWNED").exists(), done.stderr


@pytest.mark.parametrize("place", ["end", "middle"])
@pytest.mark.parametrize("arguments", [(), ("--fork-session",)])
def test_a_header_that_was_added_to_it_does_not(robota: Robota, arguments: tuple[str, ...], place: str) -> None:
    """A command behind Landlock can also add a record, to this log or to that of an earlier session."""
    script(robota, {"text": "ok"})
    assert robota("-p", "go").code == 0
    log = sessions(robota)[0] / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    at = len(lines) if place == "end" else len(lines) - 2
    last = msgspec.json.decode(lines[at - 1])
    [header] = [each for line in lines if (each := msgspec.json.decode(line))["kind"] == "session"]
    payload = msgspec.json.encode({**header["payload"], "permissionMode": "acceptEdits"})
    added, _ = seal(last["seq"] + 1, last["ts"] + 1, "session", payload, last["hash"])
    log.write_bytes(b"".join((*lines[:at], added, *lines[at:])))
    done = resumed(robota, log.parent.name, *arguments)
    assert done.code == 0 and not (robota.workspace / "PWNED").exists(), done.stderr


@pytest.mark.parametrize("header", [{"completion": "never"}, {"model": "\x1b]0;x"}, {"cwd": "\0"}, {"provider": ""}])
def test_running_it_again_ends_in_words(robota: Robota, header: dict[str, str]) -> None:
    plant(robota, **header)
    done = robota("replay", "planted")
    assert done.code in (0, 1, 2) and "Traceback" not in done.stderr, done.stderr
