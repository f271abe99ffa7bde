"""The text of a skill as a template: words, places for arguments, and commands whose output is put in.

Taken apart once, so that neither an argument nor the output of a command can ever become a command or a place.
"""

import re
import shlex
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, assert_never

import msgspec

from robota.workspace.shell.quoting import Argument, with_arguments

ALL_ARGUMENTS: Final = "ARGUMENTS"
_PARTS: Final = re.compile(
    r"""
      (?<![\w`])!`(?P<command>[^`\n]+)`               # a command in the line
    | \\(?P<escaped>\$)                               # a dollar that means nothing
    | \$ARGUMENTS\[(?P<index>\d{1,3})\]
    | \$\{(?P<variable>[A-Z][A-Z_]*)\}
    | \$(?P<number>\d)(?!\d)
    | \$(?P<name>[A-Za-z_]\w*)
    """,
    re.VERBOSE,
)
BLOCK_BEGINS: Final = "```!"
BLOCK_ENDS: Final = "```"


class Literal(msgspec.Struct, frozen=True):
    """Text as it stands."""

    text: str


class ArgumentPlace(msgspec.Struct, frozen=True):
    """Where something is put in: `key` is a number, a name or a variable; `written` stays if there is nothing."""

    key: int | str
    written: str


class Shell(msgspec.Struct, frozen=True):
    """A command whose output is put in."""

    parts: tuple["Literal | ArgumentPlace", ...]


Part = Literal | ArgumentPlace | Shell
RunShell = Callable[[str], Awaitable[str]]


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed behind the name of a skill, and what else may be put in."""

    typed: str = ""
    names: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}

    @property
    def words(self) -> Sequence[str]:
        """What was typed, word by word as a shell would read it; as it stands if the quotes do not fit."""
        try:
            return shlex.split(self.typed)
        except ValueError:
            return self.typed.split()

    def of(self, place: ArgumentPlace) -> str:
        """What belongs into a place. A missing number stays as it was written, a missing name is empty."""
        words = self.words
        match place.key:
            case int(number):
                return words[number] if number < len(words) else place.written
            case str(name) if name == ALL_ARGUMENTS:
                return self.typed
            case str(name) if name in self.names:
                number = self.names.index(name)
                return words[number] if number < len(words) else ""
            case str(name):
                return self.variables.get(name, place.written)


class FilledTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A text with everything put in, and as much of it as people wrote: no command printed `mentioning`."""

    text: str
    mentioning: str


def parse_template(text: str) -> tuple[Part, ...]:
    """Take a text apart, in time that grows with its length."""
    parts: list[Part] = []
    for is_commands, piece in _blocks(text):
        if is_commands:
            parts.append(Shell(_places(piece)))
        else:
            parts.extend(_inline(piece))
    numbers = {place.written for place in _numbered(parts)}
    # Commands from before Claude Code had `$0`, and those of opencode, call the first argument `$1`.
    if "$1" in numbers and not any(written == "$0" or "[" in written for written in numbers):
        return tuple(map(_counted_from_one, parts))
    return tuple(parts)


def _numbered(parts: Iterable[Part]) -> Iterator[ArgumentPlace]:
    """The numbered places, but for those in single quotes of a command: awk, too, has a `$1`."""
    for part in parts:
        match part:
            case ArgumentPlace(int()):
                yield part
            case Shell(inside):
                quotes = 0
                for piece in inside:
                    quotes += piece.text.count("'") if isinstance(piece, Literal) else 0
                    if isinstance(piece, ArgumentPlace) and isinstance(piece.key, int) and quotes % 2 == 0:
                        yield piece


def _counted_from_one(part: Part) -> Part:
    return Shell(tuple(map(_place_before, part.parts))) if isinstance(part, Shell) else _place_before(part)


def _place_before(part: Literal | ArgumentPlace) -> Literal | ArgumentPlace:
    match part:
        case ArgumentPlace(int(number), written):
            return ArgumentPlace(number - 1, written)
        case _:
            return part


