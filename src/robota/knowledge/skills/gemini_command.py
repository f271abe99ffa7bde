"""Prompt commands in the TOML files of Gemini CLI: `prompt`, `description`, `{{args}}`, `!{command}`, `@{path}`."""

import tomllib
from collections.abc import Iterator
from typing import Final

from robota.knowledge.front_matter import FrontMatter
from robota.knowledge.skills.template import ALL_ARGUMENTS, ArgumentPlace, Literal, Part, Shell

_ARGUMENTS: Final = "{{args}}"
_COMMAND: Final = "!{"
_PATH: Final = "@{"


def gemini_front_matter(text: str) -> FrontMatter:
    """What a file says of its command; one that cannot be read has no text and says why."""
    try:
        fields = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return FrontMatter(fields={}, text="", problem=f"it is no TOML: {error}")
    prompt = fields.pop("prompt", None)
    if not isinstance(prompt, str):
        return FrontMatter(fields={}, text="", problem="it has no prompt")
    return FrontMatter(fields=fields, text=prompt)


def parse_gemini_prompt(prompt: str) -> tuple[Part, ...]:
    """Take a prompt apart, in time that grows with its length. What begins and never ends is plain text."""
    ends = _closing_braces(prompt)
    parts: list[Part] = []
    plain = at = 0
    while at < len(prompt):
        end = ends.get(at + 1) if prompt.startswith((_COMMAND, _PATH), at) else None
        if end is None:
            at += 1
            continue
        inside = prompt[at + len(_COMMAND) : end]
        parts.extend(_places(prompt[plain:at]))
        parts.extend([Shell(tuple(_places(inside)))] if prompt[at] == _COMMAND[0] else _mention(inside))
        plain = at = end + 1
    return (*parts, *_places(prompt[plain:]))


def _closing_braces(text: str) -> dict[int, int]:
    """Where the brace that opens at a place is closed."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for place, character in enumerate(text):
        if character == "{":
            opened.append(place)
        elif character == "}" and opened:
            found[opened.pop()] = place
    return found


def _places(text: str) -> Iterator[Literal | ArgumentPlace]:
    """Words, and between them the places for what was typed."""
    for number, words in enumerate(text.split(_ARGUMENTS)):
        if number > 0:
            yield ArgumentPlace(ALL_ARGUMENTS, _ARGUMENTS)
        if words:
            yield Literal(words)


def _mention(path: str) -> Iterator[Literal | ArgumentPlace]:
    yield from (Literal('@"'), *_places(path.strip()), Literal('"'))
