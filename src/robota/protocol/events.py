"""The events that the engine sends to its clients. Clients never poll."""

from enum import StrEnum
from typing import Any

import msgspec

from robota.protocol.calls import BackgroundTask, CallPurpose, JobGroup, PastCall
from robota.protocol.conversation import AssistantTurn, BudgetAccount, ToolResultBlock, Usage
from robota.protocol.ledger import LedgerEntry
from robota.protocol.message import Message, QueuedMessage, TodoItem
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.rewind import PromptPoint, RewindResult
from robota.protocol.views import View
from robota.protocol.wire import OpenValue, Value


class EngineEvent(OpenValue, frozen=True, kw_only=True, tag_field="type"):
    """The base of all events. They come in order; deltas of one row may be joined for a slow client.

    `seq` counts the events of a session. Joined deltas have the number of the last of them; the events that open a
    subscription have the number of the last event before it.
    """

    seq: int = 0


class McpServerStatus(StrEnum):
    PENDING = "pending"  # servers start with the first task
    CONNECTED = "connected"
    FAILED = "failed"


class McpServerState(Value, frozen=True, kw_only=True):
    """An MCP server of the session and its status."""

    name: str
    status: McpServerStatus


class UsedPlugin(Value, frozen=True, kw_only=True):
    """A plugin that a session uses, and where its files are."""

    name: str
    path: str


class OpenTask(Value, frozen=True, kw_only=True):
    """A task that has not ended, and the asks at which it waits."""

    task_id: str
    parent_task_id: str | None = None
    mode: str
    asks: tuple[Message, ...] = ()


class SessionState(OpenValue, frozen=True, kw_only=True):
    """Everything a client needs to start drawing; `cline_messages` are the rows of the task, always present.

    Of a long task these are the newest rows; there are `older_rows` more before them, which the command `olderRows`
    requests. `calls` are the ended calls that belong to these rows. While there are subtasks, `open_tasks` lists all
    tasks, so that a client knows what each of them asks.
    """

    session_id: str
    cwd: str
    model: str
    mode: str
    permission_mode: PermissionMode
    # A factory, because a field that has its plain default is left out of the JSON.
    cline_messages: tuple[Message, ...] = msgspec.field(default_factory=lambda: ())
    older_rows: int = 0
    calls: tuple[PastCall, ...] = ()
    current_task_id: str | None = None
    open_tasks: tuple[OpenTask, ...] = ()
    message_queue: tuple[QueuedMessage, ...] = ()
    todos: tuple[TodoItem, ...] = ()
    tools: tuple[str, ...] = ()
    mcp_servers: tuple[McpServerState, ...] = ()
    name: str | None = None
    log_path: str | None = None
    sandbox: str | None = None  # as in `Sandbox`; absent until the first command
    can_confine: bool = False  # whether the permission mode confined may work here, as far as is known
    sees_images: bool = True  # false if the model accepts none, or that is unknown
    output_style: str | None = None
    plugins: tuple[UsedPlugin, ...] = ()


class State(EngineEvent, frozen=True, kw_only=True, tag="state"):
    """The whole state: first event of every subscription, and again when a task starts or is cleared."""

    state: SessionState


class TaskEvent(EngineEvent, frozen=True, kw_only=True):
    """An event of one task."""

    task_id: str


class MessageCreated(TaskEvent, frozen=True, kw_only=True, tag="messageCreated"):
    """A row was added."""

    message: Message


class MessageUpdated(TaskEvent, frozen=True, kw_only=True, tag="messageUpdated"):
    """A row changed; `ts` identifies it."""

    message: Message


class PartialMessage(TaskEvent, frozen=True, kw_only=True, tag="partialMessage"):
    """Text to append to the streaming row `ts` (reasoning, command output, a completion)."""

    ts: int
    delta: str


class TextDelta(TaskEvent, frozen=True, kw_only=True, tag="textDelta"):
    """Text to append to the streaming `say: text` row `ts`: the model's answer as it comes."""

    ts: int
    delta: str


class ToolCallDelta(TaskEvent, frozen=True, kw_only=True, tag="toolCallDelta"):
    """The model is writing the arguments of a call. `first_arg` appears as soon as it is known."""

    call_id: str
    tool: str
    delta: str = ""
    first_arg: str | None = None


class Thinking(TaskEvent, frozen=True, kw_only=True, tag="thinking"):
    """A request to the model has begun or ended."""

    is_thinking: bool


class TurnReply(TaskEvent, frozen=True, kw_only=True, tag="turnReply"):
    """A complete reply of the model, as it enters the history."""

    reply: AssistantTurn


class TurnResults(TaskEvent, frozen=True, kw_only=True, tag="turnResults"):
    """The results of a reply's tool calls, as they enter the history."""

    results: tuple[ToolResultBlock, ...]


class ToolStart(TaskEvent, frozen=True, kw_only=True, tag="toolStart"):
    """A call begins. `title` is the line that names it on screen."""

    call_id: str
    tool: str
    label: str
    first_arg: str
    input: dict[str, Any]
    title: str = ""
    purpose: CallPurpose = CallPurpose.WORK


