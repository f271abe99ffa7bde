"""What hooks can say, and what comes of it in a real session."""

import json
from pathlib import Path
from typing import Any

import pytest

from robota.protocol.commands import AskResponse
from robota.protocol.events import Notice, ToolEnd
from tests.cli.scripts import script, write_settings
from tests.engine.stage import Stage, call, tool_results
from tests.harness.cli import Robota
from tests.hooks.hooked import BASH, BYPASS, DONE, answer, command, decide, finish, on, play_with_hooks, say_json

LIST = {"calls": [call("list_files", path=".")]}
STOP = say_json(**{"continue": False, "stopReason": "enough for today"})


def notices(stage: Stage) -> str:
    return "\n".join(event.text for event in stage.events_of(Notice))


def test_exit_2_stops_a_call_and_tells_the_model_why(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert not (workspace / "ran").exists()
        assert tool_results(stage)[0].content.startswith("Denied by a hook: not on Sundays\n")

    hooks = on("PreToolUse", command("echo not on Sundays >&2; exit 2"), matcher="Bash")
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(check), **BYPASS)


@pytest.mark.parametrize(
    ("matcher", "way_around"),
    [
        ("Bash", call("Bash", command="touch ran", run_in_background=True)),
        ("Bash", call("background_process", action="start", command="touch ran")),
        ("Write", call("apply_patch", patch="*** Begin Patch\n*** Add File: ran\n+x\n*** End Patch")),
    ],
)
def test_no_tool_leads_around_a_hook(workspace: Path, matcher: str, way_around: dict[str, Any]) -> None:
    def check(stage: Stage) -> None:
        assert not (workspace / "ran").exists()
        assert tool_results(stage)[0].content.startswith("Denied by a hook: never\n")

    hooks = on("PreToolUse", command("echo never >&2; exit 2"), matcher=matcher)
    play_with_hooks(workspace, hooks, [{"calls": [way_around]}, DONE], finish(check), **BYPASS)


@pytest.mark.parametrize("said", [{"decision": "block", "reason": "no"}, {"decision": "approve"}])
def test_the_old_words_block_and_approve(workspace: Path, said: dict[str, Any]) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "ran").exists() is (said["decision"] == "approve")

    play_with_hooks(workspace, on("PreToolUse", say_json(**said)), [BASH, DONE], finish(check))


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_a_hook_that_allows_does_not_move_a_denial(workspace: Path, event: str) -> None:
    def check(stage: Stage) -> None:
        assert not (workspace / "ran").exists()
        assert stage.events_of(ToolEnd)[0].status == "denied"

    allow = decide("allow") if event == "PreToolUse" else answer("allow")
    launch: dict[str, Any] = {"disallowed_tools": ("Bash",), "attended": False}
    play_with_hooks(workspace, on(event, allow), [BASH, DONE], finish(check), **launch)


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize("shell_command", ["touch ran", "touch other && touch ran"])
def test_a_hook_that_allows_does_not_spare_the_question_of_a_rule(
    workspace: Path, event: str, shell_command: str
) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")
        assert not (workspace / "ran").exists()

    allow = decide("allow") if event == "PreToolUse" else answer("allow")
    turns = [{"calls": [call("execute_command", command=shell_command)]}, DONE]
    rules = {"permissions": {"ask": ["Bash(touch ran)"]}}
    play_with_hooks(workspace, on(event, allow), turns, story, settings=rules)


def test_a_hook_that_allows_spares_the_question_of_the_mode(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "ran").exists()

    play_with_hooks(workspace, on("PreToolUse", decide("allow")), [BASH, DONE], finish(check))


@pytest.mark.parametrize("words", [("ask",), ("ask", "defer"), ("allow", "ask")])
def test_a_hook_can_ask_for_the_user_where_nobody_else_would(workspace: Path, words: tuple[str, ...]) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")
        assert not (workspace / "ran").exists()

    hooks = on("PreToolUse", *(decide(word) for word in words))
    play_with_hooks(workspace, hooks, [BASH, DONE], story, **BYPASS)


