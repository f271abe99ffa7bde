"""What was done before, told in short: the last commands of a session, and a session as a whole."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from robota.protocol.transcript import Called, Prompted, Replied, Transcript
from robota.text.visible import single_line

MOST_COMMANDS: Final = 5
COMMAND_OUTPUT: Final = 8_000
MOST_PROMPTS: Final = 30
PROMPT_SHOWN: Final = 500
ANSWER_SHOWN: Final = 8_000
MOST_FILES: Final = 50


def last_commands(entries: Iterable[Transcript], tool: str) -> list[str]:
    """The newest commands that a tool ran, the oldest of them first, each with the end of its output."""
    commands = deque((each for each in entries if isinstance(each, Called) and each.tool == tool), MOST_COMMANDS)
    return [shown_command(str(each.input.get("command", "")), each.output) for each in commands]


def shown_command(command: str, output: str) -> str:
    """A command and what it printed, as in a terminal."""
    left_out = len(output) - COMMAND_OUTPUT
    if left_out > 0:
        output = f"[{left_out:,} characters before this are left out]\n{output[left_out:]}"
    return f"$ {command}\n{output}".rstrip()


def told_session(entries: Iterable[Transcript], files: Sequence[str]) -> str:
    """What a person asked in a session, the last answer, and the files it was about."""
    prompts: list[str] = []
    answer = ""
    for each in entries:
        match each:
            case Prompted(text=text, depth=0):
                prompts.append(text)
            case Replied(text=text, depth=0) if text.strip():
                answer = text
            case _:
                pass
    return "\n\n".join(part for part in (_asked(prompts), _answered(answer), _about(files)) if part)


def _asked(prompts: Sequence[str]) -> str:
    numbered = [f"{number}. {single_line(text, PROMPT_SHOWN)}" for number, text in enumerate(prompts, 1)]
    if len(numbered) > MOST_PROMPTS:
        middle = f"[{len(numbered) - MOST_PROMPTS:,} prompts are left out]"
        numbered = [numbered[0], middle, *numbered[-MOST_PROMPTS + 1 :]]
    return "\n".join(("The person asked:", *numbered)) if numbered else ""


def _answered(answer: str) -> str:
    cut = "\n[the rest is left out]" if len(answer) > ANSWER_SHOWN else ""
    return f"The last answer was:\n{answer[:ANSWER_SHOWN]}{cut}" if answer else ""


def _about(files: Sequence[str]) -> str:
    more = f" and {len(files) - MOST_FILES:,} more" if len(files) > MOST_FILES else ""
    return f"Files it read or changed: {', '.join(files[:MOST_FILES])}{more}" if files else ""
