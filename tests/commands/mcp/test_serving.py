"""`robota mcp serve`, used by the official client: the same policy and log as in a session."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from tests.cli.scripts import sessions
from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.harness.session_log import log_text


def use(robota: Robota, story: Callable[[Client], Awaitable[None]], *options: str) -> None:
    """Start the server as another program would, and talk to it."""
    command = StdioServerParameters(
        command=str(EXECUTABLE),
        args=["mcp", "serve", *options],
        env=clean_environment(robota.home),
        cwd=robota.workspace,
    )

    async def talk() -> None:
        async with Client(command) as client:
            await story(client)

    asyncio.run(talk())


def text(result: CallToolResult) -> str:
    return "\n".join(getattr(block, "text", "") for block in result.content)


def test_another_program_reads_and_searches(robota: Robota) -> None:
    (robota.workspace / "note.txt").write_text("the answer is 42\n")

    async def story(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"read_file", "search_files", "execute_command"} <= names
        assert not {"attempt_completion", "ask_followup_question", "new_task"} & names
        read = await client.call_tool("read_file", {"path": "note.txt"})
        assert "the answer is 42" in text(read) and not read.is_error

    use(robota, story)
    log = log_text(sessions(robota)[-1])
    assert "read_file" in log and "the answer is 42" in log


def test_what_would_be_asked_about_is_denied_and_what_a_rule_allows_runs(robota: Robota) -> None:
    target = robota.workspace / "new.txt"

    async def denied(client: Client) -> None:
        result = await client.call_tool("write_to_file", {"path": "new.txt", "content": "x"})
        assert result.is_error and not target.exists()

    async def allowed(client: Client) -> None:
        result = await client.call_tool("write_to_file", {"path": "new.txt", "content": "x"})
        assert not result.is_error, text(result)

    use(robota, denied)
    use(robota, allowed, "--permission-mode", "acceptEdits")
    assert target.read_text().rstrip("\n") == "x"


def test_a_deny_rule_and_secrets_hold(robota: Robota) -> None:
    (robota.workspace / ".env").write_text("KEY=s3cret\n")

    async def story(client: Client) -> None:
        for path in (".env", "../outside"):
            result = await client.call_tool("read_file", {"path": path})
            assert result.is_error and "s3cret" not in text(result)
        run = await client.call_tool("execute_command", {"command": "echo hello"})
        assert run.is_error and "hello" not in text(run)

    use(robota, story, "--disallowed-tools", "Bash")


def test_wrong_calls_are_answered(robota: Robota) -> None:
    async def story(client: Client) -> None:
        wrong: list[tuple[str, dict[str, Any]]] = [("no_such_tool", {}), ("read_file", {"file": 3}), ("new_task", {})]
        for name, arguments in wrong:
            assert (await client.call_tool(name, arguments)).is_error
        assert not (await client.call_tool("list_files", {"path": "."})).is_error

    use(robota, story)


def test_a_file_is_not_overwritten_unread(robota: Robota) -> None:
    (robota.workspace / "kept.txt").write_text("precious\n")

    async def story(client: Client) -> None:
        blind = await client.call_tool("write_to_file", {"path": "kept.txt", "content": "gone"})
        assert blind.is_error
        read = await client.call_tool("read_file", {"path": "kept.txt"})
        assert "precious" in text(read)
        assert not (await client.call_tool("write_to_file", {"path": "kept.txt", "content": "new"})).is_error

    use(robota, story, "--permission-mode", "acceptEdits")
