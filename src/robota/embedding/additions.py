"""`Embedding`: what a program adds to its sessions."""

from robota.commands.registry import OwnCommand
from robota.config.launch_options import Additions
from robota.contracts.tool import AnyTool
from robota.providers.definition import ProviderDefinition


class Embedding(Additions, frozen=True, kw_only=True):
    """The provider types, tools, slash commands and parts of the system prompt that a program adds."""

    provider_definitions: tuple[ProviderDefinition, ...] = ()
    tools: tuple[AnyTool, ...] = ()
    commands: tuple[OwnCommand, ...] = ()
