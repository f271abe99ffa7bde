"""`robota instructions`: list the instruction files sent to the model, in order, and those left out, with reasons."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.app.knowledge.instructions import instruction_files
from robota.app.policy import session_policy
from robota.cli.command_parser import CommandParser
from robota.cli.output import print_columns, print_json, print_prose
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions, workspace_root
from robota.config.settings.load import Settings, load_settings
from robota.config.trust.decision import is_trusted_by_person
from robota.engine.context.window import CHARACTERS_A_TOKEN
from robota.engine.runtime.options import DEFAULT_MODE
from robota.knowledge.instructions.loader import InstructionFile, Instructions
from robota.knowledge.instructions.places import InstructionScope
from robota.text.visible import single_line

DONE: Final = 0
CONFIGURATION: Final = 3
HEADINGS: Final = ("FILE", "OF", "TOKENS", "TOLD AS")


def main(argv: Sequence[str]) -> int:
    """Run `robota instructions …`; the arguments begin after `instructions`."""
    options = parser().parse_args(argv)
    try:
        file = options.path.resolve() if options.path.is_file() else None
        root = workspace_root(Path() if _is_here(file) else _directory(options.path))
        settings = load_settings(root, os.environ)
        instructions = _instructions(settings, root, options.mode, file)
    except ConfigError as error:
        print(f"robota: {error}", file=sys.stderr)
        return CONFIGURATION
    is_trusted = is_trusted_by_person(settings.trust, os.environ)
    if options.json:
        print_json(_as_json(instructions, is_trusted=is_trusted))
    else:
        _print(instructions, is_trusted=is_trusted)
    return DONE


def parser() -> CommandParser:
    """The argument parser of `robota instructions`."""
    parser = CommandParser(
        prog="robota instructions",
        description="Show which instruction files and rules a session loads, where they come from, and in which order.",
    )
    parser.add_argument(
        "path",
        nargs="?",
        type=Path,
        default=Path(),
        metavar="PATH",
        help="working directory of the session, or a file it touches",
    )
    parser.add_argument("--mode", default=DEFAULT_MODE, metavar="SLUG", help="the task mode (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _is_here(file: Path | None) -> bool:
    """Whether a session started here could access the file."""
    return file is not None and file.is_relative_to(Path.cwd())


def _directory(path: Path) -> Path:
    """The directory in which a session for a file is started."""
    return path.parent if path.is_file() else path


def _instructions(settings: Settings, root: Path, mode: str, file: Path | None) -> Instructions:
    """The instructions at the start of a session and, with a file, those loaded when it is accessed."""
    policy, _ = session_policy(LaunchOptions(cwd=root), settings, root, None, os.environ)
    reader = instruction_files(settings, root, os.environ, policy)
    at_start = reader.load(mode)
    if file is None:
        return at_start
    known = {each.path for each in at_start.files}
    on_touch = reader.load_for(mode, (str(file),))
    later = tuple(each for each in on_touch.files if each.path not in known)
    shown = {each.path for each in later}
    left_out = dict.fromkeys(each for each in (*at_start.left_out, *on_touch.left_out) if each.path not in shown)
    return Instructions(files=(*at_start.files, *later), left_out=tuple(left_out))


def _print(instructions: Instructions, *, is_trusted: bool) -> None:
    if not instructions.files:
        print("There are no instruction files here: no AGENTS.md, CLAUDE.md or rules.")
    else:
        rows = [_row(file, is_trusted=is_trusted) for file in instructions.files]
        print_columns([HEADINGS, *rows])
        print(f"About {sum(map(_tokens, instructions.files)):,} tokens in every request.")
    if any(file.scope is InstructionScope.PROJECT for file in instructions.files) and not is_trusted:
        print("This workspace is not trusted, so its instructions are quoted as data. To review it: robota trust")
    if instructions.left_out:
        print("\nLeft out:")
        for each in instructions.left_out:
            why = each.why.replace(f"{Path.cwd()}/", "")
            print_prose(f"  {_shown(each.path)}: {single_line(why, 1000)}", "    ")


def _row(file: InstructionFile, *, is_trusted: bool) -> tuple[str, ...]:
    by = "" if file.imported_by is None else f", imported by {_shown(file.imported_by)}"
    told = _told_as(file, is_trusted=is_trusted)
    return (_shown(file.path), file.scope, f"{_tokens(file):,}", f"{told}{by}")


def _shown(path: str) -> str:
    """The shortest form of a path, relative to the current directory."""
    place = Path(path)
    if place.is_relative_to(Path.cwd()):
        return single_line(str(place.relative_to(Path.cwd())), 4096)
    if place.is_relative_to(Path.home()):
        return single_line(f"~/{place.relative_to(Path.home())}", 4096)
    return single_line(path, 4096)


def _told_as(file: InstructionFile, *, is_trusted: bool) -> str:
    return "instructions" if is_trusted or file.scope is InstructionScope.USER else "quoted data"


def _tokens(file: InstructionFile) -> int:
    return -(-len(file.text) // CHARACTERS_A_TOKEN)


def _as_json(instructions: Instructions, *, is_trusted: bool) -> dict[str, Any]:
    return {
        "files": [
            {
                "path": file.path,
                "scope": file.scope,
                "toldAs": _told_as(file, is_trusted=is_trusted),
                "tokens": _tokens(file),
                "importedBy": file.imported_by,
                "text": file.text,
            }
            for file in instructions.files
        ],
        "leftOut": [msgspec.structs.asdict(each) for each in instructions.left_out],
    }
