"""One agent: its state, and how clients, the log and the model see it."""

import re
from typing import TYPE_CHECKING, Final

from robota.contracts.agent import AgentIdentity, StartAgent
from robota.contracts.rest_of_result import shortened
from robota.contracts.tool import SHOWN_CHARACTERS
from robota.engine.model.environment import without_own_elements
from robota.engine.task.agents.process_task import ProcessTask
from robota.engine.task.steps import Ended, Outcome
from robota.log.kinds.agents import AgentEntry, AgentWorktree
from robota.protocol.calls import ENDED, BackgroundKind, BackgroundStatus, BackgroundTask, JobResult, after
from robota.text.counted import counted
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.engine.task.subtasks import Subtask
    from robota.engine.task.task import Task

PREVIEW: Final = 120
SUMMARY: Final = 1000
DESCRIPTION: Final = 200
S = BackgroundStatus
STATE_AFTER: Final = {
    Outcome.COMPLETED: S.COMPLETED,
    Outcome.INTERRUPTED: S.CANCELLED,
    Outcome.GIVEN_UP: S.FAILED,
    Outcome.FAILED: S.FAILED,
    Outcome.ABANDONED: S.FAILED,
}
IN_WORDS: Final = {S.COMPLETED: "completed", S.FAILED: "failed", S.CANCELLED: "was stopped"}
END_OF_REPORT: Final = re.compile(r"<\s*/\s*agent_report", re.IGNORECASE)
PARTLY_DONE: Final = "Some of its work may be done: look at the files before you do it again."


