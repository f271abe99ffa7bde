"""Old outputs are cut without a request before a summary is paid for, and the model can see them again."""

from pathlib import Path
from typing import Any

from robota.engine.context.old_outputs import NEWEST_EXCHANGES, old_outputs
from robota.engine.context.window import CUT_SHARE
from robota.log.kinds.conversation import CutRecord
from robota.log.replay.context import ModelContext
from robota.protocol.conversation import ToolResultBlock, Turn, UserTurn
from robota.protocol.events import ContextReduced
from tests.engine.context.context_stage import (
    DONE,
    FILE_READERS,
    NEARLY_FULL,
    SUMMARY,
    ContextStage,
    check_sendable,
    play_in_small_window,
    reading,
    words,
    write_files,
)
from tests.engine.stage import call
from tests.log.replay.test_pairing import assistant, result, text, user
from tests.log.replay.test_pairing import call as tool_use

FILES = [f"f{number}.txt" for number in range(8)]


def many_reads(*, last: dict[str, Any]) -> list[dict[str, Any]]:
    return [*(reading(name) for name in FILES[:-1]), reading(FILES[-1], last)]


def write_large(workspace: Path) -> None:
    for name in FILES:
        (workspace / name).write_text(f"{name} {'.' * 90}\n" * 100)


def test_a_window_that_is_nearly_full_loses_old_outputs_first(workspace: Path) -> None:
    write_large(workspace)

    async def story(stage: ContextStage) -> None:
        await stage.start("Look at the files.")
        await stage.until_ask("completion_result")
        assert all(request.tools for request in stage.asked), "no summary was asked for"
        (event,) = stage.events_of(ContextReduced)
        assert event.how == "cut" and event.new_context_tokens < (1 - CUT_SHARE) * event.prev_context_tokens
        told = stage.row("tool_outputs_cut").context_truncation
        assert told is not None and told["outputsCut"] == 4
        sent = stage.asked[-1].turns
        check_sendable(sent)
        contents = [block.content for turn in sent for block in turn.content if isinstance(block, ToolResultBlock)]
        assert [len(content) < 500 for content in contents] == [True] * 4 + [False] * 4
        assert "f0.txt" in contents[0] and "Read the file again" in contents[0]
        assert sent[-8:-2] == stage.asked[-2].turns[-6:], "what is new stays as it was"
        task = stage.logged().current
        assert task is not None and task.conversation().turns == stage.kept

    play_in_small_window(workspace, [*many_reads(last=NEARLY_FULL), DONE], story)


def test_the_output_of_a_command_is_kept_where_the_model_can_look_into_it(workspace: Path) -> None:
    write_large(workspace)
    (workspace / "numbers.txt").write_text("\n".join(str(number**3) for number in range(1_000)))
    command = {"calls": [call("execute_command", command="cat numbers.txt")]}

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        note = words(stage.asked[-1].turns[2:3])
        assert "Left out to make room: the output of execute_command cat numbers.txt" in note
        name = note.split('"artifact_id":"')[1].split('"')[0]
        kept = stage.opened.log.find_artifact(name).read_text()
        assert kept in words(stage.asked[1].turns[2:3])

    play_in_small_window(workspace, [command, *many_reads(last=NEARLY_FULL), DONE], story)


def test_if_that_frees_too_little_a_summary_is_made(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt", "c.txt")
    small = [reading(name) for name in ("b.txt", "c.txt", "b.txt", "c.txt", "b.txt")]

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert [event.how for event in stage.events_of(ContextReduced)] == ["condensed"]

    play_in_small_window(workspace, [*small, reading("a.txt", NEARLY_FULL), SUMMARY, DONE], story)


def test_a_request_that_was_too_long_is_tried_again_without_old_outputs(workspace: Path) -> None:
    write_large(workspace)

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert [event.how for event in stage.events_of(ContextReduced)] == ["cut"]
        check_sendable(stage.asked[-1].turns)

    too_long = {"fault": {"kind": "context_too_long"}}
    turns = [*many_reads(last={"input": 30_000, "output": 10}), too_long, DONE]
    play_in_small_window(workspace, turns, story)


def conversation(*sizes: int) -> ModelContext:
    made = ModelContext()
    turns: list[Turn] = [user(text("go"))]
    for number, size in enumerate(sizes):
        turns += [assistant(tool_use(f"c{number}")), user(result(f"c{number}", "x" * size))]
    for turn in turns:
        made.add(turn)
    return made


def test_new_small_pinned_and_cut_outputs_stay() -> None:
    made = conversation(*[5_000] * 10)
    assert [output.turn for output in old_outputs(made.fold.pieces, set(), 0, FILE_READERS)] == [2, 4, 6, 8, 10, 12]
    assert [output.turn for output in old_outputs(made.fold.pieces, {4}, 0, FILE_READERS)] == [2, 6, 8, 10, 12]
    assert [output.turn for output in old_outputs(made.fold.pieces, set(), 4 * 31_000, FILE_READERS)] == [2, 4, 6, 8]
    first = old_outputs(made.fold.pieces, set(), 0, FILE_READERS)[0]
    short = CutRecord.from_json(
        b'{"taskId":"t","cutId":"x","results":[{"turn":2,"callId":"%s","put":"gone"}]}'
        % first.result.tool_use_id.encode()
    )
    made.reduce(short)
    assert isinstance(made.turns[2], UserTurn) and "gone" in words(made.turns[2:3])
    assert [output.turn for output in old_outputs(made.fold.pieces, set(), 0, FILE_READERS)] == [4, 6, 8, 10, 12]
    assert old_outputs(conversation(*[500] * 10).fold.pieces, set(), 0, FILE_READERS) == []
    assert old_outputs(conversation(*[5_000] * NEWEST_EXCHANGES).fold.pieces, set(), 0, FILE_READERS) == []
    assert old_outputs(ModelContext().fold.pieces, set(), 0, FILE_READERS) == []
