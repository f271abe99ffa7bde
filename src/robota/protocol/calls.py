"""Work as clients show it: the purpose of a call, earlier calls, and work in the background, alone or as a group."""

from enum import StrEnum
from typing import Final

from robota.protocol.views import View
from robota.protocol.wire import Value


class CallPurpose(StrEnum):
    """What a call is for, as far as clients show it differently."""

    WORK = "work"
    QUESTION = "question"  # shown as an ask
    COMPLETION = "completion"  # shown as the answer
    SUBTASK = "subtask"  # a subtask works while it runs


# These are shown as an ask or as the answer, so the calls themselves are not shown.
SPEAKING: Final = frozenset({CallPurpose.QUESTION, CallPurpose.COMPLETION})


class PastCall(Value, frozen=True, kw_only=True):
    """An ended call, with the fields of its `toolStart` and `toolEnd`.

    `after` is the `ts` of the row that it is shown after: the newest one when the call ended.
    """

    call_id: str
    after: int
    title: str
    status: str
    purpose: CallPurpose = CallPurpose.WORK
    duration_ms: int = 0
    reason: str | None = None
    view: View | None = None


class BackgroundStatus(StrEnum):
    """The status of work in the background. Only an agent waits: for its turn, or for an approval."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_PERMISSION = "waiting_permission"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


S = BackgroundStatus
ENDED: Final = frozenset({S.COMPLETED, S.FAILED, S.CANCELLED})
# What can follow a state. Everything else is a bug, and raises.
NEXT: Final = {
    S.QUEUED: frozenset({S.RUNNING, S.CANCELLED, S.FAILED}),
    S.RUNNING: frozenset({S.WAITING_PERMISSION, S.COMPLETED, S.FAILED, S.CANCELLED}),
    S.WAITING_PERMISSION: frozenset({S.RUNNING, S.FAILED, S.CANCELLED}),
    # Another message lets an agent that has ended go on.
    S.COMPLETED: frozenset({S.QUEUED}),
    S.FAILED: frozenset({S.QUEUED}),
    S.CANCELLED: frozenset({S.QUEUED}),
}


class IllegalTransition(Exception):
    """Work in the background cannot go from one state to the other."""


def after(id: str, status: BackgroundStatus, following: BackgroundStatus) -> BackgroundStatus:
    """The following state of the work `id`. Raises `IllegalTransition`."""
    if following not in NEXT[status]:
        raise IllegalTransition(id, status, following)
    return following


class BackgroundKind(StrEnum):
    """The kind of work in the background."""

    PROCESS = "process"
    AGENT = "agent"


class BackgroundTask(Value, frozen=True, kw_only=True):
    """A background process or an agent; `preview` is the end of its output or report, once it has ended.

    `command` is what it does. An agent has a task, `task_id`, whose log is that of the session `session_id`. One that
    is not `is_background` is waited for by the call `call_id` that started it. `is_unread`: it has ended, and neither
    the user nor the model has read how. Times are in milliseconds since 1970. The figures of an agent are those of its
    own requests; `cost` is in US dollars, and null if a price is unknown. `left` is what its budget leaves, in
    words. `limit` is the limit that ended it.
    """

    id: str
    command: str
    kind: BackgroundKind = BackgroundKind.PROCESS
    label: str = ""
    agent_type: str | None = None
    depth: int = 0
    task_id: str | None = None
    session_id: str | None = None
    parent_task_id: str | None = None
    call_id: str | None = None
    group_id: str | None = None
    is_background: bool = True
    status: BackgroundStatus
    is_unread: bool = False
    started_at: int | None = None
    completed_at: int | None = None
    pid: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    limit: str | None = None
    preview: str = ""
    requests: int = 0
    tokens: int = 0
    cost: float | None = None
    left: str | None = None
    log_path: str | None = None
    worktree_path: str | None = None
    branch: str | None = None


IN_ORDER: Final = (BackgroundStatus.COMPLETED, BackgroundStatus.FAILED, BackgroundStatus.CANCELLED)


class WaitPolicy(StrEnum):
    """When a group is complete: when all have ended, the first, or never. Nobody waits for a detached one."""

    WAIT_ALL = "wait_all"
    WAIT_ANY = "wait_any"
    DETACHED = "detached"
    MANUAL = "manual"


class GroupStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"


class JobResult(Value, frozen=True, kw_only=True):
    """How one of a group ended: the beginning of its report, and where everything is."""

    task_id: str
    label: str
    status: BackgroundStatus
    summary: str | None = None
    output_ref: str | None = None
    error: str | None = None
    started_at: int | None = None
    completed_at: int | None = None


class JobGroup(Value, frozen=True, kw_only=True):
    """Work that was started together: `members` are ids of background work, `results` of those that have ended."""

    id: str
    policy: WaitPolicy
    status: GroupStatus = GroupStatus.RUNNING
    members: tuple[str, ...]
    results: tuple[JobResult, ...] = ()

    @property
    def summary(self) -> str:
        """The numbers, and a line for each result."""
        ended = [result.status for result in self.results]
        counts = [
            f"{ended.count(status)} {status}"
            for status in (BackgroundStatus.COMPLETED, BackgroundStatus.FAILED, BackgroundStatus.CANCELLED)
        ]
        counts.append(f"{len(self.members) - len(ended)} running")
        return "\n".join([f"{self.id}: {', '.join(counts)}", *map(_in_words, self.results)])


def _in_words(result: JobResult) -> str:
    detail = result.error or result.summary or "no output"
    where = f" (output: {result.output_ref})" if result.output_ref else ""
    return f"[{result.status}] {result.label} {result.task_id}: {detail}{where}"


def is_complete(policy: WaitPolicy, members: int, ended: int) -> bool:
    """Whether a group of so many members, of which so many have ended, is complete."""
    match policy:
        case WaitPolicy.MANUAL:
            return False
        case WaitPolicy.WAIT_ANY:
            return ended > 0
        case WaitPolicy.WAIT_ALL | WaitPolicy.DETACHED:
            return ended == members
