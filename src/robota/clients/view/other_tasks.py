"""Tasks beside the one that is shown, such as agents: what they ask, and what they do."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from robota.protocol.asks.kinds import is_non_blocking_ask
from robota.protocol.events import (
    Event,
    MessageCreated,
    MessageUpdated,
    OpenTask,
    TaskAskResponded,
    TaskEnded,
    TaskEvent,
    TaskTokenUsageUpdated,
    TextDelta,
    ToolEnd,
    ToolStart,
)
from robota.protocol.message import Message

WORDS_KEPT: Final = 400


class OtherTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task beside the one that is shown: its open asks in order, and the title of its newest call.

    `words` is the end of what it is saying; `changes` counts what was added to its conversation.
    """

    asks: tuple[Message, ...] = ()
    action: str = ""
    words: str = ""
    changes: int = 0
    tokens: int = 0
    cost: float | None = 0.0


OtherTasks = Mapping[str, OtherTask]


def other_tasks_of(open_tasks: tuple[OpenTask, ...], shown: str | None, before: OtherTasks) -> OtherTasks:
    """The other tasks that a state lists, with what is known of them from before."""
    return {
        task.task_id: replace(before.get(task.task_id, OtherTask()), asks=tuple(filter(_is_open, task.asks)))
        for task in open_tasks
        if task.task_id != shown
    }


def with_event(tasks: OtherTasks, event: Event) -> OtherTasks:
    """The other tasks after an event of one of them; the same value if nothing changed."""
    if not isinstance(event, TaskEvent):
        return tasks
    task = tasks.get(event.task_id, OtherTask())
    match event:
        case MessageCreated(message=row) | MessageUpdated(message=row):
            task = _with_row(task, row, is_new=isinstance(event, MessageCreated))
        case TextDelta(delta=delta):
            task = replace(task, words=(task.words + delta)[-WORDS_KEPT:])
        case TaskTokenUsageUpdated(token_usage=used):
            task = replace(task, tokens=used.total_tokens_in + used.total_tokens_out, cost=used.total_cost)
        case TaskAskResponded(ts=ts):
            task = _without_ask(task, ts)
        case ToolStart():
            task = replace(task, action=event.title or event.label)
        case ToolEnd():
            task = replace(task, action="", changes=task.changes + 1)
        case TaskEnded():
            return {id: other for id, other in tasks.items() if id != event.task_id}
        case _:
            return tasks
    return {**tasks, event.task_id: task}


def first_ask(tasks: OtherTasks) -> Message | None:
    """The oldest open ask of all other tasks."""
    return min((ask for task in tasks.values() for ask in task.asks), key=lambda ask: ask.ts, default=None)


def _with_row(task: OtherTask, row: Message, *, is_new: bool) -> OtherTask:
    if row.partial is True:
        return replace(task, words=(row.text or "")[-WORDS_KEPT:]) if is_new and row.say == "text" else task
    task = replace(task, words="" if row.say == "text" else task.words, changes=task.changes + 1)
    if is_new and _is_open(row):
        return replace(task, asks=(*task.asks, row))
    return _without_ask(task, row.ts) if row.is_answered else task


def _is_open(row: Message) -> bool:
    return row.ask is not None and not row.is_answered and not row.partial and not is_non_blocking_ask(row.ask)


def _without_ask(task: OtherTask, ts: int) -> OtherTask:
    return replace(task, asks=tuple(ask for ask in task.asks if ask.ts != ts))
