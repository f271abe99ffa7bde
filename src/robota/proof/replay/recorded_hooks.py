"""Stand-ins for hooks, the intent context and skills, which return what is in the recording."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from robota.contracts.hook import HookContext, HookEvent, HookResult
from robota.contracts.knowledge import CallTool, ExpandedPrompt, PromptNotSent, SubtaskWanted
from robota.contracts.tool import AnyTool, ToolCall
from robota.contracts.verdict import Verdict
from robota.protocol.slash_commands import SlashCommandInfo

NOTHING: Final = HookResult()


class RecordedHooks:
    """`LifecycleHooks` that block a stop where the recording did: `blocked_stops`, texts by number of replies."""

    def __init__(self, blocked_stops: Mapping[int, str], reply_count: Callable[[], int]) -> None:
        self._blocked_stops = blocked_stops
        self._reply_count = reply_count

    async def fire(
        self, event: HookEvent, target: str = "", *, context: HookContext | None = None, **fields: Any
    ) -> HookResult:
        if event not in (HookEvent.STOP, HookEvent.SUBAGENT_STOP):
            return NOTHING
        return HookResult(blocked=self._blocked_stops.get(self._reply_count()))

    async def permission(self, tool: AnyTool, call: ToolCall, verdict: Verdict, context: HookContext) -> HookResult:
        return NOTHING

    async def close(self) -> None:
        """Nothing to close."""


class RecordedContext:
    """A `ContextKeeper` that repeats the recorded `intent_reminders`, which are keyed by number of replies."""

    def __init__(self, intent_reminders: Mapping[int, str], reply_count: Callable[[], int]) -> None:
        self._intent_reminders = intent_reminders
        self._reply_count = reply_count

    def prompt_section(self) -> str:
        """Empty: the recorded system prompt contains it."""
        return ""

    def after_shortening(self, task_id: str) -> str:
        return self._intent_reminders.get(self._reply_count(), "")


class RecordedKnowledge:
    """A `KnowledgeService` for prompts and skills that ran as subtasks: `forks`, by typed text or name of the skill."""

    is_in_prompt = False
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
