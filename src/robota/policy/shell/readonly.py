"""Whether a command only looks: its program is known and every one of its flags is harmless."""

import re
from functools import cache
from typing import Final

import msgspec

from robota.policy.shell.readonly_commands import COMMANDS, GIT, Operands, ReadOnlyCommand, Syntax
from robota.workspace.shell.script import Argv, SimpleCommand

COUNT: Final = re.compile(r"-[0-9]+")
NUMBER: Final = re.compile(r"[-+]?[0-9]+[0-9A-Za-z]{0,3}")
KINDS: Final = "=#@?"
EXPRESSION_SIGNS: Final = frozenset({"(", ")", "!", ","})


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
        sorted_out = _sorted_out(definition, marked)
        paths = _paths(definition, sorted_out)
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


class _Words:
    """The words of a command, sorted into flags, operands and the paths that flags take, as its program would."""

    def __init__(self, definition: ReadOnlyCommand, words: list[_Word]) -> None:
        self.flags: list[str] = []
        self.operands: list[_Word] = []
        self.paths: list[str] = []
        self.after_dashes: list[str] | None = None
        self._definition = definition
        self._table = _table(definition.flags)
        self._rest = iter(words)
        for word in self._rest:
            self._sort_in(word)

    def _sort_in(self, word: _Word) -> None:
        syntax = self._definition.syntax
        looks_like_a_flag = word.text.startswith("-") and word.text != "-"
        is_past_flags = bool(self.operands) and syntax is Syntax.FLAGS_FIRST
        if looks_like_a_flag and is_past_flags and self._definition.operands.texts is not None:
            # Whether it is a flag here is not the same for every version of every program.
            raise _Unknown
        if syntax is Syntax.EXPRESSION and not self._is_in_order(word.text):
            raise _Unknown
        if word.text == "--" and not is_past_flags:
            rest = list(self._rest)
            self.after_dashes = [each.text for each in rest]
            self.operands.extend(rest)
        elif not looks_like_a_flag or is_past_flags:
            self.operands.append(word)
        elif not (self._definition.counts and COUNT.fullmatch(word.text)):
            self._flag(word.text)

    def _is_in_order(self, word: str) -> bool:
        """Paths come before the expression, in which only flags and these signs stand; nothing ends it."""
        return word != "--" and (word.startswith("-") or word in EXPRESSION_SIGNS or not self.flags)

    def _flag(self, word: str) -> None:
        name, equals, value = word.partition("=")
        kind = self._table.get(name)
        if kind is None:
            if word.startswith("--") or self._definition.syntax is Syntax.EXPRESSION:
                raise _Unknown
            self._cluster(word)
            return
        self.flags.append(name)
        if equals and kind == "":
            raise _Unknown
        # To `-x=v` the value is `=v`, to `--long=v` it is `v`.
        attached = (value if name.startswith("--") else f"={value}") if equals else None
        self._value(name, kind, attached)

    def _cluster(self, word: str) -> None:
        """Short flags in one word, as in `-la`; one that takes a value ends it."""
        for place, letter in enumerate(word[1:], start=2):
            name, attached = f"-{letter}", word[place:]
            kind = self._table.get(name)
            if kind is None:
                raise _Unknown
            self.flags.append(name)
            if kind == "":
                continue
            if attached and not self._definition.attached:
                raise _Unknown
            self._value(name, kind, attached or None)
            return

    def _value(self, name: str, kind: str, attached: str | None) -> None:
        """Take the value of a flag, from its own word or from the rest."""
        if kind == "" or (kind == "?" and attached is None):
            return
        value = attached if attached is not None else self._separate_value()
        if kind == "#" and NUMBER.fullmatch(value) is None:
            raise _Unknown
        if kind == "@":
            self.paths.append(value)
        pattern = self._definition.values.get(name)
        if pattern is not None and re.fullmatch(pattern, value, re.DOTALL) is None:
            raise _Unknown

    def _separate_value(self) -> str:
        """A value that looks like a flag may be one to the program; one that is a pattern may become many words."""
        value = next(self._rest, None)
        if value is None or value.globs or (value.text.startswith("-") and not NUMBER.fullmatch(value.text)):
            raise _Unknown
        return value.text


def _sorted_out(definition: ReadOnlyCommand, words: list[_Word]) -> _Words:
    if definition.never is not None and any(re.search(definition.never, word.text) for word in words):
        raise _Unknown
    found = _Words(definition, words)
    if definition.needs_flag and not found.flags:
        raise _Unknown
    return found


def _paths(definition: ReadOnlyCommand, words: _Words) -> tuple[str, ...]:
    """The words that name files."""
    names_a_pattern = not definition.pattern_flags.isdisjoint(words.flags)
    return (*words.paths, *_operand_paths(definition.operands, words.operands, names_a_pattern))


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


@cache
def _table(flags: str) -> dict[str, str]:
    """Every flag with how it takes a value: the sign behind it, nothing if it takes none."""
    return {word.rstrip(KINDS): word[len(word.rstrip(KINDS)) :] for word in flags.split()}
