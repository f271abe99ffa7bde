"""The places around a tool call where others may step in. Intents, user hooks and checkpoints plug in here."""

from typing import Any, Protocol

import msgspec

from robota.contracts.tool import AnyTool, ToolCall, ToolResult


class Proceed(msgspec.Struct, frozen=True, kw_only=True):
    """Go on; `input` replaces the arguments if given and is validated again."""

    input: dict[str, Any] | None = None


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Do not run the call; the model is told why."""

    reason: str


class PreToolHook(Protocol):
    """Runs before policy. Cannot allow anything: policy still decides."""

    async def before_tool(self, tool: AnyTool, call: ToolCall) -> Proceed | Block: ...


class PostToolHook(Protocol):
    """Sees every result, also of failed calls, and may replace it."""

    async def after_tool(self, tool: AnyTool, call: ToolCall, result: ToolResult) -> ToolResult: ...


class Checkpoint(Protocol):
    """Saves the workspace before a call that can change it."""

    async def before_change(self, tool: AnyTool, call: ToolCall) -> None: ...
