"""Rebuilds a session from its records; the only place that defines how records change its state."""

from collections.abc import Iterable

import msgspec

from robota.log.chain.reader import LineSpan
from robota.log.kinds.calls import AnswerRecord, FileStampsRecord, ResultRecord, ToolEndRecord, ToolStartRecord
from robota.log.kinds.conversation import (
    CondenseRecord,
    CutRecord,
    MessageRecord,
    MessageTextRecord,
    PinRecord,
    RestoreRecord,
    TruncateRecord,
    TurnRecord,
)
from robota.log.kinds.session import (
    EndRecord,
    NameRecord,
    QueueRecord,
    SessionHeader,
    TaskRecord,
    TitleRecord,
    TodosRecord,
)
from robota.log.record import Payload, PayloadError, Record, payload_of
from robota.log.replay.branches import branch_of
from robota.log.replay.task import BaseOutgrown, ReplayedTask, TaskFold
from robota.protocol.message import Message, QueuedMessage
from robota.protocol.permission_mode import PermissionMode

NOWHERE = LineSpan(0, 0)


class UnreadableRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record whose payload could not be decoded; it was skipped."""

    seq: int
    kind: str
    reason: str


class ReplayedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session rebuilt from its records. The current task is the newest running one, or else the last one to end."""

    header: SessionHeader | None = None
    renamed: NameRecord | None = None
    tasks: dict[str, ReplayedTask] = {}
    queue: tuple[QueuedMessage, ...] = ()
    current_task_id: str | None = None
    problems: tuple[UnreadableRecord, ...] = ()

    @property
    def current(self) -> ReplayedTask | None:
        """The current task."""
        return self.tasks.get(self.current_task_id or "")

    @property
    def root(self) -> ReplayedTask | None:
        """The top-level task of the current task."""
        task = self.current
        seen: set[str] = set()
        while task is not None and task.parent_task_id in self.tasks and task.task_id not in seen:
            seen.add(task.task_id)
            task = self.tasks[task.parent_task_id or ""]
        return task

    @property
    def subtask_ask(self) -> Message | None:
        """The open question of an interrupted subtask. It cannot be answered: the subtask ended with its process."""
        task = self.current
        return None if task is None or task is self.root else task.waiting_ask

    @property
    def open_subtasks(self) -> tuple[str, ...]:
        """The subtasks whose end is not recorded, the newest first. They ended with their process."""
        tasks = reversed(self.tasks.values())
        return tuple(task.task_id for task in tasks if task.parent_task_id is not None and task.outcome is None)

    @property
    def name(self) -> str | None:
        """The last name of the session."""
        if self.renamed is not None:
            return self.renamed.name
        return self.header.name if self.header else None

    @property
    def permission_mode(self) -> PermissionMode | None:
        """The permission mode that was set last."""
        return self.header.permission_mode if self.header else None

    @property
    def ended(self) -> bool:
        """Whether the session ended with nothing left to do."""
        return self.current is None or self.current.outcome is not None


def replay(records: Iterable[Record]) -> ReplayedSession:
    """The session after these records, if no process is running it: everything still in progress is closed.

    After rewinds, only the present branch applies. Approvals are not part of it: an answer applies to its own call
    only.
    """
    fold = SessionFold()
    for record in branch_of(tuple(records)):
        fold.take(record)
    return fold.session()


class SessionFold:
    """The state of the session after the records so far, all of one branch.

    `left_tasks` are those that a snapshot omits, because other tasks have become current since.
    """

    def __init__(self) -> None:
        self.header: SessionHeader | None = None
        self.renamed: NameRecord | None = None
        self.tasks: dict[str, TaskFold] = {}
        self.queue: tuple[QueuedMessage, ...] = ()
        self.current_task_id: str | None = None
        self.problems: list[UnreadableRecord] = []
        self.left_tasks: frozenset[str] = frozenset()

    def take(self, record: Record, span: LineSpan = NOWHERE) -> None:
        """Add the next record, whose line is at `span`; an unreadable one is noted and skipped.

        Raises `BaseOutgrown`.
        """
        try:
            payload = payload_of(record)
        except PayloadError as error:
            self.problems.append(UnreadableRecord(seq=record.seq, kind=record.kind, reason=str(error)))
            return
        if payload is not None:
            self._take_payload(payload, span)

    def session(self) -> ReplayedSession:
        """The session, closed because no process is running it."""
        return ReplayedSession(
            header=self.header,
            renamed=self.renamed,
            tasks={task_id: task.history() for task_id, task in self.tasks.items()},
            queue=self.queue,
            current_task_id=self.current_task_id,
            problems=tuple(self.problems),
        )

    def _take_payload(self, payload: Payload, span: LineSpan) -> None:
        # The most frequent kinds come first, for speed on long logs.
        match payload:
            case (
                MessageRecord()
                | MessageTextRecord()
                | TurnRecord()
                | CondenseRecord()
                | TruncateRecord()
                | CutRecord()
                | RestoreRecord()
                | PinRecord()
                | TodosRecord()
                | TitleRecord()
                | AnswerRecord()
                | ToolStartRecord()
                | ToolEndRecord()
                | ResultRecord()
                | FileStampsRecord()
            ):
                self._task(payload.task_id).take(payload, span)
            case SessionHeader():
                self.header = payload
            case NameRecord():
                self.renamed = payload
            case QueueRecord():
                self.queue = payload.queue
            case TaskRecord():
                self._begin(payload)
            case EndRecord():
                self._end(payload)
            case _:
                pass  # The audit trail and kinds of other packages are not part of the session's state.

    def _task(self, task_id: str) -> TaskFold:
        """The task. If the record of its start was lost, it starts with its first record."""
        if task_id in self.left_tasks:
            raise BaseOutgrown
        if task_id not in self.tasks:
            self.tasks[task_id] = TaskFold(task_id)
            self.current_task_id = task_id
        return self.tasks[task_id]

    def _begin(self, record: TaskRecord) -> None:
        if record.parent_task_id in self.left_tasks:
            raise BaseOutgrown
        task = self._task(record.task_id)
        task.mode = record.mode
        task.parent_task_id = record.parent_task_id or task.parent_task_id
        task.outcome = None
        self.current_task_id = record.task_id

    def _end(self, record: EndRecord) -> None:
        task = self._task(record.task_id)
        task.outcome = record.outcome
        parent = self.tasks.get(task.parent_task_id or "")
        if parent is not None and parent.outcome is None and self.current_task_id == record.task_id:
            self.current_task_id = parent.task_id
