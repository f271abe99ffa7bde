"""`robota trust`: show what a workspace would load, and decide whether to trust it."""

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from robota.cli.command_parser import CommandParser
from robota.cli.output import print_prose
from robota.cli.questions import Cancelled, at_terminal, confirm
from robota.config.errors import ConfigError
from robota.config.settings.load import Settings, load_settings
from robota.config.trust.change_text import change_lines
from robota.config.trust.decision import (
    Trust,
    TrustState,
    answer_about,
    changes,
    forget,
    is_trusted_by_person,
    remember,
)
from robota.config.trust.outside_files import OutsideFileAnswers
from robota.text.visible import single_line

TRUSTED: Final = 0
UNTRUSTED: Final = 1
CONFIGURATION: Final = 3


def main(argv: Sequence[str]) -> int:
    """Run `robota trust …`; returns 0 if the workspace is trusted afterwards, or has no configuration."""
    options = parser().parse_args(argv)
    try:
        root = options.cwd.resolve(strict=True)
        if options.revoke:
            return _revoke(root, os.environ)
        if options.own:
            return _look_at_own(os.environ)
        if options.files:
            return _agree(options.files, root, os.environ)
        code = _decide(root, options, os.environ)
        _decide_on_outside_files(root, options, os.environ)
        return code if _decide_on_programs(root, options, os.environ) else UNTRUSTED
    except OSError as error:
        print(f"robota: {options.cwd} cannot be used: {error.strerror}.", file=sys.stderr)
    except ConfigError as error:
        print(f"robota: {error}", file=sys.stderr)
    return CONFIGURATION


def ask_if_needed(root: Path, env: Mapping[str, str]) -> None:
    """At an interactive start: ask about a workspace that is new, or changed since the user decided."""
    settings = load_settings(root, env)
    trust = settings.trust
    if trust is not None and trust.state in (TrustState.UNTRUSTED, TrustState.CHANGED):
        _describe(trust, env)
        if _ask(trust, env, tells_no=False):  # the new session says what it leaves out
            settings = load_settings(root, env)
    from robota.app.extensions import has_programs

    if settings.is_trusted and has_programs(settings):
        from robota.cli.commands.trust.programs import ask_about_programs, print_files_wanted

        is_undecided = trust is not None and answer_about(settings.trust, env) in (None, "own")
        if is_undecided and settings.trust is not None and print_files_wanted(settings, root.resolve(), env):
            _ask(settings.trust, env, tells_no=False)
        elif not is_undecided:
            ask_about_programs(settings, root.resolve(), env)
    if is_trusted_by_person(settings.trust, env):
        # Imported only where needed: most workspaces have no configuration.
        from robota.cli.commands.trust.outside_files import ask_about_outside_files

        ask_about_outside_files(settings, root.resolve(), env)


def parser() -> argparse.ArgumentParser:
    """The argument parser of `robota trust`."""
    parser = CommandParser(
        prog="robota trust",
        usage="robota trust [--show | --yes | --revoke | --own | --import FILE …]",
        description="Review and trust the settings, hooks, MCP servers and other configuration of a workspace.",
    )
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--show", action="store_true", help="show what would be loaded and whether it is trusted")
    what.add_argument("--yes", action="store_true", help="trust it as it is now, without asking")
    what.add_argument("--revoke", action="store_true", help="stop trusting it")
    what.add_argument("--own", action="store_true", help="review changes in your own skills and hooks")
    what.add_argument(
        "--import",
        dest="files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="allow its instruction files to import these files from outside the workspace, as they are now",
    )
    return parser


def _decide(root: Path, options: argparse.Namespace, env: Mapping[str, str]) -> int:
    settings = load_settings(root, env)
    trust = settings.trust
    if trust is None:
        print_prose(" ".join(settings.ignored))
        return TRUSTED
    _describe(trust, env)
    if options.show:
        return TRUSTED if trust.is_given else UNTRUSTED
    if trust.is_given:
        return _decide_on_files(settings, trust, root, options, env)
    if options.yes:
        remember("yes", trust.snapshot, env, _now_ms())
        print_prose("This workspace is now trusted in its current state.")
        return TRUSTED
    if not at_terminal():
        print("Not a terminal, so nobody can answer. To trust it as it is: robota trust --yes", file=sys.stderr)
        return UNTRUSTED
    return TRUSTED if _ask(trust, env) else UNTRUSTED


def _look_at_own(env: Mapping[str, str]) -> int:
    from robota.cli.commands.trust.own_files import look_at_own

    return TRUSTED if look_at_own(env) else UNTRUSTED


