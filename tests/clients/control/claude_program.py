"""Programs that drive Robota with the official Python SDK of Claude Code."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.harness.cli import EXECUTABLE, Robota, clean_environment

sdk: Any = pytest.importorskip("claude_agent_sdk", reason="needs requirements/claude-sdk.txt")


def options(robota: Robota, **given: Any) -> Any:
    env = clean_environment(robota.home)
    return sdk.ClaudeAgentOptions(cli_path=str(EXECUTABLE), cwd=str(robota.workspace), env=env, **given)


def one_prompt(robota: Robota, prompt: str = "go", **given: Any) -> list[Any]:
    """All messages of `query()`."""

    async def main() -> list[Any]:
        return [message async for message in sdk.query(prompt=prompt, options=options(robota, **given))]

    return asyncio.run(main())


def in_client(robota: Robota, work: Callable[[Any], Awaitable[Any]], **given: Any) -> Any:
    """What `work` returns, which gets a connected `ClaudeSDKClient`."""

    async def main() -> Any:
        async with sdk.ClaudeSDKClient(options(robota, **given)) as client:
            return await work(client)

    return asyncio.run(main())


async def turn(client: Any, prompt: str) -> Any:
    """The result of one prompt."""
    await client.query(prompt)
    return (await collected(client))[-1]


async def collected(client: Any) -> list[Any]:
    return [message async for message in client.receive_response()]


def of_kind(messages: list[Any], kind: str) -> list[Any]:
    return [message for message in messages if type(message).__name__ == kind]


async def allow(tool: str, given: dict[str, Any], context: Any) -> Any:
    return sdk.PermissionResultAllow()
