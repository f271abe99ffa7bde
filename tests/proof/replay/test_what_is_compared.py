"""What goes into a session besides replies: hooks, skills, surroundings, instructions; and what is not done again."""

import json
from pathlib import Path
from typing import Any

import pytest

from robota.protocol.commands import CancelTask, CondenseContext, RewindTo
from tests.commands.families.proof.test_replay import rewritten
from tests.engine.context.context_stage import DONE, SUMMARY
from tests.engine.stage import Stage, play
from tests.harness.session_log import log_text
from tests.hooks.hooked import answer, command, decide, on, play_with_hooks
from tests.intents.project import SELECT, intents, write
from tests.proof.replay.test_each_session import (
    ACCEPT,
    RUN,
    SMALL,
    WRITE,
    condensed_by_hand,
    reading,
    recorded,
    replayed,
    said,
    session_in,
    using,
)

HOOKED: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "changed by a hook": (on("PreToolUse", decide("allow", updatedInput={"command": "touch other"})), [RUN, DONE]),
    "approved otherwise by a hook": (
        on("PermissionRequest", answer("allow", updatedInput={"command": "touch other"})),
        [RUN, DONE],
    ),
    "sent back by a hook": (
        on("Stop", command('[ -e more ] || { touch more; echo "the tests too" >&2; exit 2; }')),
        [DONE, reading("b.txt"), DONE],
    ),
}


@pytest.mark.parametrize("name", HOOKED)
def test_what_hooks_did_is_done_again(workspace: Path, name: str) -> None:
    (workspace / "b.txt").write_text("b\n")
    hooks, turns = HOOKED[name]
    play_with_hooks(workspace, hooks, turns, said("go"))
    report = replayed(workspace, session_in(workspace))
    assert report.divergence is None, (report.divergence.text, report.notes)
    assert report.requests == report.all_requests == len(turns)


def test_an_input_that_nobody_says_they_changed_is_named(workspace: Path) -> None:
    session = recorded(workspace, "a refused subtask")
    play(workspace, [RUN, DONE], said("go"), permission_mode="bypassPermissions")
    [session] = set((workspace / ".robota" / "sessions").glob("*/log.jsonl")) - {session / "log.jsonl"}

    def plant(record: dict[str, Any]) -> None:
        if record["kind"] == "toolStart":
            record["payload"]["input"]["command"] = "touch gooD"

    rewritten(session.parent, plant)
    found = replayed(workspace, session.parent).divergence
    assert found is not None and found.kind == "arguments" and "gooD" in found.recorded


@pytest.mark.parametrize("by", ["typed", "called"])
def test_a_skill_that_runs_as_a_task_of_its_own(workspace: Path, by: str) -> None:
    skill = workspace.parent / "robota-home/skills/deep/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: deep\ndescription: looks deep\ncontext: fork\n---\nLook at $ARGUMENTS.\n")
    calling = [using("skill", skill="deep", args="walls")] if by == "called" else []
    turns = [*calling, using("attempt_completion", result="Deep."), DONE]
    play(workspace, turns, said("/deep walls" if by == "typed" else "go"))
    report = replayed(workspace, session_in(workspace))
    assert report.divergence is None, (report.divergence.text, report.notes)
    assert report.requests == report.all_requests == len(turns)


SURROUNDED: dict[str, tuple[str, str, str]] = {
    "a file": ("\\nb.txt\\n", "\\nb.txT\\n", "(# Workspace Files), line 1"),
    "the time": ("# Current Time\\n2", "# Current Time\\n1", "(# Current Time), line 1, character 1"),
    "the project's instructions": ("Be brief here", "Be Brief here", "/AGENTS.md says, line 1"),
    "those of a directory": ("Be careful there", "Be carefuI there", "/sub/AGENTS.md says, line 1"),
}


@pytest.mark.parametrize("name", SURROUNDED)
def test_one_byte_of_the_surroundings_or_of_instructions_is_named(workspace: Path, name: str) -> None:
    before, after, where = SURROUNDED[name]
    (workspace / "sub").mkdir()
    for file, text in (("b.txt", "b"), ("AGENTS.md", "Be brief here."), ("sub/AGENTS.md", "Be careful there.")):
        (workspace / file).write_text(f"{text}\n")
    (workspace / "sub/c.txt").write_text("c\n")
    turns = [reading("sub/c.txt"), WRITE, DONE, DONE]
    play_with_hooks(workspace, {}, turns, said("go", "and on"), **ACCEPT)
    session = session_in(workspace)
    assert before in log_text(session)
    report = replayed(workspace, session)
    assert report.divergence is None, report.divergence.text

    def plant(record: dict[str, Any]) -> None:
        record["payload"] = json.loads(json.dumps(record["payload"]).replace(before, after))

    rewritten(session, plant)
    found = replayed(workspace, session).divergence
    assert found is not None and found.kind == "prompt" and where in found.where


async def condensed_while_interrupted(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("command")
    await stage.submit(CancelTask())
    await stage.until_ask("resume_task")
    await stage.submit(CondenseContext())
    await stage.answer("yesButtonClicked")
    await stage.until_ask("completion_result")


def test_what_is_not_done_again_is_said_and_is_no_divergence(workspace: Path) -> None:
    for file in ("b.txt", "c.txt"):
        (workspace / file).write_text(f"{file} {'.' * 100}\n" * 4)
    play(workspace, [reading("b.txt"), reading("c.txt"), RUN, SUMMARY, DONE], condensed_while_interrupted, **SMALL)
    session = session_in(workspace)
    report = replayed(workspace, session)
    assert report.divergence is None and report.not_compared is not None
    assert report.not_compared.request == 3 and "condensed where" in report.not_compared.why

    def plant(record: dict[str, Any]) -> None:
        if record["kind"] == "toolStart":
            record["payload"] = json.loads(json.dumps(record["payload"]).replace("b.txt", "b.txT"))

    rewritten(session, plant)
    found = replayed(workspace, session).divergence
    assert found is not None and "b.txT" in found.recorded  # it came before


def test_going_back_to_a_question_is_said_and_ends_no_replay_with_an_error(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("paint it")
        await stage.until_ask("followup")
        await stage.answer("messageResponse", "red")
        await stage.until_ask("completion_result")
        await stage.submit(RewindTo(number=2))
        await stage.until_ask("resume_task")
        again = await stage.until_ask("followup")
        await stage.answer("messageResponse", "blue", again.ts)
        await stage.until_ask("completion_result")

    question = using("ask_followup_question", question="Which?", follow_up=[{"text": "red"}])
    play(workspace, [question, {"text": "red then"}, {"text": "blue then"}], story)
    report = replayed(workspace, session_in(workspace))
    assert report.divergence is None and report.not_compared is not None
    assert "after a rewind" in report.not_compared.why


def test_an_intent_that_is_told_again_with_a_summary_is_told_again(workspace: Path) -> None:
    intents(workspace)
    writes = [write(f"src/auth/{number}.py", "x = 1\n" * 300) for number in range(3)]
    turns = [*({"calls": [each]} for each in (SELECT, *writes)), DONE, SUMMARY, DONE]
    play(workspace, turns, condensed_by_hand, permission_mode="bypassPermissions")
    session = session_in(workspace)
    assert "# Active intent" in log_text(session)
    report = replayed(workspace, session)
    assert report.divergence is None and report.not_compared is None
    assert report.requests == report.all_requests == 7
