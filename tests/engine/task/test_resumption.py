"""A session that another process left goes on: what is shown, what is asked, what the model is told."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.log.chain.verify import verify
from robota.log.kinds.calls import AnswerRecord
from robota.protocol.commands import QueueMessage
from robota.protocol.conversation import TextBlock, ToolResultBlock, UserTurn
from robota.protocol.events import Notice, State, TaskTokenUsageUpdated
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.state import AgentState
from tests.engine.stage import LONGEST_STORY_S, Stage, call, play

Story = Callable[[Stage], Awaitable[None]]


def resume(workspace: Path, turns: Sequence[Any], story: Story, **launch: Any) -> None:
    """Go on with the newest session of the workspace, with a model that follows `turns`."""
    options = {"turns": list(turns), "retry": {"baseMs": 1, "maxRetries": 3}}
    profile = Profile(type="scripted", name="script", model="scripted", options=options)
    [directory] = [path for path in (workspace / ".robota/sessions").iterdir() if path.is_dir()]

    async def run() -> None:
        wish = LaunchOptions(cwd=workspace, profile=profile, resumes=directory, **launch)
        opened = open_session(wish, {"ROBOTA_HOME": str(workspace.parent / "robota-home"), "ROBOTA_ENVIRONMENT": "0"})
        try:
            async with asyncio.timeout(LONGEST_STORY_S):
                await opened.resume()
                await story(Stage(opened))
        finally:
            await opened.close()
        assert verify(opened.log.path).broken is None

    asyncio.run(run())


def left_at(ask: str) -> Story:
    """A session that ends while it waits for an answer to this."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask(ask)

    return story


async def first_state(stage: Stage) -> None:
    await stage.until(lambda event: True)


def sent(stage: Stage) -> list[UserTurn]:
    """What the model was told, turn by turn, as the log has it."""
    task = stage.logged().current
    assert task is not None
    return [turn for turn in task.conversation().turns if isinstance(turn, UserTurn)]


def texts(turn: UserTurn) -> str:
    return "\n".join(block.text for block in turn.content if isinstance(block, TextBlock))


def results(turn: UserTurn) -> list[str]:
    return [block.content for block in turn.content if isinstance(block, ToolResultBlock)]


def test_a_completed_task_is_shown_as_it_looked_and_words_go_on_with_it(workspace: Path) -> None:
    shown: list[Any] = []

    async def before(stage: Stage) -> None:
        await stage.start("say hello")
        await stage.until_ask("completion_result")
        shown.extend(stage.rows)

    async def after(stage: Stage) -> None:
        await first_state(stage)
        assert list(stage.rows[:-1]) == shown
        assert stage.rows[-1].ask == "resume_completed_task" and stage.state is AgentState.IDLE
        await stage.answer("messageResponse", "and now?")
        await stage.until_ask("completion_result")
        assert stage.says("text")[-1] == "Now this."
        assert texts(sent(stage)[0]) == "say hello"
        last = texts(sent(stage)[-1])
        assert "closed" in last and "ago" in last and last.endswith("and now?")

    play(workspace, [{"text": "Hello."}], before)
    resume(workspace, [{"text": "Now this."}], after)


def test_modes_todos_queue_and_cost_are_those_of_the_session(workspace: Path) -> None:
    async def before(stage: Stage) -> None:
        await stage.start("go", mode="debug")
        await stage.until_ask("command")
        await stage.submit(QueueMessage(text="later"))

    async def after(stage: Stage) -> None:
        await first_state(stage)
        [state] = [event.state for event in stage.events_of(State)]
        assert (state.mode, state.permission_mode) == ("debug", PermissionMode.ACCEPT_EDITS)
        assert [todo.content for todo in state.todos] == ["one"]
        assert [queued.text for queued in state.message_queue] == ["later"]
        await stage.until(lambda event: isinstance(event, TaskTokenUsageUpdated))
        assert stage.events_of(TaskTokenUsageUpdated)[0].usage.output_tokens == 7
        await stage.answer("noButtonClicked", ts=next(row.ts for row in stage.rows if row.ask == "command"))
        await stage.until_ask("completion_result")
        assert "later" in texts(sent(stage)[-1])

    plan, command = call("update_todo_list", todos="[ ] one"), call("execute_command", command="touch x")
    turns = [{"calls": [plan], "usage": {"input": 5, "output": 7}}, {"calls": [command], "usage": {"input": 5}}]
    play(workspace, turns, before, permission_mode=PermissionMode.ACCEPT_EDITS)
    resume(workspace, [{"text": "ok"}], after)


def test_a_question_that_was_left_open_can_be_answered_by_another_process(workspace: Path) -> None:
    async def after(stage: Stage) -> None:
        await first_state(stage)
        [asked] = [row for row in stage.rows if row.ask == "followup"]
        await stage.answer("messageResponse", "B", ts=asked.ts)
        await stage.until_ask("completion_result")
        [told] = [turn for turn in sent(stage) if results(turn)]
        assert "B" in results(told)[0] and "[TASK RESUMPTION]" in texts(told)
        assert not [row for row in stage.rows if row.ask == "followup" and not row.is_answered]

    question = call("ask_followup_question", question="Which?", follow_up=[{"text": "A"}, {"text": "B"}])
    play(workspace, [{"calls": [question]}], left_at("followup"))
    resume(workspace, [{"text": "B it is."}], after, attended=False)


