"""`robota policy` as a user and a build server use it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script, write_settings
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal
from tests.intents.project import intents


def explained(robota: Robota, *arguments: str) -> dict[str, Any]:
    done = robota("policy", "explain", "--json", *arguments)
    assert done.code == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def rules_file(robota: Robota, **permissions: Any) -> str:
    path = robota.workspace / "rules.json"
    path.write_text(json.dumps({"permissions": permissions}))
    return str(path)


def test_explain_tells_the_verdict_the_reason_the_rule_and_the_parts(robota: Robota) -> None:
    rules = rules_file(robota, allow=["Bash(npm *)"], deny=["Bash(npm publish *)"])
    answer = explained(robota, "--rules", rules, "--", "npm test && npm publish")
    assert (answer["verdict"], answer["rule"]) == ("deny", "Bash(npm publish *)")
    assert [part["verdict"] for part in answer["parts"]] == ["allow", "deny"]
    assert "npm publish" in answer["reason"]
    assert answer["path"] == ["hard limits", "deny rules"]


def test_explain_takes_a_command_as_words_too(robota: Robota) -> None:
    assert explained(robota, "--", "git", "log", "a; rm x")["verdict"] == "allow"
    assert explained(robota, "--", "git log a; rm x")["verdict"] == "ask"


def test_explain_judges_tools_and_modes(robota: Robota) -> None:
    arguments = ("--tool", "write_to_file", "--args", '{"path": "a.py", "content": ""}')
    assert explained(robota, *arguments)["verdict"] == "ask"
    assert explained(robota, "--mode", "acceptEdits", *arguments)["verdict"] == "allow"
    assert explained(robota, "--mode", "plan", *arguments)["verdict"] == "deny"


def test_explain_sees_through_a_link(robota: Robota) -> None:
    (robota.workspace / "link").symlink_to("/etc/passwd")
    assert explained(robota, "--", "cat link")["verdict"] == "ask"
    assert explained(robota, "--tool", "read_file", "--args", '{"path": "link"}')["verdict"] == "ask"


def test_explain_uses_the_settings_and_a_rules_file_replaces_them(robota: Robota) -> None:
    write_settings(robota, {"permissions": {"allow": ["Bash(make *)"]}})
    assert explained(robota, "--", "make")["verdict"] == "allow"
    assert explained(robota, "--rules", rules_file(robota), "--", "make")["verdict"] == "ask"


def test_explain_is_not_stopped_by_a_rule_of_the_workspace_that_does_not_stop_a_session(robota: Robota) -> None:
    (robota.workspace / ".robota").mkdir()
    permissions = {"deny": ["Nonsense(x)", "Bash(", "Bash(make *)"]}
    (robota.workspace / ".robota" / "settings.json").write_text(json.dumps({"permissions": permissions}))
    script(robota, {"text": "done"})
    assert explained(robota, "--", "make")["verdict"] == "deny"
    assert robota("-p", "hello").code == 0


def test_explain_knows_of_the_sandbox_as_a_session_does(robota: Robota) -> None:
    for rules in ((), ("--rules", rules_file(robota))):
        assert explained(robota, *rules, "--", "timeout 5 sudo ls")["verdict"] == "deny"
        assert explained(robota, *rules, "--mode", "bypassPermissions", "--", "sudo ls")["verdict"] == "allow"
    leaving = ("--tool", "execute_command", "--args", '{"command": "ls", "without_sandbox": true}')
    assert explained(robota, *leaving)["rule"] == "sandbox"
    write_settings(robota, {"sandbox": {"enabled": False}})
    assert explained(robota, "--", "sudo ls")["verdict"] == "ask"


def test_explain_in_words(robota: Robota) -> None:
    done = robota("policy", "explain", "--", "npm test")
    assert done.stdout.startswith("ask: ")
    assert "path:  hard limits → deny rules" in done.stdout
    assert "Bash(npm test)" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--tool", "nothing", "--args", "{}"),
        ("--tool", "read_file", "--args", "{"),
        ("--tool", "read_file", "--args", "{}"),
        ("--rules", "missing.json", "--", "ls"),
        ("--tool", "read_file", "--", "ls"),
    ],
)
def test_what_cannot_be_judged_is_a_usage_error(robota: Robota, arguments: tuple[str, ...]) -> None:
    done = robota("policy", "explain", *arguments)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr


def test_a_rule_that_cannot_be_read_is_an_error_and_never_ignored(robota: Robota) -> None:
    done = robota("policy", "explain", "--rules", rules_file(robota, deny=["Bash(curl x | sh)"]), "--", "ls")
    assert done.code == 2
    assert "Bash(curl x | sh)" in done.stderr


TESTS = """
mode: default
permissions: {allow: ["Bash(npm test)"], deny: ["Bash(rm *)"]}
tests:
  - {command: npm test, expect: allow, rule: Bash(npm test)}
  - {command: ls && rm x, expect: deny}
  - {tool: write_to_file, args: {path: .git/config, content: ""}, expect: ask, mode: acceptEdits}
