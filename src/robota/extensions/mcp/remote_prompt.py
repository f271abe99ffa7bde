"""A prompt of an MCP server as the slash command `/mcp__server__prompt`, and the parsing of its arguments."""

import re
import shlex
from typing import Final

import msgspec

from robota.extensions.mcp.remote_tool import tool_name
from robota.protocol.slash_commands import CommandSource, SlashCommandInfo
from robota.text.visible import single_line

MAX_PROMPTS: Final = 256
MAX_DESCRIPTION: Final = 300
NAMED: Final = re.compile(r"([A-Za-z0-9_.-]+)=(.*)", re.DOTALL)


class PromptParameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a prompt."""

    name: str
    is_required: bool = False


class RemotePrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as described by its server."""

    name: str
    description: str = ""
    parameters: tuple[PromptParameter, ...] = ()


class MissingArgument(Exception):
    """Required arguments are missing; the message names them."""


def command_info(server: str, prompt: RemotePrompt) -> SlashCommandInfo:
    """The slash command for a prompt."""
    hint = " ".join(
        f"<{argument.name}>" if argument.is_required else f"[{argument.name}]" for argument in prompt.parameters
    )
    return SlashCommandInfo(
        name=tool_name(server, prompt.name),
        description=single_line(prompt.description or f"a prompt of the MCP server {server}", MAX_DESCRIPTION),
        source=CommandSource.MCP,
        argument_hint=single_line(hint, MAX_DESCRIPTION),
        needs_model=True,
    )


def parse_prompt_arguments(prompt: RemotePrompt, typed: str) -> dict[str, str]:
    """Parse `name=value` words and positional ones, of which the last takes the rest. Raises `MissingArgument`."""
    names = [parameter.name for parameter in prompt.parameters]
    values: dict[str, str] = {}
    rest: list[str] = []
    for word in _split_arguments(typed):
        named = NAMED.fullmatch(word)
        if named is not None and named[1] in names:
            values[named[1]] = named[2]
        else:
            rest.append(word)
    positional = [name for name in names if name not in values]
    for number, name in enumerate(positional, start=1):
        if not rest:
            break
        is_last = number == len(positional)
        values[name], rest = (" ".join(rest), []) if is_last else (rest[0], rest[1:])
    missing = [
        parameter.name for parameter in prompt.parameters if parameter.is_required and parameter.name not in values
    ]
    if missing:
        raise MissingArgument(", ".join(missing))
    return values


def _split_arguments(typed: str) -> list[str]:
    try:
        return shlex.split(typed)
    except ValueError:
        return typed.split()
