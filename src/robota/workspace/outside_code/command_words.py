"""Split command lines: the simple commands of a shell text, the program of each, and the words that name code."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from robota.workspace.outside_code.conventions import PACKAGES, STARTERS, TAKING_A_VALUE, TAKING_PACKAGES
from robota.workspace.shell.script import is_assignment

MAX_CHARACTERS: Final = 20_000  # longer texts are mostly data, and are only split roughly
PUNCTUATION: Final = ";|&<>()`\n"
COARSE_WORD: Final = re.compile(r"[^\s'\"`;|&<>()\\]+")
OPERATOR: Final = re.compile(rf"[{re.escape(PUNCTUATION)}]+")
MODULE_FLAG: Final = re.compile(r"-[A-Za-z]*m")
TEXT_FLAG: Final = re.compile(r"-[A-Za-z]*c")
# Between an interpreter and its script, as in `deno run x.ts`.
RUNNING: Final = frozenset({"run", "exec", "serve", "test"})
NUMBER: Final = re.compile(r"[0-9.]+[smhd]?")


def shell_commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a text, by its operators; by lines and rough words where quotes do not match."""
    if len(text) > MAX_CHARACTERS:
        yield from map(COARSE_WORD.findall, text.splitlines())
        return
    try:
        tokens = _tokens(text)
    except ValueError:
        for line in text.splitlines():
            try:
                yield from _split(_tokens(line))
            except ValueError:
                yield COARSE_WORD.findall(line)
        return
    yield from _split(tokens)


def _tokens(text: str) -> list[str]:
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=PUNCTUATION)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _split(tokens: list[str]) -> Iterator[list[str]]:
    command: list[str] = []
    is_target = False
    for token in tokens:
        if is_target:
            is_target = False  # written, not run
        elif OPERATOR.fullmatch(token):
            is_target = token.startswith((">", "&>"))
            if command and not token.startswith((">", "<", "&>")):
                yield command
                command = []
        else:
            command.append(token)
    if command:
        yield command


def program_index(words: Sequence[str]) -> int:
    """The index of the program, after assignments and programs that only start another."""
    for number, word in enumerate(words):
        name = word.rpartition("/")[2]
        if not is_assignment(word) and name not in STARTERS and not (number and _is_option(word)):
            return number
    return len(words)


def _is_option(word: str) -> bool:
    return word.startswith("-") or NUMBER.fullmatch(word) is not None


def script_index(words: Sequence[str], program: int) -> int | None:
    """The index of the script that an interpreter runs: the first word after its options, if these are not the code."""
    for number in range(program + 1, len(words)):
        is_operand = not words[number].startswith("-") and words[number - 1] not in TAKING_A_VALUE
        if is_operand and not (number == program + 1 and words[number] in RUNNING):
            return number
        if MODULE_FLAG.fullmatch(words[number]) or TEXT_FLAG.fullmatch(words[number]):
            return None
    return None


def words_after(words: Sequence[str], flags: frozenset[str]) -> list[str]:
    """The values of these options: the words after them, or after their `=`."""
    attached = [word.partition("=")[2] for word in words if word.partition("=")[0] in flags and "=" in word]
    return [value for flag, value in pairwise(words) if flag in flags] + attached


def package_words(words: Sequence[str], index: int, name: str) -> list[str]:
    """The words that name a package to run: a directory of the workspace is one as a whole."""
    first = next((word for word in words[index + 1 :] if not word.startswith("-")), None)
    return [*words_after(words, PACKAGES), *([first] if first is not None and name in TAKING_PACKAGES else [])]
