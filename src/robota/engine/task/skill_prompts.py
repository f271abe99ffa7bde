"""Expands prompts that name a skill, mention files or run a shell command, with the tool calls this takes."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import msgspec

from robota.config.launch_options import PromptAuthor
from robota.contracts.hook import HookEvent
from robota.contracts.knowledge import (
    CallTool,
    ExpandedPrompt,
    KnowledgeService,
    MentionedText,
    PromptHalted,
    PromptNotSent,
    SubtaskWanted,
)
from robota.contracts.tool import Delegate, ToolCall, ToolResult, ToolRole, UseSkill, names_with_role
from robota.engine.calls.executor import Executed, ToolExecutor
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.engine.task.agents.mentioned import reminder_of_agents
from robota.protocol.conversation import ImageSource, TextBlock
from robota.protocol.events import Notice
from robota.protocol.slash_commands import typed_command

IMAGES_LEFT_OUT = "Mentioned images are not shown to a separate task."
NOTHING_MENTIONED = MentionedText()
RUN_BY_USER = "The user ran a command themselves. Do nothing about it unless they ask."
NO_SKILLS = ToolResult(content="There are no skills here. Continue without one.", is_error=True)
REVIEW: Final = """\
Review the changes in this working tree. Do not change any file.

- Find out with git what changed: the status, then unstaged and staged changes. If there are none, review the commits \
that this branch has and the main branch lacks.
- Read the code around each change, not only the lines of the diff.
- Report problems, the most serious first: wrong behaviour, lost data, security, races, unhandled failures, and tests \
that are missing or cannot fail.
- For each problem give `path:line`, what happens and when, and how to fix it. Leave out matters of taste.
- If nothing is wrong, say so and say what you looked at."""
INIT: Final = """\
Write AGENTS.md in the root of this project: what a coding agent must know to work here. If it exists, keep what it \
says, correct what is outdated, and add what is missing.

First look at the project:
- The README, the build, the commands for tests, linters and a single test, the directories, the configuration of \
tools, recent commits. Take commands only from files that name them. Run none that changes anything.
- Instructions for other agents: CLAUDE.md, GEMINI.md, .cursor/rules, .cursorrules, .clinerules, .windsurfrules, \
.github/copilot-instructions.md. Use what is still true, say which files you used, and do not change them.

Then write:
- What the project is, in two sentences.
- The commands, exactly as typed.
- How the parts fit together, where one file alone does not show it.
- Conventions that differ from common practice, and what must not be touched.

