"""What hooks and skills of a recording said, said again."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from robota.contracts.hook import HookContext, HookEvent, HookResult
from robota.contracts.knowledge import CallTool, ExpandedPrompt, PromptNotSent, SubtaskWanted
from robota.contracts.tool import AnyTool, ToolCall
from robota.contracts.verdict import Verdict
from robota.protocol.slash_commands import SlashCommandInfo

NOTHING: Final = HookResult()


class RecordedHooks:
    """`LifecycleHooks` that send the model back to work where hooks did so: `held_back` by the number of replies."""

    def __init__(self, held_back: Mapping[int, str], given: Callable[[], int]) -> None:
        self._held_back = held_back
        self._given = given

    async def fire(
        self, event: HookEvent, target: str = "", *, context: HookContext | None = None, **fields: Any
    ) -> HookResult:
        if event not in (HookEvent.STOP, HookEvent.SUBAGENT_STOP):
            return NOTHING
        return HookResult(blocked=self._held_back.get(self._given()))

    async def permission(self, tool: AnyTool, call: ToolCall, verdict: Verdict, context: HookContext) -> HookResult:
        return NOTHING

    async def close(self) -> None:
        """Nothing runs."""


class RecordedContext:
    """A `ContextKeeper` that tells the intent again where it was told: `told_again` by the number of replies."""

    def __init__(self, told_again: Mapping[int, str], given: Callable[[], int]) -> None:
        self._told_again = told_again
        self._given = given

    def prompt_section(self) -> str:
        """It is a part of the recorded system prompt."""
        return ""

    def after_shortening(self, task_id: str) -> str:
        return self._told_again.get(self._given(), "")


class RecordedKnowledge:
    """A `KnowledgeService` that knows what ran as tasks of their own: `forks`, by what was typed or by the skill."""

    is_told = False
    prompt_section = ""

    def __init__(self, forks: Mapping[str, str]) -> None:
        self._forks = forks

    def commands(self) -> Sequence[SlashCommandInfo]:
        return ()

    async def expand(self, prompt: str, call: CallTool) -> ExpandedPrompt | None:
        text = self._forks.get(prompt)
        return None if text is None else ExpandedPrompt(text=text, subtask=SubtaskWanted())

    async def skill(self, name: str, arguments: str, call: CallTool) -> ExpandedPrompt:
        text = self._forks.get(name)
        if text is None:
            raise PromptNotSent(f"The recording does not say what {name} is.")
        return ExpandedPrompt(text=text, subtask=SubtaskWanted())
