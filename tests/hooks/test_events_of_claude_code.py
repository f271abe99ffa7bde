"""Events and handlers that hooks for Claude Code use: failures, expansions, completed tasks, and models that decide."""

import json
from typing import Any

from tests.cli.scripts import call, script, write_settings
from tests.harness.cli import Finished, Robota

OK = {"text": "Done."}


def set_up(robota: Robota, hooks: dict[str, Any], *turns: dict[str, Any]) -> None:
    script(robota, *turns)
    path = robota.home / ".robota/settings.json"
    groups = {event: [{"matcher": "", "hooks": [handler]}] for event, handler in hooks.items()}
    write_settings(robota, {**json.loads(path.read_text()), "hooks": groups})


def recorder(robota: Robota, name: str, then: str = "") -> dict[str, str]:
    """A hook that keeps what it was told in a file beside the workspace."""
    return {"type": "command", "command": f"cat > '{robota.home}/{name}.json'; {then}"}


def told(robota: Robota, name: str) -> dict[str, Any] | None:
    path = robota.home / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def results(done: Finished) -> list[str]:
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    parts = [part for line in lines if line["type"] == "user" for part in line["message"]["content"]]
    return [part["content"] for part in parts if part["type"] == "tool_result"]


def play(robota: Robota, *prompt: str) -> Finished:
    done = robota("-p", *(prompt or ("go",)), "--output-format", "stream-json", "--verbose")
    assert done.code == 0, done.stderr
    return done


def test_a_failed_call_has_an_event_of_its_own(robota: Robota) -> None:
    answer = json.dumps({"hookSpecificOutput": {"additionalContext": "Look at the log."}})
    failed = recorder(robota, "failed", f"echo '{answer}'")
    set_up(
        robota,
        {"PostToolUse": recorder(robota, "good"), "PostToolUseFailure": failed},
        {"calls": [call("execute_command", command="ls missing")]},
        OK,
    )
    [result] = results(play(robota))
    event = told(robota, "failed")
    assert event is not None and event["tool_name"] == "Bash" and "missing" in event["error"]
    assert "Look at the log." in result and told(robota, "good") is None


def test_a_command_that_expands_can_be_refused_and_gets_context(robota: Robota) -> None:
    commands = robota.home / ".claude/commands"
    commands.mkdir(parents=True)
    (commands / "ship.md").write_text("Ship $1.\n\n!`touch shipped.txt`\n")
    set_up(robota, {"UserPromptExpansion": recorder(robota, "expanded", "echo 'no release today' >&2; exit 2")}, OK)
    refused = robota("-p", "/ship it", "--allowed-tools", "Bash(touch *)")
    assert refused.code != 0 and "no release today" in refused.stdout + refused.stderr
    assert not (robota.workspace / "shipped.txt").exists(), "its commands run only afterwards"
    event = told(robota, "expanded")
    assert event is not None and (event["command_name"], event["command_args"]) == ("ship", "it")
    set_up(
        robota,
        {"UserPromptExpansion": recorder(robota, "expanded", "echo 'the branch is main'")},
        {"expect": {"user": "the branch is main"}, **OK},
    )
    assert robota("-p", "/ship it", "--allowed-tools", "Bash(touch *)").code == 0
    (robota.home / "expanded.json").unlink()
    set_up(robota, {"UserPromptExpansion": recorder(robota, "expanded")}, OK)
    play(robota, "ship it")
    assert told(robota, "expanded") is None, "a prompt that names no command does not expand"


def test_a_hook_decides_whether_a_task_is_completed(robota: Robota) -> None:
    todos = ("[x] write tests\n[ ] release", "[x] write tests\n[x] release")
    set_up(
        robota,
        {"TaskCompleted": recorder(robota, "done", f"! grep -q release '{robota.home}/done.json' || exit 2")},
        *({"calls": [call("update_todo_list", todos=text)]} for text in todos),
        OK,
    )
    accepted, refused = results(play(robota))
    assert "updated" in accepted and "does not accept 'release' as completed" in refused
    event = told(robota, "done")
    assert event is not None and event["task_subject"] == "release"


def test_a_model_decides_about_a_call(robota: Robota) -> None:
    hook = {"type": "prompt", "prompt": "Is this command fine? $ARGUMENTS"}
    set_up(
        robota,
        {"PreToolUse": hook},
        {"calls": [call("execute_command", command="ls")]},
        {"expect": {"user": "Is this command fine?"}, "text": '```json\n{"ok": false, "reason": "not today"}\n```'},
        {"calls": [call("execute_command", command="ls .")]},
        {"text": '{"ok": true}'},
        OK,
    )
    refused, ran = results(play(robota))
    assert "not today" in refused and "Exit code: 0" in ran


def test_an_answer_that_decides_nothing_lets_the_call_continue_unless_it_must_fail(robota: Robota) -> None:
    for fail_closed, words in ((False, "Exit code: 0"), (True, "did not answer with the JSON")):
        hook = {"type": "prompt", "prompt": "Fine?", "failClosed": fail_closed}
        run = {"calls": [call("execute_command", command="ls")]}
        set_up(robota, {"PreToolUse": hook}, run, {"text": "I think so."}, OK)
        [result] = results(play(robota))
        assert words in result


def test_hooks_that_never_run_are_named(robota: Robota) -> None:
    agent = {"type": "agent", "prompt": "look"}
    nothing = {"type": "command", "command": "true"}
    set_up(robota, {"Setup": nothing, "TeammateIdle": nothing, "Stop": agent, "Nonsense": nothing}, OK)
    done = robota("-p", "go")
    assert "hooks of type 'agent' are not supported" in done.stderr and "Nonsense is ignored" in done.stderr
    assert "Setup" not in done.stderr, "a plugin for Claude Code must not warn at every start"
    listed = robota("hooks").stdout
    assert listed.count("never occurs in Robota") == 2 and "TeammateIdle" in listed


def test_a_hook_may_announce_that_it_takes_its_time(robota: Robota) -> None:
    result = json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "prepared"}})
    announcing = {"type": "command", "command": f"echo '{{\"async\": true}}'; echo '{result}'"}
    set_up(robota, {"SessionStart": announcing}, {"expect": {"user": "prepared"}, **OK})
    done = robota("-p", "go")
    assert (done.code, done.stderr) == (0, "")
