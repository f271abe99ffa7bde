"""The verbs of skills and prompt commands."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from robota.app.extensions import session_plugins
from robota.app.knowledge.skills import skill_finder
from robota.commands.command_index import indexed_commands, own_name
from robota.commands.verb import (
    FAILED,
    Answer,
    Family,
    NoArguments,
    ReadingVerb,
    Verb,
    VerbFailed,
    always,
    raw,
    table,
    told,
)
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.durable_file import directory_inside
from robota.config.paths import user_directory
from robota.config.settings.load import load_settings
from robota.knowledge.skills.discovery import MAX_FILES, SkillFinder
from robota.knowledge.skills.library import SkillLibrary
from robota.knowledge.skills.skill import Skill, is_usable_name
from robota.protocol.slash_commands import SubcommandInfo
from robota.text.visible import single_line, visible

COLUMNS: Final = ("NAME", "KIND", "OF", "DESCRIPTION")
NONE: Final = "There are no skills here. To create one: robota skills new NAME"
NEW: Final = """---
name: {name}
description: What it does, and when to use it.
---
Instructions for the model. $ARGUMENTS is what was typed after /{name}.
"""


def _names(host: VerbHost) -> Iterable[SubcommandInfo]:
    return (SubcommandInfo(name=skill.name, description=skill.description) for skill in _load(host)[1].all)


class OneSkill(msgspec.Struct, frozen=True):
    """A skill."""

    name: Annotated[str, Positional("NAME", "its name", _names)]


class NewSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill to create."""

    name: Annotated[str, Positional("NAME", "name of the skill")]
    user: Annotated[bool, Option("for all your projects, not only this one")] = False


def _load(host: VerbHost) -> tuple[SkillFinder | None, SkillLibrary]:
    """The skills of the workspace and the user; reports those that could not be read."""
    settings = load_settings(host.root, host.env)
    plugins, _ = session_plugins(settings, host.root, host.env)
    finder = skill_finder(settings, plugins, host.root, host.env)
    if not settings.is_trusted:
        host.tell(f"{host.root} is not trusted, so its skills are ignored: robota trust")
    for directory in () if finder is None else finder.cut_directories:
        host.tell(f"only the first {MAX_FILES:,} files of {directory} are read")
    return finder, SkillLibrary() if finder is None else finder.library()


def _list(host: VerbHost, _: NoArguments) -> Answer:
    library = _load(host)[1]
    slash = "" if host.opened is None else "/"
    rows = (_row(library, skill, slash) for skill in library.all)
    return table(COLUMNS, rows, [_as_json(library, skill) for skill in library.all], nothing=NONE)


def _show(host: VerbHost, args: OneSkill) -> Answer:
    finder, library = _load(host)
    skill = library.named(args.name.removeprefix("/"))
    if skill is None or finder is None:
        raise VerbFailed(f"There is no skill {args.name}. To list them: robota skills list")
    text = finder.text(skill)
    return raw(f"{skill.path}\n\n{visible(text)}".rstrip(), {**_as_json(library, skill), "text": text})


def _validate(host: VerbHost, _: NoArguments) -> Answer:
    library = _load(host)[1]
    wrong = [skill for skill in library.all if skill.problems]
    lines = [f"{single_line(skill.path, 4096)}: {single_line('; '.join(skill.problems), 1000)}" for skill in wrong]
    lines.append(f"{len(library.all)} found, {len(wrong)} with fields that have no effect.")
    data = [_as_json(library, skill) for skill in wrong]
    return told("\n".join(lines), data, ok=not wrong)


def _new(host: VerbHost, args: NewSkill) -> Answer:
    if not is_usable_name(args.name):
        raise VerbFailed(f"{args.name!r} is not a valid command name. Nothing was written.")
    above = user_directory(host.env) if args.user else host.root / ".robota"
    path = above / "skills" / args.name / "SKILL.md"
    write_new(path, NEW.format(name=args.name), None if args.user else host.root)
    trust = "" if args.user else " agree to it with robota trust,"
    return told(f"{path} was written. Edit it,{trust} then type /{args.name} in robota.", {"path": str(path)})


def write_new(path: Path, text: str, workspace: Path | None) -> None:
    """Create the file; one that exists stays as it is. Raises `VerbFailed`. `workspace` holds it, unless it is the
    user's."""
    try:
        with _made(path.parent, workspace) as directory, (directory / path.name).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise VerbFailed(f"{path} already exists. Nothing was written.") from error
    except OSError as error:
        raise VerbFailed(f"Cannot write {path}: {error.strerror}.") from error


@contextmanager
def _made(directory: Path, workspace: Path | None) -> Iterator[Path]:
    """The directory, created if it is missing. Links in a workspace come from the repository and are not followed."""
    if workspace is None:
        directory.mkdir(parents=True, exist_ok=True)
        yield directory
        return
    with directory_inside(workspace, directory.relative_to(workspace)) as made:
        yield made


def _row(library: SkillLibrary, skill: Skill, slash: str) -> tuple[str, ...]:
    hidden_by = _hidden_by(library, skill)
    note = "" if hidden_by is None else f"(hidden by {hidden_by}) "
    return (f"{slash}{skill.name}", skill.kind, skill.scope, single_line(note + skill.description, 200))


def _hidden_by(library: SkillLibrary, skill: Skill) -> str | None:
    """What the name resolves to instead, if it does not resolve to the skill."""
    other = library.shadowed_by(skill)
    if other is not None:
        return other.path
    if all(skill.name not in (each.info.name, *each.info.aliases) for each in indexed_commands()):
        return None
    return f"the built-in /{skill.name}; type /{own_name(skill.command_source, skill.name)}"


def _as_json(library: SkillLibrary, skill: Skill) -> dict[str, Any]:
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
        "hiddenBy": _hidden_by(library, skill),
        "problems": skill.problems,
    }


FAMILY: Final = Family(
    name="skills",
    about="Manage the skills and prompt commands of the project and your own.",
    description="list, show, create and validate skills and prompt commands",
    default="list",
    explain=always(FAILED),
    verbs=(
        ReadingVerb("list", "list all of them, and which are shadowed by another of the same name", NoArguments, _list),
        ReadingVerb("show", "print the content of one", OneSkill, _show),
        ReadingVerb("validate", "report fields that have no effect", NoArguments, _validate),
        Verb("new", "create a new one from a template", NewSkill, _new),
    ),
)
