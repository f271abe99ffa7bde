"""The menus of `/plugin`, whose options open further menus or run an action."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from robota.protocol.slash_commands import CommandChoice, CommandOption
from robota.text.visible import single_line

MAX_TEXT: Final = 200
NONE_INSTALLED: Final = "No plugin is installed."
NONE_KNOWN: Final = "No marketplace is configured."


def main_menu(plugins: Sequence[Mapping[str, Any]]) -> CommandChoice:
    """The installed plugins, and what else can be done."""
    installed = [
        _option(each["id"], f"manage {_quoted(each['id'])}", f"{each['scope']}, {each['state']}") for each in plugins
    ]
    others = (
        _option("marketplaces", "marketplace", "where plugins come from, and what they offer"),
        _option("install", "install ", "from a path, a URL or NAME@MARKETPLACE that you type"),
        _option("reload", "reload", "reopen this session with the current plugins"),
    )
    title = f"{len(plugins)} plugin{'s are' if len(plugins) != 1 else ' is'} installed." if plugins else NONE_INSTALLED
    return CommandChoice(title=title, options=(*installed, *others))


def plugin_menu(plugins: Sequence[Mapping[str, Any]], name: str) -> CommandChoice | None:
    """What can be done with a plugin; None if it is not installed."""
    found = next((each for each in plugins if each["id"] == name), None)
    if found is None:
        return None
    is_on = "disabled" not in found["state"]
    switch = ("disable", "keep it installed, but unused") if is_on else ("enable", "use it again")
    actions = (
        ("show", "what it contains"),
        switch,
        ("update", "fetch it again; changes are shown first"),
        ("uninstall", "remove it"),
    )
    return CommandChoice(
        title=f"{single_line(name)} {found['version'] or ''} ({found['scope']}) is {found['state']}.",
        options=tuple(_option(verb, f"{verb} {_quoted(name)}", detail) for verb, detail in actions),
    )


def marketplaces_menu(known: Sequence[Mapping[str, Any]]) -> CommandChoice:
    """The marketplaces, and how to add one."""
    listed = [
        _option(each["name"], f"browse {_quoted(each['name'])}", f"{len(each['plugins'])} plugins") for each in known
    ]
    others = [
        _option("add", "marketplace add ", "a path, a URL or a GitHub owner/name that you type"),
        *([_option("update", "marketplace update", "fetch all lists again")] if known else []),
    ]
    title = "Which marketplace?" if known else NONE_KNOWN
    return CommandChoice(title=title, options=(*listed, *others))


def marketplace_menu(known: Sequence[Mapping[str, Any]], name: str) -> CommandChoice | None:
    """What a marketplace offers; None if it is not known."""
    found = next((each for each in known if each["name"] == name), None)
    if found is None:
        return None
    offered = [
        _option(each.name, f"scope {_quoted(f'{each.name}@{name}')}", f"{each.version} {each.description}".strip())
        for each in found["plugins"]
    ]
    others = (
        _option("refresh", f"marketplace update {_quoted(name)}", "fetch its list again"),
        _option("remove", f"marketplace remove {_quoted(name)}", "and the plugins that came from it"),
    )
    return CommandChoice(title=f"{single_line(name)} offers {len(offered)} plugins.", options=(*offered, *others))


def scope_menu(plugin: str) -> CommandChoice:
    """The choice of the scope. What the plugin contains is shown before anything is installed."""
    return CommandChoice(
        title=f"Where should {single_line(plugin)} be installed? Its contents are shown first.",
        options=(
            _option("you", f"install {_quoted(plugin)} --scope user", "in all your projects"),
            _option("this project", f"install {_quoted(plugin)} --scope project", "only here"),
        ),
    )


def _option(label: str, line: str, detail: str) -> CommandOption:
    return CommandOption(
        label=single_line(label, MAX_TEXT), line=f"/plugin {line}", detail=single_line(detail, MAX_TEXT)
    )


def _quoted(word: str) -> str:
    return shlex.quote(word)
