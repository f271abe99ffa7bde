"""Prompts that name a skill: what the model is told instead, and the calls that the text of a skill contains."""

from collections.abc import Awaitable, Callable
from typing import Any

from robota.contracts.knowledge import ExpandedPrompt, PromptNotSent
from robota.contracts.tool import Delegate, ToolCall, ToolResult, UseSkill
from robota.engine.calls.executor import ToolExecutor
from robota.engine.runtime.task_runtime import TaskRuntime

NO_SKILLS = ToolResult(content="There are no skills here.", is_error=True)


class SkillPrompts:
    """Puts skills in place of the prompts and calls that name them."""

    def __init__(
        self, runtime: TaskRuntime, executor: ToolExecutor, delegate: Callable[[Delegate], Awaitable[str]]
    ) -> None:
        self._runtime = runtime
        self._executor = executor
        self._delegate = delegate

    async def told(self, prompt: str) -> str | None:
        """What the model is told of a prompt; None if a call in it was not allowed, as the person then reads."""
        knowledge = self._runtime.services.knowledge
        try:
            expanded = None if knowledge is None else await knowledge.expand(prompt, self._call)
        except PromptNotSent as problem:
            self._runtime.rows.say("error", f"The prompt was not sent: {problem}")
            return None
        if expanded is None:
            return prompt
        if expanded.subtask is None:
            self._runtime.turn_grants.extend(expanded.rules)
            return expanded.text
        answer = await self._in_subtask(expanded)
        return f"{prompt}\n\nThis ran as a task of its own. The user has not seen its result:\n\n{answer}"

    async def use(self, wanted: UseSkill) -> ToolResult:
        """The instructions of a skill that the model called for, or the answer of the task that followed them."""
        knowledge = self._runtime.services.knowledge
        if knowledge is None:
            return NO_SKILLS
        try:
            skill = await knowledge.skill(wanted.name, wanted.arguments, self._call)
        except PromptNotSent as problem:
            return ToolResult(content=str(problem), is_error=True)
        return ToolResult(content=skill.text if skill.subtask is None else await self._in_subtask(skill))

    async def _in_subtask(self, prompt: ExpandedPrompt) -> str:
        wanted = prompt.subtask
        assert wanted is not None
        return await self._delegate(
            Delegate(mode=self._runtime.mode, message=prompt.text, model=wanted.model, max_requests=wanted.max_requests)
        )

    async def _call(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        """A call that the text of a skill contains, made like one of the model's."""
        call = ToolCall(id=f"prompt_{self._runtime.journal.next_ts()}", name=tool, input=arguments)
        [executed] = await self._executor.run([call])
        if executed.status == "denied":
            raise PromptNotSent(f"it contains a call that was not allowed: {executed.reason or ''}".rstrip(": "))
        return executed.result
