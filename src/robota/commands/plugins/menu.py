"""The menus of `/plugin`, whose options open further menus or run an action."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from robota.commands.families.plugins import OneMarketplace, OneOffer, OnePlugin, plugin_actions
from robota.commands.verb import Answer, NoArguments
from robota.commands.verb_host import VerbHost
from robota.extensions.plugins.manifest import InvalidPlugin
from robota.protocol.slash_commands import CommandChoice, CommandOption
from robota.text.counted import counted
from robota.text.visible import single_line

MAX_TEXT: Final = 200
NONE_INSTALLED: Final = "No plugin is installed."
NONE_KNOWN: Final = "No marketplace is configured."


def main_menu(host: VerbHost, _: NoArguments) -> Answer:
    """The installed plugins, and what else can be done."""
    plugins: Sequence[Mapping[str, Any]] = plugin_actions(host).list_all().data
    installed = [_option(each["id"], ("manage", each["id"]), f"{each['scope']}, {each['state']}") for each in plugins]
    others = (
        _option("marketplaces", ("marketplace",), "where plugins come from, and what they offer"),
        _start_of_line("install", "install", "from a path, a URL or NAME@MARKETPLACE that you type"),
        _option("reload", ("reload",), "reopen this session with the current plugins"),
    )
    title = f"{counted(len(plugins), 'plugin')} installed." if plugins else NONE_INSTALLED
    return _menu(title, *installed, *others)


def plugin_menu(host: VerbHost, args: OnePlugin) -> Answer:
    """What can be done with a plugin."""
    plugin = _named(plugin_actions(host).list_all().data, "id", args.name)
    is_on = "disabled" not in plugin["state"]
    switch = ("disable", "keep it installed, but unused") if is_on else ("enable", "use it again")
    actions = (
        ("show", "what it contains"),
        switch,
        ("update", "fetch it again; changes are shown first"),
        ("uninstall", "remove it"),
    )
    return _menu(
        f"{single_line(args.name)} {plugin['version'] or ''} ({plugin['scope']}) is {plugin['state']}.",
        *(_option(verb, (verb, args.name), detail) for verb, detail in actions),
    )


def marketplaces_menu(host: VerbHost, _: NoArguments) -> Answer:
    """The marketplaces, and how to add one."""
    marketplaces: Sequence[Mapping[str, Any]] = plugin_actions(host).marketplaces.list_all().data
    listed = [
        _option(each["name"], ("browse", each["name"]), f"{len(each['plugins'])} plugins") for each in marketplaces
    ]
    others = [
        _start_of_line("add", "marketplace add", "a path, a URL or a GitHub owner/name that you type"),
        *([_option("update", ("marketplace", "update"), "fetch all lists again")] if marketplaces else []),
    ]
    return _menu("Which marketplace?" if marketplaces else NONE_KNOWN, *listed, *others)


def marketplace_menu(host: VerbHost, args: OneMarketplace) -> Answer:
    """What a marketplace offers."""
    name = args.name
    marketplace = _named(plugin_actions(host).marketplaces.list_all().data, "name", name)
    offered = [
        _option(each.name, ("scope", f"{each.name}@{name}"), f"{each.version} {each.description}".strip())
        for each in marketplace["plugins"]
    ]
    others = (
        _option("refresh", ("marketplace", "update", name), "fetch its list again"),
        _option("remove", ("marketplace", "remove", name), "and the plugins that came from it"),
    )
    return _menu(f"{single_line(name)} offers {len(offered)} plugins.", *offered, *others)


def scope_menu(host: VerbHost, args: OneOffer) -> Answer:
    """The choice of the scope. What the plugin contains is shown before anything is installed."""
    return _menu(
        f"Where should {single_line(args.plugin)} be installed? Its contents are shown first.",
        _option("you", ("install", args.plugin, "--scope", "user"), "in all your projects"),
        _option("this project", ("install", args.plugin, "--scope", "project"), "only here"),
    )


def _named(entries: Sequence[Mapping[str, Any]], field: str, name: str) -> Mapping[str, Any]:
    entry = next((each for each in entries if each[field] == name), None)
    if entry is None:
        raise InvalidPlugin(f"there is no {single_line(name)} here")
    return entry


def _menu(title: str, *options: CommandOption) -> Answer:
    return Answer(outcome=CommandChoice(title=title, options=options))


def _option(label: str, words: tuple[str, ...], detail: str) -> CommandOption:
    """An option that runs `/plugin WORDS`."""
    line = f"/plugin {shlex.join(words)}"
    return CommandOption(label=single_line(label, MAX_TEXT), line=line, detail=single_line(detail, MAX_TEXT))


def _start_of_line(label: str, start: str, detail: str) -> CommandOption:
    """An option that leaves the rest of the line to the user."""
    return CommandOption(label=label, line=f"/plugin {start} ", detail=detail)
