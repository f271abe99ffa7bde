"""The hook interfaces around tool calls and session events. User hooks, intents and checkpoints implement them."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from robota.contracts.tool import AnyTool, ToolCall, ToolResult
from robota.contracts.verdict import Verdict
from robota.protocol.permission_mode import PermissionMode


class ModelUnavailable(Exception):
    """A model gave no answer. The text says why."""


# Sends instructions and a text to a model (None: that of the session), and returns its answer. Raises
# `ModelUnavailable`.
AskModel = Callable[[str, str, str | None], Awaitable[str]]


class HookContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context in which a hook runs. `tell` shows a message to the user.

    `agent_id` and `agent_type` are set in a subtask; `prompt_id` is the prompt that the task works on. `ask_model` asks
    a model beside the conversation; None where there is no task.
    """

    permission_mode: PermissionMode
    task_id: str = ""
    agent_id: str | None = None
    agent_type: str | None = None
    prompt_id: str | None = None
    tell: Callable[[str], None] = lambda message: None
    ask_model: "AskModel | None" = None


class Proceed(msgspec.Struct, frozen=True, kw_only=True):
    """Let the call proceed. `input` replaces its arguments and is validated again.

    `approved_by` names the hook that approves the call, which answers a question of the permission mode, but not one of
    a rule. `ask_reason` requires approval even where policy allows the call; `refusal` is what the model gets if it is
    rejected. `context` is added to the result. `only_undoable` is what the model gets instead of a run if the workspace
    could not be saved before it; empty for a call that may then run all the same.
    """

    input: dict[str, Any] | None = None
    approved_by: str | None = None
    ask_reason: str | None = None
    refusal: str = ""
    context: str = ""
    only_undoable: str = ""


class BlockCall(msgspec.Struct, frozen=True, kw_only=True):
    """Do not run the call. `reason` is for the user; the model gets `told`, if that is something else."""

    reason: str
    told: str = ""


class Halt(msgspec.Struct, frozen=True, kw_only=True):
    """Stop the task and hand control to the user. `result` is that of the call, if it has run."""

    reason: str
    result: ToolResult | None = None


class PreToolHook(Protocol):
    """Runs before policy. Cannot allow anything that policy denies."""

    async def before_tool(self, tool: AnyTool, call: ToolCall, context: HookContext) -> Proceed | BlockCall | Halt: ...


class CallGuard(Protocol):
    """Checks a call again after the user approved it: the state it was judged by may have changed."""

    async def confirm(self, tool: AnyTool, call: ToolCall, context: HookContext) -> BlockCall | None: ...


class CompletedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that has run, with its result and duration."""

    tool: AnyTool
    call: ToolCall
    result: ToolResult
    duration_ms: int


class PostToolHook(Protocol):
    """Sees every result, also of failed calls, and may replace it."""

    async def after_tool(self, completed: CompletedCall, context: HookContext) -> ToolResult | Halt: ...


class ContextKeeper(Protocol):
    """Context that hooks add for the model outside of call results. Both texts may be empty."""

    def prompt_section(self) -> str:
        """A section of the system prompt of every task."""
        ...

    def after_shortening(self, task_id: str) -> str:
        """What to repeat when the beginning of a task's conversation is condensed or dropped."""
        ...


class SavedBefore(msgspec.Struct, frozen=True, kw_only=True):
    """The checkpoint before a call, and the paths in the workspace that it does not contain."""

    checkpoint: str
    unsaved: tuple[str, ...] = ()


class Checkpoint(Protocol):
    """Saves the workspace before a call that can change it, and when control returns to the user.

    Neither may fail; `tell` shows a message to the user.
    """

    def around_change(
        self, tool: AnyTool, call: ToolCall, task_id: str, tell: Callable[[str], None]
    ) -> AbstractAsyncContextManager[bool]:
        """Save the workspace, and lock out restores while the call runs. The value says whether it was saved."""
        ...

    async def save_before(
        self, tool: AnyTool, call: ToolCall, task_id: str, tell: Callable[[str], None]
    ) -> SavedBefore | None:
        """Save the workspace with all that is ignored; None if that was not possible."""
        ...

    async def after_changes(self, task_id: str, tell: Callable[[str], None]) -> None: ...


class HookEvent(StrEnum):
    """Points in the life of a session at which hooks run. The values are the names used in settings."""

    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    USER_PROMPT_EXPANSION = "UserPromptExpansion"
    TASK_COMPLETED = "TaskCompleted"
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
    """The merged results of the hooks of an event.

    `blocked` is the reason of a hook that blocks the event, `stopped` that of one that ends the task.
    `decision` is allow, ask, deny or defer, `updated_input` the arguments a hook wants instead, `updated_output` the
    result. `messages` have been shown to the user if there was a context. `output` is what the hook of a new
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
    """The hooks of a session, other than those around calls."""

    async def fire(
        self, event: HookEvent, target: str = "", *, context: HookContext | None = None, **fields: Any
    ) -> HookResult:
        """Run the hooks of an event. Their matchers are compared with `target`: a source, a reason, an agent type."""
        ...

    async def permission(self, tool: AnyTool, call: ToolCall, verdict: Verdict, context: HookContext) -> HookResult:
        """Run the PermissionRequest hooks, which may answer an approval in the user's place."""
        ...

    async def close(self) -> None:
        """End the hooks that run in the background."""
        ...


class SessionHooks(msgspec.Struct, frozen=True, kw_only=True):
    """All hooks of a session: around calls (`before`, `after`, in order) and at its other events (`lifecycle`).

    `guards` check calls again after the user approved them.
    """

    before: Sequence[PreToolHook] = ()
    guards: Sequence[CallGuard] = ()
    after: Sequence[PostToolHook] = ()
    lifecycle: LifecycleHooks | None = None
    context: ContextKeeper | None = None
