"""Compares a recorded system prompt with the one that would be built today."""

import re
from typing import Final

import msgspec

from robota.config.settings.schema import Completion
from robota.engine.model.system_prompt import ENDING, FOR_CODING, template

OWN_SHARE: Final = 0.5
STYLE: Final = "\n# Output style: "
MODE_LINE: Final = "- "
AFTER_ROLE: Final = "\n\n# "
# Values that depend on the machine, the day and the mode are copied from the recording.
COPIED: Final = re.compile(r"\\{(?:cwd|system|shell|date|git|mode)\\}")


class PromptPair(msgspec.Struct, frozen=True, kw_only=True):
    """Our own part of a recorded prompt, and the same part as built today."""

    recorded: str
    today: str


def own_prompts(recorded: str, role: str | None, completion: Completion) -> PromptPair | None:
    """Pair our own part of both prompts; None if the user had replaced it with a prompt of their own.

    `role` is that of the mode today; None if the mode is unknown here, so that the recorded one is used. The rest of a
    prompt comes from instruction files, memory, skills, hooks and options.
    """
    lines = template().split("\n")
    recorded_lines = set(recorded.split("\n"))
    plain = [line.replace(FOR_CODING, "- ") for line in lines if "{" not in line and line]
    if sum(line in recorded_lines for line in plain) < OWN_SHARE * len(plain):
        return None
    if STYLE in recorded and not any(
        line.replace(FOR_CODING, "- ") in recorded_lines for line in lines if FOR_CODING in line
    ):
        lines = [line for line in lines if FOR_CODING not in line]
    text = "\n".join(lines).replace(FOR_CODING, "- ")
    text = text.replace("{role}", _role(recorded, text) if role is None else f" {role}" * bool(role))
    endings = (ENDING[completion], *ENDING.values())  # a subtask may have to end otherwise than its task
    text = text.replace("{completion}", next((ending for ending in endings if ending in recorded_lines), endings[0]))
    return _paired(recorded.split("\n"), text.split("\n"))


def _role(recorded: str, text: str) -> str:
    start, end = text.index("{role}"), recorded.find(AFTER_ROLE)
    return recorded[start:end] if end >= start else ""


def _paired(recorded: list[str], template_lines: list[str]) -> PromptPair:
    today: list[str] = []
    for line in template_lines:
        at = len(today)
        if line == "{modes}":
            while len(today) < len(recorded) and recorded[len(today)].startswith(MODE_LINE):
                today.append(recorded[len(today)])
            continue
        pattern = COPIED.sub("(.*)", re.escape(line))
        is_as_it_was = at < len(recorded) and re.fullmatch(pattern, recorded[at]) is not None
        today.append(recorded[at] if is_as_it_was else line)
    return PromptPair(recorded="\n".join(recorded[: len(today)]), today="\n".join(today))
