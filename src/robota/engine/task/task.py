"""The loop of one task: ask the model, run its tool calls, repeat until it hands control back to the user."""

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from robota.config.settings.schema import Completion
from robota.contracts.agent import AgentControl
from robota.contracts.hook import EMPTY_HOOK_RESULT, HookEvent, HookResult
from robota.contracts.tool import (
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
)
from robota.engine.context.window import Context, Gauge, overhead_of
from robota.engine.model.environment import Environment, without_own_elements
from robota.engine.model.reply import CallFormat, Reply
from robota.engine.model.request import AnsweredWithPrompt, BudgetExhausted, Requester, RequestGivenUp, RequestRetry
from robota.engine.model.system_prompt import NO_TOOL_USED, REPLY_CUT, mode_prompt
from robota.engine.runtime.task_runtime import TaskRuntime, TurnCounts
from robota.engine.runtime.user_input import News, UserInput, ends_task, input_from
from robota.engine.task.steps import AskModel, Ended, Halted, HandBack, Outcome, RunCalls, Step
from robota.engine.task.subtasks import Subtasks, TaskTree, begin_agent
from robota.log.kinds.session import TodosRecord
from robota.protocol.asks.ask import CompletionAsk
from robota.protocol.commands import CondenseContext
from robota.protocol.conversation import ImageBlock, TextBlock, UserBlock, image_blocks
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
    from robota.engine.task.agents.task_agents import TaskAgents
    from robota.engine.task.skill_prompts import SkillPrompts
    from robota.log.replay.task import TaskFold

STOP_HOOK_LIMIT: Final = 8


