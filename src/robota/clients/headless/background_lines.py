"""Background work as lines of `stream-json`: in the form of Claude Code, and the events of Robota itself."""

from collections.abc import Iterator
from typing import Any

import msgspec

from robota.protocol.calls import ENDED, BackgroundKind, BackgroundStatus, BackgroundTask, GroupStatus, JobGroup
from robota.protocol.events import BackgroundGroups, BackgroundTasks

Fields = dict[str, Any]
# What Claude Code calls how work ended.
NOTIFIED: dict[BackgroundStatus, str] = {
    BackgroundStatus.COMPLETED: "completed",
    BackgroundStatus.FAILED: "failed",
    BackgroundStatus.CANCELLED: "stopped",
}
NAMES: dict[BackgroundStatus, str] = {
    BackgroundStatus.RUNNING: "started",
    BackgroundStatus.WAITING_PERMISSION: "permission_request",
    BackgroundStatus.COMPLETED: "completed",
    BackgroundStatus.FAILED: "failed",
    BackgroundStatus.CANCELLED: "cancelled",
}


class BackgroundChanges:
    """Finds out what has changed since the lists before."""

    def __init__(self) -> None:
        self._tasks: dict[str, BackgroundTask] = {}
        self._groups: dict[str, JobGroup] = {}

    def agent_of(self, task_id: str) -> BackgroundTask | None:
        """The agent that works on a task."""
        return next((each for each in self._tasks.values() if each.task_id == task_id), None)

    def tasks(self, event: BackgroundTasks) -> Iterator[tuple[str, BackgroundTask]]:
        """What happened to which work: created, started, updated, permission_request, completed, failed, cancelled,
        closed. An agent that a call waited for is not listed after its end; that is no event."""
        before, self._tasks = self._tasks, {task.id: task for task in event.tasks}
        for task in event.tasks:
            known = before.get(task.id)
            if known is None:
                yield "created", task
            if known is None or known.status is not task.status:
                if task.status in NAMES:
                    yield NAMES[task.status], task
            elif known != task:
                yield "updated", task
        for id, known in before.items():
            if id not in self._tasks:
                yield ("closed" if known.status in ENDED else "completed"), known

    def groups(self, event: BackgroundGroups) -> Iterator[tuple[str, JobGroup]]:
        """Which groups were created, updated or completed."""
        before, self._groups = self._groups, {group.id: group for group in event.groups}
        for group in event.groups:
            known = before.get(group.id)
            if known is None:
                yield "created", group
            elif group.status is GroupStatus.COMPLETED and known.status is not GroupStatus.COMPLETED:
                yield "completed", group
            elif known != group:
                yield "updated", group


def system_line(what: str, task: BackgroundTask) -> Fields | None:
    """A `system` line of Claude Code: that work has started, goes on, or has ended."""
    about: Fields = {"task_id": task.id, "description": task.command}
    if task.call_id is not None:
        about["tool_use_id"] = task.call_id
    match what:
        case "created":
            kind = "local_agent" if task.kind is BackgroundKind.AGENT else "local_bash"
            return {"subtype": "task_started", **about, "task_type": kind}
        case "started" | "updated" | "permission_request":
            return {"subtype": "task_progress", **about, "usage": _usage(task), "status": task.status}
        case "completed" | "failed" | "cancelled":
            ended = NOTIFIED.get(task.status, "completed")
            summary = task.preview or f"{task.label} {ended}"
            output = {"output_file": task.log_path or "", "summary": summary}
            return {"subtype": "task_notification", **about, "status": ended, **output, "usage": _usage(task)}
        case _:
            return None


def own_event(what: str, task: BackgroundTask, **more: Any) -> Fields:
    """An event about background work in Robota's own form."""
    event = {"type": f"background_task_{what}", "task": msgspec.to_builtins(task), **more}
    return {"type": "background_task_event", "background_task_event": event}


def group_event(what: str, group: JobGroup) -> Fields:
    """An event about a group in Robota's own form."""
    event = {"type": f"background_job_group_{what}", "group": msgspec.to_builtins(group), "summary": group.summary}
    return {"type": "background_job_group_event", "background_job_group_event": event}


def _usage(task: BackgroundTask) -> Fields:
    took = 0 if task.started_at is None or task.completed_at is None else task.completed_at - task.started_at
    return {"total_tokens": task.tokens, "tool_uses": 0, "duration_ms": took}
