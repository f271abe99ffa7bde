"""Match commands against the pattern of a rule: strictly for allow rules, loosely for deny and ask rules.

The two err in opposite directions. A strict match must never accept a command that the rule does not name, so whatever
is uncertain does not match (`matches_exactly`). A loose match must never miss a command that the rule names, so
whatever is uncertain matches (`begins_with` for a parsed command, `could_contain` for text that could not be parsed).
"""

import fnmatch
import re
from collections.abc import Set
from functools import lru_cache
from typing import Final

import msgspec

from robota.workspace.shell.script import Argv, SimpleCommand

PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")

# How text that could not be parsed is split.
COMMAND_SEPARATORS: Final = re.compile(r"(?:[;&|\n\r(){}`<>]|\$\()+")
FIELD_SEPARATOR: Final = re.compile(r"\$\{?IFS\}?")
QUOTING: Final = re.compile(r"[\"'\\]")
SPECIAL_CHARACTERS: Final = re.compile(r"[\"'\\$,!*?\[\]~#=]")

# Globs that the shell may expand to the name of a program or to an argument.
GLOB_CHARACTER: Final = re.compile(r"[*?\[]")
# A character class is treated as `?`, whichever characters it lists; an unclosed bracket as well.
CHARACTER_CLASS: Final = re.compile(r"\[[!^]?+\]?+[^\]]*+\]|\[")

# Beyond these, matching would take too long, and is replaced by a cheaper test that matches more.
MAX_GLOB_LENGTH: Final = 300
MAX_GLOBS: Final = 300
# No real command has this many words before its sub-command.
MAX_SKIPPED_WORDS: Final = 30
# Stands for any characters and words, while `*` stays within a word.
ACROSS_WORDS: Final = "**"
# Longer commands are not compared with such a pattern.
MAX_WORDS_ACROSS: Final = 100


# Patterns of rules


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


def _without_final_star(pattern: Argv) -> Argv:
    return pattern[:-1] if pattern and pattern[-1] == "*" else pattern


def _up_to_any_words(pattern: Argv) -> Argv:
    """The pattern up to its first `**`: a loose match of what follows it could miss something."""
    index = next((index for index, word in enumerate(pattern) if ACROSS_WORDS in word), None)
    if index is None:
        return pattern
    begins = pattern[index].partition(ACROSS_WORDS)[0]
    return (*pattern[:index], *((f"{begins}*",) if begins else ()))


def _matches_pattern(word: str, pattern: str) -> bool:
    """Whether a word is what one word of a pattern says, in which `*` stands for any characters."""
    # fnmatch avoids exponential backtracking, so a hostile rule cannot make this slow.
    return word == pattern or ("*" in pattern and fnmatch.fnmatchcase(word, pattern))


# Strict matching, for allow rules


def matches_exactly(command: SimpleCommand, argv: Argv, pattern: Argv) -> bool:
    """Strict match, word by word. A final `*` matches any further words, any other `*` characters within its word.

    A `**` matches characters of one word or of several.
    `argv` is the end of `command.argv`, without wrappers such as `env`. A word that the shell expands to file names can
    only be matched by a final `*`, because nobody knows what it becomes.
    """
    fixed_words = _without_final_star(pattern)
    takes_any_rest = len(fixed_words) < len(pattern)
    wrapper_length = len(command.argv) - len(argv)
    first_glob = min((index - wrapper_length for index in command.globs), default=len(argv))
    if any(ACROSS_WORDS in word for word in fixed_words):
        return first_glob == len(argv) and _matches_across(argv, fixed_words, takes_any_rest=takes_any_rest)
    if len(fixed_words) > first_glob or (len(argv) != len(fixed_words) and not takes_any_rest):
        return False
    return all(_matches_without_climbing(word, fixed) for word, fixed in zip(argv, fixed_words, strict=False))


def _matches_across(argv: Argv, fixed_words: Argv, *, takes_any_rest: bool) -> bool:
    """Strict match of words of which some have a `**`; `argv` contains no word that the shell expands."""
    if len(argv) > MAX_WORDS_ACROSS:
        return False
    reached = {0}  # how many words of the command the words of the pattern so far can stand for
    for pattern in fixed_words:
        ends = range(len(argv) + 1) if ACROSS_WORDS in pattern else ()
        reached = {
            end
            for start in reached
            for end in ends or (start + 1,)
            if start < end <= len(argv) and _stands_for(pattern, argv[start:end])
        }
    return len(argv) in reached or (takes_any_rest and bool(reached))


def _stands_for(pattern: str, words: Argv) -> bool:
    """Whether a word of a pattern stands for all these words; no word may climb out of where it begins."""
    climbs_out = any(".." in word.split("/") for word in words) and ".." not in pattern and pattern.strip("*")
    # The separator cannot be in a word, and only a star matches it.
    return not climbs_out and fnmatch.fnmatchcase("\0".join(words), pattern)


def _matches_without_climbing(word: str, pattern: str) -> bool:
    """Like `_matches_pattern`, but `build/*` does not match `build/../src`, which is outside of `build`."""
    climbs_out = ".." in word.split("/") and ".." not in pattern.split("/") and pattern.strip("*")
    return word == pattern or (not climbs_out and _matches_pattern(word, pattern))


# Loose matching, for deny and ask rules


def begins_with(argv: Argv, pattern: Argv) -> bool:
    """Loose match: whether the command, ignoring its options, starts with the pattern. For denying a parsed command."""
    if not argv:
        return False
    fixed_words = _up_to_any_words(_without_final_star(pattern))
    if not fixed_words:
        return True
    return _could_be_program(argv[0], fixed_words[0]) and _arguments_could_begin_with(argv[1:], fixed_words[1:])


