"""The loop of one task: ask the model, run its calls, until it hands the floor back."""

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, assert_never

from robota.contracts.hook import EMPTY_HOOK_RESULT, HookEvent, HookResult
from robota.contracts.tool import (
    ChangeMode,
    Complete,
    Control,
    Delegate,
    Plan,
    Question,
    Remember,
    ToolCall,
    ToolResult,
    UseSkill,
)
from robota.engine.context.window import Context, Gauge, overhead_of
from robota.engine.model.environment import Environment
from robota.engine.model.images import image_blocks
from robota.engine.model.reply import CallFormat, Reply
from robota.engine.model.request import Requester, RequestRetry, SaidInstead
from robota.engine.model.system_prompt import NO_TOOL_USED, REPLY_CUT, mode_prompt
from robota.engine.runtime.options import Completion
from robota.engine.runtime.person_input import Words, words_in
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.engine.task.steps import AskModel, Ended, Halted, HandBack, RunCalls, Step
from robota.log.kinds.session import TodosRecord
from robota.protocol.asks.answer import Answer, Approve
from robota.protocol.asks.ask import ApprovalAsk, CompletionAsk, LimitAsk, LimitKind, MistakesAsk, QuestionAsk
from robota.protocol.asks.seed import SeedAsk, view_in
from robota.protocol.commands import CondenseContext
from robota.protocol.conversation import ImageBlock, TextBlock, UserBlock
from robota.protocol.events import (
    CondensePreview,
    ContextUpdate,
    Notice,
    TaskCompleted,
    TaskUserMessage,
    TodosUpdated,
    TurnResults,
)
from robota.protocol.message import TodoItem
from robota.protocol.permission_mode import PermissionMode

if TYPE_CHECKING:
    from robota.engine.calls.executor import Executed, ToolExecutor
    from robota.engine.task.skill_prompts import SkillPrompts

STOP_HOOK_LIMIT: Final = 8
COST_UNKNOWN: Final = "The model server does not say what its replies cost, so the budget cannot be kept."
MISTAKES_TEXT: Final = (
    "The model made several mistakes in a row: calls that could not be read, or replies that led nowhere. "
    "Say how to go on, or start a new task."
)


