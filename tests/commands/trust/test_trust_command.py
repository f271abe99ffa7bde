"""Trust as a user meets it: on the command line, at a terminal and in scripts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import EXECUTABLE, Robota, clean_environment, run
from tests.harness.terminal import Terminal

ALLOW_TOUCH: dict[str, Any] = {"permissions": {"allow": ["Bash(touch *)"]}}
QUIET = {"ROBOTA_DISABLE_UPDATE_CHECK": "1"}


def project(robota: Robota, value: Any, name: str = ".robota/settings.json") -> Path:
    path = robota.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def touches(robota: Robota, *arguments: str) -> bool:
    """Whether a run whose model touches a file is allowed to."""
    (robota.workspace / "x").unlink(missing_ok=True)
    script(robota, {"calls": [call("execute_command", command="touch x")]}, {"text": "done"})
    assert robota("-p", "go", *arguments).code == 0
    return (robota.workspace / "x").exists()


def test_headless_in_an_untrusted_workspace_ignores_its_configuration_and_says_so(robota: Robota) -> None:
    project(robota, {**ALLOW_TOUCH, "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "id"}]}]}})
    script(robota, {"calls": [call("execute_command", command="touch x")]}, {"text": "done"})
    done = robota("-p", "go")
    assert done.code == 0 and not (robota.workspace / "x").exists()
    assert "not trusted" in done.stderr and "permissions.allow, hooks" in done.stderr and "robota trust" in done.stderr


def test_with_require_trust_nothing_starts(robota: Robota) -> None:
    project(robota, ALLOW_TOUCH)
    script(robota, {"text": "ok"})
    done = robota("-p", "go", "--require-trust", "--output-format", "json")
    assert done.code == 3 and json.loads(done.stdout)["is_error"] and "Nothing was started" in done.stderr
    assert not (robota.workspace / ".robota/sessions").exists()
    assert robota("trust", "--yes").code == 0
    assert robota("-p", "go", "--require-trust").code == 0


def test_trust_makes_the_rules_of_a_workspace_count_until_they_change(robota: Robota) -> None:
    project(robota, ALLOW_TOUCH)
    assert not touches(robota)
    assert robota("trust", "--show").code == 1
    assert robota("trust", "--yes").code == 0
    assert robota("trust", "--show").code == 0
    assert touches(robota)
    project(robota, {"permissions": {"allow": ["Bash"]}})
    shown = robota("trust", "--show")
    assert shown.code == 1 and '-{"permissions": {"allow": ["Bash(touch *)"]}}' in shown.stdout
    assert not touches(robota)
    assert robota("trust", "--yes").code == 0 and touches(robota)
    assert robota("trust", "--revoke").code == 0
    assert not touches(robota)


def test_deny_rules_of_an_untrusted_workspace_count(robota: Robota) -> None:
    project(robota, {"permissions": {"deny": ["Bash(touch *)", "No such rule("]}}, ".claude/settings.json")
    assert not touches(robota, "--permission-mode", "bypassPermissions")


@pytest.mark.parametrize("name", [".robota/settings.json", ".claude/settings.json"])
def test_a_repository_cannot_choose_provider_or_mode_even_if_trusted(robota: Robota, name: str) -> None:
    theirs = {"currentProvider": "evil", "providers": {"evil": {"type": "scripted"}}, "sandbox": {"enabled": False}}
    project(robota, {**theirs, "permissions": {"defaultMode": "bypassPermissions"}}, name)
    assert robota("trust", "--yes").code == 0
    assert not touches(robota)
    done = robota("-p", "go")
    assert "permissions.defaultMode" in done.stderr and "sandbox" in done.stderr


def test_nothing_of_a_hostile_clone_runs_before_trust(robota: Robota) -> None:
    command = "touch ran"
    hook = {"hooks": [{"type": "command", "command": command}]}
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")
    hostile = {
        "hooks": {event: [hook] for event in events},
        "statusLine": {"type": "command", "command": command},
        "apiKeyHelper": command,
        "mcpServers": {"x": {"command": "touch", "args": ["ran"]}},
    }
    project(robota, hostile)
    project(robota, hostile, ".claude/settings.json")
    project(robota, {"mcpServers": {"x": {"command": "touch", "args": ["ran"]}}}, ".mcp.json")
    (robota.workspace / ".env").write_text("ROBOTA_PERMISSION_MODE=bypassPermissions\n")
    assert not touches(robota)
    assert robota("config", "show").code == 0 and robota("trust", "--show").code == 1
    assert robota("doctor").code in (0, 1)
    assert not (robota.workspace / "ran").exists()


def test_at_a_terminal_it_is_asked_once_with_a_list(robota: Robota) -> None:
    project(robota, ALLOW_TOUCH)
    script(robota, {"text": "ok"})
    with Terminal(robota, "hello", env=QUIET) as terminal:
        terminal.wait_for(".robota/settings.json")
        terminal.answer("Do you trust it?", "y")
        assert terminal.hang_up() == 0, terminal.screen
    with Terminal(robota, "hello", env=QUIET) as terminal:
        assert terminal.hang_up() == 0
        assert "trust" not in terminal.screen
    project(robota, {"permissions": {"allow": ["Bash"]}})
    with Terminal(robota, "hello", env=QUIET) as terminal:
        terminal.wait_for('+{"permissions": {"allow": ["Bash"]}}')
        terminal.answer("Do you trust it?", "n")
        assert terminal.hang_up() == 0
        assert terminal.screen.count("ignored") == 1, "said once, by the session that begins"
    with Terminal(robota, "hello", env=QUIET) as terminal:
        assert terminal.hang_up() == 0
        assert "Do you trust it?" not in terminal.screen


def test_at_a_terminal_files_that_programs_of_the_user_would_run_are_asked_about_once(robota: Robota) -> None:
    """A workspace without configuration: what a relative path in the user's own settings finds there is foreign."""
    program = robota.workspace / "scripts" / "start.sh"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    script(robota, {"text": "ok"})
    path = robota.home / ".robota/settings.json"
    hook = {"SessionStart": [{"hooks": [{"type": "command", "command": "scripts/start.sh"}]}]}
    path.write_text(json.dumps({**json.loads(path.read_text()), "hooks": hook}))
    with Terminal(robota, "hello", env=QUIET) as terminal:
        terminal.wait_for("scripts/start.sh")
        terminal.answer("Do you trust it?", "n")
        assert terminal.hang_up() == 0, terminal.screen
    with Terminal(robota, "hello", env=QUIET) as terminal:
        assert terminal.hang_up() == 0
        assert "Do you trust it?" not in terminal.screen
    assert not (robota.workspace / "ran").exists()
    with Terminal(robota, "trust") as terminal:
        terminal.wait_for("scripts/start.sh")
        terminal.answer("Do you trust it?", "y")
        terminal.wait_for("Trusted.")
    with Terminal(robota, "hello", env=QUIET) as terminal:
        assert terminal.hang_up() == 0
        assert "Do you trust it?" not in terminal.screen
    assert (robota.workspace / "ran").exists()


