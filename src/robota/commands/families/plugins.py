"""The verbs of plugins and marketplaces."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Final, Literal

import msgspec

from robota.commands.plugins.actions import PluginActions
from robota.commands.plugins.reply import PluginReply, Proposal, refusal
from robota.commands.verb import (
    Answer,
    ConversationVerb,
    Failure,
    Family,
    MenuVerb,
    NeedsAgreement,
    NoArguments,
    ReadingVerb,
    Verb,
    told,
)
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional, ShellOption
from robota.extensions.plugins.manifest import InvalidPlugin
from robota.protocol.slash_commands import SessionWanted, SubcommandInfo
from robota.text.visible import single_line

DIGEST_TYPED: Final = 12


def _plugin_names(host: VerbHost) -> Iterable[SubcommandInfo]:
    for plugin in plugin_actions(host).list_all().data:
        yield SubcommandInfo(name=plugin["id"], description=plugin["state"])


def _marketplace_names(host: VerbHost) -> Iterable[SubcommandInfo]:
    for each in plugin_actions(host).marketplaces.list_all().data:
        yield SubcommandInfo(name=single_line(each["name"]), description=f"{len(each['plugins'])} plugins")


class OnePlugin(msgspec.Struct, frozen=True):
    """An installed plugin."""

    name: Annotated[str, Positional("NAME", complete=_plugin_names)]


class Agreeing(msgspec.Struct, frozen=True, kw_only=True):
    """What the user agrees to in advance."""

    yes: Annotated[bool, ShellOption("agree to its content without being asked", group="agreement")] = False
    agree: Annotated[str | None, Option("agree only to the content with this digest", "DIGEST", group="agreement")] = (
        None
    )


class InstallPlugin(Agreeing, frozen=True, kw_only=True):
    """A plugin to install."""

    what: Annotated[
        str,
        Positional(
            "PLUGIN", "NAME@MARKETPLACE, a path (./x) or a URL (https://…#ref); default: those the project requests"
        ),
    ] = ""
    scope: Annotated[Literal["user", "project"] | None, Option("install for all your projects, or only this one")] = (
        None
    )


class UpdatePlugin(Agreeing, frozen=True, kw_only=True):
    """A plugin to update, or all."""

    name: Annotated[str, Positional("NAME", complete=_plugin_names)] = ""


class NewMarketplace(msgspec.Struct, frozen=True):
    """A marketplace to add."""

    source: Annotated[str, Positional("SOURCE", "a path (./x), a URL (https://…#ref) or a GitHub owner/name")]


class OneMarketplace(msgspec.Struct, frozen=True):
    """A marketplace."""

    name: Annotated[str, Positional("NAME", complete=_marketplace_names)]


class AnyMarketplace(msgspec.Struct, frozen=True):
    """A marketplace, or all."""

    name: Annotated[str, Positional("NAME", complete=_marketplace_names)] = ""


class OneOffer(msgspec.Struct, frozen=True):
    """A plugin of a marketplace."""

    plugin: Annotated[str, Positional("NAME@MARKETPLACE")]


def plugin_actions(host: VerbHost, agrees: Callable[[Proposal], bool] = lambda _: False) -> PluginActions:
    """What can be done with the plugins of the project."""
    return PluginActions(host.settings, host.kept_in, host.env, agrees)


def _list(host: VerbHost, _: NoArguments) -> Answer:
    return _answer(host, plugin_actions(host).list_all())


def _show(host: VerbHost, args: OnePlugin) -> Answer:
    return _answer(host, plugin_actions(host).show(args.name))


def _enable(host: VerbHost, args: OnePlugin) -> Answer:
    return _answer(host, plugin_actions(host).switch(args.name, is_enabled=True))


def _disable(host: VerbHost, args: OnePlugin) -> Answer:
    return _answer(host, plugin_actions(host).switch(args.name, is_enabled=False))


def _uninstall(host: VerbHost, args: OnePlugin) -> Answer:
    return _answer(host, plugin_actions(host).uninstall(args.name))


async def _install(host: VerbHost, args: InstallPlugin) -> Answer:
    return await _with_agreement(host, args, lambda actions: actions.install(args.what, args.scope))


async def _update(host: VerbHost, args: UpdatePlugin) -> Answer:
    return await _with_agreement(host, args, lambda actions: actions.update(args.name))


async def _with_agreement(
    host: VerbHost,
    args: InstallPlugin | UpdatePlugin,
    request: Callable[[PluginActions], Awaitable[PluginReply]],
) -> Answer:
    """What would be installed is described first; the user agrees by a digest, in advance, or when asked."""
    agreed: list[str] = []

    def agrees(proposal: Proposal) -> bool:
        if args.agree is not None:
            return len(args.agree) >= DIGEST_TYPED and proposal.digest.startswith(args.agree)
        if args.yes:
            agreed.append(proposal.text)
        return args.yes or bool(host.ask(proposal.text, "Install it?", default=False))

    reply = await request(plugin_actions(host, agrees))
    pending = tuple(_pending(proposal, args) for proposal in reply.waits_for)
    return _answer(host, reply, agreed, pending)


def _list_marketplaces(host: VerbHost, _: NoArguments) -> Answer:
    return _answer(host, plugin_actions(host).marketplaces.list_all())


async def _add_marketplace(host: VerbHost, args: NewMarketplace) -> Answer:
    return _answer(host, await plugin_actions(host).marketplaces.add(args.source))


async def _update_marketplaces(host: VerbHost, args: AnyMarketplace) -> Answer:
    return _answer(host, await plugin_actions(host).marketplaces.update(args.name))


def _remove_marketplace(host: VerbHost, args: OneMarketplace) -> Answer:
    return _answer(host, plugin_actions(host).marketplaces.remove(args.name))


def _answer(
    host: VerbHost, reply: PluginReply, agreed: Iterable[str] = (), pending: tuple[NeedsAgreement, ...] = ()
) -> Answer:
    answer = told("\n".join((*agreed, reply.text)), reply.data, ok=reply.is_done and not pending)
    return msgspec.structs.replace(answer, pending=pending, notices=tuple(host.settings.ignored))


def _pending(proposal: Proposal, args: InstallPlugin | UpdatePlugin) -> NeedsAgreement:
    """The same request with the digest of the proposal, so that it agrees to exactly that."""
    return NeedsAgreement(
        about=proposal.text,
        caution="Nothing in it runs unless you agree.",
        label="Agree and install it",
        detail="exactly as shown",
        purpose="To agree to exactly this content",
        arguments=msgspec.structs.replace(args, agree=proposal.digest[:DIGEST_TYPED]),
    )


def _reload(host: VerbHost, _: NoArguments) -> Answer:
    return Answer(outcome=SessionWanted(session_id=None if host.opened is None else host.opened.options.session_id))


def _explain(error: Exception) -> Failure:
    return Failure(refusal(error))


MARKETPLACES: Final = Family(
    name="marketplace",
    about="Manage the marketplaces that plugins come from.",
    description="manage the marketplaces that plugins come from",
    default="menu",
    hint="[list | add SOURCE | update | remove NAME]",
    verbs=(
        ReadingVerb("list", "list marketplaces and the plugins they offer", NoArguments, _list_marketplaces),
        Verb("add", "add a marketplace", NewMarketplace, _add_marketplace),
        Verb("update", "refresh one marketplace, or all", AnyMarketplace, _update_marketplaces),
        Verb("remove", "remove a marketplace and its plugins", OneMarketplace, _remove_marketplace),
        MenuVerb("menu", "", NoArguments, "plugins.menu:marketplaces_menu"),
    ),
)
FAMILY: Final = Family(
    name="plugin",
    aliases=("plugins",),
    about="Manage plugins. Nothing in a plugin runs before you have agreed to it.",
    description="manage plugins and marketplaces",
    default="menu",
    problems=(InvalidPlugin, OSError),
    explain=_explain,
    verbs=(
        ReadingVerb("list", "list installed plugins, and those the project requests", NoArguments, _list),
        ReadingVerb("show", "show what a plugin contains", OnePlugin, _show),
        Verb(
            "install",
            "show what a plugin contains, and install it; without a name, those the project requests",
            InstallPlugin,
            _install,
            hint="[NAME@MARKETPLACE | PATH | ADDRESS]",
        ),
        Verb("enable", "enable a disabled plugin", OnePlugin, _enable),
        Verb("disable", "disable a plugin without removing it", OnePlugin, _disable),
        Verb("update", "update one plugin, or all, after showing the changes", UpdatePlugin, _update, hint="[NAME]"),
        Verb("uninstall", "remove a plugin", OnePlugin, _uninstall, aliases=("remove",)),
        MARKETPLACES,
        ConversationVerb("reload", "reopen this session with the current plugins", NoArguments, _reload),
        MenuVerb("menu", "", NoArguments, "plugins.menu:main_menu"),
        MenuVerb("manage", "", OnePlugin, "plugins.menu:plugin_menu"),
        MenuVerb("browse", "", OneMarketplace, "plugins.menu:marketplace_menu"),
        MenuVerb("scope", "", OneOffer, "plugins.menu:scope_menu"),
    ),
)
