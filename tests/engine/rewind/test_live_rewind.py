"""Going back in a session that is open: files and conversation, and forth again."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from robota.log.chain.reader import load
from robota.log.kinds.session import EndRecord, TaskRecord
from robota.log.record import payload_of
from robota.protocol.commands import (
    Accepted,
    ListRewindPoints,
    Receipt,
    RedoRewind,
    Refused,
    RewindRequest,
    RewindTo,
    ShowRewindDiff,
    UndoRewind,
)
from robota.protocol.conversation import TextBlock, UserTurn
from robota.protocol.events import RewindDiff, RewindPoints, RewindPreview, Rewound, State
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.rewind import PromptPoint, RewindResult, RewindScope
from tests.engine.stage import Stage, call, play

ACCEPT: Any = {"permission_mode": PermissionMode.ACCEPT_EDITS}


def write(content: str) -> dict[str, Any]:
    return {"calls": [call("write_to_file", path="a.txt", content=content)]}


def edit(old: str, new: str) -> dict[str, Any]:
    return {"calls": [call("edit_file", path="a.txt", old_string=old, new_string=new)]}


COLOURS = [{"text": "red"}, {"text": "blue"}]
TWO_PROMPTS = [write("one\n"), {"text": "first done"}, edit("one", "two"), {"text": "second done"}]


async def prompted_twice(stage: Stage) -> None:
    await stage.start("write one")
    await stage.until_ask("completion_result")
    await stage.answer("messageResponse", "now two")
    await stage.until_ask("completion_result")


async def gone(stage: Stage, order: RewindRequest) -> RewindResult:
    receipt = await stage.submit(order)
    assert isinstance(receipt, Accepted), receipt
    event = await stage.until(lambda event: isinstance(event, Rewound))
    assert isinstance(event, Rewound)
    return event.result


async def points(stage: Stage) -> tuple[PromptPoint, ...]:
    assert isinstance(await stage.submit(ListRewindPoints()), Accepted)
    event = await stage.until(lambda event: isinstance(event, RewindPoints))
    assert isinstance(event, RewindPoints)
    return event.points


def words(stage: Stage) -> list[str]:
    """What the model is told of the user's words, as the log has it."""
    task = stage.logged().current
    turns = [] if task is None else task.conversation().turns
    blocks = [block for turn in turns if isinstance(turn, UserTurn) for block in turn.content]
    return [block.text for block in blocks if isinstance(block, TextBlock)]


