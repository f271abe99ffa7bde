"""`robota -p` as scripts and CI use it: what goes in, what comes out, and the exit code."""

import json
import os
from typing import Any

import pytest

from robota.log.chain.reader import load
from robota.log.chain.verify import verify
from tests.cli.scripts import call, script, sessions, write_settings
from tests.fakellm.server import running
from tests.harness.cli import Finished, Robota

RESULT_KEYS = {
    "type",
    "subtype",
    "is_error",
    "result",
    "session_id",
    "num_turns",
    "duration_ms",
    "usage",
    "total_cost_usd",
    "permission_denials",
    "terminal_reason",
}


def result_of(done: Finished) -> dict[str, Any]:
    (line,) = done.stdout.splitlines()
    result: dict[str, Any] = json.loads(line)
    assert result.keys() >= RESULT_KEYS and result["type"] == "result"
    return result


def test_the_answer_and_nothing_else_is_on_stdout(robota: Robota) -> None:
    script(robota, {"text": "Reading.", "calls": [call("list_files", path=".")]}, {"text": "Häuser: 3 €"})
    done = robota("-p", "how many?")
    assert (done.code, done.stdout, done.stderr) == (0, "Häuser: 3 €\n", "")


def test_json_is_one_object_with_usage_cost_and_denials(robota: Robota) -> None:
    script(
        robota,
        {"calls": [call("write_to_file", path="x", content="y")], "usage": {"input": 10, "output": 2, "cost": 0.5}},
        {"text": "Could not.", "usage": {"input": 20, "output": 3, "cacheRead": 5, "cost": 0.25}},
    )
    result = result_of(robota("-p", "write", "--output-format", "json", "--session-id", "my-id"))
    assert result["subtype"] == "success" and not result["is_error"] and result["result"] == "Could not."
    assert result["session_id"] == "my-id" and result["num_turns"] == 2 and result["total_cost_usd"] == 0.75
    assert result["usage"]["input_tokens"] == 30 and result["usage"]["cache_read_input_tokens"] == 5
    (denial,) = result["permission_denials"]
    assert denial["tool_name"] == "Write"
    assert denial["tool_input"] == {"file_path": f"{robota.workspace}/x", "content": "y"}
    assert not (robota.workspace / "x").exists()


def test_denials_are_named_on_stderr_in_text_mode(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="touch x")]}, {"text": "Not allowed."})
    done = robota("-p", "touch")
    assert done.code == 0 and done.stdout == "Not allowed.\n"
    assert "not allowed: Bash touch x" in done.stderr and "--allowed-tools 'Bash(touch x)'" in done.stderr


def test_stream_json_speaks_the_format_scripts_know(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("alpha\n")
    script(robota, {"text": "I read.", "calls": [call("read_file", path="a.txt")]}, {"text": "alpha"})
    done = robota("-p", "read", "--output-format", "stream-json", "--verbose")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["type"], line.get("subtype")) for line in lines] == [
        ("system", "init"),
        ("assistant", None),
        ("user", None),
        ("assistant", None),
        ("result", "success"),
    ]
    use = lines[1]["message"]["content"][1]
    answer = lines[2]["message"]["content"][0]
    assert use["name"] == "Read" and use["input"] == {"file_path": f"{robota.workspace}/a.txt"}
    assert {"Bash", "Edit", "Glob", "Grep", "Read", "Write"} < set(lines[0]["tools"])
    assert answer["tool_use_id"] == use["id"] and "alpha" in answer["content"]
    assert {line["session_id"] for line in lines} == {lines[0]["session_id"]}


def test_stream_json_has_our_own_names_on_request(robota: Robota) -> None:
    script(robota, {"calls": [call("read_file", path="a.txt")]}, {"text": "alpha"})
    done = robota("-p", "read", "--output-format", "stream-json", "--tool-names", "robota")
    init, reply, *_ = [json.loads(line) for line in done.stdout.splitlines()]
    (use,) = reply["message"]["content"]
    assert (use["name"], use["input"]) == ("read_file", {"path": "a.txt"}) and "read_file" in init["tools"]