class Task:
    """One conversation with one goal. `work` runs it; it can be cancelled at any await and resumed later."""

    def __init__(
        self,
        runtime: TaskRuntime,
        call_format: CallFormat,
        tree: TaskTree,
    ) -> None:
        self.runtime = runtime
        self.subtasks = Subtasks(self, tree)
        self._tree = tree
        self.todos: tuple[TodoItem, ...] = ()
        self.is_complete = False
        self._inputs: list[UserInput] = []
        self._pending: list[UserBlock] = []
        self._news: list[News] = []
        self._halted: str | None = None
        self._is_to_pause = False
        self._stop_hook_blocks = 0
        self._counts = TurnCounts()
        self._cut_text = ""
        self._first_calls: tuple[ToolCall, ...] = ()
        self._environment = Environment(runtime)
        self._is_environment_due = False
        self._running: Sequence[str] = ()
        head = mode_prompt(runtime, call_format)
        request_retry = RequestRetry(runtime)
        gauge = Gauge(overhead_of(head.system, call_format.offered(head.specs)))
        self.context = Context(runtime, request_retry, gauge, lambda: self.todos)
        self.requester = Requester(runtime, call_format, head, request_retry, self.context)

    @cached_property
    def _executor(self) -> "ToolExecutor":
        # Imported with the first call: many prompts are answered without one.
        from robota.engine.calls.executor import ToolExecutor

        return ToolExecutor(self.runtime, self._handle)

    @cached_property
    def agents(self) -> "TaskAgents":
        """The agents that this task started."""
        from robota.engine.task.agents.task_agents import TaskAgents

        return TaskAgents(self, self._tree)

    @cached_property
    def _skills(self) -> "SkillPrompts":
        from robota.engine.task.skill_prompts import SkillPrompts

        return SkillPrompts(self.runtime, self._executor, self.subtasks.delegate)

    def restore_agents(self, replayed: "TaskFold") -> None:
        """Restore agents from the log, and report those whose results the task has not received."""
        from robota.log.kinds.agents import AgentsRecord

        record = replayed.newest.get(AgentsRecord)
        if (record is not None and self.runtime.services.agents is not None) or self._tree.agents is not None:
            self.agents.restore(record or AgentsRecord(task_id=self.runtime.task_id, agents=()))

    def set_permission_mode(self, mode: PermissionMode) -> None:
        """The session has another permission mode now."""
        self.runtime.permission_mode = mode

    def begin(self, first: UserInput) -> None:
        """Show the first input of the task, and queue it."""
        self.runtime.rows.say("text", first.as_typed, images=first.images or None)
        agent = None if self.runtime.is_subtask else self.runtime.options.agent
        if agent is not None and agent.initial_prompt and first.is_prompt and not first.is_command:
            first = msgspec.structs.replace(first, text=f"{agent.initial_prompt}\n\n{first.text}")
        self.add_input(first)

    async def begun(self, kind: str) -> None:
        """A turn of a subtask begins; `kind` is its mode, or its type as an agent."""
        await begin_agent(self, kind)

    def add_input(self, user_input: UserInput) -> None:
        """Queue input for the model's next turn. Prompts pass the UserPromptSubmit hooks first."""
        self._inputs.append(user_input)
        self._is_environment_due = True
        self.runtime.bus.emit(TaskUserMessage(task_id=self.runtime.task_id))

    def remind(self, text: str) -> None:
        """Add a `<system-reminder>` to the model's next turn; an empty text adds nothing."""
        if text:
            # It may quote the name of a file, which must not end the element.
            content = without_own_elements(text)
            self._pending.append(TextBlock(text=f"<system-reminder>\n{content}\n</system-reminder>"))

    def notify(self, news: News) -> None:
        """Tell the model with its next request; a task that waits for the next prompt makes one for it."""
        self._news.append(news)
        self.runtime.asks.wake(self.runtime.task_id, news)

    def forget_news(self, about: str) -> None:
        """Drop the waiting news about an agent, because the result of a call contains it."""
        self._news = [news for news in self._news if news.about != about]

    def context_update(self) -> ContextUpdate:
        """How full the context window is, with everything that fills it."""
        _, system, tools = self.requester.contents
        return self.context.update(system, tools)

    def condense_preview(self) -> CondensePreview | None:
        """What condensing would do to the conversation now; None if there is nothing to condense."""
        _, system, tools = self.requester.contents
        return self.context.preview(system, tools)

    def halt(self, reason: str) -> None:
        """Stop before the next model request and hand control to the user, because a hook wants that."""
        self._halted = reason

    def pause(self) -> None:
        """Stop before the next model request that is made while no subtask runs: nothing is cut off then."""
        self._is_to_pause = True

    def make_calls(self, calls: Sequence[ToolCall]) -> None:
        """Start with these calls of the last reply, which an earlier process left open."""
        self._first_calls = tuple(calls)

    async def work(self, begin: Callable[[], Awaitable[None]] | None = None) -> Ended:
        """Run the task to its end, and stop the subtasks that are left; `begin` is what comes before its first step."""
        async with self.subtasks:
            if begin is not None:
                await begin()
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
            case Halted(message):
                self.runtime.rows.say("error", message)
                if not self.runtime.is_root:
                    return Ended(Outcome.GIVEN_UP, message)
                return await self._wait_for_user(message if self.runtime.is_subtask else "")
            case HandBack(result):
                return await self._hand_back(result)
            case _:
                assert_never(step)

    async def _ask_model(self) -> Step:
        if self._counts.requests == self.runtime.options.own_requests:
            from robota.engine.task.limits import stopped_at_own_limit

            return await self._wait_for_user(stopped_at_own_limit(self.runtime, self._counts))
        if self.runtime.is_at_limit(self._counts):
            # Imported here because few tasks reach one.
            from robota.engine.task.limits import guidance_at_limit

            guidance = await guidance_at_limit(self.runtime, self._counts)
            if isinstance(guidance, Ended):
                return guidance
            if guidance is not None:
                self.add_feedback(guidance)
        has_input = await self._process_inputs()
        if self._halted is not None:
            from robota.engine.calls.call_stopped import halted_by_hook

            reason, self._halted = self._halted, None
            return Halted(halted_by_hook(reason))
        if not has_input and self._counts.requests == 0:
            return await self._wait_for_user("")
        return await self._request_reply()

    async def _request_reply(self) -> Step:
        self.remind(self.requester.state_changes())
        self.remind("" if self.runtime.budget is None else self.runtime.budget.reminder())
        await self._add_environment_details()
        self._send_pending()
        if self._is_to_pause and not self.subtasks.running:
            self._is_to_pause = False
            return Ended(Outcome.INTERRUPTED)
        self._counts.requests += 1
        self.runtime.meter.spent.requests += 1
        try:
            reply = await self.requester.reply()
        except AnsweredWithPrompt as prompt:
            self.add_feedback(input_from(prompt.answer))
            return AskModel()
        except (BudgetExhausted, RequestGivenUp) as failed:
            from robota.engine.task.limits import without_reply

            return await without_reply(self.runtime, failed)
        if reply.calls:
            self._cut_text = ""
            return RunCalls(reply.calls)
        return self._without_calls(reply)

    def _send_pending(self) -> None:
        """Add input for the model to the conversation. News count as delivered once they are in the log."""
        news, self._news = self._news, []
        self.runtime.history.add_user([*self._pending, *(TextBlock(text=each.text) for each in news)])
        self._pending.clear()
        for each in news:
            each.delivered()
        self.runtime.journal.sync_soon()

    async def _add_environment_details(self) -> None:
        details, replay = await self._environment_details(), self.runtime.services.replay_environment
        if details := details if replay is None else replay(details):
            self._pending.append(TextBlock(text=details))

    async def _environment_details(self) -> str:
        """What changed around the task, after user input or when a background process started or ended."""
        running = [process["id"] for process in self.runtime.background_tasks]
        is_due = self._is_environment_due or running != self._running
        if not (is_due and self.runtime.options.settings.environment.enabled):
            return ""
        self._is_environment_due, self._running = False, running
        return await self._environment.changes()

    def _without_calls(self, reply: Reply) -> Step:
        text = self._cut_text + reply.turn.text
        if reply.turn.stop_reason == "max_tokens":
            self._cut_text = text
            return self._correct(REPLY_CUT)
        if self._cut_text:
            self.runtime.rows.say("completion_result", text)
        self._cut_text = ""
        # A subtask that keeps answering in words has nothing else to give: they are its result.
        is_last = self._counts.mistakes + 1 == self.runtime.options.settings.mistake_limit
        is_result = self.runtime.is_subtask and is_last and bool(text.strip())
        if self.runtime.options.completion is Completion.EXPLICIT and not is_result:
            return self._correct(NO_TOOL_USED)
        self._counts.mistakes = 0
        return HandBack(text)

    def _correct(self, message: str) -> AskModel:
        self._counts.mistakes += 1
        self._pending.append(TextBlock(text=message))
        return AskModel()

    async def _run_calls(self, calls: Sequence[ToolCall]) -> Step:
        executed = await self._executor.run(calls)
        self.runtime.discard_resumed_answers()
        self._count_mistakes(executed)
        results = tuple(each.block for each in executed)
        self.runtime.history.add_user(results)
        self.runtime.bus.emit(TurnResults(task_id=self.runtime.task_id, results=results))
        self._add_touched_instructions(executed)
        completed = next((each.completion for each in executed if each.completion is not None), None)
        halted = next((each.ends_task for each in executed if each.ends_task is not None), None)
        if halted is not None:
            return Halted(halted)
        return AskModel() if completed is None else HandBack(completed)

    def _add_touched_instructions(self, executed: "Sequence[Executed]") -> None:
        """Add instruction files that apply to the files these calls touched, after their results."""
        instructions = self.runtime.services.instructions
        paths = [path for each in executed for path in each.touched]
        if instructions is not None and paths:
            self.remind(instructions.touched(self.runtime.task_id, self.runtime.mode, paths))

    def _count_mistakes(self, executed: "Sequence[Executed]") -> None:
        """Count a reply without a successful call as one mistake, however many calls it had."""
        if any(each.status == "success" for each in executed):
            self._counts.mistakes = 0
        elif any(each.is_mistake for each in executed):
            self._counts.mistakes += 1

    async def _hand_back(self, result: str) -> Step:
        if await self._is_blocked_by_stop_hook(result):
            return AskModel()
        if "agents" in vars(self) and (self.runtime.is_subtask or not self.runtime.options.launch.attended):
            await self.agents.until_news()  # nobody could start another turn for them
        return AskModel() if any(not news.may_wait for news in self._news) else await self._wait_for_user(result)

    async def _wait_for_user(self, result: str) -> Step:
        self.is_complete = True
        runtime, meter = self.runtime, self.runtime.meter
        runtime.bus.emit(
            TaskCompleted(
                task_id=runtime.task_id,
                token_usage=runtime.token_usage,
                tool_usage={name: dict(counts) for name, counts in meter.tools.items()},
                usage=meter.usage,
                is_subtask=runtime.is_subtask,
                result=result if runtime.is_root and runtime.is_subtask else "",
            )
        )
        runtime.journal.sync_soon()
        if not self.runtime.is_root:
            return Ended(Outcome.COMPLETED, result)
        if runtime.services.checkpoint is not None:
            await runtime.services.checkpoint.after_changes(runtime.task_id, runtime.warn)
        runtime.end_turn_rules()
        answer = await runtime.ask_for_prompt()
        while isinstance(answer, CondenseContext):
            await self.context.condense_now(answer.text or "")
            answer = await runtime.ask_for_prompt()
        if isinstance(answer, News):
            self._counts, self.is_complete = TurnCounts(), False
            return AskModel()
        if ends_task(CompletionAsk(), answer):
            return Ended(Outcome.COMPLETED, result)
        self.begin_turn(input_from(answer))
        return AskModel()

    async def _is_blocked_by_stop_hook(self, result: str) -> bool:
        """Whether a Stop hook wants the model to continue. Limited to `STOP_HOOK_LIMIT` times in a row."""
        event = HookEvent.SUBAGENT_STOP if self.runtime.is_subtask else HookEvent.STOP
        active = self._stop_hook_blocks > 0
        hook_result = await self.runtime.fire(
            event,
            self.runtime.agent_type or "",
            last_assistant_message=result,
            stop_hook_active=active,
            background_tasks=self.runtime.background_tasks,
            session_crons=[],
        )
        reminder = hook_result.blocked or hook_result.context
        if not reminder or hook_result.stopped is not None or self._stop_hook_blocks >= STOP_HOOK_LIMIT:
            self._stop_hook_blocks = 0
            return False
        self._stop_hook_blocks += 1
        self.remind(reminder)
        return True

    def begin_turn(self, user_input: UserInput) -> None:
        """Begin a new turn of the user with this input."""
        self._counts, self.is_complete = TurnCounts(), False
        self.runtime.meter.spent.requests = 0
        if "_executor" in vars(self):  # else no call was made yet
            self._executor.begin_turn()
        self.add_feedback(user_input)

    def add_feedback(self, user_input: UserInput) -> None:
        """Show the input as a row of the conversation and queue it for the next request."""
        self.runtime.rows.say("user_feedback", user_input.as_typed, images=user_input.images or None)
        self.add_input(user_input)

    async def _process_inputs(self) -> bool:
        """Process the input queued since the last request.

        False if the model has nothing to answer: hooks refused every prompt, or there were only shell commands.
        """
        while (queued := self.runtime.queue.take(self.runtime.queue_id)) is not None:
            self.add_feedback(input_from(queued))
        inputs, self._inputs = self._inputs, []
        only_commands = all(each.is_command or each.is_carried_out for each in inputs)
        sent = [await self._process_input(each) for each in inputs]
        return not sent or any(sent) or (self.runtime.history.awaits_reply and not only_commands)

    async def _process_input(self, user_input: UserInput) -> bool:
        """Run hooks on a prompt and expand it, or run a shell command. Whether the model has something to answer."""
        if user_input.is_carried_out:
            return False
        if user_input.is_command:
            output = await self._skills.run_shell_command(user_input.text)
            self.runtime.history.add_user([TextBlock(text=output)])
            return False
        hook_result = await self._fire_prompt_hooks(user_input)
        if hook_result.stopped is not None:
            self.halt(hook_result.stopped)
            return False
        if hook_result.blocked is not None:
            self.runtime.rows.say("error", f"The prompt was not sent: {hook_result.blocked}")
            return False
        text, images = user_input.text, tuple(image_blocks(user_input.images))
        if user_input.is_prompt and ("@" in text or text.lstrip().startswith("/")):
            content = await self._skills.expand(text)
            if content is None:
                return False
            text, images = content.text, (*images, *(ImageBlock(source=each) for each in content.images))
        self._pending.extend(images)
        if text:
            self._pending.append(TextBlock(text=text))
        self.remind(hook_result.context)
        if user_input.is_prompt:
            self._add_memories(user_input.text)
        return True

    def _add_memories(self, prompt: str) -> None:
        """Add memory entries that fit the prompt, and note what the user wants remembered."""
        if (memory := self.runtime.services.memory) is None:
            return
        recollection = memory.recall(self.runtime.task_id, prompt, self.runtime.rows.newest_ts)
        self.remind(recollection.reminder)
        for notice in recollection.notices:
            self.runtime.bus.emit(Notice(level="info", text=notice))
        for warning in recollection.warnings:
            self.runtime.warn(warning)

    def _propose_memory(self, proposed: Remember) -> ToolResult:
        if (memory := self.runtime.services.memory) is None:
            return ToolResult(content="Memory is not available here. Continue without it.", is_error=True)
        return memory.propose(proposed.kind, proposed.topic, proposed.text, self.runtime.rows.newest_ts)

    async def _fire_prompt_hooks(self, user_input: UserInput) -> HookResult:
        if not user_input.is_prompt:
            return EMPTY_HOOK_RESULT
        self.runtime.prompt_id = f"prompt-{self.runtime.journal.next_ts()}"
        return await self.runtime.fire(HookEvent.USER_PROMPT_SUBMIT, prompt=user_input.text)

    async def _handle(self, control: Control, call: ToolCall) -> ToolResult:
        """Do what a tool asked of the engine."""
        match control:
            case Question():
                from robota.engine.task.question import ask_question

                return await ask_question(self.runtime, control.asked, call)
            case Plan():
                return await self._replace_todos(control.todos)
            case Delegate() | ChangeMode():
                from robota.engine.task.mode_requests import handle_mode_request

                return await handle_mode_request(self, control, call)
            case AgentControl():
                return await self.agents.handle(control, call.id)
            case PresentPlan():
                from robota.engine.task.presented_plan import present_plan

                return await present_plan(self.runtime, control, call, self._tree.submit)
            case UseSkill():
                return await self._skills.use(control)
            case Remember():
                return self._propose_memory(control)
            case Complete():
                self.runtime.rows.say("completion_result", control.result, call_id=call.id)
                return ToolResult(content="The task is complete.", control=control)
            case _:
                assert_never(control)

    async def _replace_todos(self, todos: tuple[TodoItem, ...]) -> ToolResult:
        from robota.engine.task.todo_hooks import refused_completion

        refused = await refused_completion(self.runtime, self.todos, todos)
        if refused is not None:
            return refused
        self.todos = todos
        self.runtime.journal.write(TodosRecord(task_id=self.runtime.task_id, todos=todos))
        self.runtime.bus.emit(TodosUpdated(task_id=self.runtime.task_id, todos=todos))
        return ToolResult(content="Todo list updated successfully.")