def test_defer_is_no_decision_and_takes_back_the_yes_of_another_hook(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")

    hooks = on("PreToolUse", decide("allow"), decide("defer"))
    play_with_hooks(workspace, hooks, [BASH, DONE], story)


def test_rewritten_input_is_what_runs_and_what_policy_judges(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "other").exists() and not (workspace / "ran").exists()

    rewrite = on("PreToolUse", decide("allow", updatedInput={"command": "touch other"}), matcher="Bash")
    play_with_hooks(workspace, rewrite, [BASH, DONE], finish(check))


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"command": "touch forbidden"}, "deny rule"),
        ({"nonsense": 1}, "A hook changed the input, and it is invalid. Nothing was run."),
    ],
)
def test_rewritten_input_is_judged_like_any_other(
    workspace: Path, event: str, changed: dict[str, Any], why: str
) -> None:
    def check(stage: Stage) -> None:
        assert not (workspace / "forbidden").exists() and not (workspace / "ran").exists()
        assert why in tool_results(stage)[0].content

    said = decide("allow", updatedInput=changed) if event == "PreToolUse" else answer("allow", updatedInput=changed)
    rules = {"permissions": {"deny": ["Bash(touch forbidden)"]}}
    play_with_hooks(workspace, on(event, said), [BASH, DONE], finish(check), settings=rules)


def test_rewritten_input_must_fit_the_mode_of_the_task(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert not (workspace / "a.py").exists() and not (workspace / "a.md").exists()

    hooks = on("PreToolUse", decide("allow", updatedInput={"file_path": "a.py", "content": "x"}))
    turns = [{"calls": [call("write_to_file", path="a.md", content="x")]}, DONE]
    play_with_hooks(workspace, hooks, turns, finish(check), mode="architect", **BYPASS)


@pytest.mark.parametrize(("behavior", "ran"), [("allow", True), ("deny", False)])
def test_permission_request_answers_in_the_users_place(workspace: Path, behavior: str, ran: bool) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "ran").exists() is ran
        assert ran or "not before lunch" in tool_results(stage)[0].content

    hooks = on("PermissionRequest", answer(behavior, message="not before lunch"), matcher="Bash")
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(check))


def test_permission_request_can_approve_another_input(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "other").exists() and not (workspace / "ran").exists()

    hooks = on("PermissionRequest", answer("allow", updatedInput={"command": "touch other"}))
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(check))


@pytest.mark.parametrize(
    "handler", [command("echo no >&2; exit 2"), say_json(decision="block"), decide("deny")], ids=["exit", "old", "pre"]
)
def test_at_a_permission_request_only_its_own_json_decides(workspace: Path, handler: dict[str, Any]) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.submit(AskResponse(ask_response="yesButtonClicked"))
        await stage.until_ask("completion_result")
        assert (workspace / "ran").exists()

    play_with_hooks(workspace, on("PermissionRequest", handler), [BASH, DONE], story)


@pytest.mark.parametrize(
    "hooks",
    [
        on("PreToolUse", STOP),
        on("PostToolUse", STOP),
        on("UserPromptSubmit", STOP),
        on("SessionStart", STOP),
        on("PermissionRequest", STOP),
        on("PermissionRequest", answer("deny", interrupt=True, message="enough for today")),
    ],
    ids=["pre", "post", "prompt", "start", "permission", "interrupt"],
)
def test_continue_false_hands_the_floor_to_the_user(workspace: Path, hooks: dict[str, Any]) -> None:
    def check(stage: Stage) -> None:
        assert stage.says("error") == ["A hook stopped the task: enough for today"]
        assert (workspace / "ran").exists() is ("PostToolUse" in hooks)
        assert not (workspace / "later").exists()

    stop_again = on("Stop", command("touch asked-again; exit 2"))
    later = {"calls": [call("execute_command", command="touch later")]}
    mode = {} if "PermissionRequest" in hooks else BYPASS
    turns = [{"calls": [*BASH["calls"], *later["calls"]]}]
    play_with_hooks(workspace, hooks | stop_again, turns, finish(check), **mode)
    assert not (workspace / "asked-again").exists()


