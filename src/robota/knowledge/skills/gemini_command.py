"""Parses the TOML files of Gemini CLI: `prompt` and `description`, with `{{args}}`, `!{command}` and `@{path}`."""

import tomllib
from collections.abc import Iterator
from typing import Final

from robota.knowledge.front_matter import FrontMatter
from robota.knowledge.skills.template import ALL_ARGUMENTS, Literal, Part, Placeholder, Shell

_ARGUMENTS: Final = "{{args}}"
_COMMAND: Final = "!{"
_PATH: Final = "@{"


def gemini_front_matter(text: str) -> FrontMatter:
    """The fields and the prompt of a TOML file. Never raises: an invalid file has a `problem` and no text."""
    try:
        fields = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return FrontMatter(fields={}, text="", problem=f"it is not TOML: {error}")
    prompt = fields.pop("prompt", None)
    if not isinstance(prompt, str):
        return FrontMatter(fields={}, text="", problem="it has no prompt")
    return FrontMatter(fields=fields, text=prompt)


def parse_gemini_prompt(prompt: str) -> tuple[Part, ...]:
    """Parse a prompt in linear time. A `!{` or `@{` without its closing brace is plain text."""
    ends = _closing_braces(prompt)
    parts: list[Part] = []
    plain = at = 0
    while at < len(prompt):
        end = ends.get(at + 1) if prompt.startswith((_COMMAND, _PATH), at) else None
        if end is None:
            at += 1
            continue
        inside = prompt[at + len(_COMMAND) : end]
        parts.extend(_placeholders(prompt[plain:at]))
        parts.extend([Shell(tuple(_placeholders(inside)))] if prompt[at] == _COMMAND[0] else _mention(inside))
        plain = at = end + 1
    return (*parts, *_placeholders(prompt[plain:]))


def _closing_braces(text: str) -> dict[int, int]:
    """The position of the closing brace for each opening one."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for position, character in enumerate(text):
        if character == "{":
            opened.append(position)
        elif character == "}" and opened:
            closing[opened.pop()] = position
    return closing


def _placeholders(text: str) -> Iterator[Literal | Placeholder]:
    """The text, with a placeholder for each `{{args}}`."""
    for number, literal in enumerate(text.split(_ARGUMENTS)):
        if number > 0:
            yield Placeholder(ALL_ARGUMENTS, _ARGUMENTS)
        if literal:
            yield Literal(literal)


def _mention(path: str) -> Iterator[Literal | Placeholder]:
    yield from (Literal('@"'), *_placeholders(path.strip()), Literal('"'))
