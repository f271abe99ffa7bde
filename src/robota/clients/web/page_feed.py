"""`PageFeed`: folds the events of a session into changes of the page, once for all pages that show it."""

from collections.abc import Iterator
from typing import Any, Final

from robota.clients.view.model import RUNNING, LiveTool, ViewModel
from robota.clients.view.reduce import is_of_other_task, reduce, windowed
from robota.clients.web.growing_rows import GrowingRows
from robota.clients.web.page_data import (
    CallChanged,
    Change,
    OlderPage,
    PageCall,
    PageRow,
    PanelChanged,
    Remarked,
    RequestReplied,
    RowChanged,
    SessionOver,
    Whole,
)
from robota.clients.web.page_panels import PANELS
from robota.clients.web.page_rows import live_call, page_row, past_call
from robota.clients.web.page_views import seen, unified_diff_data
from robota.protocol.events import (
    CondensePreview,
    ContextReduced,
    Event,
    MessageCreated,
    MessageUpdated,
    Notice,
    OlderRows,
    PartialMessage,
    RewindDiff,
    RewindPoints,
    RewindPreview,
    Rewound,
    State,
    SubscriptionEnded,
    TextDelta,
    ToolEnd,
    ToolStart,
)
from robota.protocol.message import Message

# What a page gets at once; it requests older rows when the user scrolls up.
ROWS_AT_ONCE: Final = 150
ROWS_KEPT: Final = 300
PAGES_OF_VIEW: Final = 3
Replying = CondensePreview | ContextReduced | RewindDiff | RewindPoints | RewindPreview | Rewound


class PageFeed:
    """The state of the page of one session. Rows are rendered when they change, and never for each reader."""

    def __init__(self) -> None:
        self.view = ViewModel()
        self._rows: dict[int, PageRow] = {}
        self._calls: dict[str, PageCall] = {}
        self._older = 0
        self._panels: dict[str, Any] = {}
        self._growing = GrowingRows()
        self._changed_calls: set[str] = set()
        self._is_over = False

    @property
    def has_grown(self) -> bool:
        """Whether `grown` has something to tell."""
        return self._growing.has_grown or bool(self._changed_calls)

    def whole(self) -> Whole:
        """Everything, for a page that has nothing yet."""
        rows = tuple(self._growing.with_text(row) for row in self._rows.values())
        return Whole(rows=rows, calls=tuple(self._calls.values()), older=self._older, panels=dict(self._panels))

    def take(self, event: Event) -> list[Change]:
        """What the event changes. Text that grows is told by `grown`, as often as the caller wants."""
        if isinstance(event, OlderRows):  # only the page that requested them needs them
            return [self._older_page(event)]
        before, self.view = self.view, windowed(reduce(self.view, event), PAGES_OF_VIEW)
        changes: list[Change] = []
        if isinstance(event, State):
            self._start_over(event)
            return [self.whole()]
        if not is_of_other_task(before, event):
            changes += self._of_task(event)
        changes += self._replies(event)
        changes += self._changed_panels(before)
        return changes

    def grown(self) -> list[Change]:
        """The text that has grown since the last time."""
        calls, self._changed_calls = self._changed_calls, set()
        told: list[Change] = list(self._growing.changes())
        for call_id in calls:
            if (tool := self.view.tools.get(call_id)) is not None:
                told.append(self._call(tool))
        return told

    def over(self) -> SessionOver:
        """The session has ended."""
        self._is_over = True
        return SessionOver()

    def _start_over(self, event: State) -> None:
        state = event.state
        rows = state.cline_messages[-ROWS_AT_ONCE:]
        left_out = len(state.cline_messages) - len(rows)
        first = rows[0].ts if rows else 0
        self._older = state.older_rows + left_out
        self._growing = GrowingRows()
        self._rows = {row.ts: self._row(row, is_first=not self._older and row is rows[0]) for row in rows}
        calls = [past_call(call) for call in state.calls if call.after >= first]
        running = [live_call(tool, self._newest_ts()) for tool in self.view.tools.values() if tool.status == RUNNING]
        self._calls = {call.call_id: call for call in (*calls, *running)}
        self._panels = {name: panel(self.view) for name, panel in PANELS.items()}

    def _of_task(self, event: Event) -> Iterator[Change]:
        match event:
            case MessageCreated(message=message) | MessageUpdated(message=message):
                is_first = not self._older and message.ts == next(iter(self._rows), message.ts)
                row = self._rows[message.ts] = self._row(message, is_first=is_first)
                self._forget_oldest()
                yield RowChanged(row=row)
            case TextDelta() | PartialMessage():
                if event.ts in self._rows:
                    self._growing.add(event.ts, event.delta)
                    self._note_output(event.ts)
            case ToolStart() | ToolEnd():
                if (tool := self.view.tools.get(event.call_id)) is not None:
                    self._changed_calls.discard(event.call_id)
                    yield self._call(tool)
            case Notice():
                yield Remarked(level=event.level, text=seen(event.text))
            case SubscriptionEnded():
                yield self.over()
            case _:
                return

    def _replies(self, event: Event) -> Iterator[Change]:
        if not isinstance(event, Replying):
            return
        kind = str(event.__struct_config__.tag)
        request_id = getattr(event, "request_id", None)
        match event:
            case RewindDiff():
                value = unified_diff_data(event.diff)
            case RewindPreview() | Rewound():
                value = {**seen(event.result), "view": unified_diff_data(event.result.diff), "diff": ""}
                value |= {"state": event.result.state, "draft": event.result.draft}
            case _:
                value = seen(event)
        yield RequestReplied(request_id=request_id, kind=kind, value=value)

    def _changed_panels(self, before: ViewModel) -> Iterator[Change]:
        if before is self.view:
            return
        for name, panel in PANELS.items():
            if panel.is_same(before, self.view):
                continue
            value = panel(self.view)
            if value != self._panels.get(name):
                self._panels[name] = value
                yield PanelChanged(name=name, value=value)

    def _row(self, message: Message, *, is_first: bool) -> PageRow:
        row = page_row(message, is_prompt=is_first and message.say == "text")
        if message.partial:
            self._growing.begin(row, message.text or "")
        else:
            self._growing.end(row.ts)
        return row

    def _call(self, tool: LiveTool) -> CallChanged:
        before = self._calls.get(tool.call_id)
        call = live_call(tool, self._newest_ts() if before is None else before.after)
        self._calls[tool.call_id] = call
        return CallChanged(call=call)

    def _note_output(self, ts: int) -> None:
        call_id = self._rows[ts].call_id
        if call_id is not None and call_id in self._calls:
            self._changed_calls.add(call_id)

    def _older_page(self, event: OlderRows) -> OlderPage:
        is_start = not event.older_rows
        rows = tuple(
            page_row(row, is_prompt=is_start and index == 0 and row.say == "text")
            for index, row in enumerate(event.messages)
        )
        calls = tuple(map(past_call, event.calls))
        return OlderPage(request_id=event.request_id, rows=rows, calls=calls, older=event.older_rows)

    def _newest_ts(self) -> int:
        return next(reversed(self._rows), 0)

    def _forget_oldest(self) -> None:
        while len(self._rows) > ROWS_KEPT:
            del self._rows[next(iter(self._rows))]
            self._older += 1
            first = next(iter(self._rows))
            for call_id in [each.call_id for each in self._calls.values() if each.after < first]:
                del self._calls[call_id]
