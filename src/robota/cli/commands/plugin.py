"""`robota plugin`: install, show, enable, disable and remove plugins, and manage marketplaces."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from robota.cli.command_parser import CommandParser
from robota.cli.output import print_json
from robota.cli.questions import Cancelled, at_terminal, confirm
from robota.commands.plugins.actions import Agree, PluginActions
from robota.commands.plugins.reply import PluginReply, Proposal, refusal
from robota.commands.plugins.requests import PluginRequest, request_from_words
from robota.config.errors import ConfigError
from robota.config.launch_options import workspace_root
from robota.config.settings.load import load_settings
from robota.extensions.plugins.manifest import InvalidPlugin

DONE: Final = 0
REFUSED: Final = 1
DIGEST_TYPED: Final = 12


def main(argv: Sequence[str]) -> int:
    """Run `robota plugin …`; the arguments begin after `plugin`."""
    options = parser().read(argv)
    try:
        root = workspace_root(options.cwd)
        settings = load_settings(root, os.environ)
        for notice in settings.ignored:
            print(f"robota: {notice}", file=sys.stderr)
        actions = PluginActions(settings, root, os.environ, _agreement(options))
        reply = asyncio.run(actions.execute(_request(options)))
    except (InvalidPlugin, ConfigError, OSError) as error:
        print(f"robota: {refusal(error)}", file=sys.stderr)
        return REFUSED
    return _answer(reply, options)


def _answer(reply: PluginReply, options: argparse.Namespace) -> int:
    if options.json:
        print_json(reply.data)
    else:
        for proposal in reply.waits_for if not at_terminal() else ():
            print(f"{proposal.text}\n")
        print(reply.text)
    if reply.waits_for and not options.json and not at_terminal():
        digest = reply.waits_for[0].digest[:DIGEST_TYPED]
        print(f"robota: Not a terminal. To agree to exactly this content: --agree {digest}", file=sys.stderr)
    return REFUSED if reply.waits_for or not reply.is_done else DONE


def _agreement(options: argparse.Namespace) -> Agree:
    """How the user agrees: by a digest, in advance, or after reading what is shown."""
    agreed, is_yes = getattr(options, "agree", None), getattr(options, "yes", False)

    def agrees(proposal: Proposal) -> bool:
        if agreed is not None:
            return len(agreed) >= DIGEST_TYPED and proposal.digest.startswith(agreed)
        if is_yes:
            if not options.json:
                print(proposal.text)
            return True
        if options.json or not at_terminal():
            return False
        print(proposal.text)
        try:
            return confirm("Install it?", default=False)
        except Cancelled:
            return False

    return agrees


def _request(options: argparse.Namespace) -> PluginRequest:
    names = ("action", "marketplace_action", "what", "source", "name")
    words = [word for name in names if (word := getattr(options, name, None))]
    request = request_from_words(words, getattr(options, "scope", None))
    if request is None:
        raise InvalidPlugin(f"{' '.join(words)} means nothing here")
    return request


def parser() -> CommandParser:
    """The argument parser of `robota plugin`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    shared.add_argument("--json", action="store_true", help="print JSON")
    agreeing = CommandParser(add_help=False)
    how = agreeing.add_mutually_exclusive_group()
    how.add_argument("--yes", action="store_true", help="agree to its content without being asked")
    how.add_argument("--agree", metavar="DIGEST", help="agree only to the content with this digest")
    parser = CommandParser(
        prog="robota plugin", description="Manage plugins. Nothing in a plugin runs before you have agreed to it."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", parents=[shared], help="list installed plugins, and those the project requests")
    showing = actions.add_parser("show", parents=[shared], help="show what a plugin contains")
    showing.add_argument("name", metavar="NAME")
    installing = actions.add_parser(
        "install", parents=[shared, agreeing], help="show what a plugin contains, and install it"
    )
    installing.add_argument(
        "what",
        nargs="?",
        metavar="PLUGIN",
        help="NAME@MARKETPLACE, a path (./x) or a URL (https://…#ref); default: those the project requests",
    )
    installing.add_argument(
        "--scope", choices=("user", "project"), help="install for all your projects, or only this one"
    )
    updating = actions.add_parser(
        "update", parents=[shared, agreeing], help="update one plugin, or all, after showing the changes"
    )
    updating.add_argument("name", nargs="?", metavar="NAME")
    for action, help in (
        ("enable", "enable a disabled plugin"),
        ("disable", "disable a plugin without removing it"),
        ("uninstall", "remove a plugin"),
    ):
        actions.add_parser(action, parents=[shared], help=help).add_argument("name", metavar="NAME")
    _add_marketplace_actions(
        actions.add_parser("marketplace", help="manage the marketplaces that plugins come from"), shared
    )
    return parser


def _add_marketplace_actions(parser: argparse.ArgumentParser, shared: CommandParser) -> None:
    actions = parser.add_subparsers(dest="marketplace_action", required=True, metavar="ACTION")
    actions.add_parser("list", parents=[shared], help="list marketplaces and the plugins they offer")
    adding = actions.add_parser("add", parents=[shared], help="add a marketplace")
    adding.add_argument("source", metavar="SOURCE", help="a path (./x), a URL (https://…#ref) or a GitHub owner/name")
    updating = actions.add_parser("update", parents=[shared], help="refresh one marketplace, or all")
    updating.add_argument("name", nargs="?", metavar="NAME")
    removing = actions.add_parser("remove", parents=[shared], help="remove a marketplace and its plugins")
    removing.add_argument("name", metavar="NAME")
