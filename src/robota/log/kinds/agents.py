"""The record of the agents that a task started."""

from typing import ClassVar

from robota.log.record import TaskPayload, record_kind
from robota.protocol.wire import Value


class AgentWorktree(Value, frozen=True, kw_only=True):
    """The worktree of an agent. `base` is the tree of files that it started from, `commit` the commit below it."""

    path: str
    branch: str
    base: str
    commit: str


class AgentEntry(Value, frozen=True, kw_only=True):
    """An agent, and the session in which its own log is.

    `result` is kept only until the task has it (`is_delivered`): it is in the agent's log, too. The model cannot
    let one go on that the user stopped.
    """

    id: str
    session_id: str
    task_id: str
    type: str
    description: str
    status: str
    name: str = ""
    is_background: bool = False
    is_delivered: bool = False
    was_stopped_by_user: bool = False
    worktree: AgentWorktree | None = None
    result: str = ""


@record_kind("agents")
class AgentsRecord(TaskPayload, frozen=True, kw_only=True):
    """All agents that a task has started."""

    newest_applies: ClassVar[bool] = True

    agents: tuple[AgentEntry, ...]
