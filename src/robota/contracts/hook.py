"""Hooks: what runs around tool calls and at events of a session. User hooks, intents and checkpoints plug in here."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from robota.contracts.tool import AnyTool, ToolCall, ToolResult
from robota.contracts.verdict import Verdict
from robota.protocol.permission_mode import PermissionMode


class HookContext(msgspec.Struct, frozen=True, kw_only=True):
    """The permission mode and the agent that a hook runs for. `tell` shows a message to the person.

    `agent_id` and `agent_type` are there in a subtask; `prompt_id` names the prompt that the work began with.
    """

    permission_mode: PermissionMode
    task_id: str = ""
    agent_id: str | None = None
    agent_type: str | None = None
    prompt_id: str | None = None
    tell: Callable[[str], None] = lambda message: None


class Proceed(msgspec.Struct, frozen=True, kw_only=True):
    """Go on; `input` replaces the arguments if given and is validated again.

    `approved_by` says who approves the call. That spares the person a question that only the mode would raise; a rule
    that asks or denies is not moved by it. `ask_reason` makes the person be asked even where nothing else would, and
    `refusal` is what the model is told if they say no.
    """

    input: dict[str, Any] | None = None
    approved_by: str | None = None
    ask_reason: str | None = None
    refusal: str = ""
    context: str = ""


class BlockCall(msgspec.Struct, frozen=True, kw_only=True):
    """Do not run the call; the model is told why."""

    reason: str


class Halt(msgspec.Struct, frozen=True, kw_only=True):
    """End the task here: the person is next. Before a call it is not run; `result` is that of one that has run."""

    reason: str
    result: ToolResult | None = None


class PreToolHook(Protocol):
    """Runs before policy. Cannot allow anything that policy denies."""

    async def before_tool(self, tool: AnyTool, call: ToolCall, context: HookContext) -> Proceed | BlockCall | Halt: ...


class CallGuard(Protocol):
    """Looks once more at a call that a person has approved: what it was judged by may have changed meanwhile."""

    async def confirm(self, tool: AnyTool, call: ToolCall, context: HookContext) -> BlockCall | None: ...


class CompletedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that completed, what came of it, and how long it took."""

    tool: AnyTool
    call: ToolCall
    result: ToolResult
    duration_ms: int


class PostToolHook(Protocol):
    """Sees every result, also of failed calls, and may replace it."""

    async def after_tool(self, completed: CompletedCall, context: HookContext) -> ToolResult | Halt: ...


class ContextKeeper(Protocol):
    """What hooks want the model to know besides the results of calls. Both may be empty."""

    def prompt_section(self) -> str:
        """A part of the system prompt of every task."""
        ...

    def after_shortening(self, task_id: str) -> str:
        """What is told again when the beginning of a task's conversation is taken out."""
        ...


class Checkpoint(Protocol):
    """Saves the workspace before a call that can change it, and once more when the person is next.

    Neither may fail, and `tell` shows a message to the person.
    """

    def around_change(
        self, tool: AnyTool, call: ToolCall, task_id: str, tell: Callable[[str], None]
    ) -> AbstractAsyncContextManager[None]:
        """Save the workspace, and let nobody restore it while the call runs."""
        ...

    async def after_changes(self, task_id: str, tell: Callable[[str], None]) -> None: ...


class HookEvent(StrEnum):
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


class HookResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the hooks of an event decided, taken together.

    `blocked` is the reason of a hook that blocks the event, `stopped` that of one that ends the task.
    `decision` is allow, ask, deny or defer, `updated_input` the arguments a hook wants instead, `updated_output` the
    result. `messages` have been shown to the person if there was a context. `output` is what the hook of a new
    worktree printed; its last line is a path.
    """

    blocked: str | None = None
    stopped: str | None = None
    context: str = ""
    decision: str | None = None
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    updated_output: str | None = None
    messages: tuple[str, ...] = ()
    output: str = ""


EMPTY_HOOK_RESULT = HookResult()


class LifecycleHooks(Protocol):
    """The hooks of a session, beside those around calls."""

    async def fire(
        self, event: HookEvent, target: str = "", *, context: HookContext | None = None, **fields: Any
    ) -> HookResult:
        """Run the hooks of an event. `target` is what their matchers look at: a source, a reason, an agent."""
        ...

    async def permission(self, tool: AnyTool, call: ToolCall, verdict: Verdict, context: HookContext) -> HookResult:
        """Run the hooks that may answer in the person's place when a verdict is to ask."""
        ...

    async def close(self) -> None:
        """End the hooks that run in the background."""
        ...


class SessionHooks(msgspec.Struct, frozen=True, kw_only=True):
    """All hooks of a session: those around calls, in their order, and those of its other events.

    `guards` look at calls that a person was asked about, after the yes.
    """

    before: Sequence[PreToolHook] = ()
    guards: Sequence[CallGuard] = ()
    after: Sequence[PostToolHook] = ()
    lifecycle: LifecycleHooks | None = None
    context: ContextKeeper | None = None
