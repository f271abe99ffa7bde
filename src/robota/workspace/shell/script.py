"""A shell command as data: simple commands one after another, or one thing that was not understood."""

import msgspec

Argv = tuple[str, ...]


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


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A command that nobody can judge: over a limit, or with a NUL byte."""

    reason: str


Script = Plain | Opaque | Refused
