"""Matches commands against the words of a rule: strictly for allow rules, loosely for deny and ask rules."""

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
# No real command has this many options before its sub-command, and checking more would take too long.
MOST_OPTIONS: Final = 30
GLOB_SIGN: Final = re.compile(r"[*?\[]")
# A character class is treated as `?`, whichever characters it lists; an unclosed bracket as well.
CLASS: Final = re.compile(r"\[[!^]?+\]?+[^\]]*+\]|\[")
LONGEST_PATTERN: Final = 300
MOST_PATTERNS: Final = 300
SIGNS: Final = re.compile(r"[\"'\\$,!*?\[\]~#=]")


class ReadText(msgspec.Struct, frozen=True, kw_only=True):
    """A script split into sub-commands. `by_name` groups all words by base name, `patterns` are those with globs."""

    parts: tuple[Argv, ...]
    by_name: dict[str, list[str]]
    patterns: tuple[str, ...]

    def programs(self, wanted: str) -> frozenset[str]:
        """The words that are this program, or that the shell may expand to it."""
        if "*" in wanted:
            return frozenset(word for words in self.by_name.values() for word in words if _is_program(word, wanted))
        named = (*self.by_name.get(wanted, ()), *((wanted,) if "/" in wanted else ()))
        is_possible = _is_program if len(self.patterns) <= MOST_PATTERNS else _begins_as_program
        return frozenset((*named, *(word for word in self.patterns if is_possible(word, wanted))))


def matches_exactly(command: SimpleCommand, argv: Argv, pattern: Argv) -> bool:
    """Strict match, word by word. A final `*` matches any further words, any other `*` characters within its word.

    A glob that the shell expands to file names can only be matched by a final `*`.
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
    """Loose match: whether the command, ignoring its options, starts with the pattern. For denying a parsed command."""
    wanted = _without_rest(pattern)
    return bool(argv) and (not wanted or (_is_program(argv[0], wanted[0]) and _follows(argv[1:], wanted[1:])))


def could_contain(text: str, pattern: Argv) -> bool:
    """Whether any part of the text could run what the pattern names. For denying text that could not be parsed."""
    read = _read(text)
    wanted = _without_rest(pattern)
    if not wanted:
        return bool(read.parts)
    programs = read.programs(wanted[0])
    return bool(programs) and any(_occurs(wanted, words, programs) for words in read.parts)


def pattern_words(text: str) -> Argv:
    """Split the pattern of a rule into words; `git diff:*` is the same as `git diff *`."""
    if text.endswith(":*"):
        text = text[:-2] + " *"
    return tuple(text.split())


def is_plain_word(word: str) -> bool:
    """Whether a word can be used in a rule without quoting."""
    return PLAIN_WORD.fullmatch(word) is not None


def problem_with_words(text: str) -> str | None:
    """Why a pattern is invalid; None if it is valid. A pattern with a pipe, for example, would never match anything."""
    for word in pattern_words(text):
        bare = word.replace("*", "")
        if bare and not is_plain_word(bare):
            return f"{word!r} is not a plain word; a pattern is made of plain words and '*'"
    return None


@lru_cache(maxsize=4)
def _read(text: str) -> ReadText:
    """Split into sub-commands twice: with quotes and backslashes removed, and with special characters as spaces."""
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
    """Whether the words start with the wanted ones, skipping options such as `-C dir` in between."""
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
    """A cheaper `_is_program` for texts with many patterns: compares only what precedes the first glob character."""
    return any(wanted.startswith(GLOB_SIGN.split(each)[0]) for each in (word, word.rpartition("/")[2]))


def _is_meant(word: str, pattern: str) -> bool:
    """Like `_word_matches`, except that `build/*` does not match `build/../src`."""
    climbs = ".." in word.split("/") and ".." not in pattern.split("/") and pattern.strip("*")
    return word == pattern or (not climbs and _word_matches(word, pattern))


def _could_match(word: str, pattern: str) -> bool:
    """Like `_word_matches`, but also true if the shell could expand the word to a file name that matches."""
    if _word_matches(word, pattern):
        return True
    sign = GLOB_SIGN.search(word)
    if sign is None:
        return False
    begins_alike = pattern.startswith(word[: sign.start()])
    if not begins_alike or len(word) > LONGEST_PATTERN:
        # Too long to match completely; its literal prefix rules out most words.
        return begins_alike
    return _could_become(CLASS.sub("?", word), pattern.replace("*", "x"))


def _could_become(signs: str, name: str) -> bool:
    """Whether the pattern (`*` and `?`) matches the name. Compiling thousands of regexes would be too slow."""
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
    # fnmatch avoids exponential backtracking, so a hostile rule cannot make this slow.
    return word == pattern or ("*" in pattern and fnmatch.fnmatchcase(word, pattern))
