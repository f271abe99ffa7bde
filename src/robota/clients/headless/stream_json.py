"""`--output-format stream-json`: one object per line, from `system/init` to `result`."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.clients.headless.options import HeadlessOptions, ShowCall, ShownAgent, own_names
from robota.clients.headless.output import Output
from robota.clients.headless.reply_stream import ReplyStream
from robota.clients.headless.result import Result, new_message_id, new_uuid, reply_uuid
from robota.clients.terminal.line import Handlers
from robota.protocol.conversation import AssistantBlock, AssistantTurn, ThinkingBlock, ToolResultBlock, ToolUseBlock
from robota.protocol.events import (
    BackgroundGroups,
    BackgroundTasks,
    ContextReduced,
    McpServerStatus,
    MessageCreated,
    MessageUpdated,
    Notice,
    PartialMessage,
    RetryScheduled,
    Sandbox,
    SessionState,
    State,
    TaskSpawned,
    TextDelta,
    ToolCallDelta,
    ToolEnd,
    TurnReply,
    TurnResults,
)
from robota.protocol.slash_commands import CommandSource, SlashCommandInfo
from robota.protocol.views import TerminalView
from robota.version import VERSION

if TYPE_CHECKING:
    from robota.clients.headless.background_lines import BackgroundChanges

LEFT_OUT: Final = "Older parts of the conversation were left out to fit the model's context window."


class StreamJsonPrinter:
    """Prints turns, tool results and notices, and deltas if the options ask for them."""

    def __init__(self, output: Output, options: HeadlessOptions) -> None:
        self._output = output
        self._commands = options.commands
        self._agents = options.agents
        self._show_call = options.show_call
        self._version = options.agent_version
        self._failed_commands: set[str] = set()
        self._session_id = ""
        self._has_begun = False
        self._first: SessionState | None = None
        self._held: list[dict[str, Any]] = []
        self._has_partials = options.include_partial_messages
        self._streams: dict[str | None, ReplyStream] = {}  # by the call that started an agent; None for the rest
        self._callers: dict[str, str] = {}  # of the tasks of agents
        self._background: BackgroundChanges | None = None

    @property
    def handlers(self) -> Handlers:
        lines: Handlers = {
            State: self._state,
            TurnReply: self._turn_reply,
            TurnResults: self._turn_results,
            ToolEnd: self._tool_end,
            RetryScheduled: self._retry,
            ContextReduced: self._context_reduced,
            Notice: self._notice,
            Sandbox: self._sandbox,
            TaskSpawned: self._spawned,
            BackgroundTasks: self._background_tasks,
            BackgroundGroups: self._background_groups,
        }
        if not self._has_partials:
            return lines
        deltas: Handlers = {
            MessageCreated: lambda event: self._stream_of(event.task_id).row_created(event.message),
            MessageUpdated: lambda event: self._stream_of(event.task_id).row_updated(event.message),
            PartialMessage: lambda event: self._stream_of(event.task_id).row_delta(event.ts, event.delta),
            TextDelta: lambda event: self._stream_of(event.task_id).row_delta(event.ts, event.delta),
            ToolCallDelta: lambda event: self._stream_of(event.task_id).call_delta(event),
        }
        return {**lines, **deltas}

    def caller_of(self, task_id: str) -> str | None:
        """The call that started the agent that works on a task; None for the conversation itself."""
        return self._callers.get(task_id)

    def finish(self, result: Result) -> None:
        for stream in self._streams.values():
            stream.abandon()
        self._begin()
        self._output.json_line(result)

    def _state(self, event: State) -> None:
        state = event.state
        self._session_id = state.session_id
        self._first = state
        if all(server.status is not McpServerStatus.PENDING for server in state.mcp_servers):
            self._begin()

    def _begin(self) -> None:
        """Print the first line, once it is known which servers work and what tools they have; then the queued lines."""
        if self._has_begun or self._first is None:
            return
        self._has_begun = True
        fields = init_fields(self._first, self._commands(), self._agents(), self._show_call)
        self._line("system", subtype="init", **{**fields, "claude_code_version": self._version})
        for line in self._held:
            self._output.json_line(line)

    def _turn_reply(self, event: TurnReply) -> None:
        reply = event.reply
        streamed_id = self._stream_of(event.task_id).finish(reply) if self._has_partials else None
        message = assistant_message(reply, streamed_id, self._show_call)
        uuid = reply_uuid(self._session_id, reply.id)
        self._line("assistant", message=message, parent_tool_use_id=self._callers.get(event.task_id), uuid=uuid)

    def _turn_results(self, event: TurnResults) -> None:
        failed = self._failed_commands
        content = [tool_result(result, is_failed=result.tool_use_id in failed) for result in event.results]
        caller = self._callers.get(event.task_id)
        self._line("user", message={"role": "user", "content": content}, parent_tool_use_id=caller)

    def _tool_end(self, event: ToolEnd) -> None:
        if isinstance(event.view, TerminalView) and event.view.exit_code not in (None, 0):
            self._failed_commands.add(event.call_id)
        if event.status != "denied":
            return
        self._line(
            "system",
            subtype="permission_denied",
            tool_name=self._show_call(event.tool, {}).tool,
            tool_use_id=event.call_id,
            decision_reason=event.reason,
            message=f"{event.label} was not allowed" + (f": {event.reason}" if event.reason else "."),
        )

    def _retry(self, event: RetryScheduled) -> None:
        self._line(
            "system",
            subtype="api_retry",
            attempt=event.attempt,
            max_retries=event.max_retries,
            retry_delay_ms=event.delay_ms,
            error_status=event.error_status,
            error=event.error,
        )

    def _context_reduced(self, event: ContextReduced) -> None:
        if event.how == "condensed":
            metadata = {"trigger": event.trigger, "pre_tokens": event.prev_context_tokens}
            self._line("system", subtype="compact_boundary", compact_metadata=metadata)
        else:
            self._line("system", subtype="informational", content=LEFT_OUT, level="info")

    def _notice(self, event: Notice) -> None:
        self._line("system", subtype="informational", content=event.text, level=event.level)

    def _sandbox(self, event: Sandbox) -> None:
        self._line("system", subtype="sandbox", kind=event.kind, reason=event.reason)

    def _spawned(self, event: TaskSpawned) -> None:
        """An agent's own subtasks are lines of the agent."""
        caller = event.agent_id or self._callers.get(event.task_id)
        if caller is not None:
            self._callers[event.child_task_id] = caller

    def _background_tasks(self, event: BackgroundTasks) -> None:
        from robota.clients.headless.background_lines import own_event, system_line

        for task in event.tasks:
            if task.task_id is not None and task.call_id is not None:
                self._callers[task.task_id] = task.call_id
        for what, task in self._changes.tasks(event):
            if (fields := system_line(what, task)) is not None:
                self._line("system", **fields)
            if self._has_partials:
                self._stream_event(None, own_event(what, task))

    def _background_groups(self, event: BackgroundGroups) -> None:
        from robota.clients.headless.background_lines import group_event

        for what, group in self._changes.groups(event):
            self._stream_event(None, group_event(what, group))

    @property
    def _changes(self) -> "BackgroundChanges":
        # Imported with the first background work.
        if self._background is None:
            from robota.clients.headless.background_lines import BackgroundChanges

            self._background = BackgroundChanges()
        return self._background

    def _stream_of(self, task_id: str) -> ReplyStream:
        """The stream of a task: agents that work side by side must not mix their replies."""
        caller = self._callers.get(task_id)
        if caller not in self._streams:
            self._streams[caller] = ReplyStream(partial(self._stream_event, caller), self._show_call)
            self._streams[caller].model = self._first.model if self._first is not None else ""
        return self._streams[caller]

    def _stream_event(self, caller: str | None, event: dict[str, Any]) -> None:
        self._line("stream_event", event=event, parent_tool_use_id=caller)

    def _line(self, kind: str, /, **fields: Any) -> None:
        uuid = fields.pop("uuid", None) or new_uuid()
        line = {"type": kind, **fields, "session_id": self._session_id, "uuid": uuid}
        if self._has_begun:
            self._output.json_line(line)
        else:
            self._held.append(line)


