"""Records of the life of a session and its tasks: starts and ends, modes, todo list, message queue, repairs."""

from typing import ClassVar, Final

import msgspec

from robota.log.record import Payload, TaskPayload, record_kind
from robota.protocol.message import QueuedMessage, TodoItem
from robota.protocol.permission_mode import PermissionMode
from robota.text.visible import without_controls

MAX_NAME_LENGTH: Final = 200


def kept_name(typed: str | None) -> str | None:
    """A normalized session name: one line without invisible characters; None if nothing remains."""
    return " ".join(without_controls(typed or "").split())[:MAX_NAME_LENGTH].strip() or None


@record_kind("session")
class SessionHeader(Payload, frozen=True, kw_only=True):
    """How a session was started or resumed; the newest record applies.

    `agent_of` is the session that started this one as an agent, `agent_type` what kind of agent it is.
    """

    outlives_rewind: ClassVar[bool] = True
    newest_applies: ClassVar[bool] = True

    id: str
    cwd: str
    model: str
    provider: str
    permission_mode: PermissionMode
    completion: str
    version: str
    name: str | None = None
    agent_of: str | None = None
    agent_type: str | None = None


@record_kind("task")
class TaskRecord(TaskPayload, frozen=True, kw_only=True):
    """A task begins, continues after its end, or has changed its mode."""

    mode: str
    parent_task_id: str | None = None


@record_kind("end")
class EndRecord(TaskPayload, frozen=True, kw_only=True):
    """A task has ended."""

    outcome: str


@record_kind("todos")
class TodosRecord(TaskPayload, frozen=True, kw_only=True):
    """The whole todo list of a task."""

    newest_applies: ClassVar[bool] = True

    todos: tuple[TodoItem, ...]


@record_kind("queue")
class QueueRecord(Payload, frozen=True, kw_only=True):
    """All messages that are waiting for the running task."""

    outlives_rewind: ClassVar[bool] = True
    newest_applies: ClassVar[bool] = True

    queue: tuple[QueuedMessage, ...]


@record_kind("repair")
class RepairRecord(Payload, frozen=True, kw_only=True):
    """The end of the log was damaged. Its bytes are in `saved_as` next to the log, which continues before them."""

    outlives_rewind: ClassVar[bool] = True

    line: int
    reason: str
    removed_bytes: int
    saved_as: str | None = None


@record_kind("name")
class NameRecord(Payload, frozen=True, kw_only=True):
    """The session was renamed, or its name removed. The newest record applies, and overrides the header."""

    outlives_rewind: ClassVar[bool] = True
    newest_applies: ClassVar[bool] = True

    name: str | None = None


@record_kind("title")
class TitleRecord(TaskPayload, frozen=True, kw_only=True):
    """A title suggested by a model; a name given by the user takes precedence.

    `cost` is that of the request, if known. The title is empty if the answer was unusable.
    """

    title: str
    cost: float | None = None


@record_kind("origin")
class OriginRecord(Payload, frozen=True, kw_only=True):
    """The records of this log were originally written in another session, on another machine, or by another program.

    `source` is `fork`, `bundle`, `claude-code`, `codex`, or `elsewhere` for a log in this directory that this machine
    did not write, or not in this form. `made_here`: the original is another session of this machine. `session_id` and
    `cwd` are those of the original, `head` is the hash of the last copied record, if it had one. Approvals of the
    original do not apply here. With `redacted`, paths, names and keys were redacted: the records are not those of the
    original chain.
    """

    source: str
    session_id: str
    made_here: bool = False
    cwd: str = ""
    head: str = ""
    at_ms: int = 0
    turn: int | None = None
    redacted: bool = False


@record_kind("budget")
class BudgetRecord(Payload, frozen=True, kw_only=True):
    """A change of what a session has spent and holds. The newest one is the state of its account.

    `change` is hold, settled, estimated or raised; `amount` is what was held, used or added, by `account`. None is ever
    changed: what turns out later is another record. `open` are the holds whose requests have not ended; after a crash
    they count as spent, because nobody knows what became of them. Amounts are integers by measure: micro-dollars,
    tokens, requests, milliseconds.
    """

    outlives_rewind: ClassVar[bool] = True
    newest_applies: ClassVar[bool] = True

    change: str
    account: str
    amount: dict[str, int]
    id: str = ""
    limit: dict[str, int] = msgspec.field(default_factory=dict)
    spent: dict[str, int] = msgspec.field(default_factory=dict)
    estimated: dict[str, int] = msgspec.field(default_factory=dict)
    open: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
