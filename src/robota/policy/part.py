"""One simple command of a shell command, as policy looks at it."""

import posixpath
from collections.abc import Iterable
from typing import Final

import msgspec

from robota.policy.places import Places
from robota.policy.readonly import OnlyLooks, only_looks
from robota.workspace.shell.script import Argv, SimpleCommand
from robota.workspace.shell.wrappers import Unwrapped

HARMLESS_FILES: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


class CommandPart(msgspec.Struct, frozen=True, kw_only=True):
    """A simple command, what was found behind its wrappers, and the directories it may run in.

    `looks` is what it looks at, if looking is all it does.
    """

    command: SimpleCommand
    unwrapped: Unwrapped
    directories: tuple[str, ...]
    label: str
    looks: OnlyLooks | None

    @property
    def inner(self) -> Argv:
        """The command without its wrappers, or as it stands if nothing could be found behind them."""
        return self.unwrapped.inner or self.command.argv

    @property
    def written(self) -> tuple[str, ...]:
        """The files that the shell itself opens for writing."""
        return tuple(each.target for each in self.command.redirects if each.writes and not _is_harmless(each.target))

    @property
    def looked_at(self) -> tuple[str, ...]:
        """The files that a command which only looks reads, and those that the shell reads for it."""
        read = (each.target for each in self.command.redirects if not each.writes and not _is_harmless(each.target))
        return (*(self.looks.paths if self.looks else ()), *read)

    @property
    def named(self) -> tuple[str, ...]:
        """Every word that could name a file, also behind the `=` of a flag or the `:` of a revision."""
        words = self.looked_at if self.looks else (*self.command.argv[1:], *self.looked_at)
        pieces = ((word, word.partition("=")[2], word.rpartition(":")[2]) for word in words)
        return tuple(dict.fromkeys(piece for group in pieces for piece in group if piece))

    def locations(self, words: Iterable[str], places: Places) -> list[tuple[str, str]]:
        """Each word with each place it could mean."""
        return [
            (word, location)
            for word in words
            for directory in self.directories
            for location in places.locations(word, directory)
        ]


def command_part(
    command: SimpleCommand, unwrapped: Unwrapped, directories: tuple[str, ...], label: str
) -> CommandPart:
    inner = unwrapped.inner
    if inner is not None and len(command.argv) - len(inner) in command.globs:
        # What runs is the first file that fits the pattern.
        unwrapped, inner = Unwrapped(inner=None, wrappers=unwrapped.wrappers, faithful=False), None
    known = inner is None or unwrapped.faithful
    looks = only_looks(command, inner or command.argv) if known else None
    return CommandPart(command=command, unwrapped=unwrapped, directories=directories, label=label, looks=looks)


def _is_harmless(target: str) -> bool:
    return posixpath.normpath(target) in HARMLESS_FILES
