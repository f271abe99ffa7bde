"""Which words of a command are flags, values and operands, by the description of its program."""

import re
from functools import cache
from typing import Final

import msgspec

from robota.policy.shell.readonly_commands import ReadOnlyCommand, Syntax

COUNT: Final = re.compile(r"-[0-9]+")
NUMBER: Final = re.compile(r"[-+]?[0-9]+[0-9A-Za-z]{0,3}")
KINDS: Final = "=#@?"
EXPRESSION_SIGNS: Final = frozenset({"(", ")", "!", ","})


class Word(msgspec.Struct, frozen=True):
    """A word and whether the shell replaces it by the names of files, which may be several."""

    text: str
    globs: bool = False


class UnknownWord(Exception):
    """A word stands there of which nobody knows what it does."""


class SortedWords:
    """The words of a command, sorted into flags and operands as its program would.

    `values` are those of flags, `paths` those of them that name files, `after_dashes` what follows `--`.
    """

    def __init__(self, definition: ReadOnlyCommand, words: list[Word]) -> None:
        self.flags: list[str] = []
        self.operands: list[Word] = []
        self.paths: list[str] = []
        self.values: list[tuple[str, str]] = []
        self.after_dashes: list[str] | None = None
        self._definition = definition
        self._table = _table(definition.flags)
        self._rest = iter(words)
        for word in self._rest:
            self._sort_in(word)

    def _sort_in(self, word: Word) -> None:
        syntax = self._definition.syntax
        looks_like_a_flag = word.text.startswith("-") and word.text != "-"
        is_past_flags = bool(self.operands) and syntax is Syntax.FLAGS_FIRST
        if looks_like_a_flag and is_past_flags and self._definition.operands.texts is not None:
            # Whether it is a flag here is not the same for every version of every program.
            raise UnknownWord
        if syntax is Syntax.EXPRESSION and not self._is_in_order(word.text):
            raise UnknownWord
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
                raise UnknownWord
            self._cluster(word)
            return
        self.flags.append(name)
        if equals and kind == "":
            raise UnknownWord
        # To `-x=v` the value is `=v`, to `--long=v` it is `v`.
        attached = (value if name.startswith("--") else f"={value}") if equals else None
        self._value(name, kind, attached)

    def _cluster(self, word: str) -> None:
        """Short flags in one word, as in `-la`; one that takes a value ends it."""
        for place, letter in enumerate(word[1:], start=2):
            name, attached = f"-{letter}", word[place:]
            kind = self._table.get(name)
            if kind is None:
                raise UnknownWord
            self.flags.append(name)
            if kind == "":
                continue
            if attached and not self._definition.attached:
                raise UnknownWord
            self._value(name, kind, attached or None)
            return

    def _value(self, name: str, kind: str, attached: str | None) -> None:
        """Take the value of a flag, from its own word or from the rest."""
        if kind == "" or (kind == "?" and attached is None):
            return
        value = attached if attached is not None else self._separate_value()
        if kind == "#" and NUMBER.fullmatch(value) is None:
            raise UnknownWord
        self.values.append((name, value))
        if kind == "@":
            self.paths.append(value)
        pattern = self._definition.values.get(name)
        if pattern is not None and re.fullmatch(pattern, value, re.DOTALL) is None:
            raise UnknownWord

    def _separate_value(self) -> str:
        """A value that looks like a flag may be one to the program; one that is a pattern may become many words."""
        value = next(self._rest, None)
        if value is None or value.globs or (value.text.startswith("-") and not NUMBER.fullmatch(value.text)):
            raise UnknownWord
        return value.text


@cache
def _table(flags: str) -> dict[str, str]:
    """Every flag with how it takes a value: the sign behind it, nothing if it takes none."""
    return {word.rstrip(KINDS): word[len(word.rstrip(KINDS)) :] for word in flags.split()}
