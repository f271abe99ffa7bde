"""Who has a say in condensing: a user who wants it now, and a hook that does not want it."""

import json
from pathlib import Path
from typing import Any

from robota.protocol.commands import Accepted, CancelTask, CondenseContext, Refused
from robota.protocol.events import ContextReduced, MessageCreated
from robota.protocol.state import AgentState
from tests.engine.context.context_stage import (
    DONE,
    NEARLY_FULL,
    OVER_FULL,
    SUMMARY,
    ContextStage,
    check_sendable,
    play_in_small_window,
    reading,
    words,
    write_files,
)
from tests.engine.stage import call


def hook(command: str, matcher: str = "") -> dict[str, Any]:
    return {"hooks": {"PreCompact": [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]}}


def test_a_hook_is_told_and_can_veto(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "Not now." in (stage.row("condense_context_error").text or "")
        assert len(stage.asked) == 3 and len(stage.asked[-1].turns) == 5
        told = json.loads((workspace / "told.json").read_text())
        assert (told["hook_event_name"], told["trigger"], told["custom_instructions"]) == ("PreCompact", "auto", "")

    veto = hook("cat > told.json; echo Not now. >&2; exit 2", "auto")
    play_in_small_window(workspace, [reading("a.txt"), reading("b.txt", NEARLY_FULL), DONE], story, settings=veto)


def test_a_veto_in_json_on_an_over_full_conversation_leaves_the_sliding_window(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt", "c.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "Mine." in (stage.row("condense_context_error").text or "")
        assert stage.row("sliding_window_truncation").context_truncation is not None
        check_sendable(stage.asked[-1].turns)

    veto = hook("""cat > /dev/null; echo '{"decision": "block", "reason": "Mine."}'""")
    turns = [reading("a.txt"), reading("b.txt"), reading("c.txt", OVER_FULL), DONE]
    play_in_small_window(workspace, turns, story, settings=veto)


def test_a_task_that_waits_condenses_at_once_and_waits_on(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("The task.")
        await stage.until_ask("completion_result")
        assert isinstance(await stage.submit(CondenseContext(text="the API")), Accepted)
        await stage.until_ask("completion_result")
        assert stage.state is AgentState.IDLE
        assert stage.row("condense_context").context_condense is not None
        (event,) = stage.events_of(ContextReduced)
        assert event.trigger == "manual"
        assert "the API" in words(stage.asked[-1].turns[-1:])
        told = json.loads((workspace / "told.json").read_text())
        assert (told["trigger"], told["custom_instructions"]) == ("manual", "the API")
        await stage.answer("messageResponse", "Go on.")
        await stage.until_ask("completion_result")
        check_sendable(stage.asked[-1].turns)
        assert "All done." in words(stage.asked[-1].turns) and "Go on." in words(stage.asked[-1].turns)

    turns = [reading("a.txt"), reading("b.txt"), DONE, SUMMARY, DONE]
    play_in_small_window(workspace, turns, story, settings=hook("cat > told.json", "manual"))


def test_hooks_of_a_start_can_tell_again_what_must_be_known(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "Use tabs." in words(stage.asked[-1].turns[-1:])
        assert all("Use tabs." not in words(request.turns) for request in stage.asked[:-1])
        check_sendable(stage.asked[-1].turns)

    tell = {"type": "command", "command": "cat > /dev/null; echo Use tabs."}
    start = {"hooks": {"SessionStart": [{"matcher": "compact", "hooks": [tell]}]}}
    turns = [reading("a.txt"), reading("b.txt", NEARLY_FULL), SUMMARY, DONE]
    play_in_small_window(workspace, turns, story, settings=start)


def test_a_task_that_runs_condenses_before_its_next_request(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("command")
        assert isinstance(await stage.submit(CondenseContext()), Accepted)
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert ["<condense_request>" in words(each.turns[-1:]) for each in stage.asked] == [False, False, True, False]
        check_sendable(stage.asked[-1].turns)

    command = {"calls": [call("execute_command", command="touch x")]}
    play_in_small_window(workspace, [reading("a.txt"), command, SUMMARY, DONE], story)


def test_after_a_failed_request_a_user_can_condense_and_then_retry(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("api_req_failed")
        assert isinstance(await stage.submit(CondenseContext()), Accepted)
        await stage.until_ask("api_req_failed")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert "The parser was rewritten." in words(stage.asked[-1].turns[:1])

    failing = {"fault": {"kind": "invalid_request"}}
    play_in_small_window(workspace, [reading("a.txt"), reading("b.txt"), failing, SUMMARY, DONE], story)


def test_it_is_refused_without_a_task_and_while_the_model_answers(workspace: Path) -> None:
    async def story(stage: ContextStage) -> None:
        refused = await stage.submit(CondenseContext())
        assert isinstance(refused, Refused) and refused.code == "no_active_task"
        await stage.start()
        await stage.until(lambda event: isinstance(event, MessageCreated) and event.message.say == "api_req_started")
        refused = await stage.submit(CondenseContext())
        assert isinstance(refused, Refused) and refused.code == "task_busy"
        await stage.submit(CancelTask())
        await stage.until_ask("resume_task")

    play_in_small_window(workspace, [{**DONE, "delayMs": 60_000}], story)


def test_it_is_refused_when_the_task_has_ended(workspace: Path) -> None:
    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        await stage.answer("yesButtonClicked")
        assert isinstance(await stage.submit(CondenseContext()), Refused)

    play_in_small_window(workspace, [DONE], story)


def test_a_task_that_was_interrupted_condenses_when_it_is_resumed(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.submit(CancelTask())
        await stage.until_ask("resume_task")
        assert isinstance(await stage.submit(CondenseContext()), Accepted)
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert stage.row("condense_context").context_condense is not None
        check_sendable(stage.asked[-1].turns)

    command = {"calls": [call("execute_command", command="touch x")]}
    play_in_small_window(workspace, [reading("a.txt"), command, SUMMARY, DONE], story)


def test_too_little_to_condense_says_so(workspace: Path) -> None:
    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        await stage.submit(CondenseContext())
        await stage.until_ask("completion_result")
        assert "not enough" in (stage.row("condense_context_error").text or "")
        assert len(stage.asked) == 1

    play_in_small_window(workspace, [DONE], story)
