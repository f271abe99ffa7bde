"""`robota worktree`: list the worktrees of sessions, and remove them."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from robota.agents.worktrees.manage import FoundWorktree, list_worktrees, remove_worktree
from robota.cli.command_parser import CommandParser
from robota.cli.output import print_columns, print_json
from robota.config.errors import ConfigError
from robota.config.launch_options import workspace_root
from robota.text.visible import single_line
from robota.workspace.git.run import GitError

DONE: Final = 0
REFUSED: Final = 1
HEADINGS: Final = ("NAME", "HAS", "BRANCH", "PATH")


def main(argv: Sequence[str]) -> int:
    """Run `robota worktree …`; the arguments begin after `worktree`."""
    options = parser().read(argv)
    try:
        root = workspace_root(options.cwd)
        if options.action == "list":
            return _list(root, options)
        print(asyncio.run(_remove(root, options)))
    except (ConfigError, GitError) as error:
        print(f"robota: {error}", file=sys.stderr)
        return REFUSED
    return DONE


def parser() -> CommandParser:
    """The argument parser of `robota worktree`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the repository (default: here)")
    parser = CommandParser(prog="robota worktree", description="Manage the worktrees created by sessions (robota -w).")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", parents=[shared], help="list worktrees, and what removing each would lose")
    listing.add_argument("--json", action="store_true", help="print JSON")
    removal = actions.add_parser("remove", parents=[shared], help="remove a worktree; commits are always kept")
    removal.add_argument("name", metavar="NAME", help="its name")
    removal.add_argument("--force", action="store_true", help="remove it even with uncommitted changes")
    return parser


def _list(root: Path, options: argparse.Namespace) -> int:
    found = asyncio.run(list_worktrees(root, os.environ))
    if options.json:
        print_json([_as_json(worktree) for worktree in found])
    elif not found:
        print("There are no worktrees of sessions here.")
    else:
        print_columns([HEADINGS, *(_row(worktree) for worktree in found)])
    return DONE


async def _remove(root: Path, options: argparse.Namespace) -> str:
    from robota.app.hooks import workspace_hooks

    hooks = workspace_hooks(root, os.environ)
    try:
        return await remove_worktree(root, options.name, os.environ, hooks, force=options.force)
    finally:
        if hooks is not None:
            await hooks.close()


def _row(worktree: FoundWorktree) -> tuple[str, ...]:
    has = "a session in it; " * worktree.in_use + worktree.state.words
    return (worktree.name, has, worktree.branch, single_line(str(worktree.path), 4096))


def _as_json(worktree: FoundWorktree) -> dict[str, Any]:
    return {
        "name": worktree.name,
        "path": str(worktree.path),
        "branch": worktree.branch,
        "inUse": worktree.in_use,
        "files": worktree.state.files,
        "commits": worktree.state.branch_commits + worktree.state.loose_commits,
        "obstacle": worktree.state.obstacle,
    }
