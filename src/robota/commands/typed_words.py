"""Reads the words after a verb of a slash command into its arguments."""

import re
import shlex
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from robota.commands.arguments import make_arguments
from robota.commands.verb import ADDRESS, Verb, WrongArguments
from robota.config.arguments import (
    Declared,
    ListOption,
    OptionArgument,
    ProgramLine,
    RestOfLine,
    ShellCommand,
    ShellOption,
    TextOption,
    declared,
)

DASHES: Final = "--"
WORD: Final = re.compile(r"\S+")

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


def parse_typed(verb: Verb[Arguments], typed: str) -> Arguments:
    """The arguments of a verb. Raises `WrongArguments`.

    A verb that takes text reads its words as they are typed; others read quotes as a shell does.
    """
    fields = declared(verb.arguments)
    reader = _Reader(fields)
    options, dashes, command = _at_dashes(typed) if _takes_command(fields) else ("", "", "")
    if dashes:
        reader.read_words(_split(options))
        reader.read_words([command])
    elif any(isinstance(each.how, RestOfLine) for each in fields.positionals):
        reader.read_text(typed)
    else:
        reader.read_words(_split(typed))
    for each in fields.all:
        if each.is_required and each.name not in reader.values:
            raise WrongArguments(f"{verb.name} needs {each.description}.")
    return make_arguments(verb.arguments, reader.values)


def _takes_command(found: Declared) -> bool:
    return any(isinstance(each.how, ShellCommand) for each in found.positionals)


def _at_dashes(typed: str) -> tuple[str, str, str]:
    """Splits a line into the part before `--`, the dashes, and the command after them."""
    parts = re.split(rf"(?:^|\s)({DASHES})(?:\s|$)", typed, maxsplit=1)
    return (parts[0], parts[1], parts[2].strip()) if len(parts) > 1 else (typed, "", "")


def _split(typed: str) -> list[str]:
    try:
        return shlex.split(typed)
    except ValueError as error:
        raise WrongArguments(f"Unbalanced quotes: {error}.") from error


class _Reader:
    """Assigns words to arguments."""

    def __init__(self, found: Declared) -> None:
        self.values: dict[str, Any] = {}
        options = [each for each in found.options if not isinstance(each.how, ShellOption)]
        self._options = {flag: each for each in options for flag in (each.flag, *each.how.also)}
        self._after_dashes = next((each.name for each in options if isinstance(each.how, ListOption)), "")
        self._positionals = list(found.positionals)
        self._given: dict[str, str] = {}

    def read_words(self, words: Sequence[str]) -> None:
        """Assign separate words."""
        rest = list(words)
        while rest:
            word = rest.pop(0)
            flag, equals, value = word.partition("=")
            if self._starts_program(word):
                self.values[self._positionals[0].name] = [*([] if word == DASHES else [word]), *rest]
                return
            if self._is_dashes(word):
                self.values.setdefault(self._after_dashes, []).extend(rest)
                return
            if option := self._options.get(flag):
                self._note(option, None if option.is_flag else value if equals else rest.pop(0) if rest else None)
            elif word.startswith(DASHES):
                raise WrongArguments(f"There is no option {word} here.")
            else:
                self._note_positional(word)

    def read_text(self, typed: str) -> None:
        """Assign single words, then the text up to the next option, then the options behind it."""
        words = list(WORD.finditer(typed))
        while words:
            word = words.pop(0)
            option = self._options.get(word[0])
            if option is not None and option.is_flag:
                self._note(option, None)
            elif option is not None and isinstance(option.how, TextOption):
                self._note(option, typed[word.end() :].strip() or None)
                return
            elif option is not None or self._is_dashes(word[0]):
                self.read_words(_split(typed[word.start() :]))
                return
            elif self._positionals and isinstance(self._positionals[0].how, RestOfLine):
                while words and not self._ends_text(words[0][0]):
                    words.pop(0)
                self._note_positional(typed[word.start() : words[0].start() if words else None].strip())
            else:
                self._note_positional(word[0])

    def _starts_program(self, word: str) -> bool:
        """Whether this word and everything behind it is a program with its arguments."""
        is_next = bool(self._positionals) and isinstance(self._positionals[0].how, ProgramLine)
        return is_next and (word == DASHES or not word.startswith(("-", *ADDRESS)))

    def _ends_text(self, word: str) -> bool:
        return word in self._options or self._is_dashes(word)

    def _is_dashes(self, word: str) -> bool:
        return word == DASHES and bool(self._after_dashes)

    def _note_positional(self, word: str) -> None:
        if not self._positionals:
            raise WrongArguments(f"{word!r} does not belong here.")
        if self._positionals[0].is_repeatable:
            self.values.setdefault(self._positionals[0].name, []).append(word)
        else:
            self.values[self._positionals.pop(0).name] = word

    def _note(self, option: OptionArgument, value: str | None) -> None:
        if value is None and not option.is_flag:
            raise WrongArguments(f"{option.flag} needs a value.")
        group = option.how.group or option.name
        if self._given.setdefault(group, option.flag) != option.flag:
            raise WrongArguments(f"{option.flag} cannot be combined with {self._given[group]}.")
        if option.is_repeatable:
            self.values.setdefault(option.name, []).append(value)
        else:
            self.values[option.name] = not option.is_on if option.is_flag else value
