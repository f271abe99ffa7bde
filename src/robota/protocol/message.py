"""`Message`: every row of the conversation is one; the last one determines the state of the agent."""

from typing import Any, Final

from robota.protocol.asks.ask import ApprovalVerdict, Ask, Fault
from robota.protocol.wire import OpenValue, Value

# What a row says (`say`) that holds words of the model to the user.
SPOKEN: Final = frozenset({"text", "completion_result"})
# What background processes had printed and nobody had read when the session ended.
BACKGROUND_OUTPUT: Final = "background_output"


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
    # Beyond the seed protocol: the tool call of the row, the typed ask, why it is asked with suggested rules, the
    # fault of a failed request, and whether the row was interrupted.
    call_id: str | None = None
    asked: Ask | None = None
    verdict: ApprovalVerdict | None = None
    fault: Fault | None = None
    interrupted: bool | None = None


class QueuedMessage(Value, frozen=True, kw_only=True):
    """A message typed while the agent was busy. It is never an approval.

    It is sent with the next request, or `after_turn`. With `is_command` it is run as a shell command. `task_id` is that
    of a subtask with a queue of its own; all others are for the conversation with the user.
    """

    id: str
    timestamp: int
    text: str
    images: tuple[str, ...] = ()
    after_turn: bool = False
    is_command: bool = False
    task_id: str | None = None


class TodoItem(Value, frozen=True, kw_only=True):
    """One line of the task's plan; `status` is pending, in_progress or completed."""

    content: str
    status: str
