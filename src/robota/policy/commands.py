"""Reading a shell command for rules, without pretending to be a shell.

To allow, a command must be plain words that mean to the shell what they say. To deny, it is enough that the
words could be in there somewhere.
"""

import re
from collections.abc import Iterable, Iterator

# Letters, digits and a few signs that no shell gives a meaning to, anywhere in a word.
PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:@%+,=-]*")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
SEPARATORS = re.compile(r"[;&|\n\r(){}`<>]|\$\(")
FIELD_SEPARATOR = re.compile(r"\$\{?IFS\}?")
QUOTING = re.compile(r"[\"'\\]")
SIGNS = re.compile(r"[\"'\\$,!*?\[\]~#=]")

Words = tuple[str, ...]


def plain_words(command: str) -> Words | None:
    """The words of a command that has nothing but words in it; None if a shell might read more into it."""
    if "\n" in command or "\r" in command:
        return None
    words = tuple(re.split(r"[ \t]+", command.strip(" \t")))
    if not all(PLAIN_WORD.fullmatch(word) for word in words) or ASSIGNMENT.match(words[0]):
        return None
    return words


def could_contain(command: str, pattern: Words) -> bool:
    """Whether some part of the command might run what the pattern says."""
    return any(_occurs(pattern, words) for words in _readings(command))


def matches_exactly(words: Words, pattern: Words) -> bool:
    """Word by word; a last `*` stands for any rest, another `*` for characters within its word."""
    if pattern and pattern[-1] == "*":
        pattern = pattern[:-1]
        words = words[: len(pattern)]
    return len(words) == len(pattern) and all(map(_word_matches, words, pattern))


def pattern_words(text: str) -> Words:
    """The words of a rule; `git diff:*` is another way to write `git diff *`."""
    if text.endswith(":*"):
        text = text[:-2] + " *"
    return tuple(text.split())


def problem_with_words(text: str) -> str | None:
    """Why a pattern cannot be used, if it cannot: one with a pipe in it would silently never deny anything."""
    for word in pattern_words(text):
        bare = word.replace("*", "")
        if bare and not PLAIN_WORD.fullmatch(bare):
            return f"{word!r} is not a plain word; a pattern is made of plain words and '*'"
    return None


def _readings(command: str) -> Iterator[Words]:
    """Every sub-command, read once with quotes and backslashes taken away and once with all signs as gaps."""
    spaced = FIELD_SEPARATOR.sub(" ", command)
    unquoted = QUOTING.sub("", spaced.replace("\\\n", ""))
    for text in (unquoted, SIGNS.sub(" ", spaced)):
        for part in SEPARATORS.split(text):
            yield tuple(part.split())


def _occurs(pattern: Words, words: Words) -> bool:
    wanted = pattern[:-1] if pattern and pattern[-1] == "*" else pattern
    if not wanted:
        return bool(words)
    return any(_follows(words[place:], wanted) for place in range(len(words)))


def _follows(words: Words, wanted: Words) -> bool:
    """Whether the words begin with the wanted ones, options such as `-C dir` in between passed over."""
    if not _word_matches(words[0].rpartition("/")[2], wanted[0]) and not _word_matches(words[0], wanted[0]):
        return False
    rest = iter(wanted[1:])
    target = next(rest, None)
    after_option = False
    for word in words[1:]:
        if target is None:
            break
        if _word_matches(word, target):
            target, after_option = next(rest, None), False
        elif word.startswith("-"):
            after_option = True
        elif after_option:
            after_option = False
        else:
            return False
    return target is None


def _word_matches(word: str, pattern: str) -> bool:
    if "*" not in pattern:
        return word == pattern
    return re.fullmatch(_any_of(pattern.split("*")), word, re.DOTALL) is not None


def _any_of(pieces: Iterable[str]) -> str:
    return ".*".join(re.escape(piece) for piece in pieces)