class ToolEnd(TaskEvent, frozen=True, kw_only=True, tag="toolEnd"):
    """A call has ended. `status` is success, error, denied or interrupted; `reason` says why, for display."""

    call_id: str
    tool: str
    label: str
    first_arg: str
    status: str
    duration_ms: int = 0
    reason: str | None = None
    input: dict[str, Any] = msgspec.field(default_factory=dict)
    view: View | None = None


class TokenUsage(Value, frozen=True, kw_only=True):
    """Totals of a task. `context_tokens` is the size of the newest request.

    `total_cost` is in US dollars, and null if the price of any request is unknown. The tokens of `estimated_requests`
    were not counted by a server, but estimated. `budget` are the accounts that limit the task, the smallest first.
    """

    total_tokens_in: int = 0
    total_tokens_out: int = 0
    total_cache_writes: int = 0
    total_cache_reads: int = 0
    total_cost: float | None = 0.0
    context_tokens: int = 0
    estimated_requests: int = 0
    budget: tuple[BudgetAccount, ...] = ()


class ContextUpdate(TaskEvent, frozen=True, kw_only=True, tag="contextUpdate"):
    """How full the context window of the model is.

    `is_estimated` if the provider counts no tokens. At `condense_at` tokens the conversation is condensed, at the
    present rate after `requests_to_condensing` more requests; absent if never or unknown. `cached_tokens` were read
    from the provider's cache, which saved `saved_cost` US dollars; it and `total_cost` are null if a price is unknown.
    `entries` is what fills the window, and empty unless a client sent `contextRequest`.
    """

    used_tokens: int
    max_tokens: int
    used_percentage: float
    is_estimated: bool = False
    condense_at: int | None = None
    requests_to_condensing: int | None = None
    cached_tokens: int = 0
    saved_cost: float | None = 0.0
    total_cost: float | None = 0.0
    entries: tuple[LedgerEntry, ...] = ()


class CondensePreview(TaskEvent, frozen=True, kw_only=True, tag="condensePreview"):
    """What condensing would do to the conversation now: the `fate` of each entry.

    `kept_tokens` stay; the summary, which is not written yet, adds to them.
    """

    prev_context_tokens: int
    kept_tokens: int
    entries: tuple[LedgerEntry, ...]


class ContextReduced(TaskEvent, frozen=True, kw_only=True, tag="contextReduced"):
    """The conversation that the model gets was reduced or restored. `trigger` is auto or manual.

    `how` is condensed, truncated (the oldest exchanges were dropped), cut (old outputs were) or restored.
    """

    how: str
    trigger: str
    prev_context_tokens: int
    new_context_tokens: int


class RetryScheduled(TaskEvent, frozen=True, kw_only=True, tag="retryScheduled"):
    """The request failed and is retried after a pause; `RetryNow` ends the pause. `reason` is for display."""

    attempt: int
    max_retries: int
    delay_ms: int
    error: str
    error_status: int | None = None
    reason: str = ""


class TaskCreated(TaskEvent, frozen=True, kw_only=True, tag="taskCreated"):
    """A task was created; a subtask names its parent, and the task of the user above them all."""

    parent_task_id: str | None = None
    root_task_id: str | None = None


class TaskStarted(TaskEvent, frozen=True, kw_only=True, tag="taskStarted"):
    """A task began to run."""


class TaskCompleted(TaskEvent, frozen=True, kw_only=True, tag="taskCompleted"):
    """The model considers the task done. `result` is the report of an agent that is a session of its own."""

    token_usage: TokenUsage
    tool_usage: dict[str, dict[str, int]]
    usage: Usage = Usage()
    is_subtask: bool = False
    result: str = ""


class TaskAborted(TaskEvent, frozen=True, kw_only=True, tag="taskAborted"):
    """The task stopped before it was done."""


class TaskEnded(TaskEvent, frozen=True, kw_only=True, tag="taskEnded"):
    """The task is over. `outcome` is completed, given_up, abandoned, interrupted or failed."""

    outcome: str


class TaskActive(TaskEvent, frozen=True, kw_only=True, tag="taskActive"):
    """The task runs again after an ask."""


class TaskInteractive(TaskEvent, frozen=True, kw_only=True, tag="taskInteractive"):
    """The task waits for an approval or an answer."""


class TaskResumable(TaskEvent, frozen=True, kw_only=True, tag="taskResumable"):
    """The task is paused and can be resumed."""


class TaskIdle(TaskEvent, frozen=True, kw_only=True, tag="taskIdle"):
    """The task has stopped: completed, failed or at a limit."""


class TaskPaused(TaskEvent, frozen=True, kw_only=True, tag="taskPaused"):
    """The task waits for its subtask."""


class TaskUnpaused(TaskEvent, frozen=True, kw_only=True, tag="taskUnpaused"):
    """The subtask has ended, and the task continues."""


class TaskSpawned(TaskEvent, frozen=True, kw_only=True, tag="taskSpawned"):
    """`task_id` is the parent. An agent works beside it, with a log of its own; `agent_id` is its id in lists."""

    child_task_id: str
    agent_id: str | None = None


