"""Whether a command only looks: its program is known and every one of its flags is harmless."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

import msgspec

from robota.policy.shell.readonly_commands import COMMANDS, GIT, Operands, ReadOnlyCommand
from robota.workspace.shell.script import Argv, SimpleCommand

COUNT: Final = re.compile(r"-[0-9]+")


class OnlyLooks(msgspec.Struct, frozen=True, kw_only=True):
    """What the command looks at. `is_git`: it also obeys the repository it runs in.

    One that `takes_no_directories` would follow links in them, wherever those lead.
    """

    paths: tuple[str, ...]
    is_git: bool = False
    takes_no_directories: bool = False


class _Word(msgspec.Struct, frozen=True):
    """A word and whether the shell replaces it by the names of files, which may be several."""

    text: str
    globs: bool = False


class _Unknown(Exception):
    """A word stands there of which nobody knows what it does."""


def only_looks(command: SimpleCommand, argv: Argv, no_flags: frozenset[int] = frozenset()) -> OnlyLooks | None:
    """What a command would look at if that is all it does. `argv` is the command without its wrappers.

    `no_flags` are the places of patterns that are known to become no flags.
    """
    # The shell itself looks for what a pattern stands for, whatever the program then does with the names.
    patterns = tuple(command.argv[place] for place in sorted(command.globs))
    if argv[:2] == ("command", "-v") or argv[:2] == ("command", "-V"):
        return OnlyLooks(paths=patterns)
    known = _known(argv)
    if known is None:
        return None
    definition, words = known
    skipped = len(command.argv) - len(words)
    marked = [_Word(word, place in command.globs) for place, word in enumerate(words, start=skipped)]
    # What a pattern becomes could look like a flag, unless it begins with something else.
    if any(command.argv[place][0] in "-*?[" for place in command.globs - no_flags if place >= skipped):
        return None
    try:
        paths = _paths(definition, marked)
    except _Unknown:
        return None
    looked_at = tuple(dict.fromkeys((*paths, *patterns)))
    return OnlyLooks(paths=looked_at, is_git=argv[0] == "git", takes_no_directories=definition.takes_no_directories)


def is_known(argv: Argv) -> bool:
    """Whether the program looks with some flags and does more with others."""
    known = _known(argv)
    return known is not None and not known[0].needs_flag


def _known(argv: Argv) -> tuple[ReadOnlyCommand, Argv] | None:
    """The definition of the command and the words after its name."""
    if argv[0] != "git":
        definition = COMMANDS.get(argv[0])
        return None if definition is None else (definition, argv[1:])
    words = argv[2:] if argv[1:2] in {("--no-pager",), ("-P",)} else argv[1:]
    for length in (2, 1):
        definition = GIT.get(" ".join(words[:length]))
        if definition is not None and len(words) >= length:
            return definition, words[length:]
    return COMMANDS["git"], words


def _paths(definition: ReadOnlyCommand, words: list[_Word]) -> tuple[str, ...]:
    """The words that name files."""
    if definition.never is not None and any(re.search(definition.never, word.text) for word in words):
        raise _Unknown
    operands: list[_Word] = []
    flags: list[str] = []
    rest = iter(words)
    for word in rest:
        if word.text == "--":
            operands.extend(rest)
        elif not word.text.startswith("-") or word.text == "-":
            operands.append(word)
        elif not (definition.counts and COUNT.fullmatch(word.text)):
            flags.extend(_flags_in(word.text, definition, rest))
    if definition.needs_flag and not flags:
        raise _Unknown
    names_a_pattern = not definition.pattern_flags.isdisjoint(flags)
    return _operand_paths(definition.operands, operands, names_a_pattern)


def _operand_paths(kind: Operands, operands: list[_Word], names_a_pattern: bool) -> tuple[str, ...]:
    matters_which_is_which = kind.limit is not None or kind.first is not None
    if matters_which_is_which and any(operand.globs for operand in operands):
        raise _Unknown
    if kind.limit is not None and len(operands) > kind.limit:
        raise _Unknown
    if kind.first is not None and operands and re.fullmatch(kind.first, operands[0].text, re.DOTALL) is None:
        raise _Unknown
    if kind.texts is None:
        return ()
    return tuple(operand.text for operand in operands[0 if names_a_pattern else kind.texts :])


def _flags_in(word: str, definition: ReadOnlyCommand, rest: Iterator[_Word]) -> list[str]:
    """The flags that a word is. Takes the value of a flag from the rest."""
    table = _table(definition.flags)
    name, equals, _ = word.partition("=")
    kind = table.get(name)
    if kind is not None:
        if kind == "=" and not equals:
            _skip_value(rest)
        if kind == "" and equals:
            raise _Unknown
        return [name]
    if word.startswith("--"):
        raise _Unknown
    return _cluster(word, table, rest, may_be_attached=definition.attached)


def _cluster(word: str, table: dict[str, str], rest: Iterator[_Word], *, may_be_attached: bool) -> list[str]:
    """Short flags in one word, as in `-la`; one that takes a value ends it."""
    flags: list[str] = []
    for place, letter in enumerate(word[1:], start=2):
        kind = table.get(f"-{letter}")
        if kind is None:
            raise _Unknown
        flags.append(f"-{letter}")
        is_last = place == len(word)
        if kind == "=" and is_last:
            _skip_value(rest)
        elif kind and not is_last:
            if may_be_attached:
                break
            raise _Unknown
    return flags


def _skip_value(rest: Iterator[_Word]) -> None:
    """A value that looks like a flag may be one to the program; one that is a pattern may become many words."""
    value = next(rest, None)
    if value is None or value.globs or (value.text.startswith("-") and not COUNT.fullmatch(value.text)):
        raise _Unknown


@cache
def _table(flags: str) -> dict[str, str]:
    """Every flag with how it takes a value: `=` always, `?` maybe and attached, nothing never."""
    return {word.rstrip("=?"): word[len(word.rstrip("=?")) :] for word in flags.split()}
