"""What the events of a session mean for an editor: a fold from events to updates."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from robota.clients.acp.calls import content_of, kind_of, locations_of, status_of, terminal_text, text_content
from robota.clients.acp.terminals import EditorTerminals
from robota.clients.acp.updates import (
    CallAnnounced,
    CallContent,
    CallProgress,
    KnownUpdate,
    ModeShown,
    PlanShown,
    SessionCost,
    ShownStep,
    ShownTerminal,
    UsageShown,
    prompted,
    said,
    thought,
)
from robota.clients.view.transcript import (
    AnswerGrew,
    PromptSaid,
    ReasoningSaid,
    Remark,
    RemarkKind,
    RetryPlanned,
    Transcript,
    retry_in_words,
)
from robota.protocol.calls import SPEAKING
from robota.protocol.events import (
    ContextUpdate,
    Event,
    MessageCreated,
    MessageUpdated,
    PartialMessage,
    State,
    TodosUpdated,
    ToolEnd,
    ToolStart,
)
from robota.protocol.message import Message, TodoItem
from robota.protocol.views import TerminalView
from robota.text.visible import single_line, visible

OUTPUT: Final = "command_output"
EXECUTES: Final = "execute"
Show = Callable[[KnownUpdate], None]
PLAN_STATUSES: Final = frozenset({"pending", "in_progress", "completed"})


class EventUpdates:
    """Follows one session. Agents that work beside the conversation are not shown; what they ask is asked."""

    def __init__(self, cwd: str, terminals: EditorTerminals | None = None, show: Show = lambda update: None) -> None:
        """With `terminals`, these show the output of commands; `show` is for updates that no event brings."""
        self._cwd = cwd
        self._terminals = terminals
        self._show = show
        self._transcript = Transcript()
        self._own_prompts: deque[str] = deque()
        self._thoughts: dict[int, int] = {}  # how much of the reasoning in a row was sent
        self._outputs: dict[int, tuple[str, str]] = {}  # the call of a row with output, and the output so far
        self._announced: set[str] = set()
        self._mode: str | None = None
        self._steps: Mapping[type, Callable[[Any], Iterator[KnownUpdate]]] = {
            State: self._state,
            MessageCreated: self._row,
            MessageUpdated: self._row,
            PartialMessage: self._grown,
            ToolStart: self._call_started,
            ToolEnd: self._call_ended,
            TodosUpdated: self._plan,
            ContextUpdate: self._usage,
        }

    def expect_prompt(self, text: str) -> None:
        """Note a prompt of the editor, which shows it already."""
        self._own_prompts.append(text)

    def updates(self, event: Event) -> Iterator[KnownUpdate]:
        """What the editor is told of an event."""
        step = self._steps.get(type(event))
        if step is not None and not self._transcript.is_beside(event):
            yield from step(event)
        for entry in self._transcript.entries(event):
            match entry:
                case PromptSaid(text=text):
                    if self._own_prompts and self._own_prompts[0] == text:
                        self._own_prompts.popleft()
                    else:
                        yield prompted(text)
                case AnswerGrew(text=text):
                    yield said(text)
                case RetryPlanned(event=retry):
                    yield thought(f"{retry_in_words(retry)}\n")
                case Remark(text=text, kind=RemarkKind.WARNING | RemarkKind.ERROR | RemarkKind.NOTICE):
                    yield thought(f"{text}\n")
                case ReasoningSaid():
                    pass  # streamed below
                case _:
                    pass  # calls and plans have updates of their own

    def _state(self, event: State) -> Iterator[KnownUpdate]:
        before, self._mode = self._mode, event.state.permission_mode
        if before is None:
            self._transcript.resume(event.state.current_task_id if event.state.cline_messages else None)
        elif before != self._mode:
            yield ModeShown(current_mode_id=self._mode)

    def _row(self, event: MessageCreated | MessageUpdated) -> Iterator[KnownUpdate]:
        row = event.message
        if row.say == "reasoning":
            yield from self._more_thought(row.ts, row.text or "")
        elif row.say == OUTPUT and row.call_id is not None:
            yield from self._more_output(row)

    def _grown(self, event: PartialMessage) -> Iterator[KnownUpdate]:
        if event.ts in self._thoughts and event.delta:
            self._thoughts[event.ts] += len(event.delta)
            yield thought(event.delta)
        elif event.ts in self._outputs:
            call_id, output = self._outputs[event.ts]
            self._outputs[event.ts] = (call_id, output + event.delta)
            yield from self._output_shown(call_id, output + event.delta)

    def _more_thought(self, ts: int, text: str) -> Iterator[KnownUpdate]:
        taken = self._thoughts.get(ts, 0)
        self._thoughts = {ts: max(len(text), taken)}
        if text[taken:]:
            yield thought(text[taken:])

    def _more_output(self, row: Message) -> Iterator[KnownUpdate]:
        call_id, text = row.call_id or "", row.text or ""
        if row.partial is True:
            self._outputs[row.ts] = (call_id, text)
        else:
            self._outputs.pop(row.ts, None)
        if call_id in self._announced:
            yield from self._output_shown(call_id, text)

    def _output_shown(self, call_id: str, text: str) -> Iterator[KnownUpdate]:
        if self._terminals is not None and self._terminals.has(call_id):
            self._terminals.write(call_id, visible(text))
        else:
            yield CallProgress(tool_call_id=call_id, content=(terminal_text(text),))

    def _call_started(self, event: ToolStart) -> Iterator[KnownUpdate]:
        if event.purpose in SPEAKING:
            return
        self._announced.add(event.call_id)
        yield CallAnnounced(
            tool_call_id=event.call_id,
            title=single_line(visible(event.title or event.label)),
            kind=kind_of(event.label),
            status="in_progress",
            locations=locations_of(event.input, None, self._cwd),
            raw_input=event.input,
        )
        if self._terminals is not None and kind_of(event.label) == EXECUTES:
            self._terminals.begin(event.call_id, partial(self._terminal_shown, event.call_id))

    def _terminal_shown(self, call_id: str, terminal: str) -> None:
        self._show(CallProgress(tool_call_id=call_id, content=(ShownTerminal(terminal_id=terminal),)))

    def _call_ended(self, event: ToolEnd) -> Iterator[KnownUpdate]:
        if event.call_id not in self._announced:
            return
        self._announced.discard(event.call_id)
        content = self._content(event)
        if event.status != "success" and event.reason:
            content = (*content, text_content(event.reason))
        yield CallProgress(
            tool_call_id=event.call_id,
            status=status_of(event.status),
            content=content or None,
            locations=locations_of(event.input, event.view, self._cwd) or None,
        )

    def _content(self, event: ToolEnd) -> tuple[CallContent, ...]:
        """What the call shows. A terminal stays, with the end of the output for editors that have it no more."""
        view, shown = event.view, content_of(event.view, self._cwd)
        if self._terminals is None or not self._terminals.has(event.call_id):
            return shown
        output, code = (view.output, view.exit_code) if isinstance(view, TerminalView) else ("", None)
        failed = 0 if event.status == "success" else 1
        terminal = self._terminals.end(event.call_id, visible(output), failed if code is None else code)
        return shown if terminal is None else (ShownTerminal(terminal_id=terminal),)

    def _plan(self, event: TodosUpdated) -> Iterator[KnownUpdate]:
        yield plan_of(event.todos)

    def _usage(self, event: ContextUpdate) -> Iterator[KnownUpdate]:
        if event.used_tokens:
            cost = None if event.total_cost is None else SessionCost(amount=event.total_cost)
            yield UsageShown(used=event.used_tokens, size=event.max_tokens, cost=cost)


def plan_of(todos: tuple[TodoItem, ...]) -> PlanShown:
    """The plan of the task."""
    return PlanShown(
        entries=tuple(
            ShownStep(content=each.content, status=each.status if each.status in PLAN_STATUSES else "pending")
            for each in todos
        )
    )