def test_back_to_a_prompt_and_on_from_there(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await prompted_twice(stage)
        result = await gone(stage, RewindTo(number=2))
        assert (workspace / "a.txt").read_text() == "one\n"
        assert (result.draft, result.left_prompts) == ("now two", (2,))
        assert words(stage) == ["write one"]
        assert "second done" not in stage.says("text")
        ask = await stage.until_ask("resume_completed_task")
        assert isinstance(await stage.answer("messageResponse", "now three", ask.ts), Accepted)
        await stage.until_ask("completion_result")
        assert words(stage) == ["write one", "now three"]
        assert (workspace / "a.txt").read_text() == "three\n"
        assert [(point.prompt, point.is_live) for point in await points(stage)] == [
            ("write one", True),
            ("now two", False),
            ("now three", True),
        ]

    later = [write("three\n"), {"text": "read first"}, edit("one", "three"), {"text": "third done"}]
    play(workspace, [*TWO_PROMPTS, later[2], {"calls": [call("read_file", path="a.txt")]}, *later[2:]], story, **ACCEPT)


def test_back_to_the_beginning_leaves_no_task(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await prompted_twice(stage)
        result = await gone(stage, RewindTo(number=1))
        assert not (workspace / "a.txt").exists()
        assert (result.draft, result.left_prompts) == ("write one", (1, 2))
        assert stage.events_of(State)[-1].state.current_task_id is None
        assert stage.logged().current is None
        await stage.start("something else")
        await stage.until_ask("completion_result")
        assert words(stage) == ["something else"]

    play(workspace, [*TWO_PROMPTS, {"text": "fine"}], story, **ACCEPT)


def test_undo_and_redo_take_both_halves(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await prompted_twice(stage)
        for _ in range(2):
            await gone(stage, RewindTo(number=2))
            result = await gone(stage, UndoRewind())
            assert (workspace / "a.txt").read_text() == "two\n"
            assert result.returned_prompts == (2,)
            assert words(stage) == ["write one", "now two"]
            await gone(stage, RedoRewind())
            assert (workspace / "a.txt").read_text() == "one\n"
            assert words(stage) == ["write one"]
            await gone(stage, UndoRewind())

    play(workspace, TWO_PROMPTS, story, **ACCEPT)


@pytest.mark.parametrize("scope", [RewindScope.FILES, RewindScope.CONVERSATION])
def test_only_one_half(workspace: Path, scope: RewindScope) -> None:
    async def story(stage: Stage) -> None:
        await prompted_twice(stage)
        result = await gone(stage, RewindTo(number=2, scope=scope))
        is_files = scope is RewindScope.FILES
        assert (workspace / "a.txt").read_text() == ("one\n" if is_files else "two\n")
        assert words(stage) == (["write one", "now two"] if is_files else ["write one"])
        assert result.changes_conversation is not is_files

    play(workspace, TWO_PROMPTS, story, **ACCEPT)


def test_looking_changes_nothing(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await prompted_twice(stage)
        order = RewindTo(number=1, is_preview=True, request_id="mine")
        assert isinstance(await stage.submit(order), Accepted)
        event = await stage.until(lambda event: isinstance(event, RewindPreview))
        assert isinstance(event, RewindPreview)
        assert "-two" in event.result.diff and event.request_id == "mine"
        assert (workspace / "a.txt").read_text() == "two\n"
        assert isinstance(await stage.submit(ShowRewindDiff(number=2)), Accepted)
        shown = await stage.until(lambda event: isinstance(event, RewindDiff))
        assert isinstance(shown, RewindDiff) and "-one\n+two" in shown.diff
        # What was looked at is not what is there any more.
        (workspace / "a.txt").write_text("mine\n")
        order = msgspec.structs.replace(order, is_preview=False, state=event.result.state)
        assert _code(await stage.submit(order)) == "no_rewind"
        assert (workspace / "a.txt").read_text() == "mine\n"
        assert words(stage) == ["write one", "now two"]

    play(workspace, TWO_PROMPTS, story, **ACCEPT)


def test_a_number_that_there_is_not_and_nothing_to_undo(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        for order in (RewindTo(number=1), RewindTo(), RewindTo(call_id="x"), UndoRewind(), RedoRewind()):
            assert _code(await stage.submit(order)) == "no_rewind"

    play(workspace, [], story)


def test_not_while_something_runs(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        assert _code(await stage.submit(RewindTo(number=1))) == "task_busy"

    play(workspace, [{"calls": [call("execute_command", command="touch x")]}], story)


def test_a_rewound_file_must_be_read_again(workspace: Path) -> None:
    """What the model read on the branch that was left it does not know any more."""

    async def story(stage: Stage) -> None:
        await stage.start("look")
        await stage.until_ask("completion_result")
        await gone(stage, RewindTo(number=1))
        await stage.start("write")
        await stage.until_ask("completion_result")
        assert (workspace / "a.txt").read_text() == "there\n"

    (workspace / "a.txt").write_text("there\n")
    read = {"calls": [call("read_file", path="a.txt")]}
    play(workspace, [read, {"text": "seen"}, write("over\n"), {"text": "done"}], story, **ACCEPT)


def _code(receipt: Receipt) -> str:
    assert isinstance(receipt, Refused), receipt
    return receipt.code


def test_a_question_is_asked_again_after_going_back_to_before_its_answer(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("paint it")
        await stage.until_ask("followup")
        await stage.answer("messageResponse", "red")
        await stage.until_ask("completion_result")
        result = await gone(stage, RewindTo(number=2))
        assert result.draft == "red"
        again = await stage.until_ask("followup")
        assert "Which colour?" in (again.text or "")
        assert isinstance(await stage.answer("messageResponse", "blue", again.ts), Accepted)
        await stage.until_ask("completion_result")
        assert stage.says("text")[-1] == "blue then"
        assert [(point.prompt, point.is_live) for point in await points(stage)] == [
            ("paint it", True),
            ("red", False),
            ("blue", True),
        ]

    question = {"calls": [call("ask_followup_question", question="Which colour?", follow_up=COLOURS)]}
    play(workspace, [question, {"text": "red then"}, {"text": "blue then"}], story)


def test_the_end_of_a_lost_subtask_is_recorded_once_by_a_rewind_that_asks_again(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        task = await stage.start("look at it")
        await stage.until_ask("completion_result")
        # As in a log whose record of the end of a subtask was damaged.
        stage.opened.log.append(TaskRecord(task_id="lost", mode="code", parent_task_id=task))
        await stage.answer("messageResponse", "paint it")
        await stage.until_ask("followup")
        await stage.answer("messageResponse", "red")
        await stage.until_ask("completion_result")
        await gone(stage, RewindTo(number=3))
        again = await stage.until_ask("followup")
        await stage.answer("messageResponse", "blue", again.ts)
        await stage.until_ask("completion_result")
        records = load(stage.opened.log.path).records
        ends = [payload_of(record) for record in records if record.kind == "end"]
        assert [end.task_id for end in ends if isinstance(end, EndRecord)] == [task, "lost"]

    question = {"calls": [call("ask_followup_question", question="Which colour?", follow_up=COLOURS)]}
    play(workspace, [{"text": "seen"}, question, {"text": "red then"}, {"text": "blue then"}], story)
