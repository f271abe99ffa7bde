"""The data of a recorded session that a replay needs: prompts, replies, answers and results of calls."""

from collections import deque
from typing import Any

import msgspec

from robota.log.kinds.session import SessionHeader
from robota.log.record import Record
from robota.protocol.commands import CondenseContext, QueueMessage
from robota.protocol.conversation import AssistantTurn, ToolResultBlock
from robota.providers.chunks import ToolSpec

Order = QueueMessage | CondenseContext


class RecordedFault(msgspec.Struct, frozen=True, kw_only=True):
    """The error of a failed request, and whether the conversation was too long."""

    message: str
    is_too_long: bool = False


class RecordedReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to a request: a turn, the summary of a conversation, or an error. `ts` is that of the request."""

    ts: int
    turn: AssistantTurn = AssistantTurn(content=())
    cost: float | None = None
    fault: RecordedFault | None = None
    is_summary: bool = False


class RunCall(msgspec.Struct, kw_only=True):
    """A call and its result. `input` is what it ran with; None if it did not run.

    `before` and `after` are the checkpoints around it, `paths` the files that it reported as written. `is_changed`: the
    user or a hook replaced the input; `hunks` are the hunks that the user approved, if not all. `delegated`: a subtask
    did the work.
    """

    call_id: str
    tool: str
    input: dict[str, Any] | None = None
    status: str = ""
    result: ToolResultBlock | None = None
    before: str = ""
    after: str = ""
    paths: tuple[str, ...] = ()
    is_changed: bool = False
    hunks: tuple[int, ...] | None = None
    delegated: bool = False


class RecordedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the user to an ask, after `prompt` prompts. `ts` is that of the ask."""

    kind: str
    call_id: str | None
    response: str
    text: str
    prompt: int
    ts: int
    images: tuple[str, ...] = ()


class RecordedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The first prompt of a top-level task."""

    text: str
    mode: str
    ts: int
    images: tuple[str, ...] = ()


class Leg(msgspec.Struct, kw_only=True):
    """A part of a session without a break: it ends where the session was interrupted, rewound or left.

    `records` are the log records of the leg, from number `first` on. Every leg but the first continues from the state
    after the records before it. `by_another_process`: another process resumed the session. `orders` are commands of
    the user while the agent was busy, by the number of the reply at that time; `condensed_at` are the numbers of
    replies after which the user condensed the conversation. `forks` are the prompts of subtasks, by typed text or
    name of the skill. Keyed by the number of replies before them: `blocked_stops`, texts of stop hooks that made the
    model continue; `environment`, the environment details of requests; `intent_reminders`, the intent as it was
    repeated when turns were dropped. `is_cut`: the leg ends in the middle of a reply or call.
    """

    first: int
    replies_before: int = 0
    by_another_process: bool = False
    records: list[Record] = []
    prompts: list[RecordedPrompt] = []
    replies: list[RecordedReply] = []
    answers: list[RecordedAnswer] = []
    orders: dict[int, list[Order]] = {}
    condensed_at: list[int] = []
    blocked_stops: dict[int, str] = {}
    forks: dict[str, str] = {}
    environment: dict[int, str] = {}
    intent_reminders: dict[int, str] = {}
    calls: dict[str, deque[RunCall]] = {}
    is_cut: bool = False

    def turns_before(self, replies: int) -> int:
        """The number of model turns in the session after this number of replies in this leg."""
        return self.replies_before + sum(not (each.fault or each.is_summary) for each in self.replies[:replies])


class RecordedHead(msgspec.Struct, frozen=True, kw_only=True):
    """The system prompt and the tools of requests in a mode; `request` is the number of the first such request."""

    mode: str
    system: str
    specs: tuple[ToolSpec, ...]
    request: int


class NotRepeated(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a replay cannot repeat, after `request` replies: nothing after it can be compared."""

    request: int
    why: str


class Recording(msgspec.Struct, kw_only=True):
    """A recorded session, ready for a replay.

    `start` is the first checkpoint; empty if there is none. `has_environment`: requests had environment details.
    `is_attended`: a user answered questions; `counts_mistakes`: the user was asked how to continue after mistakes of
    the model. `max_requests` and `max_cost` are limits that were reached. `records` are those of the whole log.
    """

    header: SessionHeader
    legs: list[Leg] = []
    heads: list[RecordedHead] = []
    context_window: int = 0
    condense_at: int | None = None
    input_room: int = 0
    start: str = ""
    has_environment: bool = False
    is_attended: bool = False
    counts_mistakes: bool = False
    max_requests: int | None = None
    max_cost: float | None = None
    not_repeated: list[NotRepeated] = []
    records: list[Record] = []

    @property
    def systems(self) -> dict[str, str]:
        """The first system prompt of each mode."""
        return {head.mode: head.system for head in reversed(self.heads)}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """All tools that the model had."""
        return tuple({spec.name: spec for head in reversed(self.heads) for spec in head.specs}.values())

    @property
    def replies(self) -> int:
        """The number of replies."""
        return sum(reply.fault is None for leg in self.legs for reply in leg.replies)


class NotReplayable(Exception):
    """The session cannot be replayed; the message says why, for the user."""
