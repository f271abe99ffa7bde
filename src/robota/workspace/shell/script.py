"""The types of a parsed shell command: a sequence of simple commands, or one that was not understood."""

import re
from collections.abc import Callable
from typing import Final

import msgspec

Argv = tuple[str, ...]
ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=", re.DOTALL)
KEYWORDS: Final = frozenset(
    "if then elif else fi case esac for select while until do done in function coproc { } ! [[ ]] [ ]".split()
)
# Built-in commands that change the meaning of later words, or that read more commands.
STATEFUL: Final = frozenset(
    "export declare typeset local readonly alias unalias set shopt eval exec source . trap hash enable builtin "
    "unset read readarray mapfile getopts let pushd popd dirs umask ulimit complete compgen compopt bind history fc "
    "return break continue shift logout suspend disown fg bg jobs wait caller times noglob".split()
)


class Redirect(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the shell itself opens for a command."""

    operator: str
    target: str

    @property
    def writes(self) -> bool:
        return self.operator != "<"


class SimpleCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A program with its words, as it would get them.

    A leading `~` of a word means the home directory. `globs` are the indexes in `argv` of words that the shell
    expands to names of files. `text` is the command as written.
    """

    argv: Argv
    text: str
    redirects: tuple[Redirect, ...] = ()
    globs: frozenset[int] = frozenset()


class Plain(msgspec.Struct, frozen=True, kw_only=True):
    """Simple commands joined by `&& || ; |` or newlines. No other command can run."""

    commands: tuple[SimpleCommand, ...]


class Opaque(msgspec.Struct, frozen=True, kw_only=True):
    """A command that may do more than its words say. `possible` are commands found in it, used only to deny it."""

    reason: str
    possible: tuple[Argv, ...] = ()


class Unjudgeable(msgspec.Struct, frozen=True, kw_only=True):
    """A command that cannot be analyzed: over a limit, or with a NUL byte."""

    reason: str


Script = Plain | Opaque | Unjudgeable


class Skeleton(msgspec.Struct, frozen=True, kw_only=True):
    """The words of a simple command as written, including quotes, and its redirections to files."""

    words: tuple[str, ...]
    redirects: tuple[tuple[str, str], ...] = ()

    def spelled(self, change: Callable[[str], str]) -> "Skeleton":
        """A copy with `change` applied to each word."""
        redirects = tuple((operator, change(target)) for operator, target in self.redirects)
        return Skeleton(words=tuple(map(change, self.words)), redirects=redirects)


def is_assignment(word: str) -> bool:
    """Whether a word in the position of a program sets a variable."""
    return ASSIGNMENT.match(word) is not None