def test_an_approval_that_was_left_open_is_asked_again_and_earlier_results_are_kept(workspace: Path) -> None:
    (workspace / "a.txt").write_text("alpha\n")

    async def after(stage: Stage) -> None:
        await first_state(stage)
        assert stage.rows[-1].ask == "resume_task" and stage.state is AgentState.RESUMABLE
        await stage.answer("yesButtonClicked")
        await stage.until_ask("tool")
        assert not (workspace / "new.txt").exists()
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert (workspace / "new.txt").read_text() == "new\n"
        [told] = [turn for turn in sent(stage) if results(turn)]
        assert "alpha" in results(told)[0] and len(results(told)) == 2

    calls = [call("read_file", path="a.txt"), call("write_to_file", path="new.txt", content="new\n")]
    play(workspace, [{"calls": calls}], left_at("tool"))
    resume(workspace, [{"text": "done"}], after)


def test_an_answer_to_an_approval_runs_exactly_what_was_asked(workspace: Path) -> None:
    async def after(stage: Stage) -> None:
        await first_state(stage)
        [asked] = [row for row in stage.rows if row.ask == "tool"]
        await stage.answer("yesButtonClicked", ts=asked.ts)
        await stage.until_ask("completion_result")
        assert (workspace / "new.txt").read_text() == "new\n"

    play(workspace, [{"calls": [call("write_to_file", path="new.txt", content="new\n")]}], left_at("tool"))
    resume(workspace, [{"text": "done"}], after, attended=False)


def test_an_answer_is_not_used_if_the_file_has_changed_since(workspace: Path) -> None:
    target = workspace / "a.txt"
    target.write_text("one\ntwo\n")

    async def after(stage: Stage) -> None:
        await first_state(stage)
        [asked] = [row for row in stage.rows if row.ask == "tool"]
        await stage.answer("yesButtonClicked", ts=asked.ts)
        await stage.until_ask("completion_result")
        assert target.read_text() == "zero\none\ntwo\n"
        assert any("changed since" in result for turn in sent(stage) for result in results(turn))
        assert any("a.txt" in notice.text for notice in stage.events_of(Notice))

    edit = call("edit_file", path="a.txt", old_string="two", new_string="2")
    play(workspace, [{"calls": [call("read_file", path="a.txt")]}, {"calls": [edit]}], left_at("tool"))
    target.write_text("zero\none\ntwo\n")
    resume(workspace, [{"text": "done"}], after, attended=False)


def test_a_no_counts_even_if_a_rule_would_allow_it_now(workspace: Path) -> None:
    async def after(stage: Stage) -> None:
        await first_state(stage)
        [asked] = [row for row in stage.rows if row.ask == "tool"]
        await stage.answer("noButtonClicked", ts=asked.ts)
        await stage.until_ask("completion_result")
        assert not (workspace / "new.txt").exists()

    play(workspace, [{"calls": [call("write_to_file", path="new.txt", content="new\n")]}], left_at("tool"))
    resume(workspace, [{"text": "done"}], after, permission_mode=PermissionMode.ACCEPT_EDITS)


def test_everything_allowed_is_not_restored(workspace: Path) -> None:
    async def after(stage: Stage) -> None:
        assert stage.opened.options.permission_mode is PermissionMode.DEFAULT
        assert any("bypassPermissions" in notice for notice in stage.opened.notices)

    play(workspace, [{"text": "hi"}], left_at("completion_result"), permission_mode=PermissionMode.BYPASS)
    resume(workspace, [], after)


def test_offers_to_resume_do_not_pile_up(workspace: Path) -> None:
    async def after(stage: Stage) -> None:
        await first_state(stage)
        assert [row.ask for row in stage.rows if row.ask] == ["completion_result", "resume_completed_task"]

    play(workspace, [{"text": "hi"}], left_at("completion_result"))
    for _ in range(3):
        resume(workspace, [], after)


def test_an_answer_in_the_log_approves_nothing(workspace: Path) -> None:
    """A yes that was given before the call began counts no more than none."""
    left: dict[Path, bytes] = {}

    async def before(stage: Stage) -> None:
        await stage.start()
        asked = await stage.until_ask("tool")
        stage.opened.log.append(
            AnswerRecord(task_id=stage.logged().current_task_id or "", ts=asked.ts, response="yesButtonClicked")
        )
        left[stage.opened.log.path] = stage.opened.log.path.read_bytes()

    async def after(stage: Stage) -> None:
        await first_state(stage)
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert not (workspace / "new.txt").exists()

    play(workspace, [{"calls": [call("write_to_file", path="new.txt", content="new\n")]}], before)
    for log, content in left.items():
        log.write_bytes(content)  # as if it had been killed: closing it answers the call
    resume(workspace, [{"text": "done"}], after)


def test_the_prefix_of_the_next_request_is_what_was_sent_before(workspace: Path) -> None:
    turns: list[Any] = []

    async def before(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        task = stage.logged().current
        assert task is not None
        turns.extend(task.conversation().turns)

    async def after(stage: Stage) -> None:
        await first_state(stage)
        await stage.answer("messageResponse", "more")
        await stage.until_ask("completion_result")
        task = stage.logged().current
        assert task is not None
        now = task.conversation().turns
        assert msgspec.json.encode(now[: len(turns)]) == msgspec.json.encode(turns)

    play(workspace, [{"calls": [call("list_files", path=".")]}, {"text": "done"}], before)
    resume(workspace, [{"text": "again"}], after)
