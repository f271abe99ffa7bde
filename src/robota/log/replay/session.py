"""The state of a session, as its records left it; the only place that defines what records mean for it."""

from collections.abc import Iterable
from typing import Final

import msgspec

from robota.log.chain.reader import LineSpan
from robota.log.kinds.session import EndRecord, NameRecord, QueueRecord, SessionHeader, TaskRecord
from robota.log.record import Record, TaskPayload, payload_as, payload_type_of
from robota.log.replay.branches import RecordSpan, timeline_of
from robota.log.replay.context import EarlierRecordsNeeded
from robota.log.replay.task import NewestRecords, TaskFold
from robota.protocol.message import Message, QueuedMessage

NOWHERE: Final = LineSpan(0, 0)
MAX_ROWS: Final = 300


class SessionFold(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A session after the records so far, all of one branch. Snapshots contain it as it is.

    The current task is the newest running one, or else the last one to end. `left_tasks` are not in memory any more,
    because other tasks have become current since.
    """

    newest: NewestRecords = msgspec.field(default_factory=NewestRecords)
    tasks: dict[str, TaskFold] = {}
    current_task_id: str | None = None
    left_tasks: frozenset[str] = frozenset()

    def take(self, record: Record, span: LineSpan = NOWHERE) -> None:
        """Add the next record, whose line is at `span`. Unreadable ones are skipped. Raises `EarlierRecordsNeeded`.

        The audit trail and most kinds of other packages are not part of the state.
        """
        payload_type = payload_type_of(record.kind)
        if payload_type is None or not (payload_type.newest_applies or issubclass(payload_type, TaskPayload)):
            return
        match payload := payload_as(payload_type, record):
            case None:
                pass
            case TaskRecord():
                self._begin(payload)
            case EndRecord():
                self._end_task(payload)
            case TaskPayload():
                self._task(payload.task_id).take(record, payload, span)
            case _:
                self.newest.put(record)

    def bound_rows(self, branch: tuple[RecordSpan, ...], max_rows: int = MAX_ROWS) -> None:
        """Keep only the newest rows of each task in memory, and the positions of the others in the log."""
        for task in self.tasks.values():
            task.bound_rows(branch, max_rows)

    def without_left_tasks(self) -> "SessionFold":
        """The session with only the current task and its parents."""
        tasks = {task.task_id: task for task in self._current_and_parents()}
        return msgspec.structs.replace(self, tasks=tasks, left_tasks=self.left_tasks | self.tasks.keys() - tasks.keys())

    def closed(self) -> "SessionFold":
        """The session if no process runs it: everything still in progress is closed."""
        return msgspec.structs.replace(self, tasks={task_id: task.closed() for task_id, task in self.tasks.items()})

    def _task(self, task_id: str) -> TaskFold:
        """The task. If the record of its start was lost, it starts with its first record."""
        if task_id in self.left_tasks:
            raise EarlierRecordsNeeded
        if task_id not in self.tasks:
            self.tasks[task_id] = TaskFold(task_id=task_id)
            self.current_task_id = task_id
        return self.tasks[task_id]

    def _begin(self, record: TaskRecord) -> None:
        if record.parent_task_id in self.left_tasks:
            raise EarlierRecordsNeeded
        task = self._task(record.task_id)
        task.mode = record.mode
        task.parent_task_id = record.parent_task_id or task.parent_task_id
        task.outcome = None
        self.current_task_id = record.task_id

    def _end_task(self, record: EndRecord) -> None:
        task = self._task(record.task_id)
        task.outcome = record.outcome
        parent = self.tasks.get(task.parent_task_id or "")
        if parent is not None and parent.outcome is None and self.current_task_id == record.task_id:
            self.current_task_id = parent.task_id

    def _current_and_parents(self) -> list[TaskFold]:
        """The current task, its parent, and so on. Damaged records may form a circle."""
        chain: dict[str, TaskFold] = {}
        task = self.current
        while task is not None and task.task_id not in chain:
            chain[task.task_id] = task
            task = self.tasks.get(task.parent_task_id or "")
        return list(chain.values())

    @property
    def current(self) -> TaskFold | None:
        """The current task."""
        return self.tasks.get(self.current_task_id or "")

    @property
    def root(self) -> TaskFold | None:
        """The top-level task of the current task."""
        return next(reversed(self._current_and_parents()), None)

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
    def header(self) -> SessionHeader | None:
        """How the session was last started or resumed."""
        return self.newest.get(SessionHeader)

    @property
    def queue(self) -> tuple[QueuedMessage, ...]:
        """The messages that wait for the running task."""
        record = self.newest.get(QueueRecord)
        return () if record is None else record.queue

    @property
    def name(self) -> str | None:
        """The last name of the session."""
        renamed, header = self.newest.get(NameRecord), self.header
        return renamed.name if renamed is not None else header.name if header is not None else None


def replay(records: Iterable[Record]) -> SessionFold:
    """The session after these records, if no process is running it: everything still in progress is closed.

    Approvals are not part of it: an answer applies to its own call only.
    """
    log = tuple(records)
    timeline, session = timeline_of(log), SessionFold()
    for record in log:
        if timeline.applies(record):
            session.take(record)
    return session.closed()