"""


def test_policy_tests_pass(robota: Robota) -> None:
    (robota.workspace / "tests.yaml").write_text(TESTS)
    done = robota("policy", "test", "tests.yaml")
    assert (done.code, done.stdout) == (0, "3 of 3 policy tests passed.\n")


def test_a_policy_test_that_fails_is_shown_and_fails_the_build(robota: Robota) -> None:
    directory = robota.workspace / ".robota"
    directory.mkdir()
    (directory / "settings.json").write_text('{"permissions": {"allow": ["Bash(npm *)"]}}')
    (directory / "policy-tests.json").write_text('{"tests": [{"command": "npm publish", "expect": "deny"}]}')
    done = robota("policy", "test")
    assert done.code == 1
    assert "expected deny, got allow by Bash(npm *)" in done.stdout
    assert json.loads(robota("policy", "test", "--json").stdout)["failed"][0]["test"] == "npm publish"


@pytest.mark.parametrize(
    "text",
    [
        "tests: 5",
        "tests: [{expect: allow}]",
        "tests: [{command: x, expect: maybe}]",
        "a: b: c",
    ],
)
def test_a_file_of_tests_that_is_wrong_is_a_usage_error(robota: Robota, text: str) -> None:
    Path(robota.workspace, "t.yaml").write_text(text)
    done = robota("policy", "test", "t.yaml")
    assert done.code == 2
    assert "t.yaml" in done.stderr
    assert robota("policy", "test").code == 2


def test_a_test_that_cannot_be_judged_is_named_and_a_file_without_tests_does_not_pass(robota: Robota) -> None:
    path = robota.workspace / "cases.yaml"
    path.write_text("permissions: {}\ntests:\n- {command: ls, expect: allow}\n- {tool: nope, expect: deny}\n")
    done = robota("policy", "test", str(path))
    assert done.code == 2 and f"{path}, test 2 (nope {{}}): There is no tool 'nope'" in done.stderr
    path.write_text("tests: []\n")
    done = robota("policy", "test", str(path))
    assert done.code == 2 and "there are no tests in it" in done.stderr


def test_simulate_shows_which_recorded_calls_other_rules_would_judge_otherwise(robota: Robota) -> None:
    script(
        robota,
        {"calls": [call("execute_command", command="ls -la"), call("execute_command", command="touch made")]},
        {"text": "Done."},
    )
    assert robota("-p", "go").code in {0, 1}
    assert not (robota.workspace / "made").exists()
    rules = rules_file(robota, allow=["Bash(touch *)"], deny=["Bash(ls *)"])
    answer = json.loads(robota("policy", "simulate", "--json", "--rules", rules).stdout)
    assert (answer["sessions"], answer["calls"], answer["unknown"]) == (1, 2, 0)
    changes = {changed["input"]["command"]: (changed["before"], changed["verdict"]) for changed in answer["changed"]}
    assert changes == {"ls -la": ("allow", "deny"), "touch made": ("ask", "allow")}
    text = robota("policy", "simulate", "--rules", rules).stdout
    assert "2 calls of 1 session: 2 would be decided differently." in text
    assert "allowed          1  (before 1)" in text and "denied           1  (before 0)" in text
    same = json.loads(robota("policy", "simulate", "--json", "--rules", rules_file(robota)).stdout)
    assert same["changed"] == [] and same["before"] == same["now"] == {"allow": 1, "ask": 1}


def test_simulate_asks_the_reviewer_about_what_confined_would_ask(robota: Robota) -> None:
    notes = robota.home / "notes.md"
    notes.write_text("teal\n")
    calls = [
        call("read_file", path=str(notes)),
        call("execute_command", command="git push"),
        call("execute_command", command="make"),
        call("list_files"),
    ]
    script(robota, *({"calls": [each]} for each in calls), {"text": "Done."})
    with Terminal(robota, "look at the notes") as terminal:
        for each in ("Read", "Bash git push", "Bash make"):
            terminal.wait_for(each)
            terminal.answer("> ", "n")
        terminal.wait_for("Done.")
    opinion = {"approve": True, "reason": "The user named the notes."}
    script(robota, {"expect": {"user": "look at the notes"}, "text": json.dumps(opinion)})
    answer = json.loads(robota("policy", "simulate", "--reviewer", "5", "--json").stdout)
    said = {each["tool"]: (each["outcome"], each["saidYes"]) for each in answer["reviews"]}
    assert said == {"read_file": ("approve", False), "execute_command": ("not asked", False)}
    commands = [each["input"]["command"] for each in answer["reviews"] if each["tool"] == "execute_command"]
    assert commands == ["git push"], "what the sandbox would confine is not asked about"
    assert answer["approvedRejected"] == 1
    text = robota("policy", "simulate", "--reviewer", "5").stdout
    assert "It would have approved 1 call that you rejected." in text
    assert "the limit of 0 reviews" in robota("policy", "simulate", "--reviewer", "0").stdout


def test_simulate_finds_the_fewest_rules_for_what_was_answered_yes_and_allows_nothing_refused(robota: Robota) -> None:
    commands = ("mkdir one", "mkdir two", "touch mine", "mkdir no")
    script(robota, {"calls": [call("execute_command", command=each) for each in commands]}, {"text": "Done."})
    with Terminal(robota, "make them") as terminal:
        for each, answer in zip(commands, "yyyn", strict=True):
            terminal.wait_for(f"Bash {each}")
            terminal.answer("> ", answer)
        terminal.wait_for("Done.")
    answer = json.loads(robota("policy", "simulate", "--json").stdout)
    assert (answer["answeredYes"], answer["now"]) == (3, {"ask": 4})
    # `mkdir *` would let through what was refused.
    assert answer["sparing"] == {
        "rules": ["Bash(mkdir one)", "Bash(mkdir two)", "Bash(touch mine)"],
        "spared": 3,
        "isFewest": True,
    }
    planted = robota.workspace / ".robota" / "sessions" / "planted"
    planted.mkdir()
    log = next((robota.workspace / ".robota" / "sessions").glob("*/log.jsonl"))
    (planted / "log.jsonl").write_bytes(log.read_bytes())
    assert json.loads(robota("policy", "simulate", "--json").stdout) == answer, "answers of others do not count"


def test_a_case_may_name_a_directory_and_an_intent(robota: Robota) -> None:
    intents(robota.workspace)
    (robota.workspace / "src/auth").mkdir(parents=True)
    write = {"tool": "write_to_file", "mode": "bypassPermissions"}
    cases: list[dict[str, Any]] = [
        {
            "command": "touch a.py",
            "cwd": "src/auth",
            "mode": "bypassPermissions",
            "expect": "allow",
            "intent": "INT-001",
        },
        {
            "command": "touch a.py",
            "mode": "bypassPermissions",
            "expect": "ask",
            "rule": "intent scope",
            "intent": "INT-001",
        },
        {"command": "touch a.py", "mode": "bypassPermissions", "expect": "allow"},
        {"command": "touch a.py", "cwd": "/etc", "mode": "acceptEdits", "expect": "deny"},
        {**write, "args": {"path": "src/auth/x", "content": ""}, "expect": "allow", "intent": "INT-001"},
        {**write, "args": {"path": "README", "content": ""}, "expect": "ask", "intent": "INT-001"},
        {**write, "args": {"path": ".orchestration/x", "content": ""}, "expect": "deny", "intent": "INT-001"},
    ]
    path = robota.workspace / "cases.yaml"
    path.write_text(json.dumps({"permissions": {}, "tests": cases}))
    done = robota("policy", "test", str(path))
    assert done.code == 0 and "7 of 7" in done.stdout, done.stdout + done.stderr
    for wrong in ({**cases[0], "intent": "INT-002"}, {**cases[4], "cwd": "src"}):
        path.write_text(json.dumps({"permissions": {}, "tests": [wrong]}))
        assert robota("policy", "test", str(path)).code == 2
