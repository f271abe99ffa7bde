"""A prompt of a server as a slash command: `/mcp__server__prompt`, with arguments in the order that it declares."""

import re
import shlex
from typing import Final

import msgspec

from robota.extensions.mcp.remote_tool import tool_name
from robota.protocol.slash_commands import CommandSource, SlashCommandInfo
from robota.text.visible import single_line

MOST_PROMPTS: Final = 256
LONGEST_TOLD: Final = 300
NAMED: Final = re.compile(r"([A-Za-z0-9_.-]+)=(.*)", re.DOTALL)


class PromptParameter(msgspec.Struct, frozen=True, kw_only=True):
    """A value that the prompt is filled with."""

    name: str
    is_required: bool = False


class RemotePrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as its server describes it."""

    name: str
    description: str = ""
    parameters: tuple[PromptParameter, ...] = ()


class MissingArgument(Exception):
    """A value that the prompt needs was not given; the text names it."""


def command_info(server: str, prompt: RemotePrompt) -> SlashCommandInfo:
    """How the command is offered."""
    hint = " ".join(f"<{each.name}>" if each.is_required else f"[{each.name}]" for each in prompt.parameters)
    return SlashCommandInfo(
        name=tool_name(server, prompt.name),
        description=single_line(prompt.description or f"a prompt of the MCP server {server}", LONGEST_TOLD),
        source=CommandSource.MCP,
        argument_hint=single_line(hint, LONGEST_TOLD),
        needs_model=True,
    )


def read_arguments_of(prompt: RemotePrompt, typed: str) -> dict[str, str]:
    """The words as values: `name=value`, or in the order of the parameters, the last of which takes the rest."""
    names = [parameter.name for parameter in prompt.parameters]
    values: dict[str, str] = {}
    rest: list[str] = []
    for word in _words(typed):
        named = NAMED.fullmatch(word)
        if named is not None and named[1] in names:
            values[named[1]] = named[2]
        else:
            rest.append(word)
    open_names = [name for name in names if name not in values]
    for place, name in enumerate(open_names):
        if not rest:
            break
        is_last = place == len(open_names) - 1
        values[name], rest = (" ".join(rest), []) if is_last else (rest[0], rest[1:])
    missing = [each.name for each in prompt.parameters if each.is_required and each.name not in values]
    if missing:
        raise MissingArgument(", ".join(missing))
    return values


def _words(typed: str) -> list[str]:
    try:
        return shlex.split(typed)
    except ValueError:
        return typed.split()
