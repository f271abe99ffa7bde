"""What a user can answer besides yes and no: a rule, another input, only some of the changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from robota.protocol.asks.answer import Say
from robota.protocol.asks.seed import answer_in
from robota.protocol.commands import AskResponse, Refused, SwitchMode
from robota.protocol.events import TaskModeSwitched, ToolEnd, TurnReply
from tests.engine.stage import Stage, call, play, tool_results
from tests.hooks.hooked import command, on, play_with_hooks

DONE = {"text": "done"}


def run(text: str) -> dict[str, Any]:
    return {"calls": [call("execute_command", command=text)]}


def test_an_ask_says_why_and_which_rules_would_stop_it(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command")
        assert ask.verdict is not None
        assert "default mode" in ask.verdict.reason
        assert list(ask.verdict.suggestions[0].rules) == ["Bash(touch one)"]

    play(workspace, [run("touch one")], story)


def test_an_ask_shows_characters_that_cannot_be_seen(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command")
        assert ask.text == "touch ‹U+202E›txt.exe" and ask.verdict is not None
        assert "U+202E" in ask.verdict.warnings[0]

    play(workspace, [run("touch \u202etxt.exe")], story)


def test_a_granted_rule_holds_for_the_session_and_for_nothing_wider(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command")
        grant = ("Bash(touch one)", "Bash(*)", "Bash")
        await stage.submit(AskResponse(ask_response="yesButtonClicked", ts=ask.ts, grant=grant))
        again = await stage.until_ask("command")
        assert again.text == "touch two"
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")

    play(workspace, [run("touch one"), run("touch one"), run("touch two"), DONE], story)


@pytest.mark.parametrize(
    ("scope", "file"), [("project", "workspace/.robota/settings.local.json"), ("user", "robota-home/settings.json")]
)
def test_a_rule_can_be_kept_for_the_project_or_the_user(workspace: Path, scope: str, file: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command")
        rules = ("Bash(touch one)",)
        await stage.submit(AskResponse(ask_response="yesButtonClicked", ts=ask.ts, grant=rules, grant_scope=scope))
        await stage.until_ask("completion_result")
        kept = json.loads((workspace.parent / file).read_text())
        assert kept["permissions"]["allow"] == ["Bash(touch one)"]

    play(workspace, [run("touch one"), DONE], story)


def test_a_changed_input_is_what_runs_and_the_model_is_told(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("objectResponse", '{"input": {"command": "touch better"}}')
        await stage.until_ask("completion_result")
        assert (workspace / "better").exists() and not (workspace / "one").exists()
        assert "changed the input" in tool_results(stage)[0].content

    play(workspace, [run("touch one"), DONE], story)


DIFF = "<<<<<<< SEARCH\nold\n=======\n{}\n>>>>>>> REPLACE\n"
PATCH = "*** Begin Patch\n*** Update File: a\n@@\n-old\n+{}\n*** End Patch\n"


@pytest.mark.parametrize(
    ("tool", "arguments", "edited"),
    [
        ("write_to_file", {"path": "a", "content": "new\n"}, "better\n"),
        ("edit_file", {"path": "a", "old_string": "old", "new_string": "new"}, "better"),
        ("apply_diff", {"path": "a", "diff": DIFF.format("new")}, DIFF.format("better")),
        ("apply_patch", {"patch": PATCH.format("new")}, PATCH.format("better")),
    ],
)
def test_the_text_of_every_edit_can_be_changed_before_it_is_approved(
    workspace: Path, tool: str, arguments: dict[str, str], edited: str
) -> None:
    (workspace / "a").write_text("old\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("objectResponse", json.dumps({"edited": edited}))
        await stage.until_ask("completion_result")
        assert (workspace / "a").read_text() == "better\n"

    play(workspace, [{"calls": [call("read_file", path="a")]}, {"calls": [call(tool, **arguments)]}, DONE], story)


def test_a_changed_input_cannot_go_where_nothing_may_go(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("objectResponse", '{"input": {"path": "../outside", "content": "x"}}')
        await stage.until_ask("completion_result")
        assert not (workspace.parent / "outside").exists()
        assert stage.events_of(ToolEnd)[0].status == "denied"

    play(workspace, [{"calls": [call("write_to_file", path="a", content="x")]}, DONE], story)


def test_a_changed_input_must_fit_the_mode_of_the_task(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("objectResponse", '{"input": {"path": "a.py", "content": "x"}}')
        await stage.until_ask("completion_result")
        assert not (workspace / "a.py").exists()
        assert "Markdown files" in tool_results(stage)[0].content

    turns = [{"calls": [call("write_to_file", path="a.md", content="x")]}, DONE]
    play(workspace, turns, story, mode="architect")


def test_a_changed_input_that_does_not_fit_is_no_mistake_of_the_model(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        for _ in range(4):
            await stage.until_ask("command")
            await stage.answer("objectResponse", '{"input": {"words": 3}}')
        await stage.until_ask("completion_result")
        assert all("The user changed the input" in result.content for result in tool_results(stage))

    play(workspace, [*(run(f"touch {number}") for number in range(4)), DONE], story)


def test_hooks_see_a_changed_input_too_and_can_refuse_it(workspace: Path) -> None:
    script = 'read -r told; case "$told" in *better*) echo "not that one" >&2; exit 2;; esac'

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("objectResponse", '{"input": {"command": "touch better"}}')
        await stage.until_ask("completion_result")
        assert not (workspace / "better").exists()
        assert "not that one" in tool_results(stage)[0].content

    play_with_hooks(workspace, on("PreToolUse", command(script)), [run("touch one"), DONE], story)


def test_hunks_of_a_file_that_was_changed_meanwhile_are_not_written(workspace: Path) -> None:
    before = [f"line {number}" for number in range(40)]
    after = [*before[:2], "FIRST", *before[3:30], "SECOND", *before[31:]]
    (workspace / "a.txt").write_text("\n".join(before))
    meanwhile = "\n".join(["somebody else", "was here", *before])

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        (workspace / "a.txt").write_text(meanwhile)
        await stage.answer("objectResponse", '{"hunks": [1]}')
        await stage.until_ask("completion_result")
        assert (workspace / "a.txt").read_text() == meanwhile
        said = tool_results(stage)[-1].content
        assert "The user approved 1 of 2 hunks; the others are left out." in said
        assert "changed by another program" in said

    write = call("write_to_file", path="a.txt", content="\n".join(after))
    play(workspace, [{"calls": [call("read_file", path="a.txt")]}, {"calls": [write]}, DONE], story)


def test_hunks_that_are_not_there_change_nothing(workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("objectResponse", '{"hunks": [-1, 7]}')
        await stage.until_ask("completion_result")
        assert (workspace / "a.txt").read_text() == "one\n"
        assert "0 of 1 hunks" in tool_results(stage)[-1].content

    write = call("write_to_file", path="a.txt", content="two\n")
    play(workspace, [{"calls": [call("read_file", path="a.txt")]}, {"calls": [write]}, DONE], story)


def test_a_rule_for_a_scope_there_is_not_is_kept_nowhere_and_that_is_said(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command")
        grant = ("Bash(touch one)",)
        galaxy = AskResponse(ask_response="yesButtonClicked", ts=ask.ts, grant=grant, grant_scope="galaxy")
        refused = await stage.submit(galaxy)
        assert isinstance(refused, Refused) and "'galaxy' is neither" in refused.message
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert not list(workspace.parent.rglob("settings*.json"))

    play(workspace, [run("touch one"), DONE], story)


def test_only_the_chosen_hunks_are_written(workspace: Path) -> None:
    before = [f"line {number}" for number in range(40)]
    after = before.copy()
    after[2], after[30] = "FIRST", "SECOND"
    (workspace / "a.txt").write_bytes("\r\n".join(before).encode() + b"\r\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("objectResponse", '{"hunks": [1]}')
        await stage.until_ask("completion_result")
        text = (workspace / "a.txt").read_bytes().decode()
        assert "SECOND\r\n" in text and "FIRST" not in text and text.count("\r\n") == 40
        assert "1 of 2 hunks" in tool_results(stage)[-1].content

    write = call("write_to_file", path="a.txt", content="\n".join(after) + "\n")
    play(workspace, [{"calls": [call("read_file", path="a.txt")]}, {"calls": [write]}, DONE], story)


def test_chosen_hunks_touch_no_other_byte(workspace: Path) -> None:
    """Form feeds and separators end no line, endings are mixed, some bytes are no text, the last line has no end."""
    rows = [f"line {number}".encode() for number in range(60)]
    rows[10:14] = [b"form\x0cfeed", b"\x0bvertical\x1c", "line\u2028separator \x85".encode(), b"caf\xe9 \xff"]
    endings = [b"\r\n" if number % 3 else b"\n" for number in range(59)] + [b""]
    (workspace / "a.txt").write_bytes(b"".join(map(bytes.__add__, rows, endings)))
    changed = [row.decode("utf-8", "replace") for row in rows]
    for place in (5, 30, 55):
        changed[place] = f"CHANGED {place}"
    expected = [f"CHANGED {place}".encode() if place in (5, 55) else row for place, row in enumerate(rows)]

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("objectResponse", '{"hunks": [0, 2]}')
        await stage.until_ask("completion_result")
        assert (workspace / "a.txt").read_bytes() == b"".join(map(bytes.__add__, expected, endings))

    write = call("write_to_file", path="a.txt", content="\n".join(changed))
    play(workspace, [{"calls": [call("read_file", path="a.txt")]}, {"calls": [write]}, DONE], story)


NO_WISHES = ["", "yes", "[]", "{", '{"input": 3}', '{"hunks": ["a"]}', '{"other": 1}', "[" * 99999]


@pytest.mark.parametrize("text", NO_WISHES)
def test_an_object_that_cannot_be_read_is_no_approval(text: str) -> None:
    assert answer_in(AskResponse(ask_response="objectResponse", text=text)) == Say(text=text)


SWITCH = {"calls": [call("switch_mode", mode_slug="code", reason="to build it")]}
WRITE = {"calls": [call("write_to_file", path="a.py", content="x = 1\n")]}


@pytest.mark.parametrize(("answer", "written"), [("yesButtonClicked", True), ("noButtonClicked", False)])
def test_a_mode_limits_the_tools_and_only_a_user_changes_it(workspace: Path, answer: str, written: bool) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("tool")
        assert json.loads(ask.text or "")["tool"] == "switchMode"
        assert "Markdown files" in tool_results(stage)[0].content
        await stage.answer(answer)
        await stage.until_ask("completion_result")
        assert (workspace / "a.py").exists() is written
        assert bool(stage.events_of(TaskModeSwitched)) is written

    play(workspace, [WRITE, SWITCH, WRITE, DONE], story, mode="architect", permission_mode="acceptEdits")


HAND_OVER = {"calls": [call("new_task", mode="code", message="build it")]}
FINISH = {"calls": [call("attempt_completion", result="built")]}


@pytest.mark.parametrize(("answer", "written"), [("yesButtonClicked", True), ("noButtonClicked", False)])
def test_a_subtask_that_may_do_more_is_for_a_user_to_allow(workspace: Path, answer: str, written: bool) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("tool")
        assert json.loads(ask.text or "")["tool"] == "newTask"
        await stage.answer(answer)
        await stage.until_ask("completion_result")
        assert (workspace / "a.py").exists() is written

    turns = [HAND_OVER, WRITE, FINISH, DONE] if written else [HAND_OVER, DONE]
    play(workspace, turns, story, mode="architect", permission_mode="acceptEdits")


@pytest.mark.parametrize("way", [["code"], ["orchestrator", "code"]])
def test_where_nobody_is_a_subtask_may_do_no_more(workspace: Path, way: list[str]) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert not (workspace / "a.py").exists()
        assert "No user is present" in tool_results(stage)[0].content

    turns = [{"calls": [call("new_task", mode=way[0], message="build it")]}, DONE]
    play(workspace, turns, story, mode="ask", attended=False, permission_mode="acceptEdits")


@pytest.mark.parametrize("mode", ["orchestrator", "code", "debug"])
def test_a_subtask_that_may_do_no_more_is_simply_started(workspace: Path, mode: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert (workspace / "a.py").exists()

    play(workspace, [HAND_OVER, WRITE, FINISH, DONE], story, mode=mode, permission_mode="acceptEdits")


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"max_turns": 3}, {"count": 3, "type": "requests"}),
        ({"max_cost": 1.5}, {"count": "1.50", "type": "cost"}),
    ],
)
def test_the_limits_count_what_subtasks_use(workspace: Path, limits: dict[str, Any], told: dict[str, Any]) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("auto_approval_max_req_reached")
        assert json.loads(ask.text or "") == told
        assert len(stage.events_of(TurnReply)) == 3
        if "max_cost" in limits:
            return  # a subtask ends without asking when the budget is used up: it is its parent that asked
        await stage.answer("noButtonClicked")
        await stage.until_ask("auto_approval_max_req_reached")

    step = {"usage": {"cost": 0.5}}
    turns = [HAND_OVER | step, WRITE | step, WRITE | step, FINISH, DONE]
    play(workspace, turns, story, permission_mode="acceptEdits", **limits)


def test_nobody_there_means_no_other_mode(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "No user is present" in tool_results(stage)[0].content

    play(workspace, [SWITCH, DONE], story, mode="ask", attended=False)


def test_a_client_changes_the_mode_only_to_one_there_is(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert isinstance(await stage.submit(SwitchMode(text="wizard")), Refused)
        await stage.submit(SwitchMode(text="ask"))
        await stage.until(lambda event: isinstance(event, TaskModeSwitched))

    play(workspace, [DONE], story)


def test_a_subtask_in_a_mode_there_is_not_is_an_error(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "There is no mode 'wizard'" in tool_results(stage)[0].content

    turns = [{"calls": [call("new_task", mode="wizard", message="x")]}, DONE]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_a_question_that_is_closed_without_an_answer_is_not_the_users_word(workspace: Path) -> None:
    asked = call("ask_followup_question", question="Which?", follow_up=[{"text": "A"}])

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("followup")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")
        [told] = tool_results(stage)
        assert told.content.startswith("The user closed the question without an answer.")
        assert "<user_message>" not in told.content

    play(workspace, [{"calls": [asked]}, {"text": "Done."}], story)