def init_fields(
    state: SessionState,
    commands: Sequence[SlashCommandInfo] = (),
    agents: Sequence[ShownAgent] = (),
    show_call: ShowCall = own_names,
) -> dict[str, Any]:
    """The fields of `system/init`. Empty lists are included."""
    return {
        "cwd": state.cwd,
        "model": state.model,
        "tools": [show_call(name, {}).tool for name in state.tools],
        "mcp_servers": state.mcp_servers,
        "permissionMode": state.permission_mode,
        "slash_commands": [each.name for each in commands],
        "agents": [each.name for each in agents],
        "skills": [each.name for each in commands if each.source is not CommandSource.BUILT_IN and each.model_may_call],
        "plugins": state.plugins,
        "output_style": state.output_style or "default",
        "apiKeySource": "none",
        "claude_code_version": f"robota {VERSION}",
    }


def assistant_message(
    reply: AssistantTurn, message_id: str | None = None, show_call: ShowCall = own_names
) -> dict[str, Any]:
    """A reply in the format of the Messages API."""
    return {
        "id": message_id or reply.id or new_message_id(),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [_shown_block(block, show_call) for block in reply.content],
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": reply.usage,
    }


def _shown_block(block: AssistantBlock, show_call: ShowCall) -> AssistantBlock:
    """A call under the printed names. Thinking gets an empty signature, which clients of the Messages API expect."""
    if isinstance(block, ToolUseBlock):
        shown = show_call(block.name, block.input)
        return msgspec.structs.replace(block, name=shown.tool, input=shown.input)
    if isinstance(block, ThinkingBlock) and block.signature is None:
        return msgspec.structs.replace(block, signature="")
    return block


def tool_result(result: ToolResultBlock, *, is_failed: bool = False) -> dict[str, Any]:
    """A tool result in the format of the Messages API: plain text, or a list of blocks if there are images.

    `is_failed`: a command that has run and failed. For the model, its call was not an error.
    """
    content: Any = result.content
    if result.images:
        images = [{"type": "image", "source": source} for source in result.images]
        content = [{"type": "text", "text": result.content}, *images]
    return {
        "type": "tool_result",
        "tool_use_id": result.tool_use_id,
        "content": content,
        "is_error": result.is_error or is_failed,
    }
