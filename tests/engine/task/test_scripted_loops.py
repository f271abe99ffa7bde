"""Misses, a failed edit and a denial: each result is enough to go on, and none ends a run."""

import re
from pathlib import Path

from robota.protocol.permission_mode import PermissionMode
from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "done"}


async def finished(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("completion_result")


def test_misses_do_not_end_a_run(workspace: Path) -> None:
    """Nobody is there to say that it may go on."""
    misses = [{"calls": [call("read_file", path=f"missing{number}.py")]} for number in range(8)]
    misses += [{"calls": [call("search_files", regex="absent", path=f"nowhere{number}")]} for number in range(4)]
    misses += [{"calls": [call("glob", pattern="*.py", path="src")]}, {"calls": [call("list_files", path="lib")]}]

    async def story(stage: Stage) -> None:
        await finished(stage)
        results = tool_results(stage)
        assert len(results) == len(misses) and all(result.is_error for result in results)
        assert stage.rows[-1].text == "done" or stage.says("text")[-1] == "done"

    play(workspace, [*misses, DONE], story, attended=False)


def test_a_failed_edit_shows_the_text_with_which_it_succeeds(workspace: Path) -> None:
    """The second edit is made of nothing but the result of the first."""
    (workspace / "price.py").write_text("def price(count):\n    return count * 3  # euros\n")
    wrong = call("edit_file", path="price.py", old_string="  return count*3 # euro", new_string="    return count * 4")
    right = call(
        "edit_file",
        path="price.py",
        old_string="    return count * 3  # euros",
        new_string="    return count * 4  # euros",
    )

    async def story(stage: Stage) -> None:
        await finished(stage)
        _, failed, done = tool_results(stage)
        assert failed.is_error and "Nothing was changed. The nearest text" in failed.content
        assert re.findall(r"^2 \| (.*)$", failed.content, re.MULTILINE) == [right["arguments"]["old_string"]]
        assert (
            done.content.startswith("Changed price.py (+1 -1 lines).") and "return count * 4  # euros" in done.content
        )
        assert "count * 4" in (workspace / "price.py").read_text()

    turns = [{"calls": [call("read_file", path="price.py")]}, {"calls": [wrong]}, {"calls": [right]}, DONE]
    play(workspace, turns, story, attended=False, permission_mode=PermissionMode.ACCEPT_EDITS)


def test_a_denied_call_that_is_made_again_is_denied_again_and_then_stopped(workspace: Path) -> None:
    """The result says who refused and what remains; a model that repeats the call all the same does not get through."""
    again = {"calls": [call("execute_command", command="touch made")]}

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("mistake_limit_reached")
        results = [result.content for result in tool_results(stage)]
        assert "Do not work around it: continue" in results[0] and "--" not in results[0]
        assert all("made" not in each or each.startswith("Denied") for each in results)
        assert any("repetition limit" in each for each in results)
        assert not (workspace / "made").exists()

    play(workspace, [again] * 9, story, attended=False, disallowed_tools=("Bash(touch *)",))