def could_contain(text: str, pattern: Argv) -> bool:
    """Whether any part of the text could run what the pattern names. For denying text that could not be parsed."""
    unparsed = _split_unparsed(text)
    fixed_words = _up_to_any_words(_without_final_star(pattern))
    if not fixed_words:
        return bool(unparsed.parts)
    programs = unparsed.words_for_program(fixed_words[0])
    return bool(programs) and any(_could_run_in(words, programs, fixed_words[1:]) for words in unparsed.parts)


class UnparsedText(msgspec.Struct, frozen=True, kw_only=True):
    """A script split into sub-commands. `by_name` groups all words by base name, `globs` are those with wildcards."""

    parts: tuple[Argv, ...]
    by_name: dict[str, list[str]]
    globs: tuple[str, ...]

    def words_for_program(self, program: str) -> frozenset[str]:
        """The words that are this program of a rule, or that the shell may expand to it."""
        if "*" in program:
            every_word = (word for words in self.by_name.values() for word in words)
            return frozenset(word for word in every_word if _could_be_program(word, program))
        literal = (*self.by_name.get(program, ()), *((program,) if "/" in program else ()))
        may_expand = _could_be_program if len(self.globs) <= MAX_GLOBS else _begins_like_program
        return frozenset((*literal, *(word for word in self.globs if may_expand(word, program))))


@lru_cache(maxsize=4)
def _split_unparsed(text: str) -> UnparsedText:
    """Split into sub-commands twice: with quotes and backslashes removed, and with special characters as spaces."""
    spaced = FIELD_SEPARATOR.sub(" ", text)
    unquoted = QUOTING.sub("", spaced.replace("\\\n", ""))
    plain = SPECIAL_CHARACTERS.sub(" ", spaced)
    part_texts = dict.fromkeys((*COMMAND_SEPARATORS.split(unquoted), *COMMAND_SEPARATORS.split(plain)))
    parts = dict.fromkeys(words for part in part_texts if (words := tuple(part.split())))
    by_name: dict[str, list[str]] = {}
    globs = []
    for word in dict.fromkeys(word for words in parts for word in words):
        by_name.setdefault(word.rpartition("/")[2], []).append(word)
        if GLOB_CHARACTER.search(word):
            globs.append(word)
    return UnparsedText(parts=tuple(parts), by_name=by_name, globs=tuple(globs))


def _could_run_in(words: Argv, programs: Set[str], arguments: Argv) -> bool:
    """Whether one of the programs occurs anywhere among the words, followed by the arguments of the pattern."""
    # One word more than may be skipped, so that `_arguments_could_begin_with` notices when it gives up.
    following = (
        words[index + 1 : index + MAX_SKIPPED_WORDS + 2] for index, word in enumerate(words) if word in programs
    )
    return any(_arguments_could_begin_with(rest, arguments) for rest in following)


def _arguments_could_begin_with(words: Argv, arguments: Argv) -> bool:
    """Whether the words start with the arguments of a pattern, skipping options such as `-C dir` in between.

    The word after an option is skipped as well, as it may be the option's value.
    """
    remaining = iter(arguments)
    expected = next(remaining, None)
    is_after_option = False
    for count, word in enumerate(words):
        if expected is None:
            break
        if count == MAX_SKIPPED_WORDS:
            return True
        if _could_expand_to(word, expected):
            expected, is_after_option = next(remaining, None), False
        elif word.startswith("-"):
            is_after_option = True
        elif is_after_option:
            is_after_option = False
        else:
            return False
    return expected is None


def _could_be_program(word: str, program: str) -> bool:
    """Whether a word, in any directory, could be the program of a rule."""
    return _could_expand_to(word.rpartition("/")[2], program) or _could_expand_to(word, program)


def _begins_like_program(word: str, program: str) -> bool:
    """A cheaper `_could_be_program` for texts with many globs: compares only what precedes the first glob character."""
    return any(program.startswith(GLOB_CHARACTER.split(name)[0]) for name in (word, word.rpartition("/")[2]))


def _could_expand_to(word: str, pattern: str) -> bool:
    """Like `_matches_pattern`, but also true if the shell could expand the word to a file name that matches."""
    if _matches_pattern(word, pattern):
        return True
    glob_character = GLOB_CHARACTER.search(word)
    if glob_character is None:
        return False
    begins_alike = pattern.startswith(word[: glob_character.start()])
    if not begins_alike or len(word) > MAX_GLOB_LENGTH:
        # Too long to match completely; its literal prefix rules out most words.
        return begins_alike
    return _glob_matches(CHARACTER_CLASS.sub("?", word), pattern.replace("*", "x"))


def _glob_matches(glob: str, name: str) -> bool:
    """Whether a glob of `*` and `?` matches the name. Compiling thousands of regexes would be too slow.

    When the characters after a `*` do not fit, the matcher returns to the newest `*` and lets it match one character
    more. Returning to earlier ones is never necessary.
    """
    in_glob = in_name = 0
    newest_star = -1
    star_end = 0  # where in the name the match of the newest star ends
    while in_name < len(name):
        if in_glob < len(glob) and glob[in_glob] in {"?", name[in_name]}:
            in_glob, in_name = in_glob + 1, in_name + 1
        elif in_glob < len(glob) and glob[in_glob] == "*":
            newest_star, star_end, in_glob = in_glob, in_name, in_glob + 1
        elif newest_star >= 0:
            star_end += 1
            in_glob, in_name = newest_star + 1, star_end
        else:
            return False
    return not glob[in_glob:].strip("*")
