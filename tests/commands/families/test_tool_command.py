"""`robota tool`: the tools by hand, through the same executor, policy and log as in a task."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cli import Robota


def outcome(robota: Robota, tool: str, *options: str, code: int = 0, **arguments: object) -> dict[str, Any]:
    finished = robota("tool", "run", tool, "--args", json.dumps(arguments), "--json", *options)
    assert finished.code == code, finished.stderr
    result: dict[str, Any] = json.loads(finished.stdout)
    return result


def test_the_list_names_every_tool_with_its_effects(robota: Robota) -> None:
    shown = robota("tool", "list")
    assert shown.code == 0
    assert "search_files" in shown.stdout and "Grep" in shown.stdout and "network" in shown.stdout
    tools = {tool["name"]: tool for tool in json.loads(robota("tool", "list", "--json").stdout)}
    assert tools["web_fetch"]["label"] == "WebFetch"
    assert tools["web_fetch"]["effects"] == ["network"]
    assert tools["read_file"]["schema"]["required"] == ["path"]
    assert "write_file" in tools["write_to_file"]["aliases"]


def test_a_tool_runs_without_provider_and_settings(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("hello\n")
    finished = robota("tool", "run", "Read", "--args", '{"path": "a.txt"}')
    assert (finished.code, finished.stdout) == (0, "File: a.txt\n1 | hello\n")
    assert {path.name for path in (robota.home / ".robota").iterdir()} == {"heads"}  # of the log, nothing of settings


def test_the_arguments_may_come_after_the_options(robota: Robota) -> None:
    """As in `tool run NAME --permission-mode MODE '{}'`."""
    (robota.workspace / "a.txt").write_text("alpha\n")
    done = robota("tool", "run", "read_file", "--permission-mode", "plan", '{"path": "a.txt"}', "--json")
    assert done.code == 0 and "alpha" in done.stdout, done.stderr


def test_the_outcome_as_json(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("needle\n")
    result = outcome(robota, "search_files", path=".", regex="needle")
    assert set(result) == {"tool", "status", "content", "is_error", "view", "reason"}
    assert (result["tool"], result["status"], result["is_error"]) == ("search_files", "success", False)
    assert result["view"]["kind"] == "text"


def test_what_needs_permission_is_refused_and_says_how_to_allow_it(robota: Robota) -> None:
    result = outcome(robota, "write_to_file", path="new.txt", content="x", code=1)
    assert (result["status"], result["is_error"]) == ("denied", True)
    assert "acceptEdits" in result["reason"]
    assert not (robota.workspace / "new.txt").exists()
    plain = robota("tool", "run", "write_to_file", "--args", '{"path": "new.txt", "content": "x"}')
    assert (plain.code, plain.stdout) == (1, "")
    assert "denied" in plain.stderr


@pytest.mark.parametrize(
    "options", [("--permission-mode", "acceptEdits"), ("--allowed-tools", "Write(*.txt)"), ("--allowedTools", "Write")]
)
def test_permission_is_given_as_in_print_mode(robota: Robota, options: tuple[str, ...]) -> None:
    assert outcome(robota, "Write", *options, path="new.txt", content="x\n")["status"] == "success"
    assert (robota.workspace / "new.txt").read_text() == "x\n"


def test_an_existing_file_can_be_replaced_in_one_call(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("old\n")
    outcome(robota, "Write", "--permission-mode", "acceptEdits", path="a.txt", content="new\n")
    assert (robota.workspace / "a.txt").read_text() == "new\n"


def test_a_rule_can_forbid(robota: Robota) -> None:
    result = outcome(robota, "list_files", "--disallowed-tools", "List", path=".", code=1)
    assert result["status"] == "denied"


def test_a_failure_of_the_tool_is_exit_1(robota: Robota) -> None:
    assert outcome(robota, "read_file", path="gone", code=1)["status"] == "error"
    assert "Invalid arguments" in outcome(robota, "read_file", nonsense="gone", code=1)["content"]
    assert "unclosed group" in outcome(robota, "Grep", path=".", regex="(", code=1)["content"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("new_task", {"mode": "code", "message": "x"}),
        ("attempt_completion", {"result": "x"}),
        ("ask_followup_question", {"question": "x", "follow_up": [{"text": "y"}]}),
        ("update_todo_list", {"todos": "[ ] x"}),
    ],
)
def test_tools_that_steer_a_task_say_that_they_need_one(
    robota: Robota, tool: str, arguments: dict[str, object]
) -> None:
    result = outcome(robota, tool, code=1, **arguments)
    assert result["content"].startswith(f"{tool} works only in a task")


def test_arguments_come_from_a_file_or_standard_input_too(robota: Robota, tmp_path: Path) -> None:
    (robota.workspace / "a.txt").write_text("hello\n")
    file = tmp_path / "arguments.json"
    file.write_text('{"path": "a.txt"}')
    assert "hello" in robota("tool", "run", "read_file", "--args", f"@{file}").stdout
    assert "hello" in robota("tool", "run", "read_file", "--args", "-", stdin='{"path": "a.txt"}').stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "no_such_tool"], "There is no tool 'no_such_tool'"),
        (["run", "read_file", "--args", "{"], "not JSON"),
        (["run", "read_file", "--args", "[1]"], "JSON object"),
        (["run", "read_file", "--args", "@gone.json"], "cannot be read from gone.json"),
        (["run", "read_file", "--cwd", "gone"], "cannot be used"),
        (["run", "read_file", "--allowed-tools", "Nope"], "no tool called 'Nope'"),
        (["run", "read_file", "--permission-mode", "x"], "'x' is not one of plan, default"),
        (["run", "read_file", "{}", "--args", "{}"], "given twice"),
        (["run"], "Missing: NAME."),
        ([], "list      list the tools"),
    ],
)
def test_wrong_usage_is_exit_2_and_runs_nothing(robota: Robota, words: list[str], message: str) -> None:
    finished = robota("tool", *words)
    assert (finished.code, finished.stdout) == (2, "")
    assert message in finished.stderr
    assert not (robota.workspace / ".robota/sessions").exists()


def test_the_call_is_in_a_log_that_can_be_verified(robota: Robota) -> None:
    outcome(robota, "Write", "--permission-mode", "acceptEdits", path="a.txt", content="x")
    [session] = json.loads(robota("sessions", "list", "--json").stdout)
    assert session["header"]["name"] == "tool run write_to_file"
    assert robota("sessions", "verify", session["id"]).code == 0
    lines = [json.loads(line) for line in Path(session["path"]).read_text().splitlines()]
    records = {line["kind"]: line["payload"] for line in lines}
    assert records["toolStart"]["input"] == {"path": "a.txt", "content": "x"}
    assert records["verdict"]["decision"] == "allow"
    assert records["toolEnd"]["status"] == "success"
    assert records["turn"]["turn"]["content"][0]["type"] == "tool_result"
    assert records["end"]["outcome"] == "completed"


def test_the_list_loads_neither_engine_nor_network(robota: Robota) -> None:
    code = (
        "import sys; from robota.cli.main import main; main(['tool', 'list'])\n"
        "print(*({'robota.app', 'robota.engine', 'httpx2', 'selectolax', 'pathspec'} & set(sys.modules)))"
    )
    assert robota.python("-c", code).stdout.endswith("\n\n")


def test_the_arguments_can_stand_after_the_name_and_an_error_is_in_words(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("hello\n")
    assert "hello" in robota("tool", "run", "Read", '{"path": "a.txt"}').stdout
    finished = robota("tool", "run", "Read", '{"path": "gone.txt"}')
    assert finished.code == 1 and "'gone.txt' does not exist. Find it with glob" in finished.stderr


def test_what_a_rule_forbids_to_read_is_not_found_by_a_search(robota: Robota) -> None:
    (robota.workspace / "secrets").mkdir()
    (robota.workspace / "secrets" / "a.txt").write_text("needle in secrets\n")
    (robota.workspace / "b.txt").write_text("needle in b\n")
    rule = ("--disallowed-tools", "Read(secrets/**)")
    found = robota("tool", "run", "search_files", "--args", json.dumps({"path": ".", "regex": "needle"}), *rule)
    assert "needle in b" in found.stdout and "secrets" not in found.stdout
    read = robota("tool", "run", "read_file", "--args", json.dumps({"path": "secrets/a.txt"}), *rule)
    assert "needle" not in read.stdout