def test_leaving_the_question_decides_nothing(robota: Robota) -> None:
    project(robota, ALLOW_TOUCH)
    with Terminal(robota, "trust") as terminal:
        terminal.wait_for("Do you trust it?")
        assert terminal.leave("\x04") == 1
    assert not (robota.home / ".robota/robota.lock").exists()


def test_without_a_terminal_nothing_is_trusted_by_itself(robota: Robota) -> None:
    project(robota, ALLOW_TOUCH)
    done = robota("trust")
    assert done.code == 1 and "robota trust --yes" in done.stderr
    assert not (robota.home / ".robota/robota.lock").exists()


def test_a_workspace_without_configuration_is_never_asked_about(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    with Terminal(robota, "hello", env=QUIET) as terminal:
        assert terminal.hang_up() == 0
    assert "trust" not in terminal.screen
    assert robota("trust").code == 0


def test_home_is_warned_about_and_its_own_settings_are_not_a_project(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    done = robota("-p", "x", "--cwd", str(robota.home))
    assert done.code == 0 and "home directory" in done.stderr and "ignored" not in done.stderr
    assert robota("trust", "--cwd", str(robota.home)).code == 0


def test_a_deleted_directory_is_a_clear_error(robota: Robota, tmp_path: Path) -> None:
    script(robota, {"text": "ok"})
    gone = tmp_path / "gone"
    gone.mkdir()
    for arguments in ("-p x", "trust", "config show", "doctor"):
        command = f'cd "{gone}" && rmdir "{gone}" && exec "{EXECUTABLE}" {arguments}'
        done = run(["/bin/sh", "-c", command], tmp_path, clean_environment(robota.home), "")
        gone.mkdir()
        assert done.code in (1, 3) and "cannot be used" in done.stderr, (arguments, done)
        assert "Traceback" not in done.stderr


def test_the_root_of_the_file_system(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    done = robota("trust", "--show", "--cwd", os.sep)
    assert done.code == 0 and "root of the file system" in done.stdout
