"""What stands beside the conversation: each panel is a part of the view as data."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from robota.clients.view.model import ViewModel
from robota.clients.view.transcript import retry_in_words
from robota.clients.web.page_rows import page_ask
from robota.clients.web.page_views import seen


class PagePanel(msgspec.Struct, frozen=True, kw_only=True):
    """A panel changes only if one of these fields of the view does."""

    fields: tuple[str, ...]
    data: Callable[[ViewModel], Any]

    def __call__(self, view: ViewModel) -> Any:
        return self.data(view)

    def is_same(self, before: ViewModel, after: ViewModel) -> bool:
        """Whether nothing has changed."""
        return all(getattr(before, name) is getattr(after, name) for name in self.fields)


def _session(view: ViewModel) -> Any:
    if view.session is None:
        return None
    plain = replace(view.session, cline_messages=(), calls=(), open_tasks=(), message_queue=(), todos=())
    return {**seen(plain), "cwd": seen(plain.cwd), "keptOut": seen(view.kept_out)}


def _asks(view: ViewModel) -> Any:
    return [page_ask(ask, is_beside=view.is_asked_beside(ask.message.ts)) for ask in view.open_asks]


def _retry(view: ViewModel) -> Any:
    if view.retry is None:
        return None
    return {"words": seen(retry_in_words(view.retry)), "delayMs": view.retry.delay_ms}


def _writing(view: ViewModel) -> Any:
    """The calls that are being written; how much of them grows with each piece, which nobody reads."""
    return [
        {"callId": call.call_id, "tool": seen(call.tool), "firstArg": seen(call.first_arg)}
        for call in view.writing.values()
    ]


def _others(view: ViewModel) -> Any:
    return {task_id: {"action": seen(task.action), "asks": len(task.asks)} for task_id, task in view.others.items()}


PANELS: Final[Mapping[str, PagePanel]] = {
    "session": PagePanel(fields=("session", "kept_out"), data=_session),
    "asks": PagePanel(fields=("rows", "others", "answered_ts", "session"), data=_asks),
    "queue": PagePanel(fields=("queue",), data=lambda view: msgspec.to_builtins(view.queue)),
    "todos": PagePanel(fields=("todos",), data=lambda view: seen(view.todos)),
    "context": PagePanel(fields=("context",), data=lambda view: seen(view.context)),
    "usage": PagePanel(fields=("usage",), data=lambda view: seen(view.usage)),
    "retry": PagePanel(fields=("retry",), data=_retry),
    "thinking": PagePanel(fields=("is_thinking",), data=lambda view: view.is_thinking),
    "writing": PagePanel(fields=("writing",), data=_writing),
    "background": PagePanel(fields=("background",), data=lambda view: seen(view.background)),
    "others": PagePanel(fields=("others",), data=_others),
    "ended": PagePanel(fields=("has_ended",), data=lambda view: view.has_ended),
}
