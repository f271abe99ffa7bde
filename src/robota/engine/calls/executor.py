"""The executor, through which every tool call passes, whoever made it.

parse and validate → mode allows tool → repetition guard → pre-hooks → policy → ask if needed → checkpoint → run →
post-hooks → result. A stage that stops a call raises `CallStopped`; nothing later has then happened.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from itertools import groupby
from time import monotonic
from typing import Final, assert_never

import msgspec

from robota.contracts.agent import AgentControl
from robota.contracts.hook import CompletedCall
from robota.contracts.tool import (
    REPORTED_TO_MODEL,
    Alternative,
    ChangeMode,
    Complete,
    Control,
    Delegate,
    Plan,
    PresentPlan,
    Question,
    Remember,
    ToolCall,
    ToolResult,
    UseSkill,
    call_title,
    first_argument,
    shown_reason,
)
from robota.engine.calls.admission import Admission, Admitted
from robota.engine.calls.call_hooks import run_post_hooks
from robota.engine.calls.call_stopped import (
    HALTED,
    CallStopped,
    TaskHalted,
    cause_of,
    halted_by_hook,
    not_logged,
)
from robota.engine.record.rows import logged_view
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.log.kinds.calls import FileStampsRecord, ToolEndRecord, ToolStartRecord
from robota.log.replay.context import interrupted_result
from robota.protocol.calls import CallPurpose
from robota.protocol.conversation import ToolResultBlock
from robota.protocol.events import Notice, TaskToolFailed, ToolEnd, ToolStart
from robota.protocol.views import TerminalView, TextView, View

PARALLEL_READS: Final = 5
ERROR_CHARACTERS: Final = 500
# How much the log keeps of a view that cannot be rebuilt from the rows: of a text, and of any other view.
TIMED_OUT: Final = "{} was stopped after {:g} s, before it had a result. Narrow the call, for example to fewer files."
FIND_ANOTHER_WAY: Final = "Find a way that works in the sandbox, or report what could not be done."
EMPTY_RESULT: Final = "(the tool returned nothing)"
UNKNOWN_ARGUMENTS: Final = "[This tool does not have the parameters {}. Its parameters are: {}.]"


class Executed(msgspec.Struct, frozen=True, kw_only=True):
    """How one call ended. `status` is success, error, denied or interrupted."""

    call: ToolCall
    result: ToolResult
    status: str
    is_mistake: bool = False
    skips_rest: str | None = None  # why the calls after this one must not run
    reason: str | None = None  # why it did not run, for the user
    ends_task: str | None = None  # why control goes back to the user, as a message for them
    touched: tuple[str, ...] = ()  # its paths, as the model wrote them
    has_changed_something: bool = False
    logged_view: View | None = None  # what the log keeps of the view

    @property
    def block(self) -> ToolResultBlock:
        """The result as the model gets it."""
        return ToolResultBlock(
            tool_use_id=self.call.id,
            content=self.result.content,
            is_error=self.result.is_error,
            images=self.result.images,
        )

    @property
    def completion(self) -> str | None:
        """The result of the task, if this call completed it."""
        return self.result.control.result if isinstance(self.result.control, Complete) else None


class RepeatedFailures:
    """The calls that failed since something was last changed. One of them made again is a mistake of the model.

    A file that does not exist, a search without a match or a text that was not found is no mistake the first time:
    looking things up is how a model finds its way.
    """

    def __init__(self) -> None:
        self._failed: set[str] = set()

    def forget(self) -> None:
        self._failed.clear()

    def judged(self, executed: Executed) -> Executed:
        """The same call, marked as a mistake if it failed in the same way before."""
        if executed.status == "success":
            if executed.has_changed_something:
                self.forget()
            return executed
        if executed.skips_rest is not None:
            return executed
        key = json.dumps([executed.call.name, executed.call.input, executed.result.content], default=str)
        is_repeated = key in self._failed
        self._failed.add(key)
        return msgspec.structs.replace(executed, is_mistake=True) if is_repeated else executed


class ToolExecutor:
    """Runs the calls of a reply and returns one result for each, in their order."""

    def __init__(self, runtime: TaskRuntime, handle: Callable[[Control, ToolCall], Awaitable[ToolResult]]) -> None:
        """`handle` does what a tool asks of the engine: ask the user, delegate, plan, complete."""
        self._runtime = runtime
        self._handle = handle
        self._admission = Admission(runtime)
        self._reads = asyncio.Semaphore(PARALLEL_READS)
        self._logs_each_result = False
        self._started: dict[str, ToolStart] = {}  # the last start event of each running call
        self.cut_off: dict[str, Executed] = {}  # calls that were cancelled after they had printed something
        self._changes: dict[
            str, Notice
        ] = {}  # what commands that nobody approved have changed, until their end is told
        self._failures = RepeatedFailures()

    async def run(self, calls: Sequence[ToolCall]) -> list[Executed]:
        done: list[Executed] = []
        calls = [self._admission.resolve_redirect(call) for call in calls]
        self._logs_each_result = len(calls) > 1
        for group in self._groups(calls):
            closed = next((executed.skips_rest for executed in done if executed.skips_rest), None)
            if closed is not None:
                done.extend(self._skipped(call, closed) for call in group)
            elif len(group) == 1:
                done.append(await self._run_one(group[0], failed_before=any(each.status == "error" for each in done)))
            else:
                async with asyncio.TaskGroup() as running:
                    tasks = [running.create_task(self._run_beside(call)) for call in group]
                done.extend(task.result() for task in tasks)
        return [self._failures.judged(each) for each in done]

    def begin_turn(self) -> None:
        """The user wrote a prompt, so repeating an earlier call no longer counts as a repetition."""
        self._admission.repetition.forget()
        self._failures.forget()

    def for_prompt(self) -> "ToolExecutor":
        """An executor for calls that a prompt contains, which do not count as repetitions of the model's."""
        return ToolExecutor(self._runtime, self._handle)

    def _groups(self, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
        """Neighbouring calls of one lane together, everything else alone and in order."""
        tools = [self._admission.tool(call.name) for call in calls]
        lanes = [(0 if tool is None else tool.lane) or number for number, tool in enumerate(tools)]
        for _, group in groupby(zip(lanes, calls, strict=True), key=lambda pair: pair[0]):
            yield [call for _, call in group]

    async def _run_beside(self, call: ToolCall) -> Executed:
        tool = self._admission.tool(call.name)
        async with self._reads if tool is not None and tool.is_read_only else nullcontext():
            return await self._run_one(call)

    async def _run_one(self, call: ToolCall, *, failed_before: bool = False) -> Executed:
        tool = self._admission.tool(call.name)
        label, first = (tool.label if tool else call.name), first_argument(call.input)
        task, started, waited_s = self._runtime.task_id, monotonic(), self._runtime.waited_s
        self._emit_start(call)
        executed = Executed(call=call, result=ToolResult(content="", is_error=True), status="interrupted")
        try:
            executed = _with_assumption(await self._admit_and_run(call, failed_before))
            if self._logs_each_result:
                self._runtime.history.keep_result(executed.block)
            return executed
        except asyncio.CancelledError:
            executed = self.cut_off.get(call.id, executed)
            raise
        finally:
            # The time in which the call waited for the user does not count.
            took_s = max(0.0, monotonic() - started - (self._runtime.waited_s - waited_s))
            end = ToolEnd(
                task_id=task,
                call_id=call.id,
                tool=call.name,
                label=label,
                first_arg=first,
                status=executed.status,
                duration_ms=round(took_s * 1000),
                reason=_reason(executed),
                input=call.input if executed.status == "denied" else {},
                view=executed.result.view,
            )
            self._record(executed, end)

    def _emit_start(self, call: ToolCall) -> None:
        tool = self._admission.tool(call.name)
        start = ToolStart(
            task_id=self._runtime.task_id,
            call_id=call.id,
            tool=call.name,
            label=tool.label if tool else call.name,
            first_arg=first_argument(call.input),
            input=call.input,
            title=call_title(tool, call.name, call.input),
            purpose=tool.purpose if tool else CallPurpose.WORK,
        )
        self._started[call.id] = start
        self._runtime.bus.emit(start)

    async def _admit_and_run(self, call: ToolCall, failed_before: bool) -> Executed:
        try:
            admitted = await self._admitted(call)
        except CallStopped as stop:
            if stop.is_shown_as_error:
                self._runtime.rows.say("error", f"Not allowed: {call.name}: {stop.reason}", call_id=call.id)
            return _stopped(call, stop)
        if admitted.call.input != call.input:
            self._emit_start(admitted.call)  # again, because the user or a hook changed the input
        started = monotonic()
        result = await self._run_and_settle(admitted, is_changed=admitted.call.input != call.input)
        if result.alternative is not None:
            admitted, result = await self._offer_alternative(result.alternative, admitted, result)
        if isinstance(result.control, Complete) and failed_before:
            result = ToolResult(content=COMPLETED_DESPITE_ERROR, is_error=True)
        skips_rest = _reason_to_skip_rest(result.control, call)
        if result.control is not None:
            shown = result.view
            result = await self._handle(result.control, call)
            result = result if shown is None else msgspec.structs.replace(result, view=result.view or shown)
        duration_ms = round((monotonic() - started) * 1000)
        ran = CompletedCall(tool=admitted.tool, call=admitted.call, result=result, duration_ms=duration_ms)
        has_hooks = bool(self._runtime.services.hooks.after)
        result, halted = await run_post_hooks(self._runtime, ran) if has_hooks else (result, None)
        return Executed(
            call=call,
            result=self._capped(_with_feedback(result, admitted), admitted.tool.max_result),
            status="error" if result.is_error else "success",
            skips_rest=skips_rest or (HALTED if halted is not None else None),
            ends_task=None if halted is None else halted_by_hook(halted),
            touched=admitted.tool.touches(admitted.tool.decode(admitted.call.input)).paths,
            has_changed_something=admitted.tool.changes_something,
            logged_view=_logged_view(result.view, admitted),
        )

    async def _admitted(self, call: ToolCall, remark: str = "", *, needs_approval: bool = False) -> Admitted:
        try:
            return await self._admission.admit(call, remark=remark, needs_approval=needs_approval)
        except CallStopped:
            raise
        except Exception as error:
            raise CallStopped("error", f"{call.name} was not run. Try another way. {cause_of(error)}") from error

    async def _offer_alternative(
        self, other: Alternative, first: Admitted, failed: ToolResult
    ) -> tuple[Admitted, ToolResult]:
        """Offer to make the failed call again in the other way. Without approval, the result is the failure."""
        if not self._runtime.options.launch.attended:
            nobody = f"Nobody is there to allow it to run {other.manner}. {FIND_ANOTHER_WAY}"
            return first, _prefixed(f"{other.why} {nobody}", failed)
        if not self._runtime.asked_causes.may_ask(other.cause):
            return first, _prefixed(f"{other.why} {self._runtime.asked_causes.why_not(other.cause)}", failed)
        why = other.why
        if (confined := first.context.confined) is not None:
            why = f"{why} {await self._admission.unapproved.changes_so_far(confined)}".rstrip()
        try:
            again = msgspec.structs.replace(first.call, input=other.input)
            second = await self._admitted(again, why, needs_approval=other.needs_approval)
        except CallStopped as stop:
            self._runtime.asked_causes.decline(other.cause)
            asked = f"{other.why} The user was asked whether to run it {other.manner}: {stop.message}"
            return first, _prefixed(asked, failed)
        result = await self._run_and_settle(second)
        return second, _prefixed(f"{other.why} The user allowed it to run {other.manner}, with this result.", result)

    async def _run_and_settle(self, admitted: Admitted, *, is_changed: bool = False) -> ToolResult:
        """Run the call; of a command that nobody approved, also take out what it must not leave behind."""
        confined = admitted.context.confined
        if confined is None:
            return await self._run_tool(admitted, is_changed=is_changed)
        async with self._admission.unapproved.settling(confined, admitted) as settled:
            result = await self._run_tool(admitted, is_changed=is_changed)
        note = await self._admission.unapproved.decide(confined, admitted.call, settled)
        if (changes := await self._admission.unapproved.changes(confined, admitted.call)) is not None:
            self._changes[admitted.call.id] = changes
        return _prefixed(note, result) if note else result

    async def _run_tool(self, admitted: Admitted, *, is_changed: bool = False) -> ToolResult:
        try:
            ran = await self._run_recorded(admitted, is_changed)
        except asyncio.CancelledError:
            admitted.context.close(interrupted=True)
            self._keep_output_of_cut_off(admitted)
            raise
        admitted.context.close()
        if stamps := admitted.context.stamps():
            record = FileStampsRecord(task_id=self._runtime.task_id, call_id=admitted.call.id, files=dict(stamps))
            self._runtime.journal.write(record)
        return ran

    def _keep_output_of_cut_off(self, admitted: Admitted) -> None:
        """Keep what a cancelled call has printed: the user has seen it, so the model must know it."""
        if not admitted.context.shown_output:
            return
        history, call = self._runtime.history, admitted.call
        block = interrupted_result(call.id, admitted.context.shown_output)
        view = admitted.prepared.preview.view
        if isinstance(view, TerminalView):
            from robota.workspace.output.capture import plain_terminal_text

            view = msgspec.structs.replace(view, output=plain_terminal_text(admitted.context.shown_output))
        self.cut_off[call.id] = Executed(
            call=call,
            result=ToolResult(content=block.content, view=view, is_error=True),
            status="interrupted",
            logged_view=_logged_view(view, admitted),
        )
        if history.is_open(call.id):
            history.keep_result(block)

    async def _run_recorded(self, admitted: Admitted, is_changed: bool) -> ToolResult:
        tool, journal = admitted.tool, self._runtime.journal
        journal.write(
            ToolStartRecord(
                task_id=self._runtime.task_id,
                call_id=admitted.call.id,
                tool=tool.name,
                input=admitted.call.input,
                is_changed=is_changed,
            )
        )
        if tool.changes_something:
            # The record of a change must be on disk before the change happens.
            await journal.sync()
            if journal.trouble is not None:
                return ToolResult(content=not_logged(journal.trouble), is_error=True)
        try:
            async with self._checkpoint(admitted) as is_saved, asyncio.timeout(tool.timeout_s):
                if admitted.only_undoable and not is_saved:
                    return ToolResult(content=admitted.only_undoable, is_error=True)
                return await self._run_prepared(admitted)
        except REPORTED_TO_MODEL as error:
            shown = shown_reason(error)
            view = None if shown == str(error) else TextView(text=shown)
            return ToolResult(content=str(error), view=view, is_error=True)
        except TimeoutError:
            return ToolResult(content=TIMED_OUT.format(tool.name, tool.timeout_s or 0), is_error=True)
        except Exception as error:  # noqa: BLE001 - a bug in a tool must not end the task
            return ToolResult(content=f"{tool.name} failed: {cause_of(error)}", is_error=True)
        finally:
            if tool.changes_something:
                journal.sync_soon()

    async def _run_prepared(self, admitted: Admitted) -> ToolResult:
        if not admitted.tool.confines:  # only commands move anything in git
            return await admitted.prepared.run()
        from robota.engine.calls.call_checkpoints import noted_git_moves

        with noted_git_moves(self._runtime, admitted.tool, admitted.call):
            return await admitted.prepared.run()

    def _checkpoint(self, admitted: Admitted) -> AbstractAsyncContextManager[bool]:
        runtime = self._runtime
        if runtime.services.checkpoint is None or not admitted.tool.changes_something:
            return nullcontext(False)
        checkpoint = runtime.services.checkpoint
        return checkpoint.around_change(admitted.tool, admitted.call, runtime.task_id, runtime.warn)

    def _capped(self, result: ToolResult, most: int) -> ToolResult:
        """The result with at most that many characters: its beginning, its end, and the call that returns the rest."""
        text = result.content or EMPTY_RESULT
        if len(text) <= most:
            return result if text is result.content else msgspec.structs.replace(result, content=text)
        # Imported with the first result that is too long.
        from robota.contracts.rest_of_result import shortened

        return msgspec.structs.replace(result, content=shortened(text, most, self._runtime.journal.keep))

    def _skipped(self, call: ToolCall, why: str) -> Executed:
        result = ToolResult(content=why, is_error=True)
        return Executed(call=call, result=result, status="denied", reason=why)

    def _record(self, executed: Executed, end: ToolEnd) -> None:
        runtime, start = self._runtime, self._started.pop(end.call_id)
        runtime.rows.end_call(
            ToolEndRecord(
                task_id=runtime.task_id,
                call_id=end.call_id,
                tool=end.tool,
                status=end.status,
                duration_ms=end.duration_ms,
                title=start.title,
                purpose=start.purpose,
                reason=end.reason and end.reason[:ERROR_CHARACTERS],
                view=executed.logged_view,
            )
        )
        runtime.meter.tool(end.tool, failed=end.status != "success")
        runtime.bus.emit(end)
        if (changes := self._changes.pop(end.call_id, None)) is not None:
            runtime.bus.emit(changes)
        if end.status == "error":
            error = executed.result.content[:ERROR_CHARACTERS]
            runtime.bus.emit(TaskToolFailed(task_id=runtime.task_id, tool=end.tool, error=error))


def _reason(executed: Executed) -> str | None:
    """Why a call was denied or failed, for the user."""
    if executed.reason is None and executed.status == "error":
        view = executed.result.view
        return (view.text if isinstance(view, TextView) else executed.result.content)[:ERROR_CHARACTERS]
    return executed.reason


COMPLETED_DESPITE_ERROR: Final = (
    "The task was not completed, because another call of the same reply failed. Look at its result first."
)


def _logged_view(view: View | None, admitted: Admitted) -> View | None:
    return logged_view(
        view, admitted.prepared.preview.view if admitted.is_shown else None, admitted.context.shown_output
    )


def _reason_to_skip_rest(control: Control | None, call: ToolCall) -> str | None:
    """Why the later calls of the reply are skipped after this one; None if they run."""
    match control:
        case Delegate() | PresentPlan():
            return f"This call was not run because {call.name} was called in the same reply. Call {call.name} last."
        case Complete():
            return "This call was not run because the task was completed before it."
        case Question() | Plan() | ChangeMode() | UseSkill() | Remember() | AgentControl() | None:
            return None
        case _:
            assert_never(control)


def _stopped(call: ToolCall, stop: CallStopped) -> Executed:
    return Executed(
        call=call,
        result=ToolResult(content=stop.message, images=stop.images, is_error=True),
        status=stop.status,
        is_mistake=stop.is_mistake,
        skips_rest=stop.skips_rest,
        reason=stop.reason,
        ends_task=stop.halt_message if isinstance(stop, TaskHalted) else None,
    )


def _with_feedback(result: ToolResult, admitted: Admitted) -> ToolResult:
    """The result with what came with the approval, and with unknown arguments and the context of hooks after it."""
    if admitted.images:
        result = msgspec.structs.replace(result, images=(*result.images, *admitted.images))
    parts = [result.content]
    if unknown := admitted.tool.unknown_arguments(admitted.call.input):
        parts.append(UNKNOWN_ARGUMENTS.format(", ".join(map(repr, unknown)), ", ".join(admitted.tool.parameters)))
    if admitted.feedback:
        parts.insert(0, admitted.feedback)
    if admitted.hook_context:
        parts.append(f"<hook>\n{admitted.hook_context}\n</hook>")
    return result if len(parts) == 1 else msgspec.structs.replace(result, content="\n".join(parts))


def _with_assumption(executed: Executed) -> Executed:
    """The same, with what was assumed to understand the call at the end of its result."""
    if not executed.call.assumed:
        return executed
    content = f"{executed.result.content}\n[Read as {executed.call.name}: {', '.join(executed.call.assumed)}.]"
    result = msgspec.structs.replace(executed.result, content=content)
    return msgspec.structs.replace(executed, result=result)


def _prefixed(note: str, result: ToolResult) -> ToolResult:
    return msgspec.structs.replace(result, content=f"{note}\n{result.content}")
