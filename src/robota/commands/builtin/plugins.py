"""`/plugin`: manages plugins and marketplaces."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from robota.commands.command import SlashCommand, shown_text, wrong_arguments
from robota.commands.host import CommandHost
from robota.config.errors import ConfigError
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOption,
    CommandOutcome,
    SessionWanted,
    SlashCommandInfo,
    SubcommandInfo,
)

if TYPE_CHECKING:
    from robota.commands.plugins.reply import PluginReply, Proposal

PLUGIN: Final = SlashCommandInfo(
    name="plugin",
    aliases=("plugins",),
    argument_hint="[list | show | install | enable | disable | update | uninstall | marketplace | reload]",
    description="manage plugins and marketplaces",
    subcommands=(
        SubcommandInfo(name="list", description="list installed plugins"),
        SubcommandInfo(name="show", argument_hint="NAME", description="show what a plugin contains"),
        SubcommandInfo(
            name="install",
            argument_hint="[NAME@MARKETPLACE | PATH | ADDRESS]",
            description="review and install a plugin; without a name, those the project requests",
        ),
        SubcommandInfo(name="enable", argument_hint="NAME", description="enable a disabled plugin"),
        SubcommandInfo(name="disable", argument_hint="NAME", description="disable a plugin without removing it"),
        SubcommandInfo(name="update", argument_hint="[NAME]", description="update a plugin after showing the changes"),
        SubcommandInfo(name="uninstall", argument_hint="NAME", description="remove a plugin"),
        SubcommandInfo(
            name="marketplace",
            argument_hint="[list | add SOURCE | update | remove NAME]",
            description="manage marketplaces",
        ),
        SubcommandInfo(name="reload", description="reopen this session with the current plugins"),
    ),
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/plugin`."""

    async def plugin(arguments: str) -> CommandOutcome | Refused:
        if arguments == "reload":
            return SessionWanted(session_id=host.options.session_id)
        from robota.commands.plugins.actions import PluginActions
        from robota.commands.plugins.menu import plugin_menu
        from robota.commands.plugins.reply import refusal
        from robota.commands.plugins.requests import parse_plugin_request
        from robota.extensions.plugins.manifest import InvalidPlugin

        typed = parse_plugin_request(arguments)

        def agrees(proposal: "Proposal") -> bool:
            return typed is not None and len(typed.agreed) >= DIGEST_TYPED and proposal.digest.startswith(typed.agreed)

        actions = PluginActions(host.settings, host.kept_in, host.env, agrees)
        try:
            menu = await plugin_menu(arguments, actions)
            if menu is not None or typed is None:
                return menu or wrong_arguments(PLUGIN, "Invalid arguments for /plugin.")
            reply = await actions.execute(typed.request)
        except (InvalidPlugin, ConfigError, OSError) as error:
            return Refused(code="plugin", message=refusal(error))
        return _choice(reply, arguments) if reply.waits_for else shown_text(reply.text)

    yield SlashCommand(info=PLUGIN, run=plugin)


DIGEST_TYPED: Final = 12


def _choice(reply: "PluginReply", arguments: str) -> CommandOutcome:
    """The choice to install what is shown; its line carries the digest, so it agrees to exactly that."""
    line = arguments.partition("--agree")[0].strip()
    return CommandChoice(
        title="\n".join((reply.waits_for[0].text, "Nothing in it runs unless you agree.")),
        options=tuple(
            CommandOption(
                label="Agree and install it",
                line=f"/plugin {line} --agree {proposal.digest[:DIGEST_TYPED]}",
                detail="exactly as shown",
            )
            for proposal in reply.waits_for[:1]
        ),
    )
