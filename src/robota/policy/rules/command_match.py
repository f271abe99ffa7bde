"""Matching commands with the words of a rule: exactly to allow, generously to deny."""

import fnmatch
import re
from collections.abc import Set
from functools import lru_cache
from typing import Final

from robota.workspace.shell.script import Argv, SimpleCommand

PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")
SEPARATORS: Final = re.compile(r"(?:[;&|\n\r(){}`<>]|\$\()+")
FIELD_SEPARATOR: Final = re.compile(r"\$\{?IFS\}?")
QUOTING: Final = re.compile(r"[\"'\\]")
MOST_OPTIONS: Final = 200
GLOB_SIGN: Final = re.compile(r"[*?\[]")
LONGEST_PATTERN: Final = 300
SIGNS: Final = re.compile(r"[\"'\\$,!*?\[\]~#=]")


def matches_exactly(command: SimpleCommand, argv: Argv, pattern: Argv) -> bool:
    """Word by word; a last `*` stands for any rest, another `*` for characters within its word.

    A word that the shell replaces by names of files is known only to a pattern that takes any rest.
    """
    takes_any_rest = bool(pattern) and pattern[-1] == "*"
    if takes_any_rest:
        pattern = pattern[:-1]
    skipped = len(command.argv) - len(argv)
    known = min((place - skipped for place in command.globs), default=len(argv))
    if len(pattern) > known or (len(argv) != len(pattern) and not takes_any_rest):
        return False
    return all(_is_meant(word, wanted) for word, wanted in zip(argv, pattern, strict=False))


def begins_with(argv: Argv, pattern: Argv) -> bool:
    """Whether a command is the one the pattern names, its options passed over; for denying a plain command."""
    wanted = _without_rest(pattern)
    return bool(argv) and (not wanted or _follows(argv, wanted))


def could_contain(text: str, pattern: Argv) -> bool:
    """Whether some part of the text might run what the pattern says; for denying what was not understood."""
    readings = _readings(text)
    wanted = _without_rest(pattern)
    if not wanted:
        return bool(readings)
    programs = {word for words in readings for word in words}
    programs = {word for word in programs if _is_program(word, wanted[0])}
    return bool(programs) and any(_occurs(wanted, words, programs) for words in readings)


def pattern_words(text: str) -> Argv:
    """The words of a rule; `git diff:*` is another way to write `git diff *`."""
    if text.endswith(":*"):
        text = text[:-2] + " *"
    return tuple(text.split())


def is_plain_word(word: str) -> bool:
    """Whether a word can stand in a rule as it is."""
    return PLAIN_WORD.fullmatch(word) is not None


def problem_with_words(text: str) -> str | None:
    """Why a pattern cannot be used, if it cannot: one with a pipe in it would silently never deny anything."""
    for word in pattern_words(text):
        bare = word.replace("*", "")
        if bare and not is_plain_word(bare):
            return f"{word!r} is not a plain word; a pattern is made of plain words and '*'"
    return None


@lru_cache(maxsize=4)
def _readings(text: str) -> tuple[Argv, ...]:
    """Every sub-command, read once with quotes and backslashes taken away and once with all signs as gaps."""
    spaced = FIELD_SEPARATOR.sub(" ", text)
    unquoted = QUOTING.sub("", spaced.replace("\\\n", ""))
    read = (tuple(part.split()) for reading in (unquoted, SIGNS.sub(" ", spaced)) for part in SEPARATORS.split(reading))
    return tuple(dict.fromkeys(words for words in read if words))


def _occurs(wanted: Argv, words: Argv, programs: Set[str]) -> bool:
    places = (place for place, word in enumerate(words) if word in programs)
    return any(_follows(words[place : place + MOST_OPTIONS + 2], wanted) for place in places)


def _follows(words: Argv, wanted: Argv) -> bool:
    """Whether the words begin with the wanted ones, options such as `-C dir` in between passed over."""
    if not _is_program(words[0], wanted[0]):
        return False
    rest = iter(wanted[1:])
    target = next(rest, None)
    after_option = False
    for count, word in enumerate(words[1:]):
        if target is None:
            break
        if count == MOST_OPTIONS:
            # Nobody writes so many before saying what to do, and looking at all of them would take too long.
            return True
        if _could_match(word, target):
            target, after_option = next(rest, None), False
        elif word.startswith("-"):
            after_option = True
        elif after_option:
            after_option = False
        else:
            return False
    return target is None


def _without_rest(pattern: Argv) -> Argv:
    return pattern[:-1] if pattern and pattern[-1] == "*" else pattern


def _is_program(word: str, wanted: str) -> bool:
    return _could_match(word.rpartition("/")[2], wanted) or _could_match(word, wanted)


def _is_meant(word: str, pattern: str) -> bool:
    """As `_word_matches`; who writes `build/*` does not mean `build/../src`."""
    climbs = ".." in word.split("/") and ".." not in pattern.split("/") and pattern.strip("*")
    return word == pattern or (not climbs and _word_matches(word, pattern))


def _could_match(word: str, pattern: str) -> bool:
    """As `_word_matches`, or the shell may replace the word by a file whose name matches."""
    if _word_matches(word, pattern):
        return True
    sign = GLOB_SIGN.search(word)
    if sign is None:
        return False
    if len(word) > LONGEST_PATTERN:
        # Not worth reading to its end; what it begins with tells it from most words.
        return pattern.startswith(word[: sign.start()])
    return fnmatch.fnmatchcase(pattern.replace("*", "x"), word.replace("[^", "[!"))


def _word_matches(word: str, pattern: str) -> bool:
    # Not every combination of the stars is tried: whoever wrote the rule, this must not take long.
    return word == pattern or ("*" in pattern and fnmatch.fnmatchcase(word, pattern))
