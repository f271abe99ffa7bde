"""Programs decide by tool and input: what they are asked about is what will run, and nothing else looks like it."""

import json
from typing import Any

import pytest

from robota.clients.control.permission import KEPT_FILES
from tests.cli.scripts import call, script
from tests.clients.control.test_lines import ASKING, prompt, request, start
from tests.harness.cli import Robota
from tests.harness.programs import needs

TEST = {"command": "./test.sh"}


def asked_by(robota: Robota, *options: str, allows: dict[str, Any], text: str = "go") -> list[dict[str, Any]]:
    """The requests for approval of a turn; the program allows calls with exactly this input."""
    asked: list[dict[str, Any]] = []
    with start(robota, [*ASKING, *options]) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(request("1", "initialize", hooks=None) + "\n" + prompt(text) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            read = json.loads(line)
            if read["type"] == "result":
                asked.append(read)
                break
            if read["type"] != "control_request":
                continue
            wanted = read["request"]
            asked.append(wanted)
            is_allowed = wanted["tool_name"] == "Bash" and wanted["input"] == allows
            answer = (
                {"behavior": "allow", "updatedInput": wanted["input"]}
                if is_allowed
                else {"behavior": "deny", "message": "no"}
            )
            response = {"subtype": "success", "request_id": read["request_id"], "response": answer}
            process.stdin.write(json.dumps({"type": "control_response", "response": response}) + "\n")
            process.stdin.flush()
        process.stdin.close()
        process.wait(timeout=60)
    return asked


@needs("bwrap")
def test_a_second_try_outside_the_sandbox_is_not_taken_for_the_first(robota: Robota) -> None:
    """The script of a repository can fail as it likes."""
    test = robota.workspace / "test.sh"
    test.write_text("#!/bin/sh\necho x >> runs\necho 'sh: 1: cannot create /etc/x: Read-only file system'\nexit 2\n")
    test.chmod(0o755)
    script(robota, {"calls": [call("execute_command", command="./test.sh")]}, {"text": "Done."})
    first, second, result = asked_by(robota, allows=TEST)
    assert first["input"] == TEST
    assert second["input"]["dangerouslyDisableSandbox"] is True
    assert (robota.workspace / "runs").read_text() == "x\n" and result["result"] == "Done."


def test_what_a_hook_has_made_of_a_call_is_shown(robota: Robota) -> None:
    made = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "touch made"}}}
    hook = {"type": "command", "command": f"echo '{json.dumps(made)}'"}
    script(robota, {"calls": [call("execute_command", command="./test.sh")]}, {"text": "Done."})
    path = robota.home / ".robota/settings.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}))
    asked, _ = asked_by(robota, allows=TEST)
    assert asked["input"] == {"command": "touch made"}
    assert not (robota.workspace / "made").exists()


@needs("bwrap")
def test_a_file_that_an_allowed_command_leaves_behind_is_no_call(robota: Robota) -> None:
    command = "for i in 1; do mkdir sub; echo evil > sub/AGENTS.md; done"
    script(robota, {"calls": [call("execute_command", command=command)]}, {"text": "Done."})
    asked, _ = asked_by(robota, "--permission-mode", "confined", allows={"command": command})
    assert (asked["tool_name"], asked["input"]) == (KEPT_FILES, {"paths": ["sub/AGENTS.md"]})
    assert not (robota.workspace / "sub/AGENTS.md").exists()


def test_a_rule_that_depends_on_files_can_be_given_back(robota: Robota) -> None:
    (robota.workspace / "test.sh").write_text("#!/bin/sh\n")
    (robota.workspace / "test.sh").chmod(0o755)
    script(robota, {"calls": [call("execute_command", command="./test.sh")]}, {"text": "Done."})
    asked, _ = asked_by(robota, allows={})
    contents = [rule.get("ruleContent") for each in asked["permission_suggestions"] for rule in each["rules"]]
    assert all("#" not in content and ")" not in content for content in contents)


@pytest.mark.parametrize("text", ["/config set theme dark", "/memory add project build Use make."])
def test_a_prompt_that_begins_with_a_slash_changes_nothing(robota: Robota, text: str) -> None:
    """It may be the text of an issue, also where the program answers questions."""
    script(robota, {"text": "Done."})
    [result] = asked_by(robota, allows={}, text=text)
    assert "came as a prompt" in json.dumps(result)
    assert "dark" not in (robota.home / ".robota/settings.json").read_text()
