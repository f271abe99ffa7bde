"""What hooks are told on stdin at each event, field for field as Claude Code tells it."""

import json
from pathlib import Path
from typing import Any

import pytest

from robota.protocol.commands import ClearTask, SetPermissionMode
from robota.protocol.permission_mode import PermissionMode
from tests.engine.stage import Stage, call
from tests.hooks.hooked import BASH, BYPASS, DONE, Bell, command, dump, finish, on, play_with_hooks, told

COMMON = {"session_id", "transcript_path", "cwd", "hook_event_name"}
OPTIONS = [{"text": "yes"}, {"text": "no"}]
IN_A_TASK = COMMON | {"permission_mode", "prompt_id"}


def test_every_event_says_whose_session_it_is(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        [event] = told(workspace, "PreToolUse")
        assert event["session_id"] == stage.opened.options.session_id
        assert event["transcript_path"] == str(stage.opened.log.path) and Path(event["transcript_path"]).exists()
        assert event["cwd"] == str(workspace)
        assert event["hook_event_name"] == "PreToolUse"
        assert event["permission_mode"] == "bypassPermissions"

    play_with_hooks(workspace, dump("PreToolUse"), [BASH, DONE], finish(check), **BYPASS)


def test_session_start(workspace: Path) -> None:
    play_with_hooks(workspace, dump("SessionStart", "startup"), [DONE], finish(), name="my session")
    [event] = told(workspace, "SessionStart")
    assert event.keys() == COMMON | {"permission_mode", "source", "model", "session_title"}
    assert (event["source"], event["model"], event["session_title"]) == ("startup", "scripted", "my session")


def test_a_conversation_that_begins_anew_is_a_session_that_was_cleared(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("one")
        await stage.until_ask("completion_result")
        await stage.submit(ClearTask())
        await stage.start("two")
        await stage.until_ask("completion_result")

    hooks = dump("SessionStart") | dump("SessionEnd")
    play_with_hooks(workspace, hooks, [DONE, DONE], story)
    assert [event["source"] for event in told(workspace, "SessionStart")] == ["startup", "clear"]
    assert [event["reason"] for event in told(workspace, "SessionEnd")] == ["clear", "other"]


def test_user_prompt_submit_and_its_id_in_what_follows(workspace: Path) -> None:
    hooks = dump("UserPromptSubmit") | dump("PreToolUse") | dump("Stop")
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(), **BYPASS)
    [prompt] = told(workspace, "UserPromptSubmit")
    assert prompt.keys() == IN_A_TASK | {"prompt"} and prompt["prompt"] == "the prompt"
    assert told(workspace, "PreToolUse")[0]["prompt_id"] == told(workspace, "Stop")[0]["prompt_id"]
    assert prompt["prompt_id"] == told(workspace, "Stop")[0]["prompt_id"]


def test_pre_and_post_tool_use(workspace: Path) -> None:
    hooks = dump("PreToolUse", "Write|Edit") | dump("PostToolUse", "Write")
    turns = [{"calls": [call("write_to_file", path="a.txt", content="x")]}, DONE]
    play_with_hooks(workspace, hooks, turns, finish(), permission_mode="acceptEdits")
    [before], [after] = told(workspace, "PreToolUse"), told(workspace, "PostToolUse")
    assert before.keys() == IN_A_TASK | {"tool_name", "tool_input", "tool_use_id"}
    assert before["tool_name"] == "Write"
    assert before["tool_input"] == {"file_path": str(workspace / "a.txt"), "content": "x"}
    assert after.keys() == before.keys() | {"tool_response", "duration_ms"}
    assert after["tool_use_id"] == before["tool_use_id"]
    assert after["tool_response"]["is_error"] is False and "a.txt" in after["tool_response"]["content"]
    assert after["duration_ms"] >= 0


def test_the_permission_mode_is_that_of_now(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.submit(SetPermissionMode(permission_mode=PermissionMode.ACCEPT_EDITS))
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")

    play_with_hooks(workspace, dump("PreToolUse") | dump("PostToolUse"), [BASH, DONE], story)
    assert told(workspace, "PreToolUse")[0]["permission_mode"] == "default"
    assert told(workspace, "PostToolUse")[0]["permission_mode"] == "acceptEdits"


def test_permission_request(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")

    turns = [{"calls": [call("execute_command", command="touch ran", timeout=5)]}, DONE]
    play_with_hooks(workspace, dump("PermissionRequest", "Bash"), turns, story)
    [event] = told(workspace, "PermissionRequest")
    assert event.keys() == IN_A_TASK | {"tool_name", "tool_input", "permission_suggestions"}
    assert event["tool_input"] == {"command": "touch ran", "timeout": 5000}
    first = event["permission_suggestions"][0]
    assert first == {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "touch ran"}],
        "behavior": "allow",
        "destination": "session",
    }


@pytest.mark.parametrize(
    ("turn", "ask", "sort", "message"),
    [
        (BASH, "command", "permission_prompt", "Robota needs your approval to run a command: touch ran"),
        (
            {"calls": [call("ask_followup_question", question="Red?", follow_up=OPTIONS)]},
            "followup",
            "permission_prompt",
            "Robota has a question for you: Red?",
        ),
        (DONE, "completion_result", "idle_prompt", "Robota is waiting for your input"),
    ],
)
def test_notification(workspace: Path, turn: dict[str, Any], ask: str, sort: str, message: str) -> None:
    async def story(stage: Stage) -> None:
        bell = Bell(workspace / "bell")
        await stage.start()
        await stage.until_ask(ask)
        event = json.loads(await bell.rung())
        assert event.keys() == IN_A_TASK | {"message", "title", "notification_type"}
        assert (event["notification_type"], event["message"]) == (sort, message)

    play_with_hooks(workspace, on("Notification", command("cat > bell"), matcher=sort), [turn], story)


def test_stop(workspace: Path) -> None:
    start = call("background_process", action="start", command="sleep 1000")
    hooks = dump("Stop", "a matcher that means nothing here")
    play_with_hooks(workspace, hooks, [{"calls": [start]}, DONE], finish(), **BYPASS)
    [event] = told(workspace, "Stop")
    wanted = {"stop_hook_active", "last_assistant_message", "background_tasks", "session_crons"}
    assert event.keys() == IN_A_TASK | wanted
    assert (event["stop_hook_active"], event["last_assistant_message"]) == (False, "done")
    assert [task["command"] for task in event["background_tasks"]] == ["sleep 1000"]


def test_subagents(workspace: Path) -> None:
    hooks = dump("SubagentStart", "code") | dump("SubagentStop", "code") | dump("PreToolUse", "List")
    hooks |= dump("UserPromptSubmit") | dump("Stop")
    turns = [
        {"calls": [call("new_task", mode="code", message="sub")]},
        {"calls": [call("list_files", path=".")]},
        {"calls": [call("attempt_completion", result="sub done")]},
        DONE,
    ]
    play_with_hooks(workspace, hooks, turns, finish(), **BYPASS)
    [start], [stop] = told(workspace, "SubagentStart"), told(workspace, "SubagentStop")
    agent = {"agent_id": start["agent_id"], "agent_type": "code"}
    assert start.keys() == IN_A_TASK | agent.keys()
    wanted = {"stop_hook_active", "agent_transcript_path", "last_assistant_message", "background_tasks"}
    assert stop.keys() == IN_A_TASK | agent.keys() | wanted | {"session_crons"}
    assert stop["last_assistant_message"] == "sub done" and Path(stop["agent_transcript_path"]).exists()
    for event in (start, stop, *told(workspace, "PreToolUse")):
        assert {name: event[name] for name in agent} == agent
    assert [event["prompt"] for event in told(workspace, "UserPromptSubmit")] == ["the prompt"]
    assert "agent_id" not in told(workspace, "Stop")[0]


def test_session_end(workspace: Path) -> None:
    play_with_hooks(workspace, dump("SessionEnd", "other"), [DONE], finish())
    [event] = told(workspace, "SessionEnd")
    assert event.keys() == COMMON | {"permission_mode", "reason"} and event["reason"] == "other"


def test_hooks_for_edits_are_told_of_every_tool_that_edits(workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\n")
    patch = "*** Begin Patch\n*** Add File: b.txt\n+two\n*** End Patch\n"
    turns = [{"calls": [call("apply_patch", patch=patch)]}, DONE]
    play_with_hooks(workspace, dump("PreToolUse", "Edit"), turns, finish(), **BYPASS)
    assert told(workspace, "PreToolUse")[0]["tool_name"] == "Patch"


def test_the_environment_names_the_project(workspace: Path) -> None:
    probe = command('echo "$CLAUDE_PROJECT_DIR|$ROBOTA_PROJECT_DIR|$FROM_SETTINGS" > env')
    settings = {"env": {"FROM_SETTINGS": "yes"}}
    play_with_hooks(workspace, on("Stop", probe), [DONE], finish(), settings=settings)
    assert (workspace / "env").read_text().strip() == f"{workspace}|{workspace}|yes"
