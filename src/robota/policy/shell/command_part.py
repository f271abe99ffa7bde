"""One simple command within a shell command: what it reads, names, writes and deletes."""

import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import msgspec

from robota.contracts.verdict import Subject
from robota.policy.protected.path_resolver import MAX_PATH_LENGTH, PathResolver, TooMuchWork
from robota.policy.shell.readonly import OnlyLooks, only_looks
from robota.policy.shell.runs_other_programs import runs_anything
from robota.workspace.shell.script import Argv, SimpleCommand
from robota.workspace.shell.wrappers import Unwrapped, program

# `type=bind,src=x`, `x:/mnt`, `f=@x;type=text`.
JOINED: Final = re.compile(r"[=:,;@]")
WITHIN_A_SCRIPT: Final = re.compile(r"[^\s\"'`$|&;<>(){}=]+")
BRING_FILES: Final = frozenset("cp mv ln touch mkdir tee curl wget unzip gunzip tar install dd patch rsync".split())
MAX_NAMES: Final = 1_000
HARMLESS_FILES: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


class CommandPart(msgspec.Struct, frozen=True, kw_only=True):
    """A simple command, its unwrapped form, and the directories it may run in.

    `looks` describes what it reads, if it is read-only. `feeder` is the command before it, if that names the files that
    `xargs` adds to this one. `follows_new_files`: a command before it in the same line may have created files.
    """

    command: SimpleCommand
    unwrapped: Unwrapped
    directories: tuple[str, ...]
    tool: str
    label: str
    looks: OnlyLooks | None
    feeder: str = ""
    follows_new_files: bool = False

    @property
    def inner(self) -> Argv:
        """The command without its wrappers, or the whole command if it could not be unwrapped."""
        return self.unwrapped.inner or self.command.argv

    @property
    def written(self) -> tuple[str, ...]:
        """The files that the shell opens for writing."""
        return tuple(each.target for each in self.command.redirects if each.writes and not _is_harmless(each.target))

    @property
    def may_bring_files(self) -> bool:
        """Whether the command creates or copies files, which may affect the commands after it."""
        return bool(self.written) or program(self.inner) in BRING_FILES

    @property
    def looked_at(self) -> tuple[str, ...]:
        """The files that a read-only command reads, and those that the shell reads for it."""
        read = (each.target for each in self.command.redirects if not each.writes and not _is_harmless(each.target))
        return (*(self.looks.paths if self.looks else ()), *read)

    @property
    def searches(self) -> bool:
        """Whether it is read-only and reads files that are not named in the command."""
        return self.looks is not None and self.looks.search is not None

    @property
    def named(self) -> tuple[str, ...]:
        """Every word that could name a file, including parts after a flag, `=`, `@` or the `:` of a revision.

        In scripts, such as the argument of `sh -c`, everything that could be a file name.
        """
        words = self.looked_at if self.looks else (*self.command.argv[1:], *self.looked_at)
        if not self.looks and runs_anything(self.inner):
            words = (*words, *(name for word in self.command.argv[1:] for name in WITHIN_A_SCRIPT.findall(word)))
        return _all_names(words)

    def locations(self, words: Iterable[str], resolver: PathResolver) -> list[tuple[str, str]]:
        """Each word with each path that it could mean."""
        return [
            (word, location)
            for word in dict.fromkeys(words)
            for directory in self.directories
            for location in resolver.locations(word, directory)
        ]


def command_part(
    command: SimpleCommand,
    unwrapped: Unwrapped,
    directories: tuple[str, ...],
    subject: Subject,
    resolver: PathResolver | None,
) -> CommandPart:
    """Without `resolver`, the files that will exist when the command runs are treated as unknown."""
    inner = unwrapped.inner
    if inner is not None and any(index <= len(command.argv) - len(inner) for index in command.globs):
        # A glob can expand to several words, so another word may be the program that runs.
        unwrapped, inner = Unwrapped(inner=None, wrappers=unwrapped.wrappers, faithful=False), None
    is_understood = inner is None or unwrapped.faithful
    no_flags = _no_flags(command, directories, resolver) if resolver is not None else frozenset()
    looks = only_looks(command, inner or command.argv, no_flags) if is_understood else None
    return CommandPart(
        command=command,
        unwrapped=unwrapped,
        directories=directories,
        tool=subject.tool,
        label=subject.label,
        looks=looks,
    )


def _no_flags(command: SimpleCommand, directories: tuple[str, ...], resolver: PathResolver) -> frozenset[int]:
    """The indices of globs that cannot expand to a flag in any directory the command may run in."""
    patterns = {command.argv[index] for index in command.globs}
    tame = {
        pattern
        for pattern in patterns
        if not pattern.startswith("-") and all(resolver.becomes_no_flag(pattern, each) for each in directories)
    }
    return frozenset(index for index in command.globs if command.argv[index] in tame)


@lru_cache(maxsize=8)
def _all_names(words: tuple[str, ...]) -> tuple[str, ...]:
    pieces: dict[str, None] = {}
    for word in dict.fromkeys(words):
        pieces.update(dict.fromkeys(names_in(word)))
        if len(pieces) > MAX_NAMES:
            raise TooMuchWork
    return tuple(piece for piece in pieces if piece)


def names_in(word: str) -> tuple[str, ...]:
    """The word and every piece of it that could name a file. Raises `TooMuchWork` if there are too many."""
    if len(word) > MAX_PATH_LENGTH and len(JOINED.findall(word)) > MAX_NAMES:
        raise TooMuchWork
    attached = word[2:] if word.startswith("-") and not word.startswith("--") else ""
    pieces = (word, word.partition("=")[2], word.rpartition(":")[2], attached, attached.partition("=")[2])
    return (*pieces, *(piece.lstrip("@") for piece in pieces), *JOINED.split(word), *JOINED.split(attached))


def _is_harmless(target: str) -> bool:
    return posixpath.normpath(target) in HARMLESS_FILES
