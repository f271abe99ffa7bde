"""The system prompt. Built once per mode of a task and then left alone, so that the provider's prompt cache holds."""

import os
import sys
from datetime import date
from pathlib import Path
from typing import Final

import msgspec

from robota.config.settings.schema import Completion
from robota.contracts.services import ModeService
from robota.engine.model.reply import CallFormat
from robota.engine.runtime.options import Options
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.calls import CallPurpose
from robota.providers.chunks import ToolSpec

ENDING: Final = {
    Completion.IMPLICIT: "When the task is done, or when you need the person, reply without calling a tool. "
    "That reply is your answer.",
    Completion.EXPLICIT: "Every reply must call a tool. When the task is done, call attempt_completion with the "
    "result; if you need the person, call ask_followup_question.",
}

# Begins the lines of the template that an output style takes the place of, unless it keeps them.
FOR_CODING: Final = "-! "

NO_TOOL_USED: Final = (
    "[ERROR] You did not use a tool in your previous response. Please call a tool now: attempt_completion if the task "
    "is done, ask_followup_question if you need more from the user, otherwise the tool for the next step. "
    "(This is an automated message; do not answer it in words.)"
)

REPLY_CUT: Final = (
    "[Your reply was cut at the output limit. Go on exactly where it stopped; repeat nothing. A tool call that was cut "
    "must be written again in full, in smaller pieces if it is long.]"
)


class ModePrompt(msgspec.Struct, frozen=True, kw_only=True):
    """What goes with every request of a task while it is in a mode: the system prompt, and the tools of the mode."""

    mode: str
    system: str
    specs: tuple[ToolSpec, ...]


def mode_prompt(runtime: TaskRuntime, call_format: CallFormat) -> ModePrompt:
    """For the mode that the task is in now."""
    services, options = runtime.services, runtime.options
    modes = services.modes
    specs = _offered(runtime)
    own = options.launch.system_prompt
    base = own if own is not None else _default(options, runtime.mode, modes)
    skills = "" if services.knowledge is None else services.knowledge.prompt_section
    instruction_section = "" if services.instructions is None else services.instructions.prompt_section(runtime.mode)
    memory_section = "" if services.memory is None else services.memory.prompt_section(runtime.task_id)
    hook_section = "" if services.hooks.context is None else services.hooks.context.prompt_section()
    parts = (
        base,
        _style(options),
        hook_section,
        instruction_section,
        memory_section,
        skills,
        call_format.instructions(specs),
        options.append_system_prompt or "",
    )
    return ModePrompt(mode=runtime.mode, system="\n\n".join(part for part in parts if part), specs=specs)


def _offered(runtime: TaskRuntime) -> tuple[ToolSpec, ...]:
    """The tools of the mode, with one way to edit files: that of the model, unless the session lacks its tool.

    The tool that completes a task is offered only where a reply in words does not complete it.
    """
    services, options = runtime.services, runtime.options
    tools, form = services.tools.all, services.model.info.edit_format
    has_own = any(tool.edit_format is form for tool in tools)
    hidden = {
        tool.name
        for tool in tools
        if services.modes.allows(tool, runtime.mode, None) is not None
        or (has_own and tool.edit_format not in (None, form))
        or (tool.purpose is CallPurpose.COMPLETION and options.completion is Completion.IMPLICIT)
    }
    return tuple(spec for spec in services.tools.specs if spec.name not in hidden)


def _style(options: Options) -> str:
    """The output style, unless the person replaced the whole prompt."""
    if options.style is None or options.launch.system_prompt is not None:
        return ""
    return f"# Output style: {options.style.name}\n\n{options.style.text}"


def template() -> str:
    """Our part of the prompt, with names in braces for what depends on the session."""
    return Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()


def _default(options: Options, mode: str, modes: ModeService) -> str:
    role = modes.roles.get(mode, "")
    text = template()
    if options.style is not None and not options.style.keeps_coding:
        text = "\n".join(line for line in text.split("\n") if not line.startswith(FOR_CODING))
    return text.replace(FOR_CODING, "- ").format(
        role=f" {role}" if role else "",
        cwd=options.cwd,
        system=sys.platform,
        shell=os.environ.get("SHELL", "/bin/sh"),
        date=date.today().isoformat(),
        git="yes" if (options.cwd / ".git").exists() else "no",
        mode=mode,
        modes="\n".join(f"- {slug}: {use}".rstrip(": ") for slug, use in modes.uses.items()),
        completion=ENDING[options.completion],
    )
