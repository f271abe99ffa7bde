"""The services that a replay takes from the recording instead of the settings of today."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from robota.contracts.agent import AgentDefinition
from robota.contracts.hook import HookContext, HookEvent, HookResult
from robota.contracts.knowledge import CallTool, ExpandedPrompt, InstructionService, PromptNotSent, SubtaskWanted
from robota.contracts.services import ModeService
from robota.contracts.tool import AnyTool, ToolCall, Touches
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.engine.runtime.agent_service import AgentLog, AgentService
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.slash_commands import SlashCommandInfo
from robota.workspace.confinement import Confinement


class AllowsRecordedCalls:
    """A `PolicyService` that allows everything: calls that were refused get their recorded result and do not run."""

    def judge(
        self,
        subject: Subject,
        mode: PermissionMode,
        grants: Sequence[str],
        denials: Sequence[str] = (),
        confinement: Confinement | None = None,
    ) -> Verdict:
        return Verdict(decision=Decision.ALLOW, reason="It runs again in a separate directory.")

    def decline(self, verdict: Verdict, subject: Subject) -> Verdict:
        return verdict

    def remember(self, scope: str, rules: Sequence[str]) -> str:
        return ""


class RecordedModes:
    """A `ModeService` that also has the modes of the recording; those that no longer exist allow every tool."""

    def __init__(self, modes: ModeService, recorded: Collection[str]) -> None:
        self._modes = modes
        self.roles: Mapping[str, str] = {**dict.fromkeys(recorded, ""), **modes.roles}
        self.uses: Mapping[str, str] = modes.uses

    def allows(self, tool: AnyTool, mode: str, touches: Touches | None) -> str | None:
        return self._modes.allows(tool, mode, touches) if mode in self._modes.roles else None

    def goes_beyond(self, mode: str, other: str) -> bool:
        return False


class RecordedSystemPrompt:
    """An `InstructionService` with the recorded system prompt, and today's instructions for touched files."""

    def __init__(self, systems: Mapping[str, str], today: InstructionService) -> None:
        self._systems = systems
        self._today = today

    def prompt_section(self, mode: str) -> str:
        return self._systems.get(mode, next(iter(self._systems.values()), ""))

    def touched(self, task_id: str, mode: str, paths: Sequence[str]) -> str:
        return self._today.touched(task_id, mode, paths)


class RecordedAgents:
    """An `AgentService` that starts nothing: what agents reported is in the recording, and so is the list of them.

    A prompt may mention those that there are today.
    """

    max_depth = sys.maxsize
    max_running = 1
    idle_s = 0.0

    def __init__(self, today: AgentService | None) -> None:
        self._today = today

    def find(self, name: str) -> AgentDefinition | None:
        return None if self._today is None else self._today.find(name)

    def definitions(self) -> Sequence[AgentDefinition]:
        return ()

    def model_named(self, name: str) -> str | None:
        return None

    def open_log(self, agent_id: str) -> AgentLog:
        raise AssertionError(agent_id)


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
