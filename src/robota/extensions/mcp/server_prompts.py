"""The prompts of MCP servers as slash commands, and their expansion."""

from collections.abc import Sequence
from typing import Final

from robota.contracts.knowledge import ExpandedPrompt, PromptNotSent
from robota.extensions.mcp.connection import McpConnection
from robota.extensions.mcp.remote_prompt import MissingArgument, RemotePrompt, command_info, parse_prompt_arguments
from robota.extensions.mcp.server_failure import ServerFailed
from robota.extensions.mcp.servers import McpServers
from robota.protocol.slash_commands import SlashCommandInfo, typed_command

MAX_PROMPT: Final = 200_000


class ServerPrompts:
    """A `PromptService`. Prompts are known once the servers have started."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    def commands(self) -> Sequence[SlashCommandInfo]:
        """A command for each prompt; the first of a name wins."""
        return tuple(info for info, _, _ in self._by_name().values())

    async def expand(self, prompt: str) -> ExpandedPrompt | None:
        """Expand a typed `/mcp__server__prompt`; None for any other prompt. Raises `PromptNotSent`."""
        typed = typed_command(prompt)
        command = None if typed is None else self._by_name().get(typed.name)
        if typed is None or command is None:
            return None
        info, connection, remote = command
        name = connection.server.name
        try:
            arguments = parse_prompt_arguments(remote, typed.arguments)
            text = await connection.prompt_text(remote, arguments)
        except MissingArgument as missing:
            usage = f"/{info.name} {info.argument_hint}".rstrip()
            raise PromptNotSent(f"it needs a value for {missing}. Usage: {usage}") from missing
        except ServerFailed as failure:
            raise PromptNotSent(f"the MCP server {name} failed: {failure.for_user}") from failure
        if not text.strip():
            raise PromptNotSent(f"the MCP server {name} gave an empty prompt")
        return ExpandedPrompt(text=text[:MAX_PROMPT])

    def _by_name(self) -> dict[str, tuple[SlashCommandInfo, McpConnection, RemotePrompt]]:
        by_name: dict[str, tuple[SlashCommandInfo, McpConnection, RemotePrompt]] = {}
        for connection in self._servers.usable:
            for remote in connection.prompts:
                info = command_info(connection.server.name, remote)
                by_name.setdefault(info.name, (info, connection, remote))
        return by_name
