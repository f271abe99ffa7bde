"""Convert a streaming reply to raw stream events of the Messages API, in an order that its clients accept."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from robota.clients.headless.options import ShowCall, own_names
from robota.clients.headless.result import new_message_id
from robota.protocol.conversation import AssistantTurn, Usage
from robota.protocol.events import ToolCallDelta
from robota.protocol.message import Message
from robota.protocol.state import is_request_row

EMPTY_BLOCKS: Final[dict[str, dict[str, str]]] = {
    "text": {"type": "text", "text": ""},
    "reasoning": {"type": "thinking", "thinking": "", "signature": ""},
}


class ReplyStream:
    """Emits one message at a time and within it one block at a time.

    A message starts with its first content, so that a request that fails before leaves nothing. Every message that
    starts also stops; `stop_reason` is null if the reply was interrupted. The arguments of a call are one event,
    because they can be translated only as a whole.
    """

    def __init__(self, emit: Callable[[dict[str, Any]], None], show_call: ShowCall = own_names) -> None:
        self._emit = emit
        self._show_call = show_call
        self.model = ""
        self._forget()

    def row_created(self, message: Message) -> None:
        if is_request_row(message):
            self.abandon()
        if message.partial is True and message.say in EMPTY_BLOCKS:
            self._rows[message.ts] = message.say
            self._sent[message.ts] = 0
            self.row_delta(message.ts, message.text or "")

    def row_updated(self, message: Message) -> None:
        """A row was sent completely: emit what the deltas left out, and close its block if it is finished."""
        ts = message.ts
        if ts not in self._rows:
            return
        self.row_delta(ts, (message.text or "")[self._sent[ts] :])
        if message.partial is not True:
            del self._rows[ts]
            if self._open_block == ts:
                self._stop_block()

    def row_delta(self, ts: int, delta: str) -> None:
        kind = self._rows.get(ts)
        if kind is None or not delta:
            return
        self._sent[ts] += len(delta)
        self._turn_to(ts, EMPTY_BLOCKS[kind])
        if kind == "text":
            self._block_delta({"type": "text_delta", "text": delta})
        else:
            self._block_delta({"type": "thinking_delta", "thinking": delta})

    def call_delta(self, event: ToolCallDelta) -> None:
        call_id = event.call_id
        if call_id in self._calls and self._open_block != call_id:
            # Two calls are streamed at once: a stopped block cannot continue. The assistant line has the whole input.
            return
        self._calls.add(call_id)
        name = self._show_call(event.tool, {}).tool
        self._turn_to(call_id, {"type": "tool_use", "id": call_id, "name": name, "input": {}})
        self._call_tool = event.tool
        self._call_json += event.delta

    def finish(self, reply: AssistantTurn) -> str | None:
        """End the reply. Returns its id; None if nothing was streamed."""
        message_id = self._message_id
        self._stop_message(reply.stop_reason, reply.usage)
        return message_id

    def abandon(self) -> None:
        """End a reply that will not be completed."""
        self._stop_message(None, Usage())

    def _forget(self) -> None:
        self._message_id: str | None = None
        self._index = -1
        self._open_block: int | str | None = None
        self._rows: dict[int, str] = {}
        self._sent: dict[int, int] = {}
        self._calls: set[str] = set()
        self._call_tool = ""
        self._call_json = ""

    def _turn_to(self, block: int | str, content_block: dict[str, Any]) -> None:
        if self._open_block == block:
            return
        self._start_message()
        self._stop_block()
        self._index += 1
        self._open_block = block
        self._emit({"type": "content_block_start", "index": self._index, "content_block": content_block})

    def _start_message(self) -> None:
        if self._message_id is not None:
            return
        self._message_id = new_message_id()
        message: dict[str, Any] = {
            "id": self._message_id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": Usage(),
        }
        self._emit({"type": "message_start", "message": message})

    def _block_delta(self, delta: dict[str, str]) -> None:
        self._emit({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _stop_block(self) -> None:
        if self._open_block is not None:
            if self._call_json:
                self._block_delta({"type": "input_json_delta", "partial_json": self._shown_arguments()})
            self._open_block = None
            self._call_json = ""
            self._emit({"type": "content_block_stop", "index": self._index})

    def _shown_arguments(self) -> str:
        """The arguments of the open call under the printed names; unchanged if they are incomplete."""
        try:
            arguments = msgspec.json.decode(self._call_json, type=dict[str, Any])
        except msgspec.MsgspecError:
            return self._call_json
        return msgspec.json.encode(self._show_call(self._call_tool, arguments).input).decode()

    def _stop_message(self, stop_reason: str | None, usage: Usage) -> None:
        if self._message_id is not None:
            self._stop_block()
            delta = {"stop_reason": stop_reason, "stop_sequence": None}
            self._emit({"type": "message_delta", "delta": delta, "usage": usage})
            self._emit({"type": "message_stop"})
        self._forget()
