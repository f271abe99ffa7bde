"""The places around a call where others step in: each is real, in its order, and cannot be gone around."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from robota.app.tools import SessionTools
from robota.contracts.hook import BlockCall, CompletedCall, HookContext, Proceed, SessionHooks
from robota.contracts.tool import (
    RESULT_CHARACTERS,
    AnyTool,
    Effect,
    Prepared,
    Preview,
    Tool,
    ToolCall,
    ToolContext,
    ToolGroup,
    ToolResult,
    Touches,
)
from robota.engine.session.session import Session
from robota.protocol.events import MessageCreated, ToolEnd
from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "done"}


class Note(msgspec.Struct, frozen=True, kw_only=True):
    text: str = ""


def only(tool: AnyTool) -> SessionTools:
    return SessionTools([tool.name], lambda: [tool])


def make_tool(
    run: Callable[[Note, ToolContext], Any], effects: frozenset[Effect], timeout_s: float | None = None
) -> AnyTool:
    async def prepare(params: Note, context: ToolContext) -> Prepared:
        return Prepared(preview=Preview(ask="tool", text='{"tool":"note"}'), run=lambda: run(params, context))

    return Tool(
        name="note",
        label="Note",
        group=ToolGroup.TASK,
        params=Note,
        description=lambda: "",
        effects=effects,
        touches=lambda params: Touches(),
        prepare=prepare,
        timeout_s=timeout_s,
    )


def with_services(stage: Stage, **services: Any) -> Stage:
    """The same stage with other services; a new session on the same log."""
    session = stage.opened.session
    fresh = Session(session._options, msgspec.structs.replace(session._services, **services))
    return Stage(msgspec.structs.replace(stage.opened, session=fresh))


class Recorder:
    """Hooks and a checkpoint that write down when they were called."""

    def __init__(self, outcome: Proceed | BlockCall | None = None) -> None:
        self.order: list[str] = []
        self.outcome = outcome or Proceed()

    async def before_tool(self, tool: AnyTool, call: ToolCall, context: HookContext) -> Proceed | BlockCall:
        self.order.append("pre")
        return self.outcome

    async def after_tool(self, ran: CompletedCall, context: HookContext) -> ToolResult:
        self.order.append("post")
        return msgspec.structs.replace(ran.result, content=f"{ran.result.content} (seen)")

    @asynccontextmanager
    async def around_change(
        self, tool: AnyTool, call: ToolCall, task_id: str, tell: Callable[[str], None]
    ) -> AsyncIterator[bool]:
        self.order.append("checkpoint")
        yield True
        self.order.append("ended")

    async def after_changes(self, task_id: str, tell: Callable[[str], None]) -> None:
        self.order.append("after")


class WithoutTools:
    """One mode, in which no tool may be used."""

    roles: Mapping[str, str] = {"code": ""}
    uses: Mapping[str, str] = {"code": ""}

    def allows(self, tool: AnyTool, mode: str, touches: Touches | None) -> str | None:
        return f"{tool.label} is not available in {mode} mode."

    def goes_beyond(self, mode: str, other: str) -> bool:
        return False


def test_the_stages_run_in_their_order(workspace: Path) -> None:
    recorder = Recorder()

    async def run(params: Note, context: ToolContext) -> ToolResult:
        recorder.order.append("run")
        return ToolResult(content="noted")

    async def story(stage: Stage) -> None:
        tool = make_tool(run, frozenset({Effect.WRITE}))
        stage = with_services(
            stage,
            tools=only(tool),
            hooks=SessionHooks(before=[recorder], after=[recorder]),
            checkpoint=recorder,
        )
        await stage.start()
        await stage.until_ask("tool")
        assert recorder.order == ["pre"]
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert recorder.order == ["pre", "checkpoint", "run", "ended", "post", "after"]
        assert tool_results(stage)[0].content == "noted (seen)"
        await stage.session.close()

    play(workspace, [{"calls": [call("note", text="x")]}, DONE], story)


def test_a_hook_that_blocks_stops_the_call_before_anybody_is_asked(workspace: Path) -> None:
    recorder = Recorder(BlockCall(reason="Out of scope."))

    async def story(stage: Stage) -> None:
        stage = with_services(stage, hooks=SessionHooks(before=[recorder]), checkpoint=recorder)
        await stage.start()
        await stage.until_ask("completion_result")
        assert recorder.order == ["pre", "after"]
        told = tool_results(stage)[0].content
        assert told.startswith("Denied by a hook: Out of scope.\nNothing was run. If this says what to do instead")
        assert not (workspace / "x").exists()
        await stage.session.close()

    play(workspace, [{"calls": [call("write_to_file", path="x", content="y")]}, DONE], story)


def test_a_hook_may_change_the_input_but_policy_judges_what_will_run(workspace: Path) -> None:
    recorder = Recorder(Proceed(input={"path": "../outside", "content": "y"}))

    async def story(stage: Stage) -> None:
        stage = with_services(stage, hooks=SessionHooks(before=[recorder]))
        await stage.start()
        await stage.until_ask("completion_result")
        assert stage.events_of(ToolEnd)[0].status == "denied"
        assert not (workspace.parent / "outside").exists()
        await stage.session.close()

    turns = [{"calls": [call("write_to_file", path="x", content="y")]}, DONE]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_a_tool_that_the_mode_does_not_have_is_refused(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        stage = with_services(stage, modes=WithoutTools())
        await stage.start()
        await stage.until_ask("completion_result")
        assert "not available in code mode" in tool_results(stage)[0].content
        await stage.session.close()

    play(workspace, [{"calls": [call("list_files", path=".")]}, DONE], story)


def test_a_bug_in_a_tool_does_not_end_the_task(workspace: Path) -> None:
    async def run(params: Note, context: ToolContext) -> ToolResult:
        raise KeyError("oops")

    async def story(stage: Stage) -> None:
        stage = with_services(stage, tools=only(make_tool(run, frozenset({Effect.READ}))))
        await stage.start()
        await stage.until_ask("completion_result")
        (result,) = tool_results(stage)
        assert result.is_error and "KeyError" in result.content
        await stage.session.close()

    play(workspace, [{"calls": [call("note")]}, DONE], story)


def test_a_bug_in_preparing_a_call_does_not_end_the_task(workspace: Path) -> None:
    async def prepare(params: Note, context: ToolContext) -> Prepared:
        raise KeyError("oops")

    async def run(params: Note, context: ToolContext) -> ToolResult:
        return ToolResult(content="never")

    async def story(stage: Stage) -> None:
        tool = msgspec.structs.replace(make_tool(run, frozenset({Effect.READ})), prepare=prepare)
        stage = with_services(stage, tools=only(tool))
        await stage.start()
        await stage.until_ask("completion_result")
        (result,) = tool_results(stage)
        assert result.is_error and "KeyError" in result.content
        await stage.session.close()

    play(workspace, [{"calls": [call("note")]}, DONE], story)


def test_five_reads_of_one_reply_run_side_by_side_and_keep_their_order(workspace: Path) -> None:
    running: set[str] = set()
    most = 0

    async def run(params: Note, context: ToolContext) -> ToolResult:
        nonlocal most
        running.add(params.text)
        most = max(most, len(running))
        for _ in range(200):  # every call that may begin does so meanwhile
            await asyncio.sleep(0)
        running.remove(params.text)
        return ToolResult(content=params.text)

    async def story(stage: Stage) -> None:
        stage = with_services(stage, tools=only(make_tool(run, frozenset({Effect.READ}))))
        await stage.start()
        await stage.until_ask("completion_result")
        assert most == 5
        assert [result.content for result in tool_results(stage)] == [str(number) for number in range(8)]
        await stage.session.close()

    play(workspace, [{"calls": [call("note", text=str(number)) for number in range(8)]}, DONE], story)


def test_a_tool_that_takes_too_long_is_stopped(workspace: Path) -> None:
    async def run(params: Note, context: ToolContext) -> ToolResult:
        await asyncio.Event().wait()
        raise AssertionError

    async def story(stage: Stage) -> None:
        stage = with_services(stage, tools=only(make_tool(run, frozenset({Effect.READ}), timeout_s=0.01)))
        await stage.start()
        await stage.until_ask("completion_result")
        assert "stopped after 0.01 s, before it had a result. Narrow the call" in tool_results(stage)[0].content
        await stage.session.close()

    play(workspace, [{"calls": [call("note")]}, DONE], story)


def test_a_huge_result_is_cut_and_kept_whole(workspace: Path) -> None:
    async def run(params: Note, context: ToolContext) -> ToolResult:
        return ToolResult(content="a" * 150_000 + "z" * 150_000)

    async def story(stage: Stage) -> None:
        stage = with_services(stage, tools=only(make_tool(run, frozenset({Effect.READ}))))
        await stage.start()
        await stage.until_ask("completion_result")
        content = tool_results(stage)[0].content
        assert len(content) <= RESULT_CHARACTERS and "[… 258,300 of 300,000 characters were cut here …]" in content
        named = r'\[For the rest: read_command_output \{"artifact_id":"(\w{8})","offset":(\d+)\}\]$'
        [(name, offset)] = re.findall(named, content)
        assert content[: int(offset)] == "a" * 20_850
        assert stage.opened.log.find_artifact(name).stat().st_size == 300_000
        await stage.session.close()

    play(workspace, [{"calls": [call("note")]}, DONE], story)


CUT = re.compile(
    r"(?s)(.*)\n\[… ([\d,]+) of ([\d,]+) characters were cut here …\]\n(.*)"
    r'\n\[For the rest: read_command_output \{"artifact_id":"(\w{8})","offset":(\d+)\}\]'
)


@pytest.mark.parametrize("text", ["x" * (RESULT_CHARACTERS + 1), "é€😀\n" * 20_000, "\n" * 50_000])
def test_what_a_cut_result_claims_to_lack_is_where_it_says(workspace: Path, text: str) -> None:
    """As it is: a text of exactly the longest length is not cut."""
    longest = text[:RESULT_CHARACTERS]

    async def run(params: Note, context: ToolContext) -> ToolResult:
        return ToolResult(content=text if params.text == "long" else longest)

    async def story(stage: Stage) -> None:
        stage = with_services(stage, tools=only(make_tool(run, frozenset({Effect.READ}))))
        await stage.start()
        await stage.until_ask("completion_result")
        cut, whole = (result.content for result in tool_results(stage))
        found = CUT.fullmatch(cut)
        assert found is not None and len(cut) <= RESULT_CHARACTERS and len(whole) == RESULT_CHARACTERS
        first, missing, total, last, name, offset = found.groups()
        kept = stage.opened.log.find_artifact(name).read_bytes()
        before, after = kept[: int(offset)].decode(), kept[int(offset) :].decode()
        between = after[: int(missing.replace(",", ""))]
        assert before == first and before + between + last == text
        assert int(total.replace(",", "")) == len(text)
        await stage.session.close()

    play(workspace, [{"calls": [call("note", text="long"), call("note", text="short")]}, DONE], story)


def test_a_write_waits_for_the_reads_before_it_and_the_next_read_for_the_write(workspace: Path) -> None:
    (workspace / "a.txt").write_text("old\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        before, _, after = tool_results(stage)
        assert "old" in before.content and "new" in after.content

    calls = [
        call("read_file", path="a.txt"),
        call("write_to_file", path="a.txt", content="new\n"),
        call("read_file", path="a.txt"),
    ]
    play(workspace, [{"calls": calls}, DONE], story, permission_mode="acceptEdits")


@pytest.mark.parametrize("target", [".git", ".robota"])
def test_a_link_does_not_hide_a_protected_path(workspace: Path, target: str) -> None:
    (workspace / "innocent").symlink_to(workspace / target)

    async def story(stage: Stage) -> None:
        await stage.start()
        event = await stage.until(lambda e: isinstance(e, MessageCreated) and e.message.ask is not None)
        assert isinstance(event, MessageCreated) and event.message.ask == "tool"
        assert not (workspace / target / "hook").exists()

    turns = [{"calls": [call("write_to_file", path="innocent/hook", content="evil")]}]
    play(workspace, turns, story, permission_mode="acceptEdits")