def test_a_command_that_fails_is_an_error_in_stream_json(robota: Robota) -> None:
    calls = [call("execute_command", command=f"ls {name}") for name in ("missing", ".")]
    script(robota, {"calls": calls}, {"text": "ok"})
    done = robota("-p", "look", "--output-format", "stream-json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    (results,) = [line["message"]["content"] for line in lines if line["type"] == "user"]
    assert [result["is_error"] for result in results] == [True, False]


def test_stream_json_with_partial_messages_adds_up_to_the_reply(robota: Robota) -> None:
    text = "A sentence that is long enough to come in several pieces."
    script(robota, {"text": text, "chunkSize": 8})
    done = robota("-p", "talk", "--output-format", "stream-json", "--include-partial-messages")
    events = [line["event"] for line in map(json.loads, done.stdout.splitlines()) if line["type"] == "stream_event"]
    deltas = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(deltas) == text
    assert (events[0]["type"], events[-1]["type"]) == ("message_start", "message_stop")


def test_messages_format_gives_the_asks_and_says(robota: Robota) -> None:
    script(robota, {"text": "Hi."})
    done = robota("-p", "hello", "--output-format", "messages")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [row.get("say") or row.get("ask") for row in rows]
    assert kinds == ["text", "text", "api_req_started", "completion_result"]
    state = robota("protocol", "state", stdin=json.dumps(rows))
    assert json.loads(state.stdout)["state"] == "idle"


@pytest.mark.parametrize(
    ("arguments", "stdin", "prompt"),
    [
        (["-p", "from argument"], "", "from argument"),
        (["-p"], "from stdin\n", "from stdin"),
        (["-p", "then this"], "first this\n", "first this\n\nthen this"),
        (["-p", "several", "words"], "", "several words"),
        (["--print", "--", "-starts with a dash"], "", "-starts with a dash"),
    ],
)
def test_where_the_prompt_comes_from(robota: Robota, arguments: list[str], stdin: str, prompt: str) -> None:
    script(robota, {"text": "ok"})
    done = robota(*arguments, stdin=stdin)
    assert done.code == 0, done.stderr
    (directory,) = sessions(robota)
    messages = [r for r in load(directory / "log.jsonl").records if r.kind == "message"]
    assert json.loads(bytes(messages[0].payload))["message"]["text"] == prompt


PRICEY = {"calls": [call("list_files", path=".")], "usage": {"cost": 0.5}}
FOLLOWUP = {"calls": [call("ask_followup_question", question="Which?", follow_up=[{"text": "a"}])]}


@pytest.mark.parametrize(
    ("turns", "arguments", "code", "subtype"),
    [
        ([{"text": "fine"}], [], 0, "success"),
        ([{"text": "?"}] * 3, ["--completion", "explicit"], 1, "error_during_execution"),
        ([{"fault": {"kind": "authentication_failed"}}], [], 4, "error_during_execution"),
        ([{"fault": {"kind": "invalid_request"}}], [], 4, "error_during_execution"),
        ([FOLLOWUP], [], 10, "error_during_execution"),
        ([{"calls": [call("list_files", path=".")]}], ["--max-turns", "1"], 53, "error_max_turns"),
        ([PRICEY], ["--max-budget-usd", "0.5"], 55, "error_max_budget_usd"),
        ([{"fault": {"kind": "overloaded"}}] * 3, [], 75, "error_during_execution"),
        ([{"fault": {"kind": "cut", "after": 1}, "text": "half"}] * 3, [], 75, "error_during_execution"),
        ([{"fault": {"kind": "empty"}}] * 3, [], 75, "error_during_execution"),
    ],
)
@pytest.mark.parametrize("output_format", ["json", "stream-json", "text"])
def test_every_end_has_its_exit_code_and_its_result(
    robota: Robota, turns: list[dict[str, Any]], arguments: list[str], code: int, subtype: str, output_format: str
) -> None:
    script(robota, *turns)
    done = robota("-p", "go", *arguments, "--output-format", output_format)
    assert done.code == code, done.stderr
    if output_format == "text":
        assert bool(done.stdout) is (code == 0) and bool(done.stderr) is (code != 0)
        return
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["subtype"] == subtype and result["is_error"] is (code != 0)
    assert code == 0 or result["errors"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["-p"], 2),
        (["-p", "x", "--no-such-flag"], 2),
        (["-p", "x", "--max-turns", "0"], 2),
        (["-p", "x", "--permission-mode", "yolo"], 2),
        (["-p", "x", "--provider", "nobody"], 3),
        (["-p", "x", "--cwd", "missing"], 3),
        (["-p", "x", "--session-id", "../escape"], 3),
        (["-p", "x", "--allowed-tools", "NoSuchTool"], 3),
    ],
)
def test_a_wrong_call_prints_a_result_too(robota: Robota, arguments: list[str], code: int) -> None:
    script(robota, {"text": "never"})
    done = robota(*arguments, "--output-format", "json")
    assert done.code == code
    result = result_of(done)
    assert result["is_error"] and result["errors"] and done.stderr.startswith("robota: ")
    assert not (robota.workspace / ".robota").exists()


