"""The system prompt. Built once per task and then left alone, so that the provider's prompt cache holds."""

import os
import sys
from datetime import date
from pathlib import Path
from typing import Final

from robota.engine.model.reply import CallFormat
from robota.engine.runtime.options import Completion, Options
from robota.providers.chunks import ToolSpec

ENDING: Final = {
    Completion.IMPLICIT: "When the task is done, or when you need the person, reply without calling a tool. "
    "That reply is your answer.",
    Completion.EXPLICIT: "Every reply must call a tool. When the task is done, call attempt_completion with the "
    "result; if you need the person, call ask_followup_question.",
}

NO_TOOL_USED: Final = (
    "[ERROR] You did not use a tool in your previous response. Please call a tool now: attempt_completion if the task "
    "is done, ask_followup_question if you need more from the user, otherwise the tool for the next step. "
    "(This is an automated message; do not answer it in words.)"
)

REPLY_CUT: Final = (
    "[Your reply was cut at the output limit. Go on exactly where it stopped; repeat nothing. A tool call that was cut "
    "must be written again in full, in smaller pieces if it is long.]"
)


def system_prompt(options: Options, call_format: CallFormat, specs: tuple[ToolSpec, ...], role: str = "") -> str:
    """`role` is what the mode of the task says of itself."""
    base = options.system_prompt if options.system_prompt is not None else _default(options, role)
    parts = (base, call_format.instructions(specs), options.append_system_prompt or "")
    return "\n\n".join(part for part in parts if part)


def _default(options: Options, role: str) -> str:
    template = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()
    return template.format(
        role=f" {role}" if role else "",
        cwd=options.cwd,
        system=sys.platform,
        shell=os.environ.get("SHELL", "/bin/sh"),
        date=date.today().isoformat(),
        git="yes" if (options.cwd / ".git").exists() else "no",
        completion=ENDING[options.completion],
    )
