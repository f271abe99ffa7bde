"""A shell command as data: simple commands one after another, or one thing that was not understood."""

import re
from collections.abc import Callable
from typing import Final

import msgspec

Argv = tuple[str, ...]
ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=", re.DOTALL)
KEYWORDS: Final = frozenset(
    "if then elif else fi case esac for select while until do done in function coproc { } ! [[ ]] [ ]".split()
)
# Built-in commands after which the same words may mean something else, or that read more commands.
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
    """A program with its words, just as it would get them.

    A first `~` of a word means the home directory. `globs` are the places in `argv` whose words the shell
    replaces by the names of files. `text` is the command as written.
    """

    argv: Argv
    text: str
    redirects: tuple[Redirect, ...] = ()
    globs: frozenset[int] = frozenset()


class Plain(msgspec.Struct, frozen=True, kw_only=True):
    """Simple commands joined by `&& || ; |` or new lines. Nothing else can run."""

    commands: tuple[SimpleCommand, ...]


class Opaque(msgspec.Struct, frozen=True, kw_only=True):
    """A command that may do more than its words say. `possible` is what could be seen in it, for denials only."""

    reason: str
    possible: tuple[Argv, ...] = ()


class Unjudgeable(msgspec.Struct, frozen=True, kw_only=True):
    """A command that nobody can judge: over a limit, or with a NUL byte."""

    reason: str


Script = Plain | Opaque | Unjudgeable


class Skeleton(msgspec.Struct, frozen=True, kw_only=True):
    """The words of a simple command as they are written, quotes and all, and its redirections to files."""

    words: tuple[str, ...]
    redirects: tuple[tuple[str, str], ...] = ()

    def spelled(self, change: Callable[[str], str]) -> "Skeleton":
        """The same with each word written otherwise."""
        redirects = tuple((operator, change(target)) for operator, target in self.redirects)
        return Skeleton(words=tuple(map(change, self.words)), redirects=redirects)


def is_assignment(word: str) -> bool:
    """Whether a word in the place of a program sets a variable instead."""
    return ASSIGNMENT.match(word) is not None
