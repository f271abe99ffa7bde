"""Records of the life of a session and its tasks: starts and ends, modes, todo list, message queue, repairs."""

from typing import ClassVar, Final

from robota.log.record import Payload, record_kind
from robota.protocol.message import QueuedMessage, TodoItem
from robota.protocol.permission_mode import PermissionMode
from robota.text.visible import without_controls

LONGEST_NAME: Final = 200


def kept_name(typed: str | None) -> str | None:
    """The name of a session as it is kept: one line, nothing that cannot be seen; None if nothing is left of it."""
    return " ".join(without_controls(typed or "").split())[:LONGEST_NAME].strip() or None


@record_kind("session")
class SessionHeader(Payload, frozen=True, kw_only=True):
    """How a session was started, or resumed; the newest one holds."""

    outlives_rewind: ClassVar[bool] = True

    id: str
    cwd: str
    model: str
    provider: str
    permission_mode: PermissionMode
    completion: str
    version: str
    name: str | None = None


@record_kind("task")
class TaskRecord(Payload, frozen=True, kw_only=True):
    """A task begins, or goes on after its end, or has changed its mode."""

    task_id: str
    mode: str
    parent_task_id: str | None = None


@record_kind("end")
class EndRecord(Payload, frozen=True, kw_only=True):
    """A task has ended."""

    task_id: str
    outcome: str


@record_kind("todos")
class TodosRecord(Payload, frozen=True, kw_only=True):
    """The whole todo list of a task."""

    task_id: str
    todos: tuple[TodoItem, ...]


@record_kind("queue")
class QueueRecord(Payload, frozen=True, kw_only=True):
    """The whole queue of messages that wait until the running task takes them."""

    outlives_rewind: ClassVar[bool] = True

    queue: tuple[QueuedMessage, ...]


@record_kind("repair")
class RepairRecord(Payload, frozen=True, kw_only=True):
    """The end of the log was damaged. Its bytes lie beside the log in `saved_as`; the log goes on before them."""

    outlives_rewind: ClassVar[bool] = True

    line: int
    reason: str
    removed_bytes: int
    saved_as: str | None = None


@record_kind("name")
class NameRecord(Payload, frozen=True, kw_only=True):
    """The session was given another name, or none; the newest one holds, also over that of the header."""

    outlives_rewind: ClassVar[bool] = True

    name: str | None = None


@record_kind("title")
class TitleRecord(Payload, frozen=True, kw_only=True):
    """A model thought of a title; a name that a person gave goes first. `cost` is that of the request, if known.

    The title is empty if the answer was of no use.
    """

    task_id: str
    title: str
    cost: float | None = None


@record_kind("origin")
class OriginRecord(Payload, frozen=True, kw_only=True):
    """The records of this log began their life elsewhere: in another session, on another machine, in another program.

    `source` says where: `fork`, `bundle`, `claude-code`, `codex`, or `elsewhere` for a log that lay here and that this
    machine did not write, or not so. `made_here`: that was another session of this machine. `session_id` and `cwd` are
    what the session had there, `head` is the hash of the last record that was taken over, if it had one. Nothing that
    was approved there is approved here. With `redacted`, paths, names and keys were covered: the records are not those
    of the original chain.
    """

    source: str
    session_id: str
    made_here: bool = False
    cwd: str = ""
    head: str = ""
    at_ms: int = 0
    turn: int | None = None
    redacted: bool = False
