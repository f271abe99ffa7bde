"""Background processes as a model handles them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from robota.contracts.tool import ToolError, ToolResult
from robota.protocol.views import TableView, TerminalView
from robota.tools.command import background_process
from robota.tools.command.background_process import BackgroundProcessParams, touches
from tests.tools.workbench import Workbench

Act = Callable[..., Awaitable[ToolResult]]


def converse(bench: Workbench, scenario: Callable[[Act], Awaitable[None]], tool: Any = background_process.TOOL) -> None:
    """Several calls in one session."""

    async def act(**arguments: Any) -> ToolResult:
        return await bench.call_in_loop(tool.name, **arguments)

    async def session() -> None:
        try:
            await scenario(act)
        finally:
            bench.processes.close()

    asyncio.run(session())


def test_start_read_send_stop_list(bench: Workbench) -> None:
    async def scenario(act: Act) -> None:
        assert (await act(action="list")).content == "There are no background processes."
        command = 'echo hello; while read x; do echo "<$x>"; done'
        started = await act(action="start", command=command, wait=60)
        assert started.content.startswith("Started as bg1. It is stopped at the latest when the session ends.\n")
        assert started.content.endswith("New output:\nhello\n")
        assert started.view == TerminalView(command=command, output="hello\n")
        sent = await act(action="send", id="bg1", input="line", wait=60)
        assert sent.content.endswith("New output:\n<line>\n")
        assert (await act(action="read", id="bg1")).content.endswith("No new output.")
        assert (await act(action="read", id="bg1", tail=1)).content.endswith("Last lines:\n<line>\n")
        with pytest.raises(ToolError, match="Give input, or end_input"):
            await act(action="send", id="bg1")
        listed = await act(action="list")
        assert isinstance(listed.view, TableView)
        assert listed.view.rows[0][0] == "bg1" and listed.view.rows[0][3] == command
        stopped = await act(action="stop", id="bg1")
        assert "bg1 has ended.\nStopped (signal SIGTERM).\n" in stopped.content
        with pytest.raises(ToolError, match="has ended, so nothing was sent"):
            await act(action="send", id="bg1", input="x")

    converse(bench, scenario)


def test_a_start_that_fails_at_once_says_so(bench: Workbench) -> None:
    async def scenario(act: Act) -> None:
        result = await act(action="start", command="echo port in use; exit 1", wait=60)
        while "has ended" not in result.content:
            result = await act(action="read", id="bg1", wait=60)
        assert "Exit code: 1" in result.content

    converse(bench, scenario)


def test_the_end_of_the_input_can_be_sent(bench: Workbench) -> None:
    async def scenario(act: Act) -> None:
        await act(action="start", command="sort", wait=0)
        await act(action="send", id="bg1", input="b\na", end_input=True, wait=60)
        content = (await act(action="read", id="bg1", tail=5, wait=60)).content
        while "has ended" not in content:
            content = (await act(action="read", id="bg1", tail=5)).content
        assert content.endswith("Last lines:\na\nb\n")

    converse(bench, scenario)


def test_a_long_output_is_kept_when_it_has_ended(bench: Workbench) -> None:
    async def scenario(act: Act) -> None:
        await act(action="start", command="head -c 500000 /dev/zero | tr '\\0' x; sleep 1000", wait=60)
        while bench.processes.background[0].total_bytes < 500_000:
            await act(action="read", id="bg1", wait=60)
        content = (await act(action="stop", id="bg1")).content
        assert "Its whole output has 500,000 bytes. To read it: read_command_output {" in content
        again = (await act(action="read", id="bg1")).content
        assert bench.kept(again.split('"')[3]).stat().st_size == 500_000

    converse(bench, scenario)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"action": "start"}, "Give the command to start"),
        ({"action": "start", "command": " "}, "Nothing was run"),
        ({"action": "start", "command": "pwd", "cwd": ".."}, "outside"),
        ({"action": "read"}, "Give the id of the background process to read"),
        ({"action": "stop", "id": "bg9"}, "no background process 'bg9'. Nothing was done. None was started so far."),
    ],
)
def test_what_is_missing_is_named(bench: Workbench, arguments: dict[str, Any], message: str) -> None:
    async def scenario(act: Act) -> None:
        with pytest.raises(ToolError, match=message):
            await act(**arguments)

    converse(bench, scenario)


def test_the_command_is_judged_like_any_other(bench: Workbench) -> None:
    start = BackgroundProcessParams(action="start", command="rm -r x", cwd="sub")
    assert (touches(start).command, touches(start).paths) == ("rm -r x", ("sub",))
    preview = bench.preview("background_process", action="start", command="rm -r x")
    assert (preview.ask, preview.text) == ("command", "rm -r x")
    preview = bench.preview("background_process", action="send", id="bg1", input="yes\x1b")
    assert preview.ask == "tool" and '"content":"yes\\\\x1b"' in preview.text
