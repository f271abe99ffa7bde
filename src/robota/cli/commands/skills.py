"""`robota skills`: list, show and check skills and prompt commands, and create a skill."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from robota.app.extensions import session_plugins
from robota.app.knowledge.skills import skill_finder
from robota.cli.command_parser import CommandParser
from robota.cli.output import print_columns, print_json
from robota.config.durable_file import directory_inside
from robota.config.errors import ConfigError
from robota.config.launch_options import workspace_root
from robota.config.paths import user_directory
from robota.config.settings.load import load_settings
from robota.knowledge.skills.discovery import MAX_FILES, SkillFinder
from robota.knowledge.skills.library import SkillLibrary
from robota.knowledge.skills.skill import Skill, is_usable_name
from robota.text.visible import single_line, visible

DONE: Final = 0
REFUSED: Final = 1
HEADINGS: Final = ("NAME", "KIND", "OF", "DESCRIPTION")
NEW: Final = """---
name: {name}
description: What it does, and when to use it.
---
Instructions for the model. $ARGUMENTS is what was typed after /{name}.
"""


def main(argv: Sequence[str]) -> int:
    """Run `robota skills …`; the arguments begin after `skills`."""
    options = parser().read(argv)
    try:
        root = workspace_root(options.cwd)
        if options.action == "new":
            return _new(root, options)
        settings = load_settings(root, os.environ)
        plugins, _ = session_plugins(settings, root, os.environ)
        finder = skill_finder(settings, plugins, root, os.environ)
        library = SkillLibrary() if finder is None else finder.library()
        if not settings.is_trusted:
            print(f"robota: {root} is not trusted, so its skills are ignored: robota trust", file=sys.stderr)
        for place in () if finder is None else finder.cut_places:
            print(f"robota: only the first {MAX_FILES:,} files of {place} are read", file=sys.stderr)
    except ConfigError as error:
        return _refuse(str(error))
    if options.action == "list":
        return _list(library, options)
    if options.action == "validate":
        return _validate(library, options)
    return _show(finder, library, options)


def parser() -> CommandParser:
    """The argument parser of `robota skills`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    shared.add_argument("--json", action="store_true", help="print JSON")
    parser = CommandParser(
        prog="robota skills", description="Manage the skills and prompt commands of the project and your own."
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser(
        "list", parents=[shared], help="list all of them, and which are shadowed by another of the same name"
    )
    showing = actions.add_parser("show", parents=[shared], help="print the content of one")
    showing.add_argument("name", metavar="NAME", help="its name")
    actions.add_parser("validate", parents=[shared], help="report fields that have no effect")
    making = actions.add_parser("new", parents=[shared], help="create a new one from a template")
    making.add_argument("name", metavar="NAME", help="name of the skill")
    making.add_argument("--user", action="store_true", help="for all your projects, not only this one")
    return parser


def _list(library: SkillLibrary, options: argparse.Namespace) -> int:
    if options.json:
        print_json([_as_json(library, skill) for skill in library.all])
    elif not library.all:
        print("There are no skills here. To create one: robota skills new NAME")
    else:
        print_columns([HEADINGS, *(_row(library, skill) for skill in library.all)])
    return DONE


def _show(finder: SkillFinder | None, library: SkillLibrary, options: argparse.Namespace) -> int:
    skill = library.named(options.name.removeprefix("/"))
    if skill is None or finder is None:
        return _refuse(f"There is no skill {options.name}. To list them: robota skills list")
    text = finder.text(skill)
    if options.json:
        print_json({**_as_json(library, skill), "text": text})
    else:
        print(f"{skill.path}\n\n{visible(text)}".rstrip())
    return DONE


def _validate(library: SkillLibrary, options: argparse.Namespace) -> int:
    wrong = [skill for skill in library.all if skill.problems]
    if options.json:
        print_json([_as_json(library, skill) for skill in wrong])
    else:
        for skill in wrong:
            print(f"{single_line(skill.path, 4096)}: {single_line('; '.join(skill.problems), 1000)}")
        print(f"{len(library.all)} found, {len(wrong)} with fields that have no effect.")
    return REFUSED if wrong else DONE


def _new(root: Path, options: argparse.Namespace) -> int:
    if not is_usable_name(options.name):
        return _refuse(f"{options.name!r} is not a valid command name. Nothing was written.")
    above = user_directory(os.environ) if options.user else root / ".robota"
    path = above / "skills" / options.name / "SKILL.md"
    try:
        with (
            _made(path.parent, None if options.user else root) as directory,
            (directory / path.name).open("x", encoding="utf-8") as file,
        ):
            file.write(NEW.format(name=options.name))
    except FileExistsError:
        return _refuse(f"{path} already exists. Nothing was written.")
    except OSError as error:
        return _refuse(f"Cannot write {path}: {error.strerror}.")
    if options.json:
        print_json({"path": str(path)})
    else:
        trust = "" if options.user else " agree to it with robota trust,"
        print(f"{path} was written. Edit it,{trust} then type /{options.name} in robota.")
    return DONE


@contextmanager
def _made(directory: Path, workspace: Path | None) -> Iterator[Path]:
    """The directory, created if it is missing. Links in a workspace come from the repository and are not followed."""
    if workspace is None:
        directory.mkdir(parents=True, exist_ok=True)
        yield directory
        return
    with directory_inside(workspace, directory.relative_to(workspace)) as made:
        yield made


def _row(library: SkillLibrary, skill: Skill) -> tuple[str, ...]:
    hidden = library.shadowed_by(skill)
    note = "" if hidden is None else f"(hidden by {hidden.path}) "
    return (skill.name, skill.kind, skill.scope, single_line(note + skill.description, 200))


def _as_json(library: SkillLibrary, skill: Skill) -> dict[str, Any]:
    hidden = library.shadowed_by(skill)
    return {
        "name": skill.name,
        "kind": skill.kind,
        "scope": skill.scope,
        "path": skill.path,
        "description": skill.description,
        "forPerson": skill.user_invocable,
        "forModel": skill.model_invocable,
        "allowedTools": skill.allowed_tools,
        "context": skill.context,
        "hiddenBy": None if hidden is None else hidden.path,
        "problems": skill.problems,
    }


def _refuse(why: str) -> int:
    print(f"robota: {why}", file=sys.stderr)
    return REFUSED
