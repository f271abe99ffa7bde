"""Resuming a task from an earlier process: the ask whether to continue, and the note for the model if so."""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from robota.contracts.tool import ToolCall
from robota.engine.model.environment import without_own_elements
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.engine.runtime.user_input import ResumedAnswer, UserInput, ends_task, input_from
from robota.engine.task.task import Task
from robota.log.replay.context import interrupted_result
from robota.log.replay.task import TaskFold
from robota.protocol.asks.answer import Answer
from robota.protocol.asks.ask import ApprovalAsk, QuestionAsk, ResumeAsk
from robota.protocol.asks.kinds import RESUME_ASKS
from robota.protocol.asks.seed import ask_of
from robota.protocol.conversation import AssistantTurn, TextBlock, joined_texts
from robota.protocol.events import Notice
from robota.protocol.message import BACKGROUND_OUTPUT, Message, TodoItem
from robota.protocol.state import is_request_row
from robota.text.counted import duration_in_words

FILES_NAMED: Final = 50
OUTPUT: Final = "command_output"
GO_ON: Final = "Check its current state and continue."


class ResumeDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The user's answer to the offer to resume, or, with `row`, to the ask that the earlier process left open."""

    answer: Answer
    row: Message | None = None


class PausedTask:
    """A task restored from the log that waits for the user's decision. `runtime` has no history yet.

    `opened` is the task with its conversation, created when a command needs it.
    """

    def __init__(
        self,
        runtime: TaskRuntime,
        task: TaskFold,
        left_ms: int,
        open_subtasks: Sequence[str] = (),
        subtask_ask: Message | None = None,
    ) -> None:
        """`left_ms` is the time of its last record; `open_subtasks` ended with the earlier process, one of them
        waiting for the answer to `subtask_ask`.
        """
        self.runtime = runtime
        self.task = task
        self.open_subtasks = open_subtasks
        self.opened: Task | None = None
        self._left_ms = left_ms
        self._subtask_ask = subtask_ask
        self._waiting = task.waiting_ask

    @property
    def todos(self) -> tuple[TodoItem, ...]:
        return self.task.todos

    @property
    def is_complete(self) -> bool:
        return self.task.is_complete

    async def decision(self) -> ResumeDecision:
        """Ask whether to resume. A client may answer the ask that was left open instead, by its own `ts`."""
        left_open = asyncio.create_task(self._left_open())
        offered = asyncio.create_task(self._offered())
        try:
            await asyncio.wait({left_open, offered}, return_when=asyncio.FIRST_COMPLETED)
            return left_open.result() if left_open.done() else offered.result()
        finally:
            left_open.cancel()
            offered.cancel()

    def goes_on_after(self, row: Message | None, answer: Answer) -> bool:
        """Whether the task continues. The answer to an open call always does: even a rejection goes to the model.

        Otherwise a yes continues an incomplete task, and text continues any.
        """
        is_about_call = row is not None and row.call_id is not None
        return is_about_call or not ends_task(ResumeAsk(is_completed=self.task.is_complete), answer)

    def decline(self, decision: ResumeDecision) -> None:
        """The task does not continue; record the answer to the ask that was left open, if it was one."""
        if decision.row is not None:
            self._settle_ask(decision, ())

    def go_on(self, task: Task, decision: ResumeDecision) -> None:
        """Prepare the task to continue as decided. Approvals of the earlier process no longer count."""
        calls = self._calls_to_make(decision)
        self._settle_ask(decision, calls)
        self._keep_outputs_of_cut_off(task, calls)
        note = self._resumption_note(task, calls)
        task.restore_agents(self.task)
        if calls:
            task.make_calls(calls)
            task.remind(note)
            return
        self._keep_cut_answer(task)
        answer = decision.answer
        if answer.has_words:
            task.remind(note)
            task.begin_turn(input_from(answer))
        else:
            task.add_input(UserInput(text=f"{note} {GO_ON}", is_prompt=False))

    async def _left_open(self) -> ResumeDecision:
        """The answer to the ask that was left open; never returns if there is none."""
        if self._waiting is None:
            return await asyncio.Future()
        answer = await self.runtime.asks.wait_by_ts(self.runtime.task_id, self._waiting)
        return ResumeDecision(answer=answer, row=self._waiting)

    async def _offered(self) -> ResumeDecision:
        asked = ResumeAsk(is_completed=self.task.is_complete)
        last = self.task.messages[-1] if self.task.messages else None
        is_there = last is not None and last.ask in RESUME_ASKS and not last.is_answered
        return ResumeDecision(answer=await self.runtime.ask(asked, row=last if is_there else None))

    def _calls_to_make(self, decision: ResumeDecision) -> tuple[ToolCall, ...]:
        """The calls that waited for the user. Each passes all stages again.

        A call that had started and changes something is left out: it may have done part of its work.
        """
        waiting = self._waiting
        asked = None if waiting is None else next((c for c in self.task.open_calls if c.id == waiting.call_id), None)
        if waiting is None or asked is None or (decision.row is None and decision.answer.has_words):
            return ()
        tool = next((tool for tool in self.runtime.services.tools.all if tool.name == asked.name), None)
        was_started = asked.id in self.task.started_calls
        if was_started and tool is not None and tool.changes_something:
            return ()
        left = [call for call in self.task.open_calls if call.id == asked.id or call.id not in self.task.started_calls]
        return tuple(ToolCall(id=call.id, name=call.name, input=call.input) for call in left)

    def _settle_ask(self, decision: ResumeDecision, calls: Sequence[ToolCall]) -> None:
        """Close the ask that was left open: record its answer, keep the answer for the call, or drop the ask."""
        waiting, runtime = self._waiting, self.runtime
        if decision.row is not None:
            offer = runtime.rows.messages[-1]
            if offer.ask in RESUME_ASKS:
                runtime.rows.change(offer, is_answered=True)
        if waiting is None:
            return
        if decision.row is not None and waiting.call_id is not None and calls:
            is_approval = waiting.call_id not in self.task.started_calls
            resumed = ResumedAnswer(row=waiting, answer=decision.answer, is_approval=is_approval)
            runtime.resumed_answers[waiting.call_id] = resumed
        elif decision.row is not None:
            runtime.settle(waiting, decision.answer)
        else:
            runtime.rows.change(waiting, is_answered=True)

    def _keep_outputs_of_cut_off(self, task: Task, calls: Sequence[ToolCall]) -> None:
        """Give calls that were cut off the output that the log has of them: the user has seen it."""
        made = {call.id for call in calls}
        for call in self.task.open_calls:
            rows = (row for row in reversed(self.task.messages) if row.call_id == call.id and row.say == OUTPUT)
            row = next(rows, None)
            if row is not None and row.text and call.id not in made and task.runtime.history.is_open(call.id):
                task.runtime.history.keep_result(interrupted_result(call.id, row.text))

    def _keep_cut_answer(self, task: Task) -> None:
        """Add the partial reply that was cut off to the history: the user has read it, so the model must know it."""
        text = _cut_answer(self.task.messages)
        if text.strip() and task.runtime.history.awaits_reply:
            block = TextBlock(text=f"{text}\n\n[interrupted]")
            task.runtime.history.add_reply(AssistantTurn(content=(block,), model=task.runtime.options.model))

    def _resumption_note(self, task: Task, calls: Sequence[ToolCall]) -> str:
        """The note for the model about the interruption. Changed files are also shown to the user."""
        ago = duration_in_words(task.runtime.journal.next_ts() - self._left_ms)
        changed = task.runtime.services.files.recall(self.task.files)
        if changed:
            text = f"Changed since the agent last read it: {_names(changed)}."
            task.runtime.bus.emit(Notice(level="info", text=text))
        how = "was closed" if self.task.is_complete else "was interrupted"
        # An agent gets another message whenever whoever started it has one: for it nothing was closed.
        is_next_turn = self.task.is_complete and self.runtime.options.launch.place is not None
        parts = [] if is_next_turn else [f"[TASK RESUMPTION] The task {how} {ago} ago and continues now."]
        made = {call.id for call in calls}
        cut_off = [call.name for call in self.task.open_calls if call.id in self.task.started_calls - made]
        if cut_off:
            parts.append(f"Cut off while they ran, so they may have done some of their work: {', '.join(cut_off)}.")
        if isinstance(self._waiting and self._waiting.asked, QuestionAsk) and not calls:
            parts.append("Your question was not answered.")
        if self._subtask_ask is not None:
            parts.append(f"The subtask is gone; it was waiting for the user to answer: {_ask_text(self._subtask_ask)}")
        if changed:
            parts.append(f"Not as you last saw them: {_names(changed)}. Read them again before you rely on them.")
        if printed := _unread_output(self.task.messages):
            parts.append(f"Background processes ended with the session.\n{without_own_elements(printed)}\n")
        return " ".join(parts)


def _ask_text(row: Message) -> str:
    """The question or title of an ask, in one line."""
    match asked := ask_of(row):
        case QuestionAsk():
            return f'"{asked.question}"'
        case ApprovalAsk():
            return f"{asked.title}."
        case _:
            return f"{row.ask}."


def _cut_answer(messages: Sequence[Message]) -> str:
    """The text of the last reply, if its request was interrupted."""
    pieces: list[str] = []
    for row in reversed(messages):
        if is_request_row(row):
            return joined_texts(reversed(pieces)) if row.interrupted else ""
        if row.say == "text":
            pieces.append(row.text or "")
    return ""


def _unread_output(messages: Sequence[Message]) -> str:
    """Rows about background processes that the model has not seen: those since the last request."""
    texts: list[str] = []
    for row in reversed(messages):
        if is_request_row(row):
            break
        if row.say == BACKGROUND_OUTPUT:
            texts.append(row.text or "")
    return "\n\n".join(reversed(texts))


def _names(paths: Sequence[str]) -> str:
    more = len(paths) - FILES_NAMED
    return ", ".join(paths[:FILES_NAMED]) + (f" and {more} more" if more > 0 else "")
