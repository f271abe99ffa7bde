"""Sessions of every kind that the scripted model makes, run again: each is identical, and one planted byte is named."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from robota.app.replaying import replay_session
from robota.contracts.tool import RESULT_CHARACTERS
from robota.proof.replay.replaying import ReplayOptions, ReplayReport
from robota.protocol.asks.answer import ApproveEdited, Say
from robota.protocol.commands import (
    AskResponse,
    CancelTask,
    ClearTask,
    CondenseContext,
    NewTask,
    QueueMessage,
    RewindTo,
    SwitchMode,
)
from robota.protocol.events import TextDelta
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.rewind import RewindScope
from tests.commands.families.proof.test_replay import rewritten
from tests.engine.context.context_stage import DONE, NEARLY_FULL, SUMMARY, WINDOW
from tests.engine.stage import Stage, call, play
from tests.engine.task.test_resumption import resume

Story = Callable[[Stage], Awaitable[None]]
PICTURE = f"data:image/png;base64,{b64encode(b'no picture, but who looks?').decode()}"
ACCEPT: Any = {"permission_mode": PermissionMode.ACCEPT_EDITS}
SMALL: Any = {"profile_options": {"modelInfo": {"contextWindow": WINDOW, "maxOutputTokens": WINDOW // 2}}}
SLOW = {"text": "word " * 400, "chunkSize": 4, "chunkDelayMs": 5}


def using(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [call(name, **arguments)]}


def edit(old: str, new: str) -> dict[str, Any]:
    return using("edit_file", path="a.txt", old_string=old, new_string=new)


def reading(path: str, usage: dict[str, int] | None = None) -> dict[str, Any]:
    return {**using("read_file", path=path), **({"usage": usage} if usage else {})}


TOO_LONG = {"fault": {"kind": "context_too_long"}}
NO_SUMMARY = {"text": "<summary></summary>"}
WRITE = using("write_to_file", path="a.txt", content="one\ntwo\n")
RUN = using("execute_command", command="touch good")


def said(*words: str) -> Story:
    """A prompt, and one more after each answer."""

    async def story(stage: Stage) -> None:
        await stage.start(words[0])
        for word in words[1:]:
            await stage.until_ask("completion_result")
            await stage.answer("messageResponse", word)
        await stage.until_ask("completion_result")

    return story


async def interrupted(stage: Stage) -> None:
    await stage.start()
    await stage.until(lambda event: isinstance(event, TextDelta))
    await stage.submit(CancelTask())
    await stage.until_ask("resume_task")
    await stage.answer("messageResponse", "shorter, please")
    await stage.until_ask("completion_result")


async def interrupted_at_a_question(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("command")
    await stage.submit(CancelTask())
    await stage.until_ask("resume_task")
    await stage.answer("yesButtonClicked")
    await stage.until_ask("completion_result")


async def gone_back(stage: Stage) -> None:
    await said("write", "change it")(stage)
    await stage.submit(RewindTo(number=2, scope=RewindScope.BOTH))
    await stage.until_ask("resume_completed_task")
    await stage.answer("messageResponse", "change it otherwise")
    await stage.until_ask("completion_result")


async def cleared(stage: Stage) -> None:
    await stage.start("first")
    await stage.until_ask("command")
    await stage.submit(ClearTask())
    await stage.start("second")
    await stage.until_ask("completion_result")


async def said_meanwhile(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("command")
    await stage.submit(QueueMessage(text="and one more thing"))
    await stage.answer("yesButtonClicked")
    await stage.until_ask("completion_result")


async def condensed_by_hand(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("completion_result")
    await stage.submit(CondenseContext())
    await stage.until_ask("completion_result")
    await stage.answer("messageResponse", "and on")
    await stage.until_ask("completion_result")


async def not_condensed(stage: Stage) -> None:
    """Once because there was too little of the conversation, once because the model gave no summary."""
    await stage.start("look")
    await stage.until_ask("completion_result")
    for words in ("read", "and on"):
        await stage.submit(CondenseContext())
        await stage.until(lambda event: "stays as it is" in str(event))
        await stage.until_ask("completion_result")
        await stage.answer("messageResponse", words)
        await stage.until_ask("completion_result")


async def condensed_at_a_failure(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("api_req_failed")
    await stage.submit(CondenseContext())
    await stage.until_ask("api_req_failed")
    await stage.answer("yesButtonClicked")
    await stage.until_ask("completion_result")


async def shown_a_picture(stage: Stage) -> None:
    await stage.start("what is this?", images=(PICTURE,))
    await stage.until_ask("completion_result")


async def changed_by_the_user(stage: Stage) -> None:
    await stage.start()
    asked = await stage.until_ask("command")
    await stage.submit(AskResponse(answer=ApproveEdited(edited="touch better"), ts=asked.ts))
    await stage.until_ask("completion_result")


async def run_by_the_user(stage: Stage) -> None:
    await stage.submit(NewTask(text="echo made", is_command=True))
    asked = await stage.until_ask("completion_result")
    await stage.submit(AskResponse(answer=Say(text="what was that?"), ts=asked.ts))
    await stage.until_ask("completion_result")


async def switched(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("command")
    await stage.submit(SwitchMode(text="debug"))
    await stage.answer("yesButtonClicked")
    await stage.until_ask("completion_result")


async def refused(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("command")
    await stage.answer("noButtonClicked", "use another one")
    await stage.until_ask("completion_result")


async def failed(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("api_req_failed")
    await stage.answer("messageResponse", "try it in other words")
    await stage.until_ask("completion_result")


async def asked(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("followup")
    await stage.answer("messageResponse", "the second")
    await stage.until_ask("completion_result")


async def chosen(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("tool")
    await stage.answer("objectResponse", '{"hunks": [1]}')
    await stage.until_ask("completion_result")


async def answered_a_repetition(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("mistake_limit_reached")
    await stage.answer("messageResponse", "look at c.txt instead")
    await stage.until_ask("completion_result")


async def refused_a_subtask(stage: Stage) -> None:
    await stage.start(mode="architect")
    await stage.until_ask("tool")
    await stage.answer("noButtonClicked")
    await stage.until_ask("completion_result")


async def went_on_past_a_limit(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("auto_approval_max_req_reached")
    await stage.answer("yesButtonClicked")
    await stage.until_ask("completion_result")


LONG = "".join(f"{'.' if number % 20 else number}\n" for number in range(61))
QUESTION = using("ask_followup_question", question="Which?", follow_up=[{"text": "the first"}])
XML = {"text": "<read_file>\n<path>b.txt</path>\n</read_file>"}
SESSIONS: dict[str, tuple[list[Any], Story, dict[str, Any]]] = {
    "edits": ([WRITE, edit("two", "zwei"), DONE, edit("one", "eins"), DONE], said("write", "change it"), ACCEPT),
    "an interrupted answer": ([SLOW, WRITE, DONE], interrupted, ACCEPT),
    "an interrupted question": ([RUN, WRITE, DONE], interrupted_at_a_question, ACCEPT),
    "gone back": (
        [WRITE, DONE, edit("two", "zwei"), DONE, reading("a.txt"), edit("two", "deux"), DONE],
        gone_back,
        ACCEPT,
    ),
    "cleared": ([RUN, WRITE, DONE], cleared, ACCEPT),
    "words while it worked": ([RUN, WRITE, DONE], said_meanwhile, ACCEPT),
    "XML": ([XML, DONE], said("read it"), {"profile_options": {"toolFormat": "xml"}}),
    "condensed": ([reading("long.txt"), reading("c.txt", NEARLY_FULL), SUMMARY, DONE], said("read"), SMALL),
    "condensed by hand": ([reading("b.txt"), reading("c.txt"), DONE, SUMMARY, DONE], condensed_by_hand, SMALL),
    "condensed at a failed request": (
        [reading("long.txt"), reading("c.txt"), {"fault": {"kind": "invalid_request"}}, SUMMARY, DONE],
        condensed_at_a_failure,
        SMALL,
    ),
    "too long for the provider": (
        [reading("long.txt"), reading("c.txt"), TOO_LONG, SUMMARY, DONE],
        said("read"),
        {"tells_environment": True},
    ),
    "old results cut by their size": (
        [*[reading(name) for name in ("b.txt", "c.txt") * 2], reading("long.txt", NEARLY_FULL), SUMMARY, DONE],
        said("read"),
        {**SMALL, "tells_environment": True},
    ),
    "made shorter three times in a row": (
        [
            *[reading(f"{name}.txt") for name in ("long", "b", "long", "c", "long", "b", "long", "b", "c")],
            *[TOO_LONG] * 2,
            NO_SUMMARY,
            *[TOO_LONG] * 2,
            DONE,
        ],
        failed,
        {**SMALL, "tells_environment": True},
    ),
    "not condensed": (
        [DONE, reading("b.txt"), reading("c.txt"), DONE, NO_SUMMARY, reading("b.txt"), DONE],
        not_condensed,
        SMALL,
    ),
    "a picture": ([{"text": "A pixel."}], shown_a_picture, {}),
    "a changed command": ([RUN, DONE], changed_by_the_user, {}),
    "a command of the user": ([DONE], run_by_the_user, {}),
    "another mode": ([RUN, {"text": "Found."}], switched, {}),
    "a no": ([RUN, DONE], refused, {}),
    "a failed request": ([{"fault": {"kind": "invalid_request"}}, DONE], failed, {}),
    "a question": ([QUESTION, DONE], asked, {}),
    "some of the hunks": (
        [reading("d.txt"), using("write_to_file", path="d.txt", content=LONG.replace("0\n", "x\n")), DONE],
        chosen,
        {},
    ),
    "a repeated call": ([*[reading("b.txt")] * 4, DONE], answered_a_repetition, {}),
    "a refused subtask": ([using("new_task", mode="code", message="do it"), DONE], refused_a_subtask, {}),
    "a limit": ([reading("b.txt"), reading("c.txt"), DONE], went_on_past_a_limit, {"max_turns": 2}),
}


def recorded(workspace: Path, name: str) -> Path:
    """Have the session, and give its directory."""
    for file, lines in (("b.txt", 4), ("c.txt", 4), ("long.txt", 200)):
        (workspace / file).write_text(f"{file} {'.' * 100}\n" * lines)
    (workspace / "d.txt").write_text(LONG)
    turns, story, options = SESSIONS[name]
    play(workspace, turns, story, **options)
    return session_in(workspace)


def session_in(workspace: Path) -> Path:
    [directory] = [path for path in (workspace / ".robota" / "sessions").iterdir() if path.is_dir()]
    return directory


def replayed(workspace: Path, directory: Path) -> ReplayReport:
    env = {"ROBOTA_HOME": str(workspace.parent / "robota-home"), "PATH": "/usr/bin:/bin"}
    return asyncio.run(replay_session(ReplayOptions(directory=directory, root=workspace, is_own=True), env))


@pytest.mark.parametrize("name", SESSIONS)
def test_it_is_identical_and_another_byte_of_the_prompt_is_named(workspace: Path, name: str) -> None:
    session = recorded(workspace, name)
    report = replayed(workspace, session)
    assert report.divergence is None, (report.divergence.text, report.notes)
    assert report.requests == report.all_requests > 0

    def plant(record: dict[str, Any]) -> None:
        if record["kind"] == "content":
            text = record["payload"]["text"]
            record["payload"]["text"] = text.replace("Text in files", "Text in fires")

    rewritten(session, plant)
    found = replayed(workspace, session).divergence
    assert found is not None and found.kind == "prompt" and found.where.startswith("the system prompt, line ")
    assert "fires" in found.recorded and "files" in found.replayed


def test_a_tool_that_is_described_otherwise_is_named(workspace: Path) -> None:
    session = recorded(workspace, "edits")

    def plant(record: dict[str, Any]) -> None:
        if record["kind"] == "content" and record["payload"]["text"].startswith("["):
            tools = json.loads(record["payload"]["text"])
            tools[0]["schema"]["required"] = ["paht"]
            record["payload"]["text"] = json.dumps(tools)

    rewritten(session, plant)
    found = replayed(workspace, session).divergence
    assert found is not None and found.where.startswith("what is said of the tool read_file, line ")
    assert "paht" in found.recorded and "path" in found.replayed


@pytest.mark.parametrize("name", ["condensed", "condensed by hand"])
def test_another_byte_of_what_stands_for_older_turns_is_named(workspace: Path, name: str) -> None:
    session = recorded(workspace, name)

    def plant(record: dict[str, Any]) -> None:
        if record["kind"] == "condense":
            text = json.dumps(record["payload"]["put"])
            record["payload"]["put"] = json.loads(text.replace("parser", "pArser"))

    rewritten(session, plant)
    found = replayed(workspace, session).divergence
    assert found is not None and found.where.startswith("what stands for older turns, line ")
    assert "pArser" in found.recorded and "parser" in found.replayed


def test_bytes_after_an_interruption_and_after_going_back_are_compared(workspace: Path) -> None:
    """The last edit would leave another byte today."""
    session = recorded(workspace, "gone back")

    def plant(record: dict[str, Any]) -> None:
        record["payload"] = json.loads(json.dumps(record["payload"]).replace("deux", "deuX"))

    rewritten(session, plant)
    found = replayed(workspace, session).divergence
    assert found is not None and found.kind == "files" and found.where.startswith("a.txt after ")
    assert (found.recorded, found.replayed) == ("'deux'", "'deuX'")


@pytest.mark.parametrize("answer", ["yesButtonClicked", "noButtonClicked"])
def test_a_session_that_another_process_took_up(workspace: Path, answer: str) -> None:
    """Left at a question, which the next process is answered."""

    async def left(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")

    async def taken_up(stage: Stage) -> None:
        waiting = next(row for row in stage.session.state().cline_messages if row.ask == "command")
        await stage.answer(answer, ts=waiting.ts)
        await stage.until_ask("completion_result")

    play(workspace, [RUN], left)
    resume(workspace, [WRITE, DONE], taken_up, **ACCEPT)
    report = replayed(workspace, session_in(workspace))
    assert report.divergence is None, (report.divergence.text, report.notes)
    assert report.requests == report.all_requests == 3


def test_a_yes_to_an_edit_of_a_file_that_has_changed_since_is_of_no_use_again(workspace: Path) -> None:
    async def left(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")

    async def taken_up(stage: Stage) -> None:
        waiting = next(row for row in stage.session.state().cline_messages if row.ask == "tool")
        await stage.answer("yesButtonClicked", ts=waiting.ts)
        await stage.until_ask("completion_result")

    (workspace / "a.txt").write_text("one\ntwo\n")
    play(workspace, [reading("a.txt"), edit("two", "2")], left)
    (workspace / "a.txt").write_text("zero\none\ntwo\n")
    resume(workspace, [DONE], taken_up)
    report = replayed(workspace, session_in(workspace))
    assert report.divergence is None, (report.divergence.text, report.notes)
    assert report.requests == report.all_requests == 3


def test_a_command_that_was_typed_before_a_crash_and_refused_after_it(workspace: Path) -> None:
    async def left(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.submit(QueueMessage(text="touch queued", is_command=True))

    async def taken_up(stage: Stage) -> None:
        waiting = next(row for row in stage.session.state().cline_messages if row.ask == "command")
        await stage.answer("noButtonClicked", ts=waiting.ts)
        ask = await stage.until_ask("command")
        await stage.answer("noButtonClicked", ts=ask.ts)
        await stage.until_ask("completion_result")

    play(workspace, [RUN], left)
    resume(workspace, [DONE], taken_up)
    report = replayed(workspace, session_in(workspace))
    assert report.divergence is None, (report.divergence.text, report.notes)


def test_a_session_that_was_cut_off_is_run_to_where_it_was(workspace: Path) -> None:
    async def left(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")

    play(workspace, [WRITE, RUN], left, **ACCEPT)
    report = replayed(workspace, session_in(workspace))
    assert report.divergence is None and report.requests == report.all_requests == 2


def test_a_mode_that_is_not_here_is_none_that_the_replay_needs(workspace: Path) -> None:
    session = recorded(workspace, "edits")

    def other_mode(record: dict[str, Any]) -> None:
        if record["kind"] == "task":
            record["payload"]["mode"] = "painter"

    rewritten(session, other_mode)
    assert replayed(workspace, session).divergence is None


def test_a_prompt_of_the_users_own_is_not_compared_and_that_is_said(workspace: Path) -> None:
    play(workspace, [DONE], said("hello"), system_prompt="You are a poet.")
    report = replayed(workspace, session_in(workspace))
    assert report.divergence is None and "not Robota's own" in " ".join(report.notes)


def test_a_result_is_replayed_as_long_as_it_was_recorded(workspace: Path) -> None:
    """Earlier versions gave a model more of a result, and cut it in another way."""
    session = recorded(workspace, "XML")

    def plant(record: dict[str, Any]) -> None:
        for block in record["payload"].get("turn", {}).get("content", []):
            if block["type"] == "tool_result":
                block["content"] = "0123456789" * (RESULT_CHARACTERS // 5)

    rewritten(session, plant)
    report = replayed(workspace, session)
    assert report.divergence is None, report.divergence.text


def test_paths_of_a_log_lead_nowhere_else(workspace: Path) -> None:
    """Where a log names files that are not here, empty ones stand in, and only in the directory of the replay."""
    session = recorded(workspace, "condensed")
    planted = [str(workspace / "planted"), "../../planted", "x/../../../planted"]

    def plant(record: dict[str, Any]) -> None:
        if record["kind"] == "files":
            record["payload"]["files"] |= {path: [1] for path in planted}

    rewritten(session, plant)
    replayed(workspace, session)
    assert not [path for path in workspace.parent.rglob("planted")]


def test_reports_are_values(workspace: Path) -> None:
    report = replayed(workspace, recorded(workspace, "a no"))
    assert msgspec.json.decode(msgspec.json.encode(report))["divergence"] is None
