"""The services that a replay takes from the recording instead of the settings of today."""

from collections.abc import Collection, Mapping, Sequence

from robota.contracts.knowledge import InstructionService
from robota.contracts.services import ModeService
from robota.contracts.tool import AnyTool, Touches
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.protocol.permission_mode import PermissionMode


class AllowsRecordedCalls:
    """A `PolicyService` that allows everything: calls that were refused get their recorded result and do not run."""

    def judge(
        self, subject: Subject, mode: PermissionMode, grants: Sequence[str], denials: Sequence[str] = ()
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
