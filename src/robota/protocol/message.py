"""`Message`: everything that happens is one of these; the last one tells the state of the agent."""

from typing import Any

from robota.protocol.asks.ask import ApprovalVerdict, Ask, Fault
from robota.protocol.wire import OpenValue, Value


class Message(OpenValue, frozen=True, kw_only=True):
    """One row of the conversation.

    `ts` is the identity and strictly increases. `partial` has three values: True while the row streams,
    False when a streamed row is finished, None for a row that was never partial. `ask` and `say` are plain
    strings, because a value we do not know must not break a client.
    """

    ts: int
    type: str
    ask: str | None = None
    say: str | None = None
    text: str | None = None
    images: tuple[str, ...] | None = None
    partial: bool | None = None
    reasoning: str | None = None
    conversation_history_index: int | None = None
    checkpoint: dict[str, Any] | None = None
    progress_status: dict[str, Any] | None = None
    context_condense: dict[str, Any] | None = None
    context_truncation: dict[str, Any] | None = None
    is_protected: bool | None = None
    api_protocol: str | None = None
    is_answered: bool | None = None
    # Ours, beyond the seed: which tool call a row belongs to, what an ask asks as a typed value, why it is asked and
    # which rules would stop the asking, what failed, and whether the row was cut short.
    call_id: str | None = None
    asked: Ask | None = None
    verdict: ApprovalVerdict | None = None
    fault: Fault | None = None
    interrupted: bool | None = None


class QueuedMessage(Value, frozen=True, kw_only=True):
    """What a person typed while the agent was busy. It waits its turn and is never an approval.

    It is read before the next request, or `after_turn`. If it `is_command`, it is run instead of sent.
    """

    id: str
    timestamp: int
    text: str
    images: tuple[str, ...] = ()
    after_turn: bool = False
    is_command: bool = False


class TodoItem(Value, frozen=True, kw_only=True):
    """One line of the task's plan; `status` is pending, in_progress or completed."""

    content: str
    status: str
