"""The places where others may step in. User hooks, intents and checkpoints plug in here."""

from enum import StrEnum
from typing import Any, Protocol

import msgspec

from robota.contracts.tool import AnyTool, ToolCall, ToolResult


class Proceed(msgspec.Struct, frozen=True, kw_only=True):
    """Go on; `input` replaces the arguments if given and is validated again.

    `vouched` says who would let the call run without asking. That spares the person a question that only the
    mode would raise; a rule that asks or denies is not moved by it. `must_ask` asks even where nothing else would.
    """

    input: dict[str, Any] | None = None
    vouched: str | None = None
    must_ask: str | None = None
    context: str = ""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Do not run the call; the model is told why."""

    reason: str


class PreToolHook(Protocol):
    """Runs before policy. Cannot allow anything that policy denies."""

    async def before_tool(self, tool: AnyTool, call: ToolCall) -> Proceed | Block: ...


class PostToolHook(Protocol):
    """Sees every result, also of failed calls, and may replace it."""

    async def after_tool(self, tool: AnyTool, call: ToolCall, result: ToolResult) -> ToolResult: ...


class Checkpoint(Protocol):
    """Saves the workspace before a call that can change it."""

    async def before_change(self, tool: AnyTool, call: ToolCall) -> None: ...


class Moment(StrEnum):
    """Points in the life of a session at which hooks run. The values are the names people write in settings."""

    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    STOP = "Stop"
    SUBAGENT_START = "SubagentStart"
    SUBAGENT_STOP = "SubagentStop"
    PRE_COMPACT = "PreCompact"
    NOTIFICATION = "Notification"
    PERMISSION_REQUEST = "PermissionRequest"
    WORKTREE_CREATE = "WorktreeCreate"
    WORKTREE_REMOVE = "WorktreeRemove"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the hooks of a moment said, taken together.

    `blocked` is the reason of a hook that says no; `stopped` that of one that wants everything to end.
    `decision` is allow, deny or ask, `updated_input` the arguments a hook wants instead.
    """

    blocked: str | None = None
    stopped: str | None = None
    context: str = ""
    decision: str | None = None
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    messages: tuple[str, ...] = ()


NOTHING_SAID = Outcome()


class LifecycleHooks(Protocol):
    """Runs the hooks of a moment. `target` is what their matchers look at: a tool, a source, a reason."""

    async def fire(self, moment: Moment, target: str = "", **fields: Any) -> Outcome: ...
