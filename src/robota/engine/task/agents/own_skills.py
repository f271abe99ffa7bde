"""The skills that the definition of an agent names: it gets their instructions with its first task."""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from robota.contracts.knowledge import PromptNotSent
from robota.contracts.tool import ToolCall, ToolResult
from robota.engine.calls.executor import ToolExecutor
from robota.engine.calls.single_call import refuse_control

if TYPE_CHECKING:
    from robota.engine.task.task import Task

MISSING: Final = "The skill {} of the agent {} was not loaded: {}"
NO_SKILLS: Final = "this session has no skills"
IS_FORK: Final = "it runs in a subtask of its own"


async def load_own_skills(task: "Task") -> None:
    """Add the instructions of its skills to what the model gets next. What they forbid is forbidden."""
    runtime, knowledge = task.runtime, task.runtime.services.knowledge
    definition = None if runtime.agent is None else runtime.agent.definition
    for name in () if definition is None else definition.skills:
        problem = NO_SKILLS
        if knowledge is not None:
            try:
                skill = await knowledge.skill(name, "", partial(_call, task))
            except PromptNotSent as error:
                problem = str(error)
            else:
                problem = "" if skill.subtask is None else IS_FORK
                if not problem:
                    runtime.turn_denials.extend(skill.denied)
                    task.remind(skill.text)
        if problem and definition is not None:
            runtime.warn(MISSING.format(name, definition.name, problem))


async def _call(task: "Task", tool: str, arguments: dict[str, Any]) -> ToolResult:
    """Make a call that the text of a skill contains."""
    runtime = task.runtime
    call = ToolCall(id=f"prompt_{runtime.journal.next_ts()}", name=tool, input=arguments)
    [executed] = await ToolExecutor(runtime, refuse_control).run([call])
    if executed.status == "denied":
        raise PromptNotSent(f"a call that it needs was not allowed: {executed.reason or ''}".rstrip(": "))
    return executed.result
