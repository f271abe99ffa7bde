"""The chokepoint: what is asked, what an answer does, and what is never run."""

import asyncio
import json
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from robota.protocol.asks.answer import ApproveEdited
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.codec import decode_command
from robota.protocol.commands import Accepted, AskResponse, QueueMessage, Refused, SetPermissionMode
from robota.protocol.events import TaskAskResponded, TaskInteractive, ToolEnd, ToolStart
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.state import AgentState
from robota.protocol.views import TerminalView
from tests.engine.stage import Stage, call, play, tool_results

WRITE = {"calls": [call("write_to_file", path="new.txt", content="hello\n")]}
DONE = {"text": "done"}


def test_a_write_is_asked_with_its_diff_and_runs_after_yes(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("tool")
        assert stage.state is AgentState.WAITING_FOR_INPUT
        assert json.loads(ask.text or "")["tool"] == "newFileCreated"
        assert not (workspace / "new.txt").exists()
        await stage.answer("yesButtonClicked", ts=ask.ts)
        await stage.until_ask("completion_result")
        assert (workspace / "new.txt").read_text() == "hello\n"
        answered = [row for row in stage.rows if row.ask == "tool"]
        assert answered[0].is_answered is True
        assert len(stage.events_of(TaskInteractive)) == 1
        assert stage.events_of(TaskAskResponded)[0].ts == ask.ts

    play(workspace, [WRITE, DONE], story)


WEEK_S = 7 * 24 * 3600.0


def test_the_time_in_which_a_user_thinks_is_none_of_the_calls(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is advanced by a week while the user decides."""
    thought_s = 0.0

    def clock() -> float:
        return monotonic() + thought_s

    async def story(stage: Stage) -> None:
        nonlocal thought_s
        await stage.start()
        ask = await stage.until_ask("tool")
        thought_s = WEEK_S
        await stage.answer("yesButtonClicked", ts=ask.ts)
        await stage.until_ask("completion_result")
        assert 0 <= stage.events_of(ToolEnd)[0].duration_ms < WEEK_S * 1000 / 2

    for module in ("calls.executor", "runtime.task_runtime"):
        monkeypatch.setattr(f"robota.engine.{module}.monotonic", clock)
    play(workspace, [WRITE, DONE], story)


@pytest.mark.parametrize("response", ["noButtonClicked", "messageResponse", "objectResponse"])
def test_anything_but_yes_is_a_no_and_skips_the_rest_of_the_reply(workspace: Path, response: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer(response, "use another name")
        await stage.until_ask("completion_result")
        assert not (workspace / "new.txt").exists() and not (workspace / "other.txt").exists()
        first, second = tool_results(stage)
        assert first.content == "Denied by the user: use another name\nNothing was run. Continue as the user says."
        assert "rejected an earlier call" in second.content
        assert stage.events_of(ToolEnd)[0].status == "denied"

    both = {"calls": [*WRITE["calls"], call("write_to_file", path="other.txt", content="x")]}
    play(workspace, [both, DONE], story)


def test_words_with_a_yes_reach_the_model(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("yesButtonClicked", "fine, but be quick")
        await stage.until_ask("completion_result")
        assert "fine, but be quick" in tool_results(stage)[0].content

    play(workspace, [WRITE, DONE], story)


def test_a_command_is_asked_as_a_command(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command")
        assert ask.text == "sh -c 'echo hi'"
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert stage.says("command_output") == ["hi\n"]
        assert "hi" in tool_results(stage)[0].content

    play(workspace, [{"calls": [call("execute_command", command="sh -c 'echo hi'")]}, DONE], story)


def test_a_long_command_is_asked_about_with_every_line(workspace: Path) -> None:
    """The middle of a here-document is approved like its ends, so it must be shown."""
    command = "cat <<'END' > out.txt\n" + "".join(f"line {number}\n" for number in range(600)) + "END"

    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command")
        assert ask.text == command
        assert isinstance(ask.asked, ApprovalAsk) and isinstance(ask.asked.view, TerminalView)
        assert ask.asked.view.command == command
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")

    play(workspace, [{"calls": [call("execute_command", command=command)]}, {"text": "ok"}], story)


def test_a_stale_or_unknown_answer_changes_nothing(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        nothing = await stage.answer("yesButtonClicked")
        assert isinstance(nothing, Refused) and nothing.code == "stale_ask"
        await stage.start()
        ask = await stage.until_ask("tool")
        wrong = await stage.answer("yesButtonClicked", ts=ask.ts - 1)
        assert isinstance(wrong, Refused) and str(ask.ts) in wrong.message
        first = await stage.answer("noButtonClicked", ts=ask.ts)
        late = await stage.answer("yesButtonClicked", ts=ask.ts)
        assert isinstance(first, Accepted) and isinstance(late, Refused)
        await stage.until_ask("completion_result")
        assert not (workspace / "new.txt").exists()

    play(workspace, [WRITE, DONE], story)


def test_a_queued_message_is_never_an_approval(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        receipt = await stage.submit(QueueMessage(text="yes please"))
        assert isinstance(receipt, Accepted)
        assert not (workspace / "new.txt").exists()
        assert len(stage.logged().queue) == 1
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")
        assert not (workspace / "new.txt").exists()
        assert stage.says("user_feedback") == ["yes please"]
        assert stage.logged().queue == ()

    play(workspace, [WRITE, {"expect": {"user": "yes please"}, "text": "ok"}], story)


def test_unattended_nothing_is_asked_and_the_reason_is_given(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        ended = stage.events_of(ToolEnd)[0]
        assert ended.status == "denied" and ended.input == {"path": "new.txt", "content": "hello\n"}
        assert "--permission-mode acceptEdits" in (ended.reason or "")
        told = tool_results(stage)[0].content
        assert told.startswith("Denied: write_to_file needs approval in default mode. No user is present to approve it")
        assert "--" not in told and "Do not work around it" in told
        assert not (workspace / "new.txt").exists()

    play(workspace, [WRITE, DONE], story, attended=False)


@pytest.mark.parametrize(
    ("mode", "written", "ran"),
    [
        ("plan", False, False),
        ("default", False, False),
        ("acceptEdits", True, False),
        ("bypassPermissions", True, True),
    ],
)
def test_permission_modes(workspace: Path, mode: str, written: bool, ran: bool) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert (workspace / "new.txt").exists() is written
        assert (workspace / "touched").exists() is ran

    turns = [WRITE, {"calls": [call("execute_command", command="touch touched")]}, DONE]
    play(workspace, turns, story, permission_mode=mode, attended=False)


def test_the_permission_mode_can_change_while_a_task_runs(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("followup")
        unknown = await stage.submit(decode_command('{"type": "permissionMode", "permissionMode": "yolo"}'))
        assert isinstance(unknown, Refused) and "yolo" in unknown.message
        await stage.submit(SetPermissionMode(permission_mode=PermissionMode.ACCEPT_EDITS))
        await stage.answer("messageResponse", "go")
        await stage.until_ask("completion_result")
        assert (workspace / "new.txt").exists()

    turns = [{"calls": [call("ask_followup_question", question="?", follow_up=[{"text": "go"}])]}, WRITE, DONE]
    play(workspace, turns, story)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"name": "no_such_tool", "arguments": {}}, "There is no tool 'no_such_tool'"),
        ({"name": "read_file", "arguments": {}}, "'path' is missing"),
        ({"name": "read_file", "arguments": {"path": {"a": 1}}}, "Invalid arguments"),
        ({"name": "read_file", "arguments": '{"path": "a.t'}, "not valid JSON"),
        ({"name": "read_file", "arguments": '["a.txt"]'}, "Write them as an object"),
        ({"name": "read_file", "arguments": {"path": "nowhere.txt"}}, "nowhere.txt"),
        ({"name": "read_file", "arguments": {"path": "../../etc/passwd"}}, "outside"),
    ],
)
def test_bad_calls_come_back_to_the_model_as_errors(workspace: Path, bad: dict[str, Any], words: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        (result,) = tool_results(stage)
        assert result.is_error and words in result.content.replace('\\"', '"')
        assert [type(e) for e in stage.seen if isinstance(e, ToolStart | ToolEnd)] == [ToolStart, ToolEnd]

    play(workspace, [{"calls": [bad]}, DONE], story, attended=False)


def test_numbers_written_as_text_are_understood(workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\nthree\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        content = tool_results(stage)[0].content
        assert "two" in content and "one" not in content

    play(workspace, [{"calls": [call("read_file", path="a.txt", offset="2", limit="1")]}, DONE], story)


def test_calls_with_the_same_id_each_get_their_own_result(workspace: Path) -> None:
    for name in "ab":
        (workspace / f"{name}.txt").write_text(f"content of {name}\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        results = tool_results(stage)
        assert ["content of a" in results[0].content, "content of b" in results[1].content] == [True, True]
        assert len({result.tool_use_id for result in results}) == 2

    calls = [{**call("read_file", path=f"{name}.txt"), "id": "same"} for name in "ab"]
    echo = {**call("read_file", path="a.txt"), "id": "same"}
    play(workspace, [{"calls": [*calls, echo]}, DONE], story)


def test_two_clients_see_the_same_and_the_first_answer_wins(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("tool")
        second = Stage(stage.opened)
        receipts = await asyncio.gather(
            stage.answer("yesButtonClicked", ts=ask.ts),
            second.submit(AskResponse(ask_response="noButtonClicked", ts=ask.ts)),
        )
        assert [type(receipt) for receipt in receipts] == [Accepted, Refused]
        await stage.until_ask("completion_result")
        await second.until_ask("completion_result")
        assert list(second.rows) == list(stage.rows)

    play(workspace, [WRITE, DONE], story)


@pytest.mark.parametrize("is_approved", [True, False])
def test_what_was_not_shown_needs_a_yes_of_its_own(workspace: Path, is_approved: bool) -> None:
    """The rest of a change of megabytes can be read in a file; nothing is written without the second yes."""
    content = "".join(f"{number:08d} a line of text\n" for number in range(60_000))

    async def story(stage: Stage) -> None:
        await stage.start()
        first = await stage.until_ask("tool")
        await stage.answer("yesButtonClicked", ts=first.ts)
        second = await stage.until_ask("tool")
        assert not (workspace / "new.txt").exists()
        assert isinstance(second.asked, ApprovalAsk) and second.asked.verdict.rule == "unseen"
        words = second.asked.verdict.reason
        assert "changed lines were too many to show" in words
        kept = stage.opened.log.find_artifact(words.rpartition("/")[2].removesuffix("."))
        assert str(kept) in words and stage.opened.log.artifact(kept.name) == content.encode()
        await stage.answer("yesButtonClicked" if is_approved else "noButtonClicked", ts=second.ts)
        await stage.until_ask("completion_result")
        assert (workspace / "new.txt").exists() is is_approved

    write = {"calls": [call("write_to_file", path="new.txt", content=content)], "chunkSize": 4096}
    play(workspace, [write, DONE], story)


# The arguments of a call, the tool, and what the user writes in place of one of them.
EDITABLE = [
    (
        {"path": "f.txt", "diff": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"},
        "apply_diff",
        "<<<<<<< SEARCH\na\n=======\nmine\n>>>>>>> REPLACE",
    ),
    ({"path": "f.txt", "old_string": "a", "new_string": "b"}, "edit_file", "mine"),
    ({"path": "f.txt", "content": "b\n"}, "write_to_file", "mine\n"),
    (
        {"patch": "*** Begin Patch\n*** Update File: f.txt\n@@\n-a\n+b\n*** End Patch"},
        "apply_patch",
        "*** Begin Patch\n*** Update File: f.txt\n@@\n-a\n+mine\n*** End Patch",
    ),
]


@pytest.mark.parametrize(("arguments", "tool", "written"), EDITABLE)
def test_an_edit_can_be_written_anew_before_it_is_approved(
    workspace: Path, arguments: dict[str, Any], tool: str, written: str
) -> None:
    (workspace / "f.txt").write_text("a\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        asked = await stage.until_ask("tool")
        await stage.submit(AskResponse(answer=ApproveEdited(edited=written), ts=asked.ts))
        await stage.until_ask("completion_result")

    turns = [{"calls": [call("read_file", path="f.txt")]}, {"calls": [call(tool, **arguments)]}, {"text": "done"}]
    play(workspace, turns, story)
    assert (workspace / "f.txt").read_text() == "mine\n"
