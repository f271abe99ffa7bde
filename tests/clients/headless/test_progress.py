"""What a user sees while a run goes on: `--verbose`, and the few lines that are shown without it."""

import asyncio
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.clients.headless.client import run_headless
from robota.clients.headless.options import HeadlessOptions
from robota.clients.terminal.width import wrapped
from robota.protocol.calls import CallPurpose
from robota.protocol.conversation import ToolUseBlock
from robota.protocol.events import (
    Notice,
    RetryScheduled,
    TaskSpawned,
    TodosUpdated,
    ToolEnd,
    ToolStart,
)
from robota.protocol.message import TodoItem
from robota.tools.registry import builtin_tools
from tests.clients.headless.headless_run import run_steps
from tests.clients.scripted_peer import ScriptedSession
from tests.clients.stories import READ, TASK, Story

CHILD = "task-2"
TOOLS = {tool.name: tool for tool in builtin_tools()}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def verbose(story: Story) -> str:
    ran = run_steps(story.steps, "text", verbose=True)
    assert ran.code == 0
    return ran.stderr


def started(tool: str, arguments: dict[str, Any], *, call_id: str = "1", task: str = TASK) -> ToolStart:
    first, known = str(next(iter(arguments.values()))), TOOLS.get(tool)
    title = known.title(arguments) if known is not None and known.title is not None else ""
    return ToolStart(
        task_id=task,
        call_id=call_id,
        tool=tool,
        label=tool,
        first_arg=first,
        input=arguments,
        title=title,
        purpose=known.purpose if known is not None else CallPurpose.WORK,
    )


def ended(tool: str, status: str, *, call_id: str = "1", reason: str | None = None) -> ToolEnd:
    return ToolEnd(task_id=TASK, call_id=call_id, tool=tool, label=tool, first_arg="x", status=status, reason=reason)


def retry(delay_ms: int, **fields: Any) -> RetryScheduled:
    return RetryScheduled(task_id=TASK, attempt=2, max_retries=8, delay_ms=delay_ms, **fields)


def seen_on_terminal(story: Story) -> str:
    err = Terminal()

    async def main() -> None:
        await run_headless(
            ScriptedSession(story.steps), "p", HeadlessOptions(verbose=True, quiet=True), io.BytesIO(), err
        )

    asyncio.run(main())
    return err.getvalue()


def test_the_todo_list_is_shown_as_a_list() -> None:
    todos = (
        TodoItem(content="look", status="completed"),
        TodoItem(content="change", status="in_progress"),
        TodoItem(content="test", status="pending"),
    )
    story = Story().add(started("update_todo_list", {"todos": "…"}), TodosUpdated(task_id=TASK, todos=todos)).done()
    assert verbose(story) == "* Todo list\n    [x] look\n    [-] change\n    [ ] test\n\n"


def test_what_a_subtask_does_stands_to_the_right_of_its_parent() -> None:
    story = Story().add(
        started("new_task", {"mode": "code", "message": "Count the lines."}),
        TaskSpawned(task_id=TASK, child_task_id=CHILD),
        started("Read", {"path": "a"}, call_id="2", task=CHILD),
        started("Read", {"path": "b"}, call_id="3"),
    )
    assert verbose(story.done()).splitlines()[:3] == ["* Subtask Count the lines.", "  * Read a", "* Read b"]


def test_a_search_is_named_by_what_it_looks_for() -> None:
    story = Story().add(started("search_files", {"path": "src", "regex": "TODO"})).done()
    assert verbose(story).startswith("* Grep TODO src\n")


def test_a_failed_call_says_why_in_words() -> None:
    story = Story().add(started("Read", {"path": "a"}), ended("Read", "error", reason="'a' does not exist."))
    assert verbose(story.done()) == "* Read a\n    error: 'a' does not exist.\n\n"


def test_a_call_that_is_not_the_newest_is_named_again_when_it_is_denied() -> None:
    story = Story().add(
        started("Read", {"path": "a"}, call_id="1"),
        started("Read", {"path": "b"}, call_id="2"),
        ended("Read", "denied", call_id="1", reason="no"),
        ended("Read", "denied", call_id="2", reason="nor this"),
    )
    assert verbose(story.done()).splitlines()[2:4] == ["    denied Read a: no", "    denied: nor this"]


def test_the_answer_is_not_told_twice_and_stands_apart() -> None:
    story = Story().add(Notice(level="info", text="fine"), started("attempt_completion", {"result": "the answer"}))
    assert verbose(story.done()) == "robota: fine\n\n"


def test_there_is_no_empty_line_at_the_top_and_none_after_an_error() -> None:
    assert verbose(Story().reply("Reading.", calls=(READ,)).done()).startswith("Reading.\n")
    ran = run_steps(Story().reply("half").ask("auto_approval_max_req_reached").steps, "text", verbose=True)
    assert ran.stderr.startswith("robota: The turn limit") and not ran.stderr.endswith("\n\n")


def test_a_long_wait_for_the_server_is_told_without_verbose_and_a_short_one_is_not() -> None:
    story = Story().add(retry(500, error="connection"), retry(4000, error="overloaded", error_status=529)).done()
    assert run_steps(story.steps, "text").stderr == (
        "robota: The model server is overloaded (HTTP 529). Retrying in 4.0 s (2 of 8).\n"
    )


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_whose_owner_wants_no_colour_gets_none(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    story = Story().add(started("Read", {"path": "a"})).done()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1m" in seen_on_terminal(story)
    monkeypatch.setenv(name, value)
    assert "\x1b" not in seen_on_terminal(story)


def test_a_narrow_terminal_gets_lines_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setenv("NO_COLOR", "1")
    story = Story().add(Notice(level="info", text="a notice that is longer than this")).done()
    assert seen_on_terminal(story) == "robota: a notice that\n  is longer than this\n\n"


@given(st.text(st.sampled_from("ab \n")), st.integers(20, 60))
def test_wrapping_loses_no_word(text: str, width: int) -> None:
    shown = wrapped(text, width, "  ")
    assert shown.split() == text.split()
    assert all(len(line) < width or len(line.split()) <= 1 for line in shown.splitlines())


def test_a_call_without_arguments_is_named_by_its_label() -> None:
    call = ToolUseBlock(id="1", name="list", input={})
    start = ToolStart(task_id=TASK, call_id=call.id, tool=call.name, label="List", first_arg="", input={})
    assert verbose(Story().add(start).done()).startswith("* List\n")
