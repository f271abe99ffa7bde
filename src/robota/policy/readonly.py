"""Whether a command only looks: its program is known and every one of its flags is harmless."""

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from robota.policy.readonly_commands import COMMANDS, GIT, Operands, ReadOnlyCommand
from robota.workspace.shell.script import Argv, SimpleCommand

COUNT = re.compile(r"-[0-9]+")


class OnlyLooks(msgspec.Struct, frozen=True, kw_only=True):
    """What the command looks at. `is_git`: it also obeys the repository it runs in."""

    paths: tuple[str, ...]
    is_git: bool = False


def only_looks(command: SimpleCommand, argv: Argv) -> OnlyLooks | None:
    """What a command would look at if that is all it does. `argv` is the command without its wrappers."""
    if argv[:2] == ("command", "-v") or argv[:2] == ("command", "-V"):
        return OnlyLooks(paths=())
    skipped = len(command.argv) - len(argv)
    patterns = [command.argv[place] for place in command.globs if place >= skipped]
    # What a pattern becomes could look like a flag, unless it begins with something else.
    if any(word[0] in "-*?[" for word in patterns):
        return None
    known = _known(argv)
    if known is None:
        return None
    definition, words = known
    paths = _paths(definition, words)
    return None if paths is None else OnlyLooks(paths=paths, is_git=argv[0] == "git")


def is_known(argv: Argv) -> bool:
    """Whether the program looks with some flags and does more with others."""
    known = _known(argv)
    return known is not None and not known[0].needs_flag


def _known(argv: Argv) -> tuple[ReadOnlyCommand, Argv] | None:
    """The definition of the command and the words after its name."""
    if argv[0] != "git":
        definition = COMMANDS.get(argv[0])
        return None if definition is None else (definition, argv[1:])
    words = argv[2:] if argv[1:2] == ("--no-pager",) else argv[1:]
    for length in (2, 1):
        definition = GIT.get(" ".join(words[:length]))
        if definition is not None and len(words) >= length:
            return definition, words[length:]
    return COMMANDS["git"], words


def _paths(definition: ReadOnlyCommand, words: Argv) -> tuple[str, ...] | None:
    """The words that name files; None if a word is not one of those that are known."""
    operands: list[str] = []
    flags: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            operands.extend(rest)
        elif not word.startswith("-") or word == "-":
            operands.append(word)
        elif definition.counts and COUNT.fullmatch(word):
            continue
        else:
            found = _flags_in(word, definition, rest)
            if found is None:
                return None
            flags.extend(found)
    if definition.needs_flag and not flags:
        return None
    names_a_pattern = not definition.pattern_flags.isdisjoint(flags)
    return _operand_paths(definition.operands, operands, names_a_pattern)


def _operand_paths(kind: Operands, operands: list[str], names_a_pattern: bool) -> tuple[str, ...] | None:
    if kind.limit is not None and len(operands) > kind.limit:
        return None
    if kind.first is not None and operands and re.fullmatch(kind.first, operands[0], re.DOTALL) is None:
        return None
    if kind.texts is None:
        return ()
    return tuple(operands[0 if names_a_pattern else kind.texts :])


def _flags_in(word: str, definition: ReadOnlyCommand, rest: Iterator[str]) -> list[str] | None:
    """The flags that a word is; None if one of them is not known. Takes the value of a flag from the rest."""
    table = _table(definition.flags)
    name, equals, _ = word.partition("=")
    kind = table.get(name)
    if kind is not None:
        if kind == "=" and not equals:
            next(rest, None)
        return None if kind == "" and equals else [name]
    if word.startswith("--"):
        return None
    return _cluster(word, table, rest)


def _cluster(word: str, table: dict[str, str], rest: Iterator[str]) -> list[str] | None:
    """Short flags in one word, as in `-la`; one that takes a value ends it."""
    flags: list[str] = []
    for place, letter in enumerate(word[1:], start=2):
        kind = table.get(f"-{letter}")
        if kind is None:
            return None
        flags.append(f"-{letter}")
        if kind == "=":
            if place == len(word):
                next(rest, None)
            break
    return flags


@cache
def _table(flags: str) -> dict[str, str]:
    """Every flag with how it takes a value: `=` always, `?` maybe and attached, nothing never."""
    return {word.rstrip("=?"): word[len(word.rstrip("=?")) :] for word in flags.split()}
