"""The skills of one session: told to the model, and put in place of the prompts that name them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.contracts.knowledge import CallTool, ExpandedPrompt, PromptNotSent, SubtaskWanted
from robota.contracts.tool import ToolResult
from robota.knowledge.skills.discovery import SkillFinder
from robota.knowledge.skills.skill import Skill, SkillContext, SkillKind, SkillScope
from robota.protocol.slash_commands import CommandSource, SlashCommandInfo, typed_command
from robota.protocol.views import TerminalView

if TYPE_CHECKING:
    from robota.knowledge.skills.template import FilledTemplate

# Names and beginnings of descriptions have to do where there are very many skills.
SECTION_CHARACTERS: Final = 12_000
SHORTEST_DESCRIPTION: Final = 60
OWNERS: Final = {
    SkillScope.PROJECT: CommandSource.PROJECT,
    SkillScope.USER: CommandSource.USER,
    SkillScope.PLUGIN: CommandSource.PLUGIN,
}


class SessionKnowledge:
    """A `KnowledgeService` over the skills that are found."""

    def __init__(
        self,
        finder: SkillFinder,
        shell_tool: str,
        variables: Callable[[Skill], Mapping[str, str]],
        refresh: Callable[[], tuple[str, ...]] = lambda: (),
    ) -> None:
        """`variables` gives what may be put into the text of a skill.

        `refresh` looks whether files changed, when a person may want one, and says what they should know of it.
        """
        self._finder = finder
        self._shell_tool = shell_tool
        self._variables = variables
        self._refresh = refresh

    @property
    def is_in_prompt(self) -> bool:
        return True

    @property
    def prompt_section(self) -> str:
        skills = [skill for skill in self._finder.library().reachable if skill.for_model]
        if not skills:
            return ""
        room = max(SHORTEST_DESCRIPTION, SECTION_CHARACTERS // len(skills))
        listed = "\n".join(f"- {skill.name}: {_described(skill)[:room]}" for skill in skills)
        return (
            "# Skills\n\nInstructions for special kinds of work. When a task fits one, call the skill tool with its "
            f"name first and follow what it says.\n\n{listed}"
        )

    def commands(self) -> Sequence[SlashCommandInfo]:
        self._refresh()
        library = self._finder.library()
        return tuple(_info(skill, library.other_names(skill)) for skill in library.reachable if skill.for_person)

    async def expand(self, prompt: str, call: CallTool) -> ExpandedPrompt | None:
        typed = typed_command(prompt)
        notices = () if typed is None else self._refresh()
        skill = None if typed is None else self._finder.library().named(typed.name)
        if typed is None or skill is None or not skill.for_person:
            return None
        written = await self._written(skill, typed.arguments, call)
        # Only a person's own word grants rules: a model could otherwise help itself to them.
        return ExpandedPrompt(
            text=written.text,
            mentioning=written.mentioning if skill.kind is SkillKind.COMMAND else "",
            rules=skill.allowed_tools,
            denied=skill.disallowed_tools,
            subtask=_subtask(skill),
            notices=notices,
        )

    async def skill(self, name: str, arguments: str, call: CallTool) -> ExpandedPrompt:
        library = self._finder.library()
        skill = library.named(name.removeprefix("/"))
        if skill is None or not skill.for_model:
            known = ", ".join(each.name for each in library.reachable if each.for_model) or "none"
            raise PromptNotSent(f"There is no skill {name!r}. Skills: {known}.")
        written = await self._written(skill, arguments, call)
        return ExpandedPrompt(text=written.text, denied=skill.disallowed_tools, subtask=_subtask(skill))

    async def _written(self, skill: Skill, arguments: str, call: CallTool) -> "FilledTemplate":
        # Loaded with the first skill that is used.
        from robota.knowledge.skills.template import FilledTemplate, Values, fill
        from robota.workspace.shell.quoting import CannotQuote

        async def run(command: str) -> str:
            return _printed(await call(self._shell_tool, {"command": command}))

        values = Values(typed=arguments, names=skill.arguments, variables=self._variables(skill))
        try:
            filled = await fill(self._finder.template(skill), values, run)
        except CannotQuote as error:
            raise PromptNotSent(f"in a command of {skill.name}, {error}. Nothing was run.") from error
        directory = Path(skill.path).parent
        text = f'<skill name="{skill.name}" directory="{directory}">\n{filled.text.strip()}\n</skill>'
        return FilledTemplate(text=text, mentioning=filled.mentioning)


def _info(skill: Skill, other_names: tuple[str, ...]) -> SlashCommandInfo:
    return SlashCommandInfo(
        name=skill.name,
        description=skill.description,
        source=CommandSource.SKILL if skill.kind is SkillKind.SKILL and not skill.plugin else OWNERS[skill.scope],
        aliases=other_names,
        argument_hint=skill.argument_hint or " ".join(f"[{name}]" for name in skill.arguments),
        needs_model=True,
        model_may_call=skill.for_model,
    )


def _printed(result: ToolResult) -> str:
    """What a command printed, without its last line ends; of one that failed also how it ended."""
    if isinstance(result.view, TerminalView) and result.view.exit_code == 0:
        return result.view.output.rstrip("\n")
    return result.content


def _described(skill: Skill) -> str:
    return f"{skill.description} {skill.when_to_use}".strip()


def _subtask(skill: Skill) -> SubtaskWanted | None:
    if skill.context is not SkillContext.FORK:
        return None
    return SubtaskWanted(model=skill.model, max_requests=skill.max_turns)
