"""A model server that fails in a chosen way, and a real session that has to live with it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from tests.engine.stage import Stage
from tests.providers.raw_server import STREAM_HEAD, Answering, RawServer, raw_server, whole

ANSWER = "A whole answer: größe 漢字 🎉"
QUICK = {"baseMs": 1, "maxRetries": 3}
Story = Callable[[Stage, RawServer], Awaitable[None]]


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"


def text(words: str) -> bytes:
    return event({"content": words})


def call(name: str | None, arguments: str, **fields: Any) -> bytes:
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    return event({"tool_calls": [{"index": 0, **fields, "function": function}]})


END = event({}, "stop") + b"data: [DONE]\n\n"
GOOD = STREAM_HEAD + text(ANSWER) + END


def sending(data: bytes) -> Answering:
    """Send this and hang up."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    return answer


def status(code: int, body: bytes = b"", *headers: str) -> Answering:
    return sending(whole(f"{code} Status", body, "connection: close", *headers))


def silent_after(data: bytes) -> Answering:
    """Send this and then nothing, for ever."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        await asyncio.Event().wait()

    return answer


def in_turn(*answers: Answering, then: Answering | None = None) -> Answering:
    """One answer for each request; after the last of them always `then`, which is the good one if left out."""
    waiting = list(answers)

    async def answer(writer: asyncio.StreamWriter) -> None:
        await (waiting.pop(0) if waiting else then or sending(GOOD))(writer)

    return answer


def live(
    workspace: Path,
    answering: Answering,
    story: Story,
    *,
    timeout: float = 20,
    retry: dict[str, Any] | None = None,
    **launch: Any,
) -> None:
    """A session on this server; it ends with the story."""

    async def run() -> None:
        async with raw_server(answering) as server:
            options = {"retry": retry or QUICK, "contextWindow": 100_000}
            profile = Profile(
                type="openai-compatible",
                name="fake",
                base_url=f"{server.url}/v1",
                model="first",
                timeout=timeout,
                options=options,
            )
            home = {"ROBOTA_HOME": str(workspace.parent / "robota-home")}
            opened = open_session(LaunchOptions(cwd=workspace, profile=profile, **launch), home)
            try:
                await story(Stage(opened), server)
            finally:
                await opened.close()

    asyncio.run(run())
