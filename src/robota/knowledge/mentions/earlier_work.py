"""Summarises earlier work for mentions: the last commands of this session, or another session as a whole."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from robota.protocol.transcript import Called, Prompted, Replied, Transcript
from robota.text.visible import single_line

MAX_COMMANDS: Final = 5
MAX_OUTPUT: Final = 8_000
MAX_PROMPTS: Final = 30
MAX_PROMPT: Final = 500
MAX_ANSWER: Final = 8_000
MAX_FILES: Final = 50


def last_commands(entries: Iterable[Transcript], tool: str) -> list[str]:
    """The last commands that `tool` ran, oldest first, each with the end of its output."""
    commands = deque((entry for entry in entries if isinstance(entry, Called) and entry.tool == tool), MAX_COMMANDS)
    return [command_with_output(str(entry.input.get("command", "")), entry.output) for entry in commands]


def command_with_output(command: str, output: str) -> str:
    """A command and the end of its output, as in a terminal."""
    left_out = len(output) - MAX_OUTPUT
    if left_out > 0:
        output = f"[{left_out:,} characters before this are left out]\n{output[left_out:]}"
    return f"$ {command}\n{output}".rstrip()


def session_summary(entries: Iterable[Transcript], files: Sequence[str]) -> str:
    """The prompts of a session, its last answer, and the files it read or changed."""
    prompts: list[str] = []
    answer = ""
    for entry in entries:
        match entry:
            case Prompted(text=text, depth=0):
                prompts.append(text)
            case Replied(text=text, depth=0) if text.strip():
                answer = text
            case _:
                pass
    return "\n\n".join(part for part in (_prompts_part(prompts), _answer_part(answer), _files_part(files)) if part)


def _prompts_part(prompts: Sequence[str]) -> str:
    numbered = [f"{number}. {single_line(text, MAX_PROMPT)}" for number, text in enumerate(prompts, 1)]
    if len(numbered) > MAX_PROMPTS:
        middle = f"[{len(numbered) - MAX_PROMPTS:,} prompts are left out]"
        numbered = [numbered[0], middle, *numbered[-MAX_PROMPTS + 1 :]]
    return "\n".join(("The user asked:", *numbered)) if numbered else ""


def _answer_part(answer: str) -> str:
    cut = "\n[the rest is left out]" if len(answer) > MAX_ANSWER else ""
    return f"The last answer was:\n{answer[:MAX_ANSWER]}{cut}" if answer else ""


def _files_part(files: Sequence[str]) -> str:
    more = f" and {len(files) - MAX_FILES:,} more" if len(files) > MAX_FILES else ""
    return f"Files it read or changed: {', '.join(files[:MAX_FILES])}{more}" if files else ""