class Agent:
    """An agent of a session. If it has ended, another message starts its next turn."""

    def __init__(
        self,
        identity: AgentIdentity,
        order: StartAgent,
        parent: "Task",
        task: "Task | ProcessTask",
        call_id: str | None = None,
    ) -> None:
        """`call_id` is the call that started it; None if the user did."""
        self.identity = identity
        self.order = order
        self.call_id = call_id
        self.parent = parent
        self.task = task
        self.subtask: Subtask | None = None
        self.status = S.QUEUED
        self.is_background = order.in_background
        self.is_delivered = False
        self.is_dismissed = False
        self.is_seen = False  # the user has looked at how it ended
        self.was_stopped_by_user = False
        self.group_id: str | None = None
        self.limit: str | None = None  # that ended it
        self.completed_at: int | None = None
        self.has_slot = False
        self.ended: Ended | None = None
        self.started_at = task.runtime.journal.next_ts()

    @property
    def id(self) -> str:
        return self.identity.id

    @property
    def is_over(self) -> bool:
        """Whether its turn has ended."""
        return self.status in ENDED

    @property
    def log_path(self) -> str:
        return str(self.task.runtime.journal.path)

    @property
    def in_process(self) -> ProcessTask | None:
        """Its task, if that works in a process of its own."""
        return self.task if isinstance(self.task, ProcessTask) else None

    @property
    def worktree(self) -> AgentWorktree | None:
        """Its worktree, while there is one."""
        return None if self.in_process is None else self.in_process.worktree

    def becomes(self, status: BackgroundStatus) -> None:
        """Go to another state. Raises `IllegalTransition`."""
        self.status = after(self.id, self.status, status)
        self.completed_at = self.task.runtime.journal.next_ts() if self.is_over else None

    def restored(self, entry: AgentEntry) -> None:
        """It has worked in an earlier process, which has reported how it ended, or was cut off."""
        self.status = S(entry.status) if entry.status in ENDED else S.CANCELLED
        self.is_delivered = entry.is_delivered
        self.ended = Ended(Outcome.INTERRUPTED, entry.result)

    def asks(self, *, is_asking: bool) -> None:
        """It waits for an answer of the user now, or no longer."""
        if is_asking and self.status is S.RUNNING:
            self.becomes(S.WAITING_PERMISSION)
        elif not is_asking and self.status is S.WAITING_PERMISSION:
            self.becomes(S.RUNNING)

    @property
    def title(self) -> str:
        """The fields that lists show, without the id."""
        who = self.identity.name or self.identity.definition.name
        return single_line(f"{who}: {self.order.description}", DESCRIPTION)

    def entry(self) -> AgentEntry:
        """The record of the agent in the log of its parent."""
        return AgentEntry(
            id=self.id,
            session_id=self.task.runtime.options.session_id,
            task_id=self.task.runtime.task_id,
            type=self.identity.definition.name,
            name=self.identity.name,
            description=single_line(self.order.description, DESCRIPTION),
            status=self.status,
            is_background=self.is_background,
            is_delivered=self.is_delivered,
            was_stopped_by_user=self.was_stopped_by_user,
            worktree=self.worktree,
            result=self.ended.text if self.ended is not None and self.is_background and not self.is_delivered else "",
        )

    def shown(self) -> BackgroundTask:
        """As clients list it."""
        words = self.ended.text.split()[-40:] if self.ended is not None else []
        runtime = self.task.runtime
        meter = runtime.meter
        return BackgroundTask(
            id=self.id,
            kind=BackgroundKind.AGENT,
            command=self.title,
            label=self.identity.shown_name,
            agent_type=self.identity.definition.name,
            depth=self.identity.depth,
            status=self.status,
            is_unread=self.is_over and self.is_background and not (self.is_delivered or self.is_seen),
            preview=single_line(" ".join(words), PREVIEW),
            task_id=runtime.task_id,
            session_id=runtime.options.session_id,
            parent_task_id=self.parent.runtime.task_id,
            call_id=self.call_id,
            group_id=self.group_id,
            is_background=self.is_background,
            started_at=self.started_at,
            completed_at=self.completed_at,
            limit=self.limit,
            requests=meter.requests,
            tokens=meter.usage.total_in + meter.usage.output_tokens,
            cost=meter.cost,
            left=None if runtime.budget is None else runtime.budget.left,
            log_path=self.log_path,
            pid=None if self.in_process is None else self.in_process.pid,
            worktree_path=None if self.worktree is None else self.worktree.path,
            branch=None if self.worktree is None else self.worktree.branch,
        )

    def result(self) -> JobResult:
        """How it ended, for the group that it was started with."""
        assert self.ended is not None
        text = self.ended.text.strip()
        is_failed = self.status is S.FAILED
        return JobResult(
            task_id=self.id,
            label=self.identity.shown_name,
            status=self.status,
            summary=None if is_failed else text[:SUMMARY] or None,
            output_ref=self.log_path,
            error=text[:SUMMARY] or "it failed" if is_failed else None,
            started_at=self.started_at,
            completed_at=self.completed_at,
        )

    def report(self) -> str:
        """The report for the model that waits for it. It is quoted, because it must not be taken as instructions."""
        assert self.ended is not None
        text = shortened(self.ended.text, SHOWN_CHARACTERS, self.parent.runtime.journal.keep)
        left = "" if self.in_process is None or not self.in_process.left else f"\n{self.in_process.left}"
        return report(self.id, self.identity.definition.name, IN_WORDS[self.status], text, self._figures()) + left

    def _figures(self) -> str:
        meter = self.task.runtime.meter
        cost = "" if meter.cost is None else f", ${meter.cost:.4f}"
        tokens = meter.usage.total_in + meter.usage.output_tokens
        return f"{counted(meter.requests, 'request')}, {tokens:,} tokens{cost}"


def report(id: str, type: str, how: str, text: str, figures: str = "") -> str:
    """The report about an agent that has ended."""
    quoted = END_OF_REPORT.sub("&lt;/agent_report", without_own_elements(text))
    after = "" if how == IN_WORDS[S.COMPLETED] else f"\n{PARTLY_DONE}"
    used = f" ({figures})" if figures else ""
    return f'Agent {id} ({type}) {how}{used}. Its report:\n<agent_report id="{id}">\n{quoted}\n</agent_report>{after}'
