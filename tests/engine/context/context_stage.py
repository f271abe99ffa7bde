"""A stage with a small window, on which every request to the model can be looked at."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.engine.session.session import Session
from robota.log.replay.context import ORPHAN_INTRODUCTION
from robota.protocol.conversation import AssistantTurn, TextBlock, ToolResultBlock, Turn, UserTurn
from robota.protocol.message import Message
from robota.providers.chunks import Chunk, ModelRequest, Provider
from tests.engine.stage import Stage, call

# Half of it is set aside for the answer, so 50,000 tokens are room for the conversation.
WINDOW = 100_000
NEARLY_FULL = {"input": 42_000, "output": 10}
OVER_FULL = {"input": 52_000, "output": 10}
SUMMARY = {
    "text": "<summary>\nThe parser was rewritten.\n</summary>",
    "usage": {"input": 42_500, "output": 40, "cost": 0.5},
}
DONE = {"text": "All done."}
FILE_READERS = frozenset({"read_file"})


class Listening:
    """A provider that answers as the one behind it does, and keeps what it was asked."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.asked: list[ModelRequest] = []

    def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        self.asked.append(request)
        return self._provider.stream(request)

    async def close(self) -> None:
        """Whoever opened the provider closes it."""


class ContextStage(Stage):
    """`asked` has every request, `kept` the history of the current task as it would be sent."""

    @property
    def asked(self) -> list[ModelRequest]:
        provider = self.session._services.model.provider
        assert isinstance(provider, Listening)
        return provider.asked

    @property
    def kept(self) -> list[Turn]:
        task = self.session._runner.current
        assert task is not None
        return list(task.runtime.history.turns)

    def row(self, kind: str) -> Message:
        (found,) = (row for row in self.rows if row.say == kind)
        return found


def play_in_small_window(
    workspace: Path,
    turns: Sequence[Any],
    story: Callable[[ContextStage], Awaitable[None]],
    *,
    settings: dict[str, Any] | None = None,
    profile_options: dict[str, Any] | None = None,
    **launch: Any,
) -> None:
    """`settings` are those of the user."""

    home = workspace.parent / "robota-home"
    home.mkdir(exist_ok=True)
    info = {"contextWindow": WINDOW, "maxOutputTokens": WINDOW // 2}
    options = {"turns": list(turns), "retry": {"baseMs": 1, "maxRetries": 3}, "modelInfo": info}
    profile = {"type": "scripted", "model": "scripted", "options": {**options, **(profile_options or {})}}
    everything = {"providers": {"script": profile}, "currentProvider": "script", **(settings or {})}
    (home / "settings.json").write_text(json.dumps(everything))

    async def run() -> None:
        opened = open_session(LaunchOptions(cwd=workspace, **launch), {"ROBOTA_HOME": str(home)})
        model = msgspec.structs.replace(opened.services.model, provider=Listening(opened.services.model.provider))
        services = msgspec.structs.replace(opened.services, model=model)
        stage = ContextStage(msgspec.structs.replace(opened, session=Session(opened.options, services)))
        try:
            await story(stage)
        finally:
            await stage.opened.close()

    asyncio.run(run())


def reading(path: str, usage: dict[str, Any] | None = None) -> dict[str, Any]:
    """A turn that reads a file."""
    turn: dict[str, Any] = {"text": f"Looking at {path}.", "calls": [call("read_file", path=path)]}
    return turn if usage is None else {**turn, "usage": usage}


def write_files(workspace: Path, *names: str) -> None:
    """`a.txt` is large, others are small."""
    for name in names:
        (workspace / name).write_text(f"{name} {'.' * 100}\n" * (200 if name == "a.txt" else 20))


def words(turns: Sequence[Turn]) -> str:
    """Everything a model is told or said in these turns."""
    told: list[str] = []
    for turn in turns:
        for block in turn.content:
            if isinstance(block, TextBlock):
                told.append(block.text)
            elif isinstance(block, ToolResultBlock):
                told.append(block.content)
    return "\n".join(told)


def check_sendable(turns: Sequence[Turn]) -> None:
    """A provider accepts this: sides take turns, each call has its result right after it, the user is last.

    Nor had anything to be mended: no result is there without its call.
    """
    assert isinstance(turns[-1], UserTurn)
    assert ORPHAN_INTRODUCTION not in words(turns)
    open_calls: list[str] = []
    for place, turn in enumerate(turns):
        assert turn.content
        assert isinstance(turn, AssistantTurn if place % 2 else UserTurn)
        if isinstance(turn, AssistantTurn):
            open_calls = [use.id for use in turn.tool_uses]
        else:
            assert [block.tool_use_id for block in turn.content if isinstance(block, ToolResultBlock)] == open_calls
