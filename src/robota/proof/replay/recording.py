"""What a log holds of a session so that it can be run again: prompts, replies, answers, and what came of each call."""

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
    """Why a request came to nothing, and whether because the conversation was too long."""

    message: str
    is_too_long: bool = False


class RecordedReply(msgspec.Struct, frozen=True, kw_only=True):
    """What the model answered to a request: a turn, the summary of a conversation, or nothing because of a fault.

    `ts` is that of the request.
    """

    ts: int
    turn: AssistantTurn = AssistantTurn(content=())
    cost: float | None = None
    fault: RecordedFault | None = None
    is_summary: bool = False


class RunCall(msgspec.Struct, kw_only=True):
    """A call and what came of it. `input` is what it ran with; None if it was stopped before it ran.

    `before` and `after` are the checkpoints around it, `paths` the files that it says it wrote. `is_changed`: a person
    or a hook gave it another input; `hunks` are those of its changes that the person wanted, if not all. `delegated`:
    a subtask did its work.
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
    """What a person answered to an ask of a kind, about a call if it was about one, after that many prompts.

    `ts` is that of the ask.
    """

    kind: str
    call_id: str | None
    response: str
    text: str
    prompt: int
    ts: int
    images: tuple[str, ...] = ()


class RecordedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a task of the person began with."""

    text: str
    mode: str
    ts: int
    images: tuple[str, ...] = ()


class Leg(msgspec.Struct, kw_only=True):
    """A stretch of a session that runs in one go: until somebody interrupted it, went back, or left it.

    `records` are those of the log, of which it is the part from `first` on; it goes on with what stands before. The
    first leg begins anew. `by_another_process`: a process took up what another had left. `orders` are what the person
    gave while something ran, by the number of the reply that came meanwhile; `condensed_at` are the numbers of the
    replies after which they had the conversation condensed. `held_back` is what a hook said after that many replies,
    when the model wanted to stop; `forks` are what tasks of their own were told, by what was typed or by the skill.
    `surroundings` are what requests were told of them, and `told_again` the intent that was told when turns were left
    out, by the number of replies before. `is_cut`: it ends in the middle of something.
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
    held_back: dict[int, str] = {}
    forks: dict[str, str] = {}
    surroundings: dict[int, str] = {}
    told_again: dict[int, str] = {}
    calls: dict[str, deque[RunCall]] = {}
    is_cut: bool = False

    def turns_before(self, replies: int) -> int:
        """How many turns of the model the session has when so many replies of this leg were given."""
        return self.replies_before + sum(not (each.fault or each.is_summary) for each in self.replies[:replies])


class RecordedHead(msgspec.Struct, frozen=True, kw_only=True):
    """The system prompt and the tools of requests in a mode; `request` is the number of the first such request."""

    mode: str
    system: str
    specs: tuple[ToolSpec, ...]
    request: int


class NotRepeated(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a replay does not do again, after that many replies: what follows from it cannot be compared."""

    request: int
    why: str


class Recording(msgspec.Struct, kw_only=True):
    """A session, as it can be run again.

    `start` is the first checkpoint; empty if there is none. `tells_surroundings`: the model was told of the time, the
    branch and the like. `is_attended`: somebody was there to be asked; `counts_mistakes`: they were asked how to go on
    after mistakes of the model. `max_requests` and `max_cost` are limits that were reached. `records` are all that the
    log holds.
    """

    header: SessionHeader
    legs: list[Leg] = []
    heads: list[RecordedHead] = []
    context_window: int = 0
    condense_at: int | None = None
    input_room: int = 0
    start: str = ""
    tells_surroundings: bool = False
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
        """Every tool that was offered."""
        return tuple({spec.name: spec for head in reversed(self.heads) for spec in head.specs}.values())

    @property
    def replies(self) -> int:
        """How many replies there are."""
        return sum(reply.fault is None for leg in self.legs for reply in leg.replies)


class NotReplayable(Exception):
    """There is nothing that could be run again; the text says why, for a person."""