class Task:
    """One conversation with one goal. `work` runs it; being cancelled at any await leaves it resumable."""

    def __init__(
        self,
        runtime: TaskRuntime,
        call_format: CallFormat,
        delegate: Callable[[Delegate], Awaitable[str]],
        *,
        is_subtask: bool = False,
    ) -> None:
        self.runtime = runtime
        self.todos: tuple[TodoItem, ...] = ()
        self.is_subtask = is_subtask
        self.is_complete = False
        self._delegate = delegate
        self._heard: list[Words] = []
        self._pending: list[UserBlock] = []
        self._halted: str | None = None
        self._held_back = 0
        self._mistakes = 0
        self._requests = 0
        self._cut_text = ""
        self._first_calls: tuple[ToolCall, ...] = ()
        self._environment = Environment(runtime)
        self._is_news_due = False
        self._running: Sequence[str] = ()
        head = mode_prompt(runtime, call_format)
        request_retry = RequestRetry(runtime)
        gauge = Gauge(overhead_of(head.system, call_format.offered(head.specs)))
        self.context = Context(runtime, request_retry, gauge, lambda: self.todos)
        self.requester = Requester(runtime, call_format, head, request_retry, self.context)

    @cached_property
    def _executor(self) -> "ToolExecutor":
        # Loaded with the first call: a question may be answered without any.
        from robota.engine.calls.executor import ToolExecutor

        return ToolExecutor(self.runtime, self._handle)

    @cached_property
    def _skills(self) -> "SkillPrompts":
        from robota.engine.task.skill_prompts import SkillPrompts

        return SkillPrompts(self.runtime, self._executor, self._delegate)

    def hear(self, words: Words) -> None:
        """Words for the model's next turn; those of the person are shown to hooks first."""
        self._heard.append(words)
        self._is_news_due = True
        self.runtime.bus.emit(TaskUserMessage(task_id=self.runtime.task_id))

    def remind(self, text: str) -> None:
        """Words of ours or of a hook that the model should know beside those of the person."""
        if text:
            self._pending.append(TextBlock(text=f"<system-reminder>\n{text}\n</system-reminder>"))

    def context_update(self) -> ContextUpdate:
        """How full the context window is, and all that fills it."""
        _, system, tools = self.requester.contents
        return self.context.update(system, tools)

    def condense_preview(self) -> CondensePreview | None:
        """What would become of the conversation if it were condensed now; None if there is nothing to condense."""
        _, system, tools = self.requester.contents
        return self.context.preview(system, tools)

    def halt(self, reason: str) -> None:
        """A hook wants the person to be next, before the model is asked anything."""
        self._halted = reason

    def make_calls(self, calls: Sequence[ToolCall]) -> None:
        """Begin with these calls of the last reply, which an earlier process has not made."""
        self._first_calls = tuple(calls)

    async def work(self) -> Ended:
        calls, self._first_calls = self._first_calls, ()
        step: Step = RunCalls(calls) if calls else AskModel()
        while not isinstance(step, Ended):
            step = await self._advance(step)
        return step

    async def _advance(self, step: AskModel | RunCalls | HandBack | Halted) -> Step:
        match step:
            case AskModel():
                return await self._ask_model()
            case RunCalls(calls):
                return await self._run_calls(calls)
            case Halted(words):
                self.runtime.rows.say("error", words)
                return Ended() if self.is_subtask else await self._give_floor("")
            case HandBack(result):
                return await self._hand_back(result)
            case _:
                assert_never(step)

    async def _ask_model(self) -> Step:
        if not await self._within_limits():
            return Ended()
        is_heard = await self._listen()
        if self._halted is not None:
            from robota.engine.calls.call_stopped import halted_by_hook

            reason, self._halted = self._halted, None
            return Halted(halted_by_hook(reason))
        if not is_heard and self._requests == 0:
            return await self._give_floor("")
        await self._tell_news()
        self.runtime.history.add_user(self._pending)
        self._pending.clear()
        self.runtime.journal.sync_soon()
        self._requests += 1
        self.runtime.meter.spent.requests += 1
        try:
            reply = await self.requester.reply()
        except SaidInstead as said:
            self.feedback(words_in(said.answer))
            return AskModel()
        if reply.calls:
            self._cut_text = ""
            return RunCalls(reply.calls)
        return self._without_calls(reply)

    async def _tell_news(self) -> None:
        news, retell = await self._news(), self.runtime.services.retell_news
        if told := news if retell is None else retell(news):
            self._pending.append(TextBlock(text=told))

    async def _news(self) -> str:
        """What is new around the task, if the person spoke or a background process began or ended."""
        running = [process["id"] for process in self.runtime.background_tasks]
        if self.runtime.options.environment is None or not (self._is_news_due or running != self._running):
            return ""
        self._is_news_due, self._running = False, running
        return await self._environment.news()

    def _without_calls(self, reply: Reply) -> Step:
        text = self._cut_text + reply.turn.text
        if reply.turn.stop_reason == "max_tokens":
            self._cut_text = text
            return self._correct(REPLY_CUT)
        if self._cut_text:
            self.runtime.rows.say("completion_result", text)
        self._cut_text = ""
        if self.runtime.options.completion is Completion.EXPLICIT:
            return self._correct(NO_TOOL_USED)
        self._mistakes = 0
        return HandBack(text)

    def _correct(self, words: str) -> AskModel:
        self._mistakes += 1
        self._pending.append(TextBlock(text=words))
        return AskModel()

    async def _run_calls(self, calls: Sequence[ToolCall]) -> Step:
        executed = await self._executor.run(calls)
        self.runtime.forget_given()
        self._count_mistakes(executed)
        results = tuple(each.block for each in executed)
        self.runtime.history.add_user(results)
        self.runtime.bus.emit(TurnResults(task_id=self.runtime.task_id, results=results))
        self._tell_instructions(executed)
        completed = next((each.completion for each in executed if each.completion is not None), None)
        halted = next((each.ends_task for each in executed if each.ends_task is not None), None)
        if halted is not None:
            return Halted(halted)
        return AskModel() if completed is None else HandBack(completed)

    def _tell_instructions(self, executed: "Sequence[Executed]") -> None:
        """Instructions for files that these calls touched come behind their results."""
        instructions = self.runtime.services.instructions
        paths = [path for each in executed for path in each.touched]
        if instructions is not None and paths:
            self.remind(instructions.touched(self.runtime.task_id, self.runtime.mode, paths))

    def _count_mistakes(self, executed: "Sequence[Executed]") -> None:
        """A reply that achieved nothing and was at fault counts once, however many calls it held."""
        if any(each.status == "success" for each in executed):
            self._mistakes = 0
        elif any(each.is_mistake for each in executed):
            self._mistakes += 1

    async def _hand_back(self, result: str) -> Step:
        if await self._held_back_by_hook(result):
            return AskModel()
        return await self._give_floor(result)

    async def _give_floor(self, result: str) -> Step:
        self.is_complete = True
        runtime, meter = self.runtime, self.runtime.meter
        runtime.bus.emit(
            TaskCompleted(
                task_id=runtime.task_id,
                token_usage=meter.totals,
                tool_usage={name: dict(counts) for name, counts in meter.tools.items()},
                usage=meter.usage,
                is_subtask=self.is_subtask,
            )
        )
        runtime.journal.sync_soon()
        if self.is_subtask:
            return Ended(result)
        if runtime.services.checkpoint is not None:
            await runtime.services.checkpoint.after_changes(runtime.task_id, runtime.warn)
        runtime.end_turn_rules()
        answer = await runtime.ask_or_command(CompletionAsk())
        while isinstance(answer, CondenseContext):
            await self.context.condense_now(answer.text or "")
            answer = await runtime.ask_or_command(CompletionAsk())
        return self._after(answer, Ended(result))

    async def _held_back_by_hook(self, result: str) -> bool:
        """A hook may find that there is more to do. It is heard a few times in a row, not for ever."""
        event = HookEvent.SUBAGENT_STOP if self.is_subtask else HookEvent.STOP
        active = self._held_back > 0
        said = await self.runtime.fire(
            event,
            self.runtime.agent_type or "",
            last_assistant_message=result,
            stop_hook_active=active,
            background_tasks=self.runtime.background_tasks,
            session_crons=[],
        )
        reminder = said.blocked or said.context
        if not reminder or said.stopped is not None or self._held_back >= STOP_HOOK_LIMIT:
            self._held_back = 0
            return False
        self._held_back += 1
        self.remind(reminder)
        return True

    def _after(self, answer: Answer, otherwise: Ended) -> Step:
        """Words keep the task going; a plain yes or no ends it."""
        if not answer.has_words:
            return otherwise
        self.runtime.meter.spent.requests = 0
        self.go_on_with(words_in(answer))
        return AskModel()

    def go_on_with(self, words: Words) -> None:
        """A turn begins with these words of the person."""
        self._requests, self.is_complete = 0, False
        if "_executor" in vars(self):  # else no call was made yet
            self._executor.begin_turn()
        self.feedback(words)

    def feedback(self, words: Words) -> None:
        """Show what the person said in the conversation, and take it in before the next request."""
        self.runtime.rows.say("user_feedback", words.as_typed, images=words.images or None)
        self.hear(words)

    async def _listen(self) -> bool:
        """Take in what people said since the last request.

        False if the model need not answer: hooks refused all there was, or the person only had commands run.
        """
        while (queued := self.runtime.queue.take()) is not None:
            self.feedback(words_in(queued))
        heard, self._heard = self._heard, []
        only_commands = all(words.is_command for words in heard)
        taken = [await self._take_in(words) for words in heard]
        return not taken or any(taken) or (self.runtime.history.awaits_reply and not only_commands)

    async def _take_in(self, words: Words) -> bool:
        """A hook may refuse a prompt, or add to it. Whether the model has something new to answer."""
        if words.is_command:
            self.runtime.history.add_user([TextBlock(text=await self._skills.ran(words.text))])
            return False
        said = await self._shown_to_hooks(words)
        if said.stopped is not None:
            self.halt(said.stopped)
        elif said.blocked is not None:
            self.runtime.rows.say("error", f"The prompt was not sent: {said.blocked}")
        if said.stopped is not None or said.blocked is not None:
            return False
        may_name_something = "@" in words.text or words.text.lstrip().startswith("/")
        text, images = words.text, tuple(image_blocks(words.images))
        if words.is_prompt and may_name_something:
            told = await self._skills.told(words.text)
            if told is None:
                return False
            text, images = told.text, (*images, *(ImageBlock(source=each) for each in told.images))
        self._pending.extend(images)
        if text:
            self._pending.append(TextBlock(text=text))
        self.remind(said.context)
        if words.is_prompt:
            self._recollect(words.text)
        return True

    def _recollect(self, words: str) -> None:
        """Let memory add to what the person said, and note what they want remembered."""
        if (memory := self.runtime.services.memory) is None:
            return
        recollection = memory.heard(self.runtime.task_id, words, self._newest_row)
        self.remind(recollection.reminder)
        for notice in recollection.notices:
            self.runtime.bus.emit(Notice(level="info", text=notice))

    def _proposed(self, wanted: Remember) -> ToolResult:
        if (memory := self.runtime.services.memory) is None:
            return ToolResult(content="Nothing can be remembered here.", is_error=True)
        return memory.propose(wanted.kind, wanted.topic, wanted.text, self._newest_row)

    @property
    def _newest_row(self) -> int:
        rows = self.runtime.rows.messages
        return rows[-1].ts if rows else 0

    async def _shown_to_hooks(self, words: Words) -> HookResult:
        if not words.is_prompt:
            return EMPTY_HOOK_RESULT
        self.runtime.prompt_id = f"prompt-{self.runtime.journal.next_ts()}"
        return await self.runtime.fire(HookEvent.USER_PROMPT_SUBMIT, prompt=words.text)

    async def _within_limits(self) -> bool:
        """Whether the loop may go on; asks if a limit is reached."""
        options = self.runtime.options
        if 0 < options.mistake_limit <= self._mistakes:
            answer = await self.runtime.ask(MistakesAsk(message=MISTAKES_TEXT))
            if not isinstance(answer, Approve) and not answer.has_words:
                return False
            self._mistakes = 0
            if answer.has_words:
                guidance = json.dumps({"status": "guidance", "feedback": answer.text})
                self.feedback(Words(text=guidance, images=answer.images))
        spent = self.runtime.meter.spent
        if not await self._within(options.max_requests, spent.requests, LimitKind.REQUESTS):
            return False
        return await self._within(options.max_cost, spent.cost, LimitKind.COST)

    async def _within(self, limit: float | None, used: float | None, kind: LimitKind) -> bool:
        """Whether there is room under a limit; a yes of the person makes new room. What is unknown may be too much."""
        if limit is None or (used is not None and used < limit):
            return True
        if used is None:
            self.runtime.rows.say("error", COST_UNKNOWN)
        answer = await self.runtime.ask(LimitAsk(limit=kind, count=limit))
        if isinstance(answer, Approve):
            self._requests = self.runtime.meter.spent.requests = 0
            self.runtime.meter.spent.cost = 0.0
        return isinstance(answer, Approve)

    async def _handle(self, control: Control, call: ToolCall) -> ToolResult:
        """What a tool asked of the engine."""
        match control:
            case Question():
                return await self._put_question(control.asked, call)
            case Plan():
                self.todos = control.todos
                self.runtime.journal.write(TodosRecord(task_id=self.runtime.task_id, todos=control.todos))
                self.runtime.bus.emit(TodosUpdated(task_id=self.runtime.task_id, todos=control.todos))
                return ToolResult(content="Todo list updated successfully.")
            case Delegate():
                return await self._hand_over(control, call)
            case ChangeMode():
                return await self._change_mode(control, call)
            case UseSkill():
                return await self._skills.use(control)
            case Remember():
                return self._proposed(control)
            case Complete():
                self.runtime.rows.say("completion_result", control.result, call_id=call.id)
                return ToolResult(content="The result was shown to the user.", control=control)
            case _:
                assert_never(control)

    async def _put_question(self, question: QuestionAsk, call: ToolCall) -> ToolResult:
        """The answer of the person. One that was suggested with a mode switches to it: they saw which."""
        answer = await self.runtime.ask(question, call_id=call.id)
        self.runtime.rows.say("user_feedback", answer.text, images=answer.images or None)
        modes = {each.answer: each.mode for each in question.suggestions}
        mode = modes.get(answer.text)
        told = f"<user_message>\n{answer.text}\n</user_message>"
        if mode is not None and mode != self.runtime.mode and mode in self.runtime.services.modes.roles:
            self.runtime.switch_mode(mode)
            told = f"{told}\nWith this answer the task is in {mode} mode now. Your role and tools are those of it."
        return ToolResult(content=told, images=tuple(block.source for block in image_blocks(answer.images)))

    async def _hand_over(self, order: Delegate, call: ToolCall) -> ToolResult:
        """Work that may do more than this task may is for the person to hand out."""
        runtime = self.runtime
        if order.mode not in runtime.services.modes.roles:
            return self._no_such_mode(order.mode)
        if runtime.permission_mode is not PermissionMode.BYPASS and runtime.services.modes.goes_beyond(
            order.mode, runtime.mode
        ):
            text = json.dumps({"tool": "newTask", "mode": order.mode, "content": order.message})
            refusal = await self._refusal_of(
                f"Subtask in {order.mode} mode", text, call, f"do it yourself in {runtime.mode} mode"
            )
            if refusal is not None:
                return refusal
        return ToolResult(content=await self._delegate(order))

    async def _change_mode(self, change: ChangeMode, call: ToolCall) -> ToolResult:
        """Another mode may do other things, so it is the person who changes it."""
        runtime, before = self.runtime, self.runtime.mode
        if change.mode not in runtime.services.modes.roles:
            return self._no_such_mode(change.mode)
        if change.mode == before:
            return ToolResult(content=f"The task is already in {before} mode.", is_error=True)
        if runtime.permission_mode is not PermissionMode.BYPASS:
            text = json.dumps({"tool": "switchMode", "mode": change.mode, "reason": change.reason})
            refusal = await self._refusal_of(f"Mode {change.mode}", text, call, f"stay in {before} mode")
            if refusal is not None:
                return refusal
        runtime.switch_mode(change.mode)
        role = runtime.services.modes.roles[change.mode]
        switched = f"Successfully switched from {before} mode to {change.mode} mode because: {change.reason}"
        return ToolResult(content="\n".join(part for part in (switched, role) if part))

    async def _refusal_of(self, title: str, text: str, call: ToolCall, otherwise: str) -> ToolResult | None:
        """Ask whether another mode may be used; what the model is told if not."""
        if not self.runtime.options.attended and call.id not in self.runtime.given:
            return ToolResult(content=f"Nobody is there to approve it; {otherwise}.", is_error=True)
        seed = SeedAsk("tool", text)
        answer = await self.runtime.ask(ApprovalAsk(title=title, view=view_in(seed)), seed=seed, call_id=call.id)
        if isinstance(answer, Approve):
            return None
        said = f": {answer.text}" if answer.text else "."
        return ToolResult(content=f"The user wants you to {otherwise}{said}", is_error=True)

    def _no_such_mode(self, mode: str) -> ToolResult:
        known = ", ".join(self.runtime.services.modes.roles)
        return ToolResult(content=f"There is no mode {mode!r}. The modes are: {known}.", is_error=True)
