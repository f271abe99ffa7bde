"""Hooks around a real session: real shell commands and a real HTTP server say what they think of it."""

import asyncio
import http.server
import json
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from robota.engine.session import Session
from robota.hooks.definitions import parse_hooks
from robota.hooks.runner import Hooks, SessionFacts
from robota.protocol.events import Notice, ToolEnd
from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "done"}
BASH = {"calls": [call("execute_command", command="touch ran")]}


def command(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": text, **more}


def on(event: str, *handlers: dict[str, Any], matcher: str = "") -> dict[str, Any]:
    return {event: [{"matcher": matcher, "hooks": list(handlers)}]}


def say_json(**said: Any) -> dict[str, Any]:
    return command(f"cat > /dev/null; printf '%s' '{json.dumps(said)}'")


def decide(decision: str, **more: Any) -> dict[str, Any]:
    return say_json(hookSpecificOutput={"permissionDecision": decision, "permissionDecisionReason": "because", **more})


def play_with_hooks(
    workspace: Path,
    settings: dict[str, Any],
    turns: list[Any],
    story: Callable[[Stage], Awaitable[None]],
    **wishes: Any,
) -> None:
    async def with_hooks(stage: Stage) -> None:
        session, log = stage.opened.session, stage.opened.log
        facts = SessionFacts(
            session_id="s", transcript_path=str(log.path), cwd=workspace, permission_mode="default"
        )
        hooks = Hooks(parse_hooks(settings), facts)
        parts = msgspec.structs.replace(session._parts, lifecycle=hooks, pre_hooks=[hooks], post_hooks=[hooks])
        hooked = Stage(msgspec.structs.replace(stage.opened, session=Session(session._options, parts)))
        await story(hooked)
        await hooked.session.close()

    play(workspace, turns, with_hooks, **wishes)


def is_alive(pid: int) -> bool:
    """Whether it still runs; one that is dead and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def finish(check: Callable[[Stage], None]) -> Callable[[Stage], Awaitable[None]]:
    async def story(stage: Stage) -> None:
        await stage.start("the prompt")
        await stage.until_ask("completion_result")
        check(stage)

    return story


def test_exit_2_stops_a_call_and_tells_the_model_why(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert not (workspace / "ran").exists()
        assert tool_results(stage)[0].content == "not on Sundays"

    hooks = on("PreToolUse", command("echo not on Sundays >&2; exit 2"), matcher="Bash")
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(check), permission_mode="bypassPermissions")


def test_a_hook_reads_the_call_as_claude_code_would_write_it(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        event = json.loads((workspace / "event.json").read_text())
        assert event["hook_event_name"] == "PreToolUse" and event["tool_name"] == "Write"
        assert event["tool_input"] == {"file_path": str(workspace / "a.txt"), "content": "x"}
        assert event["cwd"] == str(workspace) and Path(event["transcript_path"]).exists()

    hooks = on("PreToolUse", command("cat > event.json"), matcher="Write|Edit")
    turns = [{"calls": [call("write_to_file", path="a.txt", content="x")]}, DONE]
    play_with_hooks(workspace, hooks, turns, finish(check), permission_mode="acceptEdits")


def test_t15_a_hook_that_allows_does_not_move_a_denial(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert not (workspace / "ran").exists()
        assert stage.events_of(ToolEnd)[0].status == "denied"

    wishes: dict[str, Any] = {"disallowed_tools": ("Bash",), "attended": False}
    play_with_hooks(workspace, on("PreToolUse", decide("allow")), [BASH, DONE], finish(check), **wishes)


def test_a_hook_that_allows_spares_the_question_of_the_mode(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "ran").exists()

    play_with_hooks(workspace, on("PreToolUse", decide("allow")), [BASH, DONE], finish(check))


@pytest.mark.parametrize(("decision", "ran"), [("allow", True), ("deny", False)])
def test_permission_request_answers_in_the_persons_place(workspace: Path, decision: str, ran: bool) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "ran").exists() is ran

    answer = say_json(hookSpecificOutput={"decision": {"behavior": decision}})
    play_with_hooks(workspace, on("PermissionRequest", answer, matcher="Bash"), [BASH, DONE], finish(check))


def test_a_hook_can_ask_for_the_person_where_nobody_else_would(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")
        assert not (workspace / "ran").exists()

    hooks = on("PreToolUse", decide("ask"))
    play_with_hooks(workspace, hooks, [BASH, DONE], story, permission_mode="bypassPermissions")


def test_rewritten_input_is_what_runs_and_what_policy_judges(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "other").exists() and not (workspace / "ran").exists()

    rewrite = on("PreToolUse", decide("allow", updatedInput={"command": "touch other"}), matcher="Bash")
    play_with_hooks(workspace, rewrite, [BASH, DONE], finish(check))


def test_post_tool_use_talks_to_the_model(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert "run the linter" in tool_results(stage)[0].content

    hooks = on("PostToolUse", say_json(decision="block", reason="run the linter"))
    play_with_hooks(workspace, hooks, [{"calls": [call("list_files", path=".")]}, DONE], finish(check))


def test_prompts_and_session_starts_get_context(workspace: Path) -> None:
    hooks = on("UserPromptSubmit", command("echo from the prompt hook")) | on("SessionStart", command("echo hello"))
    expect = {"user": "/(?s)hello.*the prompt.*from the prompt hook/"}
    play_with_hooks(workspace, hooks, [{"expect": expect, "text": "ok"}], finish(lambda stage: None))


def test_a_refused_prompt_never_reaches_the_model(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert "no secrets please" in stage.says("error")[0]
        assert not stage.says("api_req_started")

    hooks = on("UserPromptSubmit", command("echo no secrets please >&2; exit 2"))
    play_with_hooks(workspace, hooks, [], finish(check))


def test_stop_can_send_the_model_back_to_work_but_not_for_ever(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert stage.says("text")[-1] == "Done 9."

    hooks = on("Stop", say_json(decision="block", reason="the tests are red"))
    turns = [{"text": "Done {n}.", "repeat": 9}]
    play_with_hooks(workspace, hooks, turns, finish(check))


def test_subagents_and_the_end_of_a_session_are_told(workspace: Path) -> None:
    names = ("SubagentStart", "SubagentStop", "Stop", "SessionEnd")
    hooks = {key: value for name in names for key, value in on(name, command(f"echo {name} >> told")).items()}
    turns = [
        {"calls": [call("new_task", mode="code", message="sub")]},
        {"calls": [call("attempt_completion", result="sub done")]},
        DONE,
    ]
    play_with_hooks(workspace, hooks, turns, finish(lambda stage: None), permission_mode="bypassPermissions")
    assert (workspace / "told").read_text().split() == list(names)


def test_a_notification_goes_out_while_a_person_is_waited_for(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        os.mkfifo(workspace / "bell")
        await stage.start()
        await stage.until_ask("command")
        told = await asyncio.to_thread((workspace / "bell").read_text)
        assert json.loads(told)["notification_type"] == "permission_prompt"

    play_with_hooks(workspace, on("Notification", command("cat > bell")), [BASH], story)


@pytest.mark.parametrize(("fail_closed", "ran"), [(False, True), (True, False)])
def test_a_hook_that_hangs_is_ended_with_all_it_started(workspace: Path, fail_closed: bool, ran: bool) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "ran").exists() is ran
        assert not is_alive(int((workspace / "pid").read_text()))

    hang = command("sleep 1000 & echo $! > pid; wait", timeout=0.3, failClosed=fail_closed)
    play_with_hooks(workspace, on("PreToolUse", hang), [BASH, DONE], finish(check), permission_mode="bypassPermissions")


def test_t16_a_hook_has_no_terminal(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "tty").read_text().strip() == "none"

    probe = command("cat > /dev/null; (exec < /dev/tty) 2>/dev/null && echo tty > tty || echo none > tty")
    hooks = on("PreToolUse", probe)
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(check), permission_mode="bypassPermissions")


def test_identical_handlers_run_once_and_messages_are_shown(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "count").read_text() == "x"
        assert stage.events_of(Notice)[0].text == "hi"

    hooks = on("PreToolUse", command("printf x >> count"), command("printf x >> count"))
    hooks |= on("UserPromptSubmit", say_json(systemMessage="hi"))
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(check), permission_mode="bypassPermissions")


class Judge(http.server.BaseHTTPRequestHandler):
    heard: ClassVar[list[tuple[str | None, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.heard.append((self.headers.get("authorization"), body))
        answer = json.dumps({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}})
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def judge() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/hook"
    server.shutdown()
    server.server_close()


def test_an_http_hook_is_posted_the_event_and_decides(
    workspace: Path, judge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_TOKEN", "abc")
    monkeypatch.setenv("OTHER_SECRET", "xyz")

    def check(stage: Stage) -> None:
        assert not (workspace / "ran").exists()
        token, event = Judge.heard[-1]
        assert token == "Bearer abc $OTHER_SECRET" and event["tool_input"] == {"command": "touch ran"}

    headers = {"authorization": "Bearer $JUDGE_TOKEN $OTHER_SECRET"}
    handler = {"type": "http", "url": judge, "headers": headers, "allowedEnvVars": ["JUDGE_TOKEN"]}
    play_with_hooks(
        workspace, on("PreToolUse", handler), [BASH, DONE], finish(check), permission_mode="bypassPermissions"
    )


def test_an_http_hook_that_cannot_be_reached_is_no_decision(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "ran").exists()

    handler = {"type": "http", "url": "http://127.0.0.1:1/"}
    play_with_hooks(
        workspace, on("PreToolUse", handler), [BASH, DONE], finish(check), permission_mode="bypassPermissions"
    )