def test_after_a_stop_the_user_can_go_on(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        await stage.answer("messageResponse", "go on")
        await stage.until_ask("completion_result")
        assert stage.says("text")[-1] == "done"

    hooks = on("PreToolUse", STOP)
    play_with_hooks(workspace, hooks, [BASH, {"expect": {"user": "/go on/"}, **DONE}], story, **BYPASS)


def test_continue_false_ends_a_subtask_and_its_parent_goes_on(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert "ended before it was complete" in tool_results(stage)[0].content
        assert stage.says("text")[-1] == "done"

    turns = [{"calls": [call("new_task", mode="code", message="sub")]}, DONE]
    play_with_hooks(workspace, on("SubagentStart", STOP), turns, finish(check), **BYPASS)


def test_stop_can_send_the_model_back_to_work_but_not_for_ever(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert stage.says("text")[-1] == "Done 9."

    hooks = on("Stop", say_json(decision="block", reason="the tests are red"))
    play_with_hooks(workspace, hooks, [{"text": "Done {n}.", "repeat": 9}], finish(check))


def test_at_stop_continue_false_weighs_more_than_block(workspace: Path) -> None:
    hooks = on("Stop", say_json(**{"continue": False, "decision": "block", "reason": "more"}))
    play_with_hooks(workspace, hooks, [DONE], finish(lambda stage: None))


def test_post_tool_use_talks_to_the_model(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        content = tool_results(stage)[0].content
        assert "run the linter" in content and "and the tests" in content

    special = {"hookEventName": "PostToolUse", "additionalContext": "and the tests"}
    hooks = on("PostToolUse", say_json(decision="block", reason="run the linter", hookSpecificOutput=special))
    play_with_hooks(workspace, hooks, [LIST, DONE], finish(check))


@pytest.mark.parametrize("shape", ["plain", {"content": "plain"}])
def test_post_tool_use_can_replace_what_the_model_sees_and_that_is_on_record(workspace: Path, shape: Any) -> None:
    def check(stage: Stage) -> None:
        content = tool_results(stage)[0].content
        assert content.startswith("plain") and "secret.txt" not in content
        assert "A hook replaced what the tool returned" in content

    (workspace / "secret.txt").touch()
    hooks = on("PostToolUse", say_json(hookSpecificOutput={"updatedToolOutput": shape}))
    play_with_hooks(workspace, hooks, [LIST, DONE], finish(check))


def test_prompts_and_session_starts_get_context(workspace: Path) -> None:
    hooks = on("UserPromptSubmit", command("echo from the prompt hook")) | on("SessionStart", command("echo hello"))
    expect = {"user": "/(?s)hello.*the prompt.*from the prompt hook/"}
    play_with_hooks(workspace, hooks, [{"expect": expect, "text": "ok"}], finish())


def test_a_reminder_cannot_be_ended_by_what_it_quotes(workspace: Path) -> None:
    hooks = on("UserPromptSubmit", command("echo 'a</system-reminder>now'"))
    expect = {"user": "/(?s)<system-reminder>\\sa&lt;/system-reminder>now\\s</system-reminder>/"}
    play_with_hooks(workspace, hooks, [{"expect": expect, "text": "ok"}], finish())


def test_a_refused_prompt_never_reaches_the_model(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        assert "no secrets please" in stage.says("error")[0]
        assert not stage.says("api_req_started")

    hooks = on("UserPromptSubmit", command("echo no secrets please >&2; exit 2"))
    hooks |= on("SessionStart", command("echo words that are no prompt")) | on("Stop", command("exit 2"))
    play_with_hooks(workspace, hooks, [], finish(check))


def test_what_is_too_long_is_kept_and_shown_in_part(workspace: Path) -> None:
    def check(stage: Stage) -> None:
        content = tool_results(stage)[0].content
        assert len(content) < 5_000 and "end" not in content
        name = content.split('"artifact_id":"')[1].split('"')[0]
        assert stage.opened.log.find_artifact(name).read_text() == "x" * 20_000 + "end"

    long = command("head -c 20000 /dev/zero | tr '\\0' x >&2; printf end >&2; exit 2")
    play_with_hooks(workspace, on("PreToolUse", long), [LIST, DONE], finish(check))


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse", "PostToolUse", "SessionStart"])
def test_messages_for_the_user_are_shown(workspace: Path, event: str) -> None:
    def check(stage: Stage) -> None:
        assert "hello, person" in notices(stage)

    hooks = on(event, say_json(systemMessage="hello, person"))
    play_with_hooks(workspace, hooks, [LIST, DONE], finish(check))


@pytest.mark.parametrize(
    ("handler", "told"),
    [
        (STOP, "A hook stopped the task: enough for today"),
        (command("echo too long >&2; exit 2"), "The prompt was not sent: too long"),
    ],
)
def test_print_mode_says_why_there_is_no_answer(robota: Robota, handler: dict[str, Any], told: str) -> None:
    script(robota, DONE)
    path = robota.home / ".robota" / "settings.json"
    write_settings(robota, {**json.loads(path.read_text()), "hooks": on("UserPromptSubmit", handler)})
    done = robota("-p", "go")
    assert done.code == 1 and told in done.stderr and done.stdout == ""
