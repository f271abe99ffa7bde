"""Which tasks a subtask belongs to, as clients are told."""

from pathlib import Path

from robota.protocol.events import TaskCreated
from tests.cli.scripts import call
from tests.engine.stage import Stage, play


def test_a_subtask_names_its_parent_and_the_task_of_the_user(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        first, second, third = stage.events_of(TaskCreated)
        assert (first.parent_task_id, first.root_task_id) == (None, None)
        assert second.parent_task_id == second.root_task_id == first.task_id
        assert (third.parent_task_id, third.root_task_id) == (second.task_id, first.task_id)

    delegate = {"calls": [call("new_task", mode="code", message="sub")]}
    done = {"calls": [call("attempt_completion", result="done")]}
    play(workspace, [delegate, delegate, done, done, {"text": "done"}], story)
