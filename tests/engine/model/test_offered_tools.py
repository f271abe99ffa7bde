"""Which tools a model is offered: one for edits, that of its family; one to complete a task only if it must call it."""

import re
import sys
from pathlib import Path

import pytest

from robota.log.chain.reader import load
from robota.log.replay.requests import recorded_requests
from robota.policy.modes.task_modes import BUILT_IN, TaskMode, TaskModes
from robota.tools.registry import BUILT_IN_IDS, builtin_tools, by_name
from tests.engine.model.prompts import Kind, prompt_of, real_runtime
from tests.engine.stage import Stage, call, play, tool_results
from tests.project.test_wording import texts_of

EDITORS = {"edit_file", "apply_diff", "apply_patch"}
TOOLS = by_name(builtin_tools())
# Of an attended session of which nothing is forbidden.
ALL = {tool.name for tool in TOOLS.values()} - {"apply_diff", "apply_patch", "attempt_completion"}
# Tools whose id is a word of other texts, too, are left out.
NAMES = set(BUILT_IN_IDS) - {"code", "symbols"}


def offered(stage: Stage) -> set[str]:
    log = stage.opened.log
    *_, newest = recorded_requests(load(log.path).records, log.artifact)
    return {str(tool["name"]) for tool in newest.tools}


@pytest.mark.parametrize(
    ("form", "editor"), [("replace", "edit_file"), ("patch", "apply_patch"), ("diff", "apply_diff")]
)
def test_a_model_is_offered_one_tool_for_edits_and_may_call_the_others(workspace: Path, form: str, editor: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert offered(stage) & EDITORS == {editor}
        assert (workspace / "notes.txt").read_text() == "new\n"

    (workspace / "notes.txt").write_text("old\n")
    others = [
        call("edit_file", path="notes.txt", old_string="old", new_string="mid"),
        call("apply_patch", patch="*** Begin Patch\n*** Update File: notes.txt\n@@\n-mid\n+new\n*** End Patch"),
    ]
    turns = [{"calls": [call("read_file", path="notes.txt")]}, {"calls": others}, {"text": "Done."}]
    play(
        workspace,
        turns,
        story,
        permission_mode="bypassPermissions",
        profile_options={"modelInfo": {"editFormat": form}},
    )


@pytest.mark.parametrize("completion", ["implicit", "explicit"])
def test_the_tool_that_completes_a_task_is_offered_only_where_it_is_needed(workspace: Path, completion: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert ("attempt_completion" in offered(stage)) is (completion == "explicit")

    play(workspace, [{"calls": [call("attempt_completion", result="Done.")]}], story, completion=completion)


@pytest.mark.parametrize("mode", BUILT_IN, ids=lambda mode: mode.slug)
def test_a_mode_has_every_tool_that_its_tools_speak_of(mode: TaskMode) -> None:
    """In a description, a result or an error. A model is offered the tool for edits of its family."""
    modes = TaskModes({mode.slug: mode})
    offered = {tool.name for tool in builtin_tools() if modes.allows(tool, mode.slug, None) is None}
    spoken_of = set()
    for tool in builtin_tools():
        module = sys.modules[tool.params.__module__]
        words = " ".join([tool.description(), *texts_of(Path(str(module.__file__)))])
        spoken_of |= NAMES & set(re.findall(r"\w+", words)) if tool.name in offered else set()
    assert spoken_of - offered <= (EDITORS if offered & EDITORS else set())
    assert "read_command_output" in offered, "every result can be too long"


def described(stage: Stage) -> tuple[str, dict[str, str]]:
    """The newest system prompt, and the descriptions of tools by name."""
    log = stage.opened.log
    *_, newest = recorded_requests(load(log.path).records, log.artifact)
    return newest.system, {str(tool["name"]): str(tool["description"]) for tool in newest.tools}


@pytest.mark.parametrize(
    ("denied", "lacking", "unsaid"),
    [
        ("Bash", {"execute_command", "background_process"}, ["Commands: bash", "not commands"]),
        ("Edit", {"edit_file", "write_to_file"}, ["edit_file", "search and edit", "Leave them alone"]),
        ("background_process", {"background_process"}, []),
        ("switch_mode", {"switch_mode"}, ["switch_mode"]),
        ("Bash(rm *)", set(), []),
    ],
)
def test_a_tool_that_a_rule_forbids_is_not_offered(
    workspace: Path, denied: str, lacking: set[str], unsaid: list[str]
) -> None:
    """Nor named by anything else. A call all the same is refused by the rule."""
    name = next(iter(sorted(lacking)), "execute_command")
    arguments = {"command": "rm x", "action": "start", "path": "x", "old_string": "", "new_string": "x"}
    arguments |= {"mode_slug": "ask", "reason": "why"}
    used = {key: value for key, value in arguments.items() if key in TOOLS[name].parameters}

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        system, tools = described(stage)
        assert ALL - tools.keys() & ALL == lacking
        said = "\n".join((system, *tools.values()))
        assert [each for each in (*unsaid, *(lacking - {"edit_file"})) if each in said] == []
        [refused] = tool_results(stage)
        assert refused.content.startswith(f"Denied: The deny rule {denied} forbids it.")

    play(workspace, [{"calls": [call(name, **used)]}, {"text": "Done."}], story, disallowed_tools=(denied,))


def test_a_session_with_a_few_tools_is_not_told_of_others(workspace: Path) -> None:
    """A reader of long results is always among them."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        system, tools = described(stage)
        assert tools.keys() == {"execute_command", "read_command_output"}
        said = "\n".join((system, *tools.values()))
        assert "background_process" not in said and "switch_mode" not in said and "new_task" not in said

    play(workspace, [{"text": "Done."}], story, only_tools=("Bash",))


@pytest.mark.parametrize(
    ("kind", "lacking"),
    [
        (Kind(), set()),
        (Kind(attended=False), {"switch_mode", "present_plan"}),
        (Kind(is_subtask=True), {"present_plan"}),
        (Kind(is_subtask=True, attended=False), {"switch_mode", "present_plan", "ask_followup_question"}),
        (Kind(agent="general-purpose"), {"present_plan"}),
        (Kind(agent="Explore"), {"present_plan", "edit_file", "write_to_file", "web_fetch"}),
    ],
)
def test_what_would_always_be_refused_is_not_offered(workspace: Path, kind: Kind, lacking: set[str]) -> None:
    offered_tools = {spec.name: spec for spec in prompt_of(real_runtime(workspace), kind).specs}
    assert ALL - offered_tools.keys() == lacking
    can_leave = {"without_sandbox", "opened"} <= offered_tools["execute_command"].schema["properties"].keys()
    assert can_leave is kind.attended, "out of the sandbox only where somebody can allow it"
