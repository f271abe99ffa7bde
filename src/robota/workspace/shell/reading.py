"""Parse a shell command: it is plain only if two independent parsers agree on every word.

The first parser is in this file, a strict one for the simple part of the shell language: plain words, quotes,
backslashes, comments, `&& || ; |`, newlines and redirections to files. It stops at anything else and names it. The
second parser is the tree-sitter grammar of bash.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from robota.text.visible import LINES_AND_TABS, first_unprintable
from robota.workspace.shell.script import (
    KEYWORDS,
    STATEFUL,
    Opaque,
    Plain,
    Redirect,
    Script,
    SimpleCommand,
    Skeleton,
    Unjudgeable,
    is_assignment,
)

MAX_CHARACTERS: Final = 100_000
MAX_TOKENS: Final = 4_000
MAX_COMMANDS: Final = 600
# The time of the grammar grows with the square of these.
MAX_PIPES: Final = 100
# This also applies to much that is not plain, where the grammar only provides hints.
MAX_CHARACTERS_FOR_HINTS: Final = 1_000
SEPARATOR = re.compile(r"&&|\|\||\||;|\n")
# The shell reads a number that is too large for a descriptor as a word; two digits are enough.
REDIRECTION = re.compile(r"(?:[0-9]{0,2}(?:>>|>\||>|<)|&>>|&>)(?![<>&|(])")
DUPLICATE = re.compile(r"[0-9]{0,2}>&[0-9](?=[ \t\n;|]|$)")
COMMENT = re.compile(r"#[^\n]*")
BLANK = re.compile(r"[ \t]+")
# Characters without a special meaning within a word, in any shell.
PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=^-]+")
SINGLE_QUOTED = re.compile(r"'([^']*)'")
DOUBLE_QUOTED = re.compile(r'"((?:[^"\\$`]|\\[^\n])*)"')
ESCAPED = re.compile(r"\\([!-~ ])")
ESCAPED_IN_QUOTES = re.compile(r'\\(["\\$`])')
# The variation selector turns a character into an emoji, as in messages of commits.
SEEN = LINES_AND_TABS | {"\ufe0f"}
GLOB_CHARACTERS = frozenset("*?[]")
PATTERN_CHARACTERS = GLOB_CHARACTERS | {"\\"}
QUOTING = frozenset("'\"\\")
END_OF_WORD = frozenset(" \t\n;|&<>")
MEANINGS = {
    "$": "a variable or a substitution",
    "`": "a substitution",
    "(": "a subshell or a function",
    ")": "a subshell or a function",
    "{": "braces, which the shell may expand",
    "}": "braces, which the shell may expand",
    "&": "a command in the background",
    "<": "input from something other than a plain file",
    ">": "a redirection to something other than a plain file",
    "!": "a negation",
    '"': "a quoted string that is not closed or contains a variable or a substitution",
    "'": "a quoted string that is not closed",
    "\\": "a line continuation",
    "~": "another user's home directory or a quoted ~",
    "#": "a # within a word",
}


class Assembled(msgspec.Struct, frozen=True, kw_only=True):
    """A simple command and how it was written."""

    command: SimpleCommand
    skeleton: Skeleton


class WordToken(msgspec.Struct, frozen=True, kw_only=True):
    """A word: as written (`raw`), as the program gets it (`text`), and whether it is a pattern for file names."""

    raw: str
    text: str
    globs: bool
    start: int
    end: int


class SeparatorToken(msgspec.Struct, frozen=True, kw_only=True):
    """An operator between commands."""

    sign: str
    start: int
    end: int


class RedirectToken(msgspec.Struct, frozen=True, kw_only=True):
    """The operator without its descriptor; the word after it is the target."""

    operator: str
    start: int
    end: int


class DuplicateToken(msgspec.Struct, frozen=True, kw_only=True):
    """`2>&1`: no file is opened."""

    start: int
    end: int


Token = WordToken | SeparatorToken | RedirectToken | DuplicateToken


class NotPlain(Exception):
    """The command contains something that only a shell can interpret. The message names it."""


class TooManyParts(Exception):
    """The command exceeds a limit. The message says which."""


def read_script(command: str) -> Script:
    """Parse a command. Never raises, never takes long, runs nothing."""
    if "\0" in command:
        return Unjudgeable(reason="It contains a NUL byte.")
    if len(command) > MAX_CHARACTERS:
        return Unjudgeable(reason=f"It has {len(command):,} characters; at most {MAX_CHARACTERS:,} can be checked.")
    try:
        assembled = assemble(command)
    except NotPlain as problem:
        return _opaque(f"It contains {problem}.", command)
    except TooManyParts as problem:
        return Unjudgeable(reason=f"It contains more than {problem}.")
    if not assembled:
        return Opaque(reason="It contains no command.")
    return _confirmed(command, assembled)


def _confirmed(command: str, assembled: tuple[Assembled, ...]) -> Script:
    """Compare with the grammar of bash, the second parser; opaque if it disagrees."""
    # Imported late: loading the grammar takes longer than starting Robota, and most runs never need it.
    from robota.workspace.shell.grammar import in_ascii, skeletons

    if skeletons(command) == tuple(one.skeleton.spelled(in_ascii) for one in assembled):
        return Plain(commands=tuple(one.command for one in assembled))
    return _opaque("It can be parsed in more than one way.", command)


def _opaque(reason: str, command: str) -> Opaque:
    if len(command) > MAX_CHARACTERS_FOR_HINTS:
        return Opaque(reason=reason)
    from robota.workspace.shell.grammar import commands_within

    return Opaque(reason=reason, possible=commands_within(command))


def assemble(command: str) -> tuple[Assembled, ...]:
    """The simple commands in order; `NotPlain` if there is anything else, `TooManyParts` if there are too many."""
    done: list[Assembled] = []
    draft: list[Token] = []
    pipes = 0
    for count, token in enumerate(read_tokens(command)):
        pipes += isinstance(token, SeparatorToken) and token.sign == "|"
        _require_few(count, len(done), pipes)
        if not isinstance(token, SeparatorToken):
            draft.append(token)
        elif draft:
            done.append(_simple(draft, command))
            draft = []
        elif token.sign != "\n":
            raise NotPlain(f"a {token.sign} without a command before it")
    if draft:
        done.append(_simple(draft, command))
    return tuple(done)


def _require_few(tokens: int, commands: int, pipes: int) -> None:
    for count, most, what in (
        (tokens, MAX_TOKENS, "words and operators"),
        (commands, MAX_COMMANDS - 1, "commands"),
        (pipes, MAX_PIPES, "pipes"),
    ):
        if count > most:
            raise TooManyParts(f"{most:,} {what} in one command")


def _simple(tokens: list[Token], command: str) -> Assembled:
    words, redirects = _sorted_out(tokens)
    if not words:
        raise NotPlain("a redirection without a command")
    for word in _names(words):
        _require_a_name(word)
    for word in words:
        _require_safe_pattern(word)
    return Assembled(
        command=SimpleCommand(
            argv=tuple(word.text for word in words),
            text=command[tokens[0].start : tokens[-1].end],
            redirects=tuple(Redirect(operator=operator, target=target.text) for operator, target in redirects),
            globs=frozenset(index for index, word in enumerate(words) if word.globs),
        ),
        skeleton=Skeleton(
            words=tuple(word.raw for word in words),
            redirects=tuple((operator, target.raw) for operator, target in redirects),
        ),
    )


def _names(words: list[WordToken]) -> Iterable[WordToken]:
    """The words that name a program: the first, and after the keyword `time` the program that it measures."""
    for index, word in enumerate(words):
        yield word
        if word.text != "time" and not (index > 0 and word.text in {"-p", "--"}):
            return


def _sorted_out(tokens: Iterable[Token]) -> tuple[list[WordToken], list[tuple[str, WordToken]]]:
    words: list[WordToken] = []
    redirects: list[tuple[str, WordToken]] = []
    operator: str | None = None
    for token in tokens:
        match token:
            case WordToken() if operator is None:
                words.append(token)
            case WordToken(globs=False) if operator is not None:
                redirects.append((operator, token))
                operator = None
            case RedirectToken() if operator is None:
                operator = token.operator
            case DuplicateToken() if operator is None:
                pass
            case _:
                raise NotPlain("a redirection whose target is not a plain word")
    if operator is not None:
        raise NotPlain("a redirection without a target")
    return words, redirects


def _require_a_name(word: WordToken) -> None:
    name = word.text
    if word.globs or not name or not name.isascii() or name.startswith("~") or " " in name:
        raise NotPlain("a program name that is not a plain word")
    if is_assignment(name):
        raise NotPlain("an assignment, which changes what the rest means")
    if name in KEYWORDS:
        raise NotPlain(f"the word {name}, which starts a compound command")
    if name in STATEFUL:
        raise NotPlain(f"{name}, which changes what the shell does next")


def _require_safe_pattern(word: WordToken) -> None:
    """Raise for `.*`, which may match `..`, and for `..` after a pattern, whose directory is unknown."""
    if word.globs and any(part.startswith(".") and part != "." for part in word.text.split("/")):
        raise NotPlain("a pattern that could match names beginning with a dot")


def read_tokens(command: str) -> Iterator[Token]:
    """The tokens in order; `NotPlain` at the first thing that is not plain."""
    _require_visible(command)
    index = 0
    while index < len(command):
        gap = BLANK.match(command, index) or COMMENT.match(command, index)
        if gap is not None:
            index = gap.end()
            continue
        token = _sign(command, index) or _word(command, index)
        yield token
        index = token.end


def _sign(command: str, index: int) -> Token | None:
    if match := DUPLICATE.match(command, index):
        return DuplicateToken(start=index, end=match.end())
    if match := REDIRECTION.match(command, index):
        return RedirectToken(operator=match[0].lstrip("0123456789"), start=index, end=match.end())
    if match := SEPARATOR.match(command, index):
        return SeparatorToken(sign=match[0], start=index, end=match.end())
    return None


def _require_visible(command: str) -> None:
    unseen = first_unprintable(command, keep=SEEN)
    if unseen is not None:
        raise NotPlain(f"the character U+{ord(unseen):04X}, which is invisible")


def _word(command: str, start: int) -> WordToken:
    text: list[str] = []
    signs: list[str] = []
    quoted: list[str] = []
    index = start
    while index < len(command) and command[index] not in END_OF_WORD:
        sign = command[index]
        if len(text) > MAX_TOKENS:
            raise TooManyParts(f"{MAX_TOKENS:,} pieces in one word")
        if sign in GLOB_CHARACTERS:
            signs.append(sign)
            piece, index = sign, index + 1
        elif sign == "~" or (sign == "#" and index > start):
            piece, index = _tilde_or_hash(command, start, index), index + 1
        else:
            piece, index = _piece(command, index)
            quoted += [piece] if sign in QUOTING else []
        text.append(piece)
    if index == start:
        raise _unknown(command[index])
    _require_unambiguous_pattern(signs, quoted)
    word = WordToken(raw=command[start:index], text="".join(text), globs=bool(signs), start=start, end=index)
    if word.text.startswith("~") and not word.raw.startswith("~"):
        raise NotPlain(MEANINGS["~"])
    return word


def _require_unambiguous_pattern(signs: list[str], quoted: list[str]) -> None:
    """Raise if a word has both quoted and unquoted pattern characters, which its text cannot distinguish."""
    if signs and quoted and ("[" in signs or not PATTERN_CHARACTERS.isdisjoint("".join(quoted))):
        raise NotPlain("a pattern with quoted characters")


def _piece(command: str, index: int) -> tuple[str, int]:
    """The next piece of a word, as the program gets it, and its end position."""
    if match := PLAIN.match(command, index):
        return match[0], match.end()
    if match := SINGLE_QUOTED.match(command, index):
        return match[1], match.end()
    if match := DOUBLE_QUOTED.match(command, index):
        return ESCAPED_IN_QUOTES.sub(r"\1", match[1]), match.end()
    if match := ESCAPED.match(command, index):
        return match[1], match.end()
    raise _unknown(command[index])


def _tilde_or_hash(command: str, start: int, index: int) -> str:
    """Accept `~` as `~/` at the start of a word, or where the shell does not expand it, as in HEAD~1."""
    sign = command[index]
    if sign == "~":
        follower = command[index + 1 : index + 2]
        means_home = index == start and (not follower or follower == "/" or follower in END_OF_WORD)
        if not means_home and (index == start or command[index - 1] in "=:"):
            raise NotPlain(MEANINGS["~"])
    return sign


def _unknown(sign: str) -> NotPlain:
    return NotPlain(MEANINGS.get(sign, f"the character {sign!r} outside quotes"))