class TaskModeSwitched(TaskEvent, frozen=True, kw_only=True, tag="taskModeSwitched"):
    """The task is in another mode."""

    mode: str
    previous_mode: str | None = None


class TaskAskResponded(TaskEvent, frozen=True, kw_only=True, tag="taskAskResponded"):
    """Somebody answered the ask `ts`; other clients close their dialogs."""

    ts: int
    response: str


class TaskUserMessage(TaskEvent, frozen=True, kw_only=True, tag="taskUserMessage"):
    """Input of the user was added to the task."""


class QueuedMessagesUpdated(TaskEvent, frozen=True, kw_only=True, tag="queuedMessagesUpdated"):
    """The message queue changed."""

    queue: tuple[QueuedMessage, ...]


class TodosUpdated(TaskEvent, frozen=True, kw_only=True, tag="todosUpdated"):
    """The todo list was replaced."""

    todos: tuple[TodoItem, ...]


class TaskTokenUsageUpdated(TaskEvent, frozen=True, kw_only=True, tag="taskTokenUsageUpdated"):
    """The token usage of the task so far."""

    token_usage: TokenUsage
    usage: Usage = Usage()


class TaskToolFailed(TaskEvent, frozen=True, kw_only=True, tag="taskToolFailed"):
    """A call ended with an error."""

    tool: str
    error: str


class Notice(EngineEvent, frozen=True, kw_only=True, tag="notice"):
    """A notice for the user that is not a row of the conversation. `level` is info or warning.

    With `undo_call`, it says what this call changed without approval; a rewind of its files undoes that.
    """

    level: str
    text: str
    undo_call: str | None = None


class Sandbox(EngineEvent, frozen=True, kw_only=True, tag="sandbox"):
    """The sandbox of commands: bubblewrap, landlock, none (none works here) or off. `reason`: why nothing better.

    `keeps_out` describes what a command cannot reach.
    """

    kind: str
    reason: str = ""
    keeps_out: str = ""


class BackgroundTasks(EngineEvent, frozen=True, kw_only=True, tag="backgroundTasks"):
    """All background processes and agents of the session, oldest first; sent when one starts, ends or is dismissed."""

    tasks: tuple[BackgroundTask, ...]


class BackgroundGroups(EngineEvent, frozen=True, kw_only=True, tag="backgroundGroups"):
    """All groups of agents of the session; sent when one is started, one of its members ends, or it is complete."""

    groups: tuple[JobGroup, ...]


class RewindPoints(EngineEvent, frozen=True, kw_only=True, tag="rewindPoints"):
    """The prompts that the session can be rewound to, in order."""

    points: tuple[PromptPoint, ...]
    request_id: str | None = None


class RewindDiff(EngineEvent, frozen=True, kw_only=True, tag="rewindDiff"):
    """Changed files as a unified diff."""

    diff: str
    request_id: str | None = None


class RewindPreview(EngineEvent, frozen=True, kw_only=True, tag="rewindPreview"):
    """What a rewind would change. Nothing has changed yet."""

    result: RewindResult
    request_id: str | None = None


class Rewound(EngineEvent, frozen=True, kw_only=True, tag="rewound"):
    """The session was rewound. If the conversation changed, a `state` with its rows came before this."""

    result: RewindResult
    request_id: str | None = None


class OlderRows(TaskEvent, frozen=True, kw_only=True, tag="olderRows"):
    """Requested rows of the task, in order, and their calls; there are `older_rows` more before them."""

    messages: tuple[Message, ...]
    older_rows: int = 0
    calls: tuple[PastCall, ...] = ()
    request_id: str | None = None


class SubscriptionEnded(EngineEvent, frozen=True, kw_only=True, tag="subscriptionEnded"):
    """The last event of a subscription whose client stopped reading: `unread` events were dropped.

    The session continues. A client that subscribes again gets the current `state` first.
    """

    unread: int
    reason: str


class UnknownEvent(EngineEvent, frozen=True, kw_only=True, tag="unknown"):
    """An event of a newer engine; `data` is the whole JSON object."""

    data: dict[str, Any]


Event = (
    State
    | MessageCreated
    | MessageUpdated
    | PartialMessage
    | TextDelta
    | ToolCallDelta
    | Thinking
    | TurnReply
    | TurnResults
    | ToolStart
    | ToolEnd
    | ContextUpdate
    | CondensePreview
    | ContextReduced
    | RetryScheduled
    | TaskCreated
    | TaskStarted
    | TaskCompleted
    | TaskAborted
    | TaskEnded
    | TaskActive
    | TaskInteractive
    | TaskResumable
    | TaskIdle
    | TaskPaused
    | TaskUnpaused
    | TaskSpawned
    | TaskModeSwitched
    | TaskAskResponded
    | TaskUserMessage
    | QueuedMessagesUpdated
    | TodosUpdated
    | TaskTokenUsageUpdated
    | TaskToolFailed
    | Notice
    | Sandbox
    | BackgroundTasks
    | BackgroundGroups
    | RewindPoints
    | RewindDiff
    | RewindPreview
    | Rewound
    | OlderRows
    | SubscriptionEnded
    | UnknownEvent
)
