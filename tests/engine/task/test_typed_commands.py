"""Commands that a user types: they run as the policy lets them, and the model learns of them with the next words."""

from pathlib import Path

from robota.protocol.asks.answer import Say
from robota.protocol.commands import AskResponse, CancelTask, NewTask, QueueMessage
from robota.protocol.events import ToolEnd
from tests.engine.calls.test_unsandboxed import outside, written  # noqa: F401 - a fixture
from tests.engine.stage import Stage, call, play
from tests.engine.task.test_resumption import first_state, resume
from tests.engine.task.test_typed_ahead import user_texts

ANSWER = {"text": "Seen."}


def test_the_first_thing_may_be_a_command_and_no_request_is_made_for_it(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.submit(NewTask(text="echo made > new.txt; cat new.txt", is_command=True))
        await stage.until_ask("completion_result")
        assert (workspace / "new.txt").read_text() == "made\n"
        assert not [row for row in stage.rows if row.say == "api_req_started"]
        assert stage.says("text") == ["!echo made > new.txt; cat new.txt"]
        await stage.answer("messageResponse", "what was that?")
        await stage.until_ask("completion_result")
        command, prompt = user_texts(stage)
        assert "ran a command themselves" in command and "made" in command and prompt == "what was that?"

    play(workspace, [ANSWER], story)


def test_commands_after_an_answer_and_while_it_works(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("first")
        await stage.until_ask("command")
        await stage.submit(QueueMessage(text="echo between", is_command=True))
        await stage.answer("yesButtonClicked")
        done = await stage.until_ask("completion_result")
        assert stage.says("user_feedback") == ["!echo between"]
        assert "between" in user_texts(stage)[1]
        await stage.submit(AskResponse(answer=Say(text="echo after", is_command=True), ts=done.ts))
        await stage.until_ask("completion_result")
        await stage.submit(QueueMessage(text="echo again", is_command=True, after_turn=True))
        await stage.until_ask("completion_result")
        assert stage.says("text") == ["first", "Seen."]
        assert "after" in user_texts(stage)[2] and "again" in user_texts(stage)[3]

    play(workspace, [{"calls": [call("execute_command", command="touch x")]}, ANSWER], story)


def test_a_denied_command_does_not_run_and_says_why(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.submit(NewTask(text="touch new.txt", is_command=True))
        await stage.until_ask("completion_result")
        assert not (workspace / "new.txt").exists()
        assert [end.status for end in stage.events_of(ToolEnd)] == ["denied"]
        assert "It was not run" in user_texts(stage)[0]

    play(workspace, [], story, disallowed_tools=("Bash(touch:*)",))


def test_what_was_typed_is_asked_about_before_it_leaves_the_sandbox(workspace: Path, outside: Path) -> None:  # noqa: F811
    program = f"{{ echo x > {outside}; }} 2>/dev/null || {{ echo 'Read-only file system'; exit 1; }}\n"
    (workspace / "program.sh").write_text(program)

    async def story(stage: Stage) -> None:
        await stage.submit(NewTask(text="sh program.sh", is_command=True))
        ask = await stage.until_ask("command")
        assert ask.verdict is not None and ask.verdict.rule == "sandbox" and not written(outside)
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")
        assert not written(outside)

    play(workspace, [], story)


def test_nobody_there_means_that_nobody_typed_it(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.submit(NewTask(text="touch new.txt", is_command=True))
        await stage.until_ask("completion_result")
        assert not (workspace / "new.txt").exists()

    play(workspace, [], story, attended=False)


def test_after_an_interruption_a_command_does_not_take_the_task_up(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("first")
        await stage.until_ask("command")
        await stage.submit(CancelTask())
        ask = await stage.until_ask("resume_task")
        await stage.submit(AskResponse(answer=Say(text="echo there", is_command=True), ts=ask.ts))
        await stage.until_ask("completion_result")
        assert len(stage.says("api_req_started")) == 1 and stage.says("text") == ["first"]

    play(workspace, [{"calls": [call("execute_command", command="touch x")]}, ANSWER], story)


def test_what_only_the_log_says_was_typed_is_asked_about(workspace: Path) -> None:
    """A log that somebody else wrote, or changed, must not run anything: approvals are never read back from it."""

    async def before(stage: Stage) -> None:
        await stage.start("first")
        await stage.until_ask("command")
        await stage.submit(QueueMessage(text="touch queued.txt", is_command=True))

    async def after(stage: Stage) -> None:
        await first_state(stage)
        assert [each.text for each in stage.session.state().message_queue] == ["touch queued.txt"]
        await stage.answer("noButtonClicked", ts=next(row.ts for row in stage.rows if row.ask == "command"))
        ask = await stage.until_ask("command")
        assert ask.text is not None and "queued.txt" in ask.text and not (workspace / "queued.txt").exists()
        await stage.answer("noButtonClicked", ts=ask.ts)
        await stage.until_ask("completion_result")
        assert not (workspace / "queued.txt").exists()

    play(workspace, [{"calls": [call("execute_command", command="touch x")]}], before)
    resume(workspace, [ANSWER, ANSWER], after)