def _agree(files: Sequence[Path], root: Path, env: Mapping[str, str]) -> int:
    from robota.cli.commands.trust.outside_files import agree_to_files

    agree_to_files(files, root, env)
    if is_trusted_by_person(load_settings(root, env).trust, env):
        return TRUSTED
    print_prose("This takes effect when you trust the workspace: robota trust")
    return UNTRUSTED


def _decide_on_outside_files(root: Path, options: argparse.Namespace, env: Mapping[str, str]) -> None:
    """List the undecided files outside the workspace that its instructions include, or ask about them."""
    from robota.cli.commands.trust.outside_files import ask_about_outside_files, undecided_files

    settings = load_settings(root, env)
    if at_terminal() and not options.show and not options.yes:
        return ask_about_outside_files(settings, root, env)
    for file in undecided_files(settings, root, env):
        path = single_line(file.path, 4096)
        print_prose(
            f"{single_line(file.referenced_by, 4096)} refers to {path}, outside the workspace, which is ignored."
        )
        print_prose(f"To include it in its current state: robota trust --import {path}")
    return None


def _decide_on_programs(root: Path, options: argparse.Namespace, env: Mapping[str, str]) -> bool:
    """Show which files that run outside the sandbox have changed, and ask about them; whether all may run."""
    from robota.cli.commands.trust.programs import agree_to_programs, ask_about_programs, show_programs

    settings = load_settings(root, env)
    if settings.trust is not None and not is_trusted_by_person(settings.trust, env):
        return True  # none of them runs
    if options.yes:
        agree_to_programs(settings, root, env)
        return True
    return (
        ask_about_programs(settings, root, env)
        if at_terminal() and not options.show
        else show_programs(settings, root, env)
    )


def _agree_to_programs(root: Path, env: Mapping[str, str]) -> None:
    from robota.cli.commands.trust.programs import agree_to_programs

    agree_to_programs(load_settings(root, env), root, env)


def _decide_on_files(
    settings: Settings, trust: Trust, root: Path, options: argparse.Namespace, env: Mapping[str, str]
) -> int:
    """Decide on files that need trust although the configuration needs none: instructions, and what programs run.

    Until it is trusted, instructions are only quoted, and programs outside the sandbox run none of its files.
    """
    from robota.app.knowledge.instructions import has_project_instructions
    from robota.cli.commands.trust.programs import print_files_wanted

    has_words = has_project_instructions(root, env)
    if is_trusted_by_person(trust, env):
        if has_words:
            print_prose(
                "It is trusted: its instruction files are sent to the model as yours. To see them: robota instructions"
            )
        return TRUSTED
    if has_words:
        print_prose(
            "Its instruction files are quoted as data, not given as instructions. To see them: robota instructions"
        )
    is_wanted = print_files_wanted(settings, root, env) or has_words
    if options.yes:
        remember("yes", trust.snapshot, env, _now_ms())
        print_prose("This workspace is now trusted in its current state.")
    elif is_wanted and at_terminal():
        _ask(trust, env)
    return TRUSTED


def _ask(trust: Trust, env: Mapping[str, str], *, tells_no: bool = True) -> bool:
    if trust.problem is not None:
        print_prose(f"It cannot be trusted: {trust.problem}")
        return False
    try:
        said = confirm("Do you trust it?", default=False)
    except Cancelled:
        if tells_no:
            print_prose("Not decided; its configuration is ignored this time.")
        return False
    remember("yes" if said else "no", trust.snapshot, env, _now_ms())
    if said:
        _agree_to_programs(trust.snapshot.root, env)
    if said or tells_no:
        print_prose("Trusted." if said else "Its configuration is ignored. To decide again: robota trust")
    return said


def _describe(trust: Trust, env: Mapping[str, str]) -> None:
    print_prose(f"{single_line(str(trust.snapshot.root), 4096)}: {trust.state}.")
    if trust.state is TrustState.NOTHING:
        return
    if trust.state is TrustState.CHANGED:
        print_prose("Differences from what you trusted:")
        for change in changes(trust, env):
            print("\n".join(f"  {line}" for line in change_lines(change)))
        return
    print_prose("Its configuration can run commands, allow tool calls and change the model's instructions:")
    for source in trust.snapshot.sources:
        size = f"{len(source.data):,} bytes" if source.data is not None else "a link, special or too long: not read"
        print_prose(f"  {single_line(source.path, 200)}  ({size})")


def _revoke(root: Path, env: Mapping[str, str]) -> int:
    known = forget(root, env)
    OutsideFileAnswers(root, env).forget_all()
    print_prose(f"{single_line(str(root), 4096)} {'is no longer trusted' if known else 'was not trusted'}.")
    return TRUSTED


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
