"""`--output-format stream-json`: one object per line, from `system/init` to `result`."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from robota.clients.headless.output import Output
from robota.clients.headless.reply_stream import ReplyStream
from robota.clients.headless.result import Result, new_message_id, new_uuid
from robota.clients.terminal.line import Handlers
from robota.protocol.conversation import AssistantBlock, AssistantTurn, ThinkingBlock, ToolResultBlock
from robota.protocol.events import (
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
    TextDelta,
    ToolCallDelta,
    ToolEnd,
    TurnReply,
    TurnResults,
)
from robota.protocol.slash_commands import CommandSource, SlashCommandInfo
from robota.version import VERSION

LEFT_OUT: Final = "Older parts of the conversation were left out to fit the model's context window."


class StreamJsonPrinter:
    """Prints turns, tool results and notices; deltas only if `partials`."""

    def __init__(
        self, output: Output, *, partials: bool, commands: Callable[[], Sequence[SlashCommandInfo]] = tuple
    ) -> None:
        self._output = output
        self._commands = commands
        self._session_id = ""
        self._has_begun = False
        self._first: SessionState | None = None
        self._held: list[dict[str, Any]] = []
        self._stream = ReplyStream(self._stream_event) if partials else None

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
        }
        stream = self._stream
        if stream is None:
            return lines
        deltas: Handlers = {
            MessageCreated: lambda event: stream.row_created(event.message),
            MessageUpdated: lambda event: stream.row_updated(event.message),
            PartialMessage: lambda event: stream.row_delta(event.ts, event.delta),
            TextDelta: lambda event: stream.row_delta(event.ts, event.delta),
            ToolCallDelta: stream.call_delta,
        }
        return {**lines, **deltas}

    def finish(self, result: Result) -> None:
        if self._stream is not None:
            self._stream.abandon()
        self._begin()
        self._output.json_line(result)

    def _state(self, event: State) -> None:
        state = event.state
        self._session_id = state.session_id
        if self._stream is not None:
            self._stream.model = state.model
        self._first = state
        if all(server.status is not McpServerStatus.PENDING for server in state.mcp_servers):
            self._begin()

    def _begin(self) -> None:
        """Print the first line, once it is known which servers work and what tools they have; then the queued lines."""
        if self._has_begun or self._first is None:
            return
        self._has_begun = True
        self._line("system", subtype="init", **init_fields(self._first, self._commands()))
        for line in self._held:
            self._output.json_line(line)

    def _turn_reply(self, event: TurnReply) -> None:
        reply = event.reply
        streamed_id = self._stream.finish(reply) if self._stream is not None else None
        self._line("assistant", message=assistant_message(reply, streamed_id), parent_tool_use_id=None)

    def _turn_results(self, event: TurnResults) -> None:
        content = [tool_result(result) for result in event.results]
        self._line("user", message={"role": "user", "content": content}, parent_tool_use_id=None)

    def _tool_end(self, event: ToolEnd) -> None:
        if event.status != "denied":
            return
        self._line(
            "system",
            subtype="permission_denied",
            tool_name=event.tool,
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

    def _stream_event(self, event: dict[str, Any]) -> None:
        self._line("stream_event", event=event, parent_tool_use_id=None)

    def _line(self, kind: str, /, **fields: Any) -> None:
        line = {"type": kind, **fields, "session_id": self._session_id, "uuid": new_uuid()}
        if self._has_begun:
            self._output.json_line(line)
        else:
            self._held.append(line)


def init_fields(state: SessionState, commands: Sequence[SlashCommandInfo] = ()) -> dict[str, Any]:
    """The fields of `system/init`. Empty lists are included."""
    return {
        "cwd": state.cwd,
        "model": state.model,
        "tools": state.tools,
        "mcp_servers": state.mcp_servers,
        "permissionMode": state.permission_mode,
        "slash_commands": [each.name for each in commands],
        "agents": [],
        "skills": [each.name for each in commands if each.source is not CommandSource.BUILT_IN and each.model_may_call],
        "plugins": state.plugins,
        "output_style": state.output_style or "default",
        "apiKeySource": "none",
        "claude_code_version": f"robota {VERSION}",
    }


def assistant_message(reply: AssistantTurn, message_id: str | None = None) -> dict[str, Any]:
    """A reply in the format of the Messages API."""
    return {
        "id": message_id or reply.id or new_message_id(),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [_with_signature(block) for block in reply.content],
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": reply.usage,
    }


def _with_signature(block: AssistantBlock) -> AssistantBlock:
    """Add an empty signature to thinking without one: clients of the Messages API expect one on every block."""
    if isinstance(block, ThinkingBlock) and block.signature is None:
        return msgspec.structs.replace(block, signature="")
    return block


def tool_result(result: ToolResultBlock) -> dict[str, Any]:
    """A tool result in the format of the Messages API: plain text, or a list of blocks if there are images."""
    content: Any = result.content
    if result.images:
        images = [{"type": "image", "source": source} for source in result.images]
        content = [{"type": "text", "text": result.content}, *images]
    return {
        "type": "tool_result",
        "tool_use_id": result.tool_use_id,
        "content": content,
        "is_error": result.is_error,
    }
