"""Parses the text of a skill into literals, placeholders and shell commands, and fills them in.

The text is parsed once, so neither an argument nor the output of a command can become a command or a placeholder.
"""

import re
import shlex
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, assert_never

import msgspec

from robota.workspace.shell.quoting import Argument, with_arguments

ALL_ARGUMENTS: Final = "ARGUMENTS"
_PARTS: Final = re.compile(
    r"""
      (?<![\w`])!`(?P<command>[^`\n]+)`               # an inline command
    | \\(?P<escaped>\$)                               # an escaped dollar sign
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
    """Text that is kept as it is."""

    text: str


class Placeholder(msgspec.Struct, frozen=True):
    """A place for an argument (by number or name) or a variable. `written` is its source text."""

    key: int | str
    written: str


class Shell(msgspec.Struct, frozen=True):
    """A command that is replaced by its output."""

    parts: tuple["Literal | Placeholder", ...]


Part = Literal | Placeholder | Shell
RunShell = Callable[[str], Awaitable[str]]


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """The values for placeholders: the arguments as `typed`, the `names` of positional ones, and variables."""

    typed: str = ""
    names: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}

    @property
    def words(self) -> Sequence[str]:
        """The arguments, split as by a shell; at white space if the quotes are unbalanced."""
        try:
            return shlex.split(self.typed)
        except ValueError:
            return self.typed.split()

    def of(self, placeholder: Placeholder) -> str:
        """The value of a placeholder. A missing number or variable stays as it was written, a missing name is empty."""
        words = self.words
        match placeholder.key:
            case int(number):
                return words[number] if number < len(words) else placeholder.written
            case str(name) if name == ALL_ARGUMENTS:
                return self.typed
            case str(name) if name in self.names:
                number = self.names.index(name)
                return words[number] if number < len(words) else ""
            case str(name):
                return self.variables.get(name, placeholder.written)


class FilledTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The filled text, and `mention_source`: the same without the output of commands, which cannot mention files."""

    text: str
    mention_source: str


def parse_template(text: str) -> tuple[Part, ...]:
    """Parse the text of a skill in linear time."""
    parts: list[Part] = []
    for is_commands, piece in _blocks(text):
        if is_commands:
            parts.append(Shell(_placeholders(piece)))
        else:
            parts.extend(_inline(piece))
    numbers = {placeholder.written for placeholder in _numbered(parts)}
    # Commands from before Claude Code had `$0`, and those of opencode, call the first argument `$1`.
    if "$1" in numbers and not any(written == "$0" or "[" in written for written in numbers):
        return tuple(map(_with_numbers_from_one, parts))
    return tuple(parts)


def _numbered(parts: Iterable[Part]) -> Iterator[Placeholder]:
    """The numbered placeholders, except those in single quotes of a command: `$1` may belong to awk."""
    for part in parts:
        match part:
            case Placeholder(int()):
                yield part
            case Shell(inside):
                quotes = 0
                for piece in inside:
                    quotes += piece.text.count("'") if isinstance(piece, Literal) else 0
                    if isinstance(piece, Placeholder) and isinstance(piece.key, int) and quotes % 2 == 0:
                        yield piece


def _with_numbers_from_one(part: Part) -> Part:
    return Shell(tuple(map(_previous_number, part.parts))) if isinstance(part, Shell) else _previous_number(part)


def _previous_number(part: Literal | Placeholder) -> Literal | Placeholder:
    match part:
        case Placeholder(int(number), written):
            return Placeholder(number - 1, written)
        case _:
            return part


def _blocks(text: str) -> list[tuple[bool, str]]:
    """The text in pieces, each with whether it is a fenced block of commands. An unclosed block is plain text."""
    pieces: list[tuple[bool, str]] = []
    plain: list[str] = []
    lines = text.splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines) if line.rstrip() == BLOCK_ENDS]
    number = 0
    while number < len(lines):
        next_end = bisect_right(ends, number)
        if lines[number].rstrip() != BLOCK_BEGINS or next_end == len(ends):
            plain.append(lines[number])
            number += 1
            continue
        end = ends[next_end]
        pieces += [(False, "".join(plain)), (True, "".join(lines[number + 1 : end]))]
        plain = [lines[end].removeprefix(BLOCK_ENDS)]
        number = end + 1
    return [*pieces, (False, "".join(plain))]


def _inline(text: str) -> list[Part]:
    parts: list[Part] = []
    for match, before in _matches_in(text):
        if before:
            parts.append(Literal(before))
        if match is not None:
            parts.append(_placeholder(match) if match["command"] is None else Shell(_placeholders(match["command"])))
    return parts


async def fill(parts: Sequence[Part], values: Values, run: RunShell) -> FilledTemplate:
    """Fill in a template. Arguments within commands are quoted for the shell. Raises `CannotQuote`."""
    filled = [await _filled(part, values, run) for part in parts]
    text = "".join(filled)
    if values.typed and not any(_uses_arguments(part, values) for part in parts):
        text = f"{text.rstrip()}\n\nARGUMENTS: {values.typed}"
    without_output = (
        filled_text for part, filled_text in zip(parts, filled, strict=True) if not isinstance(part, Shell)
    )
    return FilledTemplate(text=text, mention_source="".join(without_output))


async def _filled(part: Part, values: Values, run: RunShell) -> str:
    match part:
        case Literal(text):
            return text
        case Placeholder():
            return values.of(part)
        case Shell(parts):
            return await run(with_arguments([_piece(inner, values) for inner in parts]))
        case never:
            assert_never(never)


def _piece(part: Literal | Placeholder, values: Values) -> str | Argument:
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
        case Placeholder(key):
            return isinstance(key, int) or key == ALL_ARGUMENTS or key in values.names
        case Shell(parts):
            return any(_uses_arguments(inner, values) for inner in parts)
        case never:
            assert_never(never)


def _matches_in(text: str) -> "Sequence[tuple[re.Match[str] | None, str]]":
    """Each special part with the plain text before it; the last entry is the rest of the text."""
    pieces: list[tuple[re.Match[str] | None, str]] = []
    end = 0
    for match in _PARTS.finditer(text):
        pieces.append((match, text[end : match.start()]))
        end = match.end()
    return [*pieces, (None, text[end:])]


def _placeholder(match: re.Match[str]) -> Literal | Placeholder:
    if match["escaped"]:
        return Literal("$")
    if match["index"] or match["number"]:
        return Placeholder(int(match["index"] or match["number"]), match[0])
    return Placeholder(match["variable"] or match["name"], match[0])


def _placeholders(command: str) -> tuple[Literal | Placeholder, ...]:
    """The placeholders in a command. Variables that only the shell knows stay as they are."""
    parts: list[Literal | Placeholder] = []
    for match, before in _matches_in(command):
        if before:
            parts.append(Literal(before))
        if match is None:
            continue
        is_literal = match["command"] is not None or match["escaped"] is not None
        parts.append(Literal(match[0]) if is_literal else _placeholder(match))
    return tuple(parts)
