"""Tools that speak with the user or steer the task, and the listing."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from robota.contracts.tool import BadArguments, Complete, Delegate, Plan, Question, ToolError
from robota.protocol.asks.ask import QuestionAsk, SuggestedAnswer
from robota.protocol.message import TodoItem
from robota.protocol.views import TodoView
from tests.tools.workbench import Workbench


def test_a_question_carries_its_suggestions(bench: Workbench) -> None:
    arguments = {"question": "Which?", "follow_up": [{"text": "A"}, {"text": "B", "mode": "code"}]}
    control = bench.call("ask_followup_question", **arguments).control
    assert isinstance(control, Question)
    suggested = (SuggestedAnswer(answer="A"), SuggestedAnswer(answer="B", mode="code"))
    assert control.asked == QuestionAsk(question="Which?", suggestions=suggested)
    preview = bench.preview("ask_followup_question", **arguments)
    suggest = [{"answer": "A"}, {"answer": "B", "mode": "code"}]
    assert preview.ask == "followup" and json.loads(preview.text) == {"question": "Which?", "suggest": suggest}


@pytest.mark.parametrize("count", [0, 5])
def test_a_question_has_one_to_four_suggestions(bench: Workbench, count: int) -> None:
    with pytest.raises(BadArguments):
        bench.call("ask_followup_question", question="?", follow_up=[{"text": "A"}] * count)


def test_completion(bench: Workbench) -> None:
    assert bench.call("attempt_completion", result="Done.").control == Complete(result="Done.")
    assert bench.preview("attempt_completion", result="Done.").ask == "completion_result"


def test_todos_in_every_spelling(bench: Workbench) -> None:
    checklist = "Plan:\n[x] a\n- [X] b\n  -[-] c\n[~] d\n[ ] e\n[] f\n[?] g\n* [ ] h"
    result = bench.call("update_todo_list", todos=checklist)
    words = [("a", "completed"), ("b", "completed"), ("c", "in_progress"), ("d", "in_progress"), ("e", "pending")]
    assert result.control == Plan(todos=tuple(TodoItem(content=content, status=status) for content, status in words))
    assert isinstance(result.view, TodoView)
    assert result.view.items[0] == {"content": "a", "status": "completed"}
    say = json.loads(bench.preview("update_todo_list", todos=checklist).text)
    assert (say["tool"], len(say["todos"])) == ("updateTodoList", 5)


def test_an_empty_list_clears_but_prose_is_a_mistake(bench: Workbench) -> None:
    assert bench.call("update_todo_list", todos="").control == Plan(todos=())
    with pytest.raises(ToolError, match="not changed"):
        bench.call("update_todo_list", todos="first this, then that")


def test_a_new_task_with_and_without_todos(bench: Workbench) -> None:
    control = bench.call("new_task", mode="code", message="do it", todos="[ ] a").control
    assert control == Delegate(mode="code", message="do it", todos=(TodoItem(content="a", status="pending"),))
    assert bench.call("new_task", mode="code", message="do it").control == Delegate(mode="code", message="do it")
    say = json.loads(bench.preview("new_task", mode="code", message="do it").text)
    assert (say["tool"], say["mode"], say["content"]) == ("newTask", "code", "do it")


def test_a_listing_shows_strange_names_escaped(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "a\nb\x1b").touch()
    os.mknod(os.fsencode(tmp_path) + b"/\xff")
    result = bench.call("list_files", path=".")
    assert result.content == "dir/\na\\nb\\x1b\n\\xff"
    assert msgspec.json.encode(result.content)


@pytest.mark.parametrize(("recursive", "action"), [(True, "listFilesRecursive"), (False, "listFilesTopLevel")])
def test_the_ask_of_a_listing(bench: Workbench, recursive: bool, action: str) -> None:
    assert json.loads(bench.preview("list_files", path="src", recursive=recursive).text) == {
        "tool": action,
        "path": "src",
    }
