"""Matching commands with the words of a rule: exactly to allow, generously to deny."""

import fnmatch
import re
from collections.abc import Set
from functools import lru_cache
from typing import Final

import msgspec

from robota.workspace.shell.script import Argv, SimpleCommand

PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")
SEPARATORS: Final = re.compile(r"(?:[;&|\n\r(){}`<>]|\$\()+")
FIELD_SEPARATOR: Final = re.compile(r"\$\{?IFS\}?")
QUOTING: Final = re.compile(r"[\"'\\]")
# Nobody writes so many before saying what to do, and looking at all of them would take too long.
MOST_OPTIONS: Final = 30
GLOB_SIGN: Final = re.compile(r"[*?\[]")
# Which characters stand in it does not matter to what could be meant; one that is not closed may be anything.
CLASS: Final = re.compile(r"\[[!^]?+\]?+[^\]]*+\]|\[")
LONGEST_PATTERN: Final = 300
MOST_PATTERNS: Final = 300
SIGNS: Final = re.compile(r"[\"'\\$,!*?\[\]~#=]")


class ReadText(msgspec.Struct, frozen=True, kw_only=True):
    """A text that a shell would run: its sub-commands, all words by the name that they end in, and the patterns."""

    parts: tuple[Argv, ...]
    by_name: dict[str, list[str]]
    patterns: tuple[str, ...]

    def programs(self, wanted: str) -> frozenset[str]:
        """The words that may be the wanted program, or become it when the shell replaces them."""
        if "*" in wanted:
            return frozenset(word for words in self.by_name.values() for word in words if _is_program(word, wanted))
        named = (*self.by_name.get(wanted, ()), *((wanted,) if "/" in wanted else ()))
        is_possible = _is_program if len(self.patterns) <= MOST_PATTERNS else _begins_as_program
        return frozenset((*named, *(word for word in self.patterns if is_possible(word, wanted))))


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
    return bool(argv) and (not wanted or (_is_program(argv[0], wanted[0]) and _follows(argv[1:], wanted[1:])))


def could_contain(text: str, pattern: Argv) -> bool:
    """Whether some part of the text might run what the pattern says; for denying what was not understood."""
    read = _read(text)
    wanted = _without_rest(pattern)
    if not wanted:
        return bool(read.parts)
    programs = read.programs(wanted[0])
    return bool(programs) and any(_occurs(wanted, words, programs) for words in read.parts)


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
def _read(text: str) -> ReadText:
    """Every sub-command, read once with quotes and backslashes taken away and once with all signs as gaps."""
    spaced = FIELD_SEPARATOR.sub(" ", text)
    unquoted = QUOTING.sub("", spaced.replace("\\\n", ""))
    texts = dict.fromkeys((*SEPARATORS.split(unquoted), *SEPARATORS.split(SIGNS.sub(" ", spaced))))
    parts = dict.fromkeys(words for part in texts if (words := tuple(part.split())))
    by_name: dict[str, list[str]] = {}
    patterns = []
    for word in dict.fromkeys(word for words in parts for word in words):
        name = word.rpartition("/")[2]
        by_name.setdefault(name, []).append(word)
        if GLOB_SIGN.search(word):
            patterns.append(word)
    return ReadText(parts=tuple(parts), by_name=by_name, patterns=tuple(patterns))


def _occurs(wanted: Argv, words: Argv, programs: Set[str]) -> bool:
    places = (place for place, word in enumerate(words) if word in programs)
    return any(_follows(words[place + 1 : place + MOST_OPTIONS + 2], wanted[1:]) for place in places)


def _follows(words: Argv, wanted: Argv) -> bool:
    """Whether the words begin with the wanted ones, options such as `-C dir` in between passed over."""
    rest = iter(wanted)
    target = next(rest, None)
    after_option = False
    for count, word in enumerate(words):
        if target is None:
            break
        if count == MOST_OPTIONS:
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


def _begins_as_program(word: str, wanted: str) -> bool:
    """The same without reading the patterns in the word, of which there are too many."""
    return any(wanted.startswith(GLOB_SIGN.split(each)[0]) for each in (word, word.rpartition("/")[2]))


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
    begins_alike = pattern.startswith(word[: sign.start()])
    if not begins_alike or len(word) > LONGEST_PATTERN:
        # A long one is not worth reading to its end; what it begins with tells it from most words.
        return begins_alike
    return _could_become(CLASS.sub("?", word), pattern.replace("*", "x"))


def _could_become(signs: str, name: str) -> bool:
    """Whether `*` and `?` fit the name. Not by an expression: compiling thousands of them would take too long."""
    place = after_star = 0
    star = -1
    for_sign = 0
    while place < len(name):
        if for_sign < len(signs) and signs[for_sign] in {"?", name[place]}:
            place, for_sign = place + 1, for_sign + 1
        elif for_sign < len(signs) and signs[for_sign] == "*":
            star, after_star, for_sign = for_sign, place, for_sign + 1
        elif star >= 0:
            after_star += 1
            place, for_sign = after_star, star + 1
        else:
            return False
    return not signs[for_sign:].strip("*")


def _word_matches(word: str, pattern: str) -> bool:
    # Not every combination of the stars is tried: whoever wrote the rule, this must not take long.
    return word == pattern or ("*" in pattern and fnmatch.fnmatchcase(word, pattern))