def _blocks(text: str) -> list[tuple[bool, str]]:
    """Fenced blocks of commands and what stands between them. A block that never ends is plain text."""
    pieces: list[tuple[bool, str]] = []
    plain: list[str] = []
    lines = text.splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines) if line.rstrip() == BLOCK_ENDS]
    number = 0
    while number < len(lines):
        end = None
        if lines[number].rstrip() == BLOCK_BEGINS:
            while ends and ends[0] < number:
                ends.pop(0)
            end = ends[0] if ends else None
        if end is None:
            plain.append(lines[number])
            number += 1
            continue
        pieces += [(False, "".join(plain)), (True, "".join(lines[number + 1 : end]))]
        plain = [lines[end].removeprefix(BLOCK_ENDS)]
        number = end + 1
    return [*pieces, (False, "".join(plain))]


def _inline(text: str) -> list[Part]:
    parts: list[Part] = []
    for found, before in _found(text):
        if before:
            parts.append(Literal(before))
        if found is not None:
            parts.append(_place(found) if found["command"] is None else Shell(_places(found["command"])))
    return parts


async def fill(parts: Sequence[Part], values: Values, run: RunShell) -> FilledTemplate:
    """The text with everything put in; arguments of commands are only ever words. Raises `CannotQuote`."""
    filled = [await _filled(part, values, run) for part in parts]
    text = "".join(filled)
    if values.typed and not any(_uses_arguments(part, values) for part in parts):
        text = f"{text.rstrip()}\n\nARGUMENTS: {values.typed}"
    written = (words for part, words in zip(parts, filled, strict=True) if not isinstance(part, Shell))
    return FilledTemplate(text=text, mentioning="".join(written))


async def _filled(part: Part, values: Values, run: RunShell) -> str:
    match part:
        case Literal(text):
            return text
        case ArgumentPlace():
            return values.of(part)
        case Shell(parts):
            return await run(with_arguments([_piece(each, values) for each in parts]))
        case never:
            assert_never(never)


def _piece(part: Literal | ArgumentPlace, values: Values) -> str | Argument:
    if isinstance(part, Literal):
        return part.text
    value = values.of(part)
    if part.key == ALL_ARGUMENTS:
        return Argument(value, tuple(values.words))
    return value if value is part.written else Argument(value, (value,))


def _uses_arguments(part: Part, values: Values) -> bool:
    match part:
        case Literal():
            return False
        case ArgumentPlace(key):
            return isinstance(key, int) or key == ALL_ARGUMENTS or key in values.names
        case Shell(parts):
            return any(_uses_arguments(each, values) for each in parts)
        case never:
            assert_never(never)


def _found(text: str) -> "Sequence[tuple[re.Match[str] | None, str]]":
    """Each special part with the plain text before it; the last entry is what is left."""
    pieces: list[tuple[re.Match[str] | None, str]] = []
    end = 0
    for found in _PARTS.finditer(text):
        pieces.append((found, text[end : found.start()]))
        end = found.end()
    return [*pieces, (None, text[end:])]


def _place(found: re.Match[str]) -> Literal | ArgumentPlace:
    if found["escaped"]:
        return Literal("$")
    if found["index"] or found["number"]:
        return ArgumentPlace(int(found["index"] or found["number"]), found[0])
    return ArgumentPlace(found["variable"] or found["name"], found[0])


def _places(command: str) -> tuple[Literal | ArgumentPlace, ...]:
    """The places in a command. Its own variables, which we do not know, stay as they are."""
    parts: list[Literal | ArgumentPlace] = []
    for found, before in _found(command):
        if before:
            parts.append(Literal(before))
        if found is None:
            continue
        stays = found["command"] is not None or found["escaped"] is not None
        parts.append(Literal(found[0]) if stays else _place(found))
    return tuple(parts)
