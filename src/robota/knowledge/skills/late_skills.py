"""The skills of a session that started without any: searched again when a command is typed."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from robota.contracts.knowledge import CallTool, ExpandedPrompt, KnowledgeService, PromptNotSent
from robota.protocol.slash_commands import SlashCommandInfo


class LateSkills:
    """A `KnowledgeService`. Skills are not added to the system prompt, which must not change."""

    def __init__(self, directories: Iterable[Path], find: Callable[[], KnowledgeService | None]) -> None:
        """`find` returns the skills, if there are any now; it is called when one of the `directories` has changed."""
        self._directories = tuple(directories)
        self._find = find
        self._found: KnowledgeService | None = None
        self._last_change_times = self._change_times()

    @property
    def is_in_prompt(self) -> bool:
        return False

    @property
    def prompt_section(self) -> str:
        return ""

    def commands(self) -> Sequence[SlashCommandInfo]:
        skills = self._skills()
        return () if skills is None else skills.commands()

    async def expand(self, prompt: str, call: CallTool) -> ExpandedPrompt | None:
        skills = self._skills()
        return None if skills is None else await skills.expand(prompt, call)

    async def skill(self, name: str, arguments: str, call: CallTool) -> ExpandedPrompt:
        raise PromptNotSent("There were no skills when this session started.")

    def _skills(self) -> KnowledgeService | None:
        if self._found is None and (times := self._change_times()) != self._last_change_times:
            self._last_change_times = times
            self._found = self._find()
        return self._found

    def _change_times(self) -> tuple[int, ...]:
        return tuple(map(_changed_ns, self._directories))


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_ctime_ns
    except OSError:
        return 0