Leave out what is obvious from the files, and general advice. Invent nothing. At most 100 lines of plain Markdown."""
PROMPTS: Final = {"init": INIT, "review": REVIEW}


class PromptContent(msgspec.Struct, frozen=True):
    """The text that the model gets for a prompt, and the images that the prompt mentions."""

    text: str
    images: tuple[ImageSource, ...] = ()


class CommandKind(msgspec.Struct, frozen=True):
    """Inform hooks of a command that expands to a prompt."""

    expansion_type: str
    source: str


class SkillPrompts:
    """Replaces prompts and calls that name a skill with its instructions, and adds what prompts mention."""

    def __init__(
        self, runtime: TaskRuntime, executor: ToolExecutor, delegate: Callable[[Delegate], Awaitable[ToolResult]]
    ) -> None:
        self._runtime = runtime
        self._executor = executor
        self._delegate = delegate

    async def expand(self, prompt: str) -> PromptContent | None:
        """The prompt as the model gets it; None if a call that it needs was denied, which is shown to the user."""
        knowledge, prompts = self._runtime.services.knowledge, self._runtime.services.prompts
        call = partial(self._call, self._executor.for_prompt())
        built_in = _built_in_prompt(prompt)
        try:
            context = await self._fire_expansion(prompt)
            expanded = None if built_in is None else ExpandedPrompt(text=built_in)
            if expanded is None and knowledge is not None:
                expanded = await self._expanded_by_skill(knowledge, prompt, call)
            if expanded is None and prompts is not None:
                expanded = await prompts.expand(prompt)
            mentioned = await self._mentioned(
                prompt if expanded is None else f"{prompt}\n{expanded.mention_source}", call
            )
        except PromptNotSent as problem:
            self._runtime.rows.say("error", f"The prompt was not sent: {problem}")
            return None
        for notice in () if expanded is None else expanded.notices:
            self._runtime.bus.emit(Notice(level="warning", text=notice))
        text = prompt if expanded is None else expanded.text
        agents = reminder_of_agents(prompt, self._runtime.services.agents)
        text = "\n\n".join(part for part in (text, mentioned.text, context, agents) if part)
        if expanded is None or expanded.subtask is None:
            self._runtime.turn_grants.extend(() if expanded is None else expanded.rules)
            self._runtime.turn_denials.extend(() if expanded is None else expanded.denied)
            self._runtime.turn_model = None if expanded is None else expanded.model
            return PromptContent(text, mentioned.images)
        if mentioned.images:
            self._runtime.bus.emit(Notice(level="warning", text=IMAGES_LEFT_OUT))
        answer = (await self._in_subtask(text, expanded, expanded.subtask)).content
        return PromptContent(
            f"{prompt}\n\nThis ran as a task of its own. The user has not seen its result:\n\n{answer}"
        )

    async def _fire_expansion(self, prompt: str) -> str:
        """Run the hooks for a prompt that names a command; returns context for the model. Raises `PromptNotSent`."""
        typed, hooks = typed_command(prompt), self._runtime.services.hooks.lifecycle
        if typed is None or hooks is None:
            return ""
        kind = self._command_kind(typed.name)
        if kind is None:
            return ""
        result = await self._runtime.fire(
            HookEvent.USER_PROMPT_EXPANSION,
            typed.name,
            expansion_type=kind.expansion_type,
            command_name=typed.name,
            command_args=typed.arguments,
            command_source=kind.source,
            prompt=prompt,
        )
        if result.stopped is not None or result.blocked is not None:
            raise PromptNotSent(result.stopped or result.blocked or "")
        return f"<hook>\n{result.context}\n</hook>" if result.context else ""

    def _command_kind(self, name: str) -> "CommandKind | None":
        """What a command is that a prompt names; None if it is none that expands to a prompt."""
        services = self._runtime.services
        if name in PROMPTS:
            return CommandKind("slash_command", "built-in")
        for service, kind in ((services.knowledge, "slash_command"), (services.prompts, "mcp_prompt")):
            for each in () if service is None else service.commands():
                if name in (each.name, *each.aliases):
                    return CommandKind(kind, each.source)
        return None

    async def run_shell_command(self, command: str) -> str:
        """Run a shell command that the user typed, without asking for approval; the text for the model."""
        [shell] = names_with_role(self._runtime.services.tools.all, ToolRole.SHELL)
        call = ToolCall(id=self._call_id(), name=shell, input={"command": command})
        if not self._runtime.queue.is_from_log(command):
            self._runtime.typed_calls.add(call.id)
        executor = self._executor.for_prompt()
        try:
            [executed] = await executor.run([call])
        except asyncio.CancelledError:
            if call.id in executor.cut_off:
                told = _shell_command_text(command, executor.cut_off[call.id])
                self._runtime.history.add_user([TextBlock(text=told)])
            raise
        return _shell_command_text(command, executed)

    async def use(self, request: UseSkill) -> ToolResult:
        """The instructions of a skill that the model called, or the result of the subtask that followed them."""
        knowledge = self._runtime.services.knowledge
        if knowledge is None:
            return NO_SKILLS
        try:
            skill = await knowledge.skill(request.name, request.arguments, partial(self._call, self._executor))
        except PromptNotSent as problem:
            return ToolResult(content=str(problem), is_error=True)
        if skill.subtask is None:
            self._runtime.turn_denials.extend(skill.denied)
            return ToolResult(content=skill.text)
        return await self._in_subtask(skill.text, skill, skill.subtask)

    async def _in_subtask(self, text: str, skill: ExpandedPrompt, how: SubtaskWanted) -> ToolResult:
        return await self._delegate(
            Delegate(
                mode=self._runtime.mode,
                message=text,
                model=how.model,
                own_requests=how.max_requests,
                may_answer_in_words=True,
                denied=skill.denied,
            )
        )

    async def _expanded_by_skill(
        self, knowledge: KnowledgeService, prompt: str, call: CallTool
    ) -> ExpandedPrompt | None:
        """The skill that the prompt names. Where anybody may have written it, it gets no more than the model would."""
        if self._runtime.options.launch.prompt_author is PromptAuthor.USER:
            return await knowledge.expand(prompt, call)
        typed = typed_command(prompt)
        names = (name for each in knowledge.commands() if each.model_may_call for name in (each.name, *each.aliases))
        if typed is None or typed.name not in names:
            return None
        return await knowledge.skill(typed.name, typed.arguments, call)

    async def _mentioned(self, prompt: str, call: CallTool) -> MentionedText:
        """The text and images for `@` mentions of a prompt."""
        expand = self._runtime.services.mentions
        if expand is None or "@" not in prompt:
            return NOTHING_MENTIONED
        mentioned = await expand(prompt, self._runtime.services.files, call)
        for notice in mentioned.notices:
            self._runtime.bus.emit(Notice(level="warning", text=notice))
        return mentioned

    async def _call(self, executor: ToolExecutor, tool: str, arguments: dict[str, Any]) -> ToolResult:
        """Run a call that a prompt or a skill contains, through the same stages as a call of the model."""
        call = ToolCall(id=self._call_id(), name=tool, input=arguments)
        [executed] = await executor.run([call])
        if executed.ends_task is not None:
            raise PromptHalted(executed.ends_task)
        if executed.status == "denied":
            told, _, _ = executed.result.content.partition("\n")
            why = f"a call that it needs was not allowed: {executed.reason or ''}".rstrip(": ")
            raise PromptNotSent(why, for_model=f"a call that it needs was not allowed. {told}")
        return executed.result

    def _call_id(self) -> str:
        return f"prompt_{self._runtime.journal.next_ts()}"


def _shell_command_text(command: str, executed: Executed) -> str:
    """The text for the model about a command that the user ran."""
    output = executed.result.content if executed.status != "denied" else f"It was not run: {executed.reason}"
    return f"{RUN_BY_USER}\n<command>\n{command}\n</command>\n<output>\n{output}\n</output>"


def _built_in_prompt(line: str) -> str | None:
    """The prompt for a line such as `/review` with its arguments as emphasis; None for any other line."""
    typed = typed_command(line)
    prompt = None if typed is None else PROMPTS.get(typed.name)
    if typed is None or prompt is None:
        return None
    return f"{prompt}\n\nAbove all: {typed.arguments}" if typed.arguments else prompt
