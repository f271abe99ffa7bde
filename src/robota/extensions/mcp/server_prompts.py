"""The prompts of a session's servers: the commands they make, and what a typed one stands for."""

from collections.abc import Sequence
from typing import Final

from robota.contracts.knowledge import ExpandedPrompt, PromptNotSent
from robota.extensions.mcp.connection import McpConnection, ServerFailed
from robota.extensions.mcp.remote_prompt import MissingArgument, RemotePrompt, command_info, read_arguments_of
from robota.extensions.mcp.servers import McpServers
from robota.protocol.slash_commands import SlashCommandInfo, typed_command

LONGEST_PROMPT: Final = 200_000


class ServerPrompts:
    """A `PromptService`. The servers say what prompts they have when they have started."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    def commands(self) -> Sequence[SlashCommandInfo]:
        """A command for each prompt; of two with one name the first is meant."""
        return tuple(info for info, _, _ in self._offered().values())

    async def expand(self, prompt: str) -> ExpandedPrompt | None:
        """What a server makes of a line that names a prompt of its own; None if the line names none."""
        typed = typed_command(prompt)
        found = None if typed is None else self._offered().get(typed.name)
        if typed is None or found is None:
            return None
        info, connection, remote = found
        name = connection.server.name
        try:
            arguments = read_arguments_of(remote, typed.arguments)
            text = await connection.prompt_text(remote, arguments)
        except MissingArgument as missing:
            usage = f"/{info.name} {info.argument_hint}".rstrip()
            raise PromptNotSent(f"it needs a value for {missing}. Usage: {usage}") from missing
        except ServerFailed as failure:
            raise PromptNotSent(f"the MCP server {name} failed: {failure}") from failure
        if not text.strip():
            raise PromptNotSent(f"the MCP server {name} gave an empty prompt")
        return ExpandedPrompt(text=text[:LONGEST_PROMPT])

    def _offered(self) -> dict[str, tuple[SlashCommandInfo, McpConnection, RemotePrompt]]:
        offered: dict[str, tuple[SlashCommandInfo, McpConnection, RemotePrompt]] = {}
        for connection in self._servers.usable:
            for remote in connection.prompts:
                info = command_info(connection.server.name, remote)
                offered.setdefault(info.name, (info, connection, remote))
        return offered