def test_no_provider_is_an_actionable_error(robota: Robota) -> None:
    done = robota("-p", "x")
    assert done.code == 3 and "--configure-provider" in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"currentProvider": 3}', '{"providers": {"a": {"type": 1}}}', "\x00", '{"providers": []}']
)
def test_broken_settings_are_named_and_left_alone(robota: Robota, text: str) -> None:
    path = write_settings(robota, {})
    path.write_text(text)
    done = robota("-p", "x")
    assert done.code == 3 and str(path) in done.stderr
    assert path.read_text() == text


def test_a_session_id_is_used_once(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    assert robota("-p", "x", "--session-id", "once").code == 0
    before = (robota.workspace / ".robota/sessions/once/log.jsonl").read_bytes()
    again = robota("-p", "x", "--session-id", "once")
    assert again.code == 3 and "once" in again.stderr
    assert (robota.workspace / ".robota/sessions/once/log.jsonl").read_bytes() == before


def test_everything_is_in_the_log_and_hidden_from_git(robota: Robota) -> None:
    script(robota, {"calls": [call("write_to_file", path="x", content="y")]}, {"text": "done"})
    assert robota("-p", "x", "--permission-mode", "acceptEdits", "--name", "try").code == 0
    (directory,) = sessions(robota)
    assert verify(directory / "log.jsonl").broken is None
    kinds = [record.kind for record in load(directory / "log.jsonl").records]
    assert {"session", "task", "message", "turn", "verdict", "toolStart", "toolEnd", "end"} <= set(kinds)
    assert (robota.workspace / ".robota/.gitignore").read_text() == "*\n"
    assert robota("sessions", "verify", directory.name[:8]).code == 0
    assert "try" in robota("sessions", "list").stdout


def test_tools_allowed_by_rule_run_and_denied_ones_do_not(robota: Robota) -> None:
    turns = [{"calls": [call("execute_command", command=command)]} for command in ("git status", "touch x", "ls")]
    script(robota, *turns, {"text": "done"})
    arguments = ("--allowed-tools", "Bash(git status),List Bash(ls)", "--disallowed-tools", "Bash(ls)")
    result = result_of(robota("-p", "x", "--output-format", "json", *arguments))
    assert [denial["tool_input"]["command"] for denial in result["permission_denials"]] == ["touch x", "ls"]


def test_system_prompts_reach_the_model(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    assert robota("-p", "x", "--system-prompt", "You are terse.", "--append-system-prompt", "Always.").code == 0


def test_a_workspace_that_cannot_hold_sessions_is_no_reason_to_fail(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    (robota.workspace / ".robota").write_text("in the way")
    done = robota("-p", "x")
    assert (done.code, done.stdout) == (0, "ok\n")
    assert "session is kept in" in done.stderr
    assert (robota.workspace / ".robota").read_text() == "in the way"


def test_no_place_at_all_is_a_clear_error(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    (robota.workspace / ".robota").write_text("in the way")
    (robota.home / ".robota" / "projects").write_text("in the way")
    done = robota("-p", "x", "--output-format", "json")
    assert done.code == 3 and "no place for the session log" in done.stderr
    assert result_of(done)["is_error"]


def test_odd_environments(robota: Robota) -> None:
    script(robota, {"text": "Grüße ☃"})
    assert robota("-p", "x", env={"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}).stdout == "Grüße ☃\n"
    assert robota("-p", "x", env={"TERM": ""}).code == 0
    empty = robota("-p", "x", env={"HOME": "", "PATH": os.defpath})
    assert empty.code == 0, empty.stderr


def test_xml_tool_calls_work_end_to_end(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("alpha\n")
    xml = "Let me see.\n<read_file>\n<path>a.txt</path>\n</read_file>"
    answer = {"expect": {"user": "alpha"}, "text": "It is alpha."}
    script(robota, {"text": xml, "chunkSize": 3}, answer, toolFormat="xml")
    done = robota("-p", "read it")
    assert (done.code, done.stdout) == (0, "It is alpha.\n"), done.stderr


def test_without_arguments_it_says_what_to_do(robota: Robota) -> None:
    done = robota()
    assert done.code == 2 and "robota -p" in done.stdout


def test_help_names_every_option(robota: Robota) -> None:
    text = robota("--help").stdout + robota("help", "options").stdout
    for word in ("--output-format", "--permission-mode", "--configure-provider", "sessions", "protocol", "demo"):
        assert word in text


def test_version(robota: Robota) -> None:
    assert robota("--version").stdout.startswith("robota 0.")
    assert robota("-V", "--verbose").stdout.split()[1].startswith("0.")


def test_the_demo_runs_a_real_task_without_key_or_network(robota: Robota) -> None:
    done = robota("demo")
    assert done.code == 0, done.stderr
    for words in ("FAILED (failures=1)", "OK", "pricing.py", "chain", "--configure-provider"):
        assert words in done.stdout


@pytest.mark.parametrize(
    "how", ["echo not today >&2; exit 2", 'echo \'{"continue": false, "stopReason": "not today"}\'']
)
def test_a_prompt_that_a_hook_stopped_is_not_blamed_on_the_model(robota: Robota, how: str) -> None:
    """Its terminal reason is not `model_error`."""
    script(robota, {"text": "the model was asked"})
    path = robota.home / ".robota/settings.json"
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": how}]}]}
    path.write_text(json.dumps({**json.loads(path.read_text()), "hooks": hooks}))
    done = robota("-p", "go", "--output-format", "json")
    result = json.loads(done.stdout)
    assert (done.code, result["terminal_reason"]) == (1, "hook_stopped") and "not today" in result["errors"][0]


def test_a_thought_has_a_signature_also_where_the_provider_gives_none(robota: Robota) -> None:
    """Claude's SDK rejects a thinking block without one."""
    script(robota, {"reasoning": "hm", "text": "ok"})
    done = robota("-p", "go", "--output-format", "stream-json", "--include-partial-messages")
    lines = list(map(json.loads, done.stdout.splitlines()))
    thoughts = [block for line in lines if line["type"] == "assistant" for block in line["message"]["content"]]
    assert thoughts[0] == {"type": "thinking", "thinking": "hm", "signature": ""}
    begun = [line["event"]["content_block"] for line in lines if line.get("event", {}).get("content_block")]
    assert begun[0] == {"type": "thinking", "thinking": "", "signature": ""}


def test_mistakes_in_a_row_are_described_in_words_for_a_script(robota: Robota) -> None:
    """Print mode does not ask how to continue."""
    script(robota, *[{"calls": [{"name": "read_file", "arguments": {"nonsense": 1}}]}] * 6)
    done = robota("-p", "go")
    assert done.code == 1 and "mistakes in a row" in done.stderr and "Tell it how to continue" not in done.stderr


def test_profiles_of_the_project_that_do_not_count_are_named_when_there_is_no_other(robota: Robota) -> None:
    """Otherwise the failed start would not say why the profiles of the project were not used."""
    settings = robota.workspace / ".robota/settings.json"
    settings.parent.mkdir()
    profile = {"type": "scripted", "options": {"turns": [{"text": "ok"}]}}
    settings.write_text(json.dumps({"currentProvider": "mine", "providers": {"mine": profile}}))
    for arguments in ((), ("--provider", "mine")):
        done = robota("-p", "go", *arguments)
        assert done.code == 3 and ".robota/settings.json: ignored" in done.stderr and "providers" in done.stderr


def test_an_unknown_model_is_reported_only_by_doctor_and_set_up(robota: Robota) -> None:
    """Sessions do not begin with a notice about it."""
    with running() as server:
        options = ("--type", "openai-compatible", "--base-url", server.url, "--model", "new-thing", "--set-current")
        assert "new-thing is not in the catalogue" in robota("--configure-provider", "x", *options).stdout
        assert "catalogue" in robota("doctor").stdout
        done = robota("-p", "go", "--verbose")
    assert done.code == 0 and "catalogue" not in done.stderr
