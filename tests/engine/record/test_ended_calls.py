"""Clients that come later are shown of a call what those saw that were there, from memory and from the log alike."""

import json
from pathlib import Path

from msgspec.structs import replace

from robota.log.replay.rows.past_calls import past_calls
from robota.protocol.asks.answer import Answer, Approve, ApproveEdited, ApproveHunks, ApproveInput
from robota.protocol.calls import PastCall
from robota.protocol.commands import AskResponse, OlderRowsRequest
from robota.protocol.events import OlderRows, State, ToolEnd, ToolStart
from robota.protocol.views import DiffView, TerminalView
from tests.engine.stage import Stage, call, play
from tests.engine.task.test_resumption import first_state, left_at, resume

LINES = [f"line {number}" for number in range(40)]
CHANGED = "".join(f"{'new' if number in (2, 15, 30) else 'line'} {number}\n" for number in range(40))
TURNS = [
    {"calls": [call("read_file", path="a.txt"), call("read_file", path="none")]},
    {"calls": [call("write_to_file", path="a.txt", content=CHANGED)]},
    {"calls": [call("write_to_file", path="big.txt", content="x\n" * 100_000)], "chunkSize": 4096},
    {"calls": [call("write_to_file", path="other.txt", content="as the model wanted\n")]},
    {"calls": [call("execute_command", command="touch made")]},
    {"calls": [call("execute_command", command="touch made; seq 20000; exit 3")]},
    {"calls": [call("update_todo_list", todos="[x] one\n[ ] two")]},
    {"calls": [call("attempt_completion", result="All done.")]},
]


def seen_live(stage: Stage) -> list[PastCall]:
    """What the clients were told that were there, in the order of the ends."""
    begun = {event.call_id: event for event in stage.events_of(ToolStart)}
    return [
        PastCall(
            call_id=event.call_id,
            after=0,
            title=begun[event.call_id].title,
            status=event.status,
            purpose=begun[event.call_id].purpose,
            duration_ms=event.duration_ms,
            reason=event.reason,
            view=event.view,
        )
        for event in stage.events_of(ToolEnd)
    ]


def without_place(calls: tuple[PastCall, ...]) -> list[PastCall]:
    return [replace(each, after=0) for each in calls]


def test_later_clients_are_shown_what_was_seen(workspace: Path) -> None:
    (workspace / "a.txt").write_text("\n".join(LINES) + "\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        answers: list[Answer] = [
            ApproveHunks(hunks=(0, 2)),
            Approve(),
            ApproveInput(input={"path": "other.txt", "content": "as the user wants\n"}),
            ApproveEdited(edited="echo changed; exit 4"),
            Approve(),
        ]
        for kind, answer in zip(("tool", "tool", "tool", "command", "command"), answers, strict=True):
            asked = await stage.until_ask(kind)
            await stage.submit(AskResponse(answer=answer, ts=asked.ts))
        await stage.until_ask("completion_result")
        live = seen_live(stage)
        assert len(live) == 9 and [each.status for each in live].count("error") == 1
        chosen, big, edited = (live[place].view for place in (2, 3, 5))
        assert isinstance(chosen, DiffView) and len(chosen.hunks) == 2
        assert isinstance(big, DiffView) and big.added == 100_000
        assert isinstance(edited, TerminalView) and (edited.output, edited.exit_code) == ("changed\n", 4)
        first = await anext(stage.session.events())
        assert isinstance(first, State) and without_place(first.state.calls) == live
        page = await stage.session.older_rows(OlderRowsRequest())
        assert isinstance(page, OlderRows) and page.calls == first.state.calls
        task = stage.logged().root
        assert task is not None and past_calls(task.messages, task.calls) == first.state.calls

    play(workspace, TURNS, story)


def test_the_log_holds_no_second_copy_of_a_change_or_an_output(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        for kind in ("tool", "command"):
            asked = await stage.until_ask(kind)
            await stage.submit(AskResponse(answer=Approve(), ts=asked.ts))
        await stage.until_ask("completion_result")
        lines = stage.opened.log.path.read_text().splitlines()
        ends = [line for line in lines if json.loads(line)["kind"] == "toolEnd"]
        assert len(ends) == 2 and all(len(line) < 1_000 for line in ends)

    command = call("execute_command", command="for i in $(seq 1000); do echo line $i; done")
    turns = [{"calls": [call("write_to_file", path="b.txt", content="y\n" * 9_000)]}, {"calls": [command]}]
    play(workspace, [*turns, {"text": "done"}], story)


def test_a_call_that_another_process_asked_about_is_one_call(workspace: Path) -> None:
    async def after(stage: Stage) -> None:
        await first_state(stage)
        [asked] = [row for row in stage.rows if row.ask == "tool"]
        await stage.submit(AskResponse(answer=Approve(), ts=asked.ts))
        await stage.until_ask("completion_result")
        task = stage.logged().root
        assert task is not None
        for calls in (stage.session.state().calls, past_calls(task.messages, task.calls)):
            [written] = calls
            assert written.status == "success" and isinstance(written.view, DiffView) and written.view.hunks

    write = call("write_to_file", path="new.txt", content="new\n")
    play(workspace, [{"calls": [write]}], left_at("tool"))
    resume(workspace, [{"text": "done"}], after, attended=False)


def test_a_client_that_comes_while_a_call_runs_is_shown_the_others(workspace: Path) -> None:
    (workspace / "a.txt").write_text("a\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        first = await anext(stage.session.events())
        assert isinstance(first, State) and [each.title for each in first.state.calls] == ["Read a.txt"]

    read, touch = call("read_file", path="a.txt"), call("execute_command", command="touch b")
    play(workspace, [{"calls": [read]}, {"calls": [touch]}], story)
