"""Reading custom modes from files such as `.robota/modes.yaml` or `.roomodes`."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.durable_file import read_file
from robota.config.yaml_document import YamlProblem, read_yaml
from robota.contracts.tool import ToolGroup
from robota.policy.modes.task_modes import ModeGroup, TaskMode, known_modes

SLUG: Final = re.compile(r"[A-Za-z0-9-]+")
# Editors and chats leave these behind; they would make a key unknown or a file unreadable.
STRAY: Final = str.maketrans({"\ufeff": None, "\u200b": None, "\u00a0": " ", "\u2013": "-", "\u2014": "-"})
OBSOLETE: Final = "browser"
MAX_BYTES: Final = 1024 * 1024


class ModeProblem(Exception):
    """The file cannot be used. The text says what is wrong."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    slug: str
    name: str
    role_definition: str
    groups: list[Any]
    when_to_use: str | None = None
    description: str | None = None
    custom_instructions: str | None = None


class _File(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    custom_modes: list[_Entry] = []


def read_modes(files: Iterable[Path]) -> tuple[dict[str, TaskMode], tuple[str, ...]]:
    """The built-in modes overlaid with those of each file, and notices about files that cannot be used."""
    layers: list[tuple[TaskMode, ...]] = []
    notices: list[str] = []
    for file in files:
        try:
            layers.append(parse_modes(read_file(file, most=MAX_BYTES).decode("utf-8", "replace"), str(file)))
        except (ModeProblem, OSError) as problem:
            notices.append(f"{problem} The modes in this file are ignored.")
    return known_modes(*layers), tuple(notices)


def parse_modes(text: str, source: str) -> tuple[TaskMode, ...]:
    """Parse the modes in a YAML or JSON file. Raises `ModeProblem` if any mode is invalid: no file is half used."""
    try:
        entries = msgspec.convert(read_yaml(text.translate(STRAY)) or {}, _File).custom_modes
    except (YamlProblem, msgspec.ValidationError) as error:
        raise ModeProblem(f"{source}: {error}.") from error
    slugs = [entry.slug for entry in entries]
    if len(set(slugs)) != len(slugs):
        raise ModeProblem(f"{source}: two modes have the same slug.")
    return tuple(_mode(entry, source) for entry in entries)


def _mode(entry: _Entry, source: str) -> TaskMode:
    if SLUG.fullmatch(entry.slug) is None:
        raise ModeProblem(f"{source}: the slug {entry.slug!r} may contain only letters, digits and dashes.")
    groups = tuple(_group(value, entry.slug, source) for value in entry.groups if value != OBSOLETE)
    names = [group.name for group in groups]
    if len(set(names)) != len(names):
        raise ModeProblem(f"{source}: the mode {entry.slug} names a group twice.")
    return TaskMode(
        slug=entry.slug,
        name=entry.name,
        role_definition=entry.role_definition,
        groups=groups,
        when_to_use=entry.when_to_use,
        description=entry.description,
        custom_instructions=entry.custom_instructions,
        source=source,
    )


def _group(value: Any, slug: str, source: str) -> ModeGroup:
    name, options = (value[0], value[1]) if isinstance(value, list) and len(value) == 2 else (value, {})
    if name not in set(ToolGroup) or not isinstance(options, dict):
        raise ModeProblem(f"{source}: the mode {slug} has the group {value!r}; groups are {', '.join(ToolGroup)}.")
    file_regex, description = options.get("fileRegex"), options.get("description")
    if file_regex is not None:
        # Imported here because it loads a large library that few sessions need.
        from robota.config.linear_pattern import problem_with_pattern

        problem = problem_with_pattern(file_regex)
        if problem is not None:
            raise ModeProblem(f"{source}: the fileRegex {file_regex!r} of the mode {slug} cannot be used: {problem}.")
    return ModeGroup(name=ToolGroup(name), file_regex=file_regex, description=str(description) if description else None)
