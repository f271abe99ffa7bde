"""Which files a shell command writes, if all its programs write only the files in their arguments."""

import posixpath
from collections.abc import Sequence
from enum import Enum
from typing import Final

import msgspec

from robota.policy.protected.path_resolver import PathResolver, TooMuchWork
from robota.policy.shell.command_part import CommandPart
from robota.policy.shell.readonly import SIGNS_OF_GIT, only_looks
from robota.workspace.shell.script import Argv, SimpleCommand

SED_FLAGS: Final = ("-i", "--in-place")
GIT_RESTORING: Final = (("git", "checkout", "--"), ("git", "restore", "--"), ("git", "restore"))
# Later commands may write through a link that these created.
BRINGS_LINKS: Final = frozenset({"cp", "mv", "git"})


class WrittenOperands(Enum):
    """Which operands are written."""

    ALL = "all"
    ALL_BUT_FIRST = "all but the first"
    LAST = "the last"
    MOVED = "all, the last of them being where the others go"


class KnownWriter(msgspec.Struct, frozen=True):
    """A program, its flags that do not change which files it writes, and the operands that it writes."""

    flags: frozenset[str]
    operands: WrittenOperands = WrittenOperands.ALL


def _writer(flags: str, operands: WrittenOperands = WrittenOperands.ALL) -> KnownWriter:
    return KnownWriter(frozenset(flags.split()), operands)


WRITERS: Final = {
    "touch": _writer("-a -m -c --no-create"),
    "mkdir": _writer("-p -v -pv --parents --verbose"),
    "rmdir": _writer("-v"),
    "rm": _writer("-f -i -r -R -v -d -rf -fr -rv -fv -rfv --force --recursive --verbose"),
    "unlink": _writer(""),
    "tee": _writer("-a --append"),
    "chmod": _writer("-v -c -f", WrittenOperands.ALL_BUT_FIRST),
    "cp": _writer("-f -i -n -p -v -fv -pv", WrittenOperands.LAST),
    "mv": _writer("-f -i -n -v -fv", WrittenOperands.MOVED),
}


class NotKnown(Exception):
    """It is unknown what the command writes."""


def written_files(parts: Sequence[CommandPart], resolver: PathResolver, *, trusted: bool) -> tuple[str, ...] | None:
    """Every path that is written, relative to the workspace if inside it; None if unknown."""
    paths: dict[str, None] = {}
    has_links = False
    try:
        for part in parts:
            words = (*part.written, *_written_by_program(part, resolver, trusted=trusted))
            if words and has_links:
                return None
            has_links = has_links or (part.inner[0] in BRINGS_LINKS and part.looks is None)
            for _, location in part.locations(words, resolver):
                paths[resolver.inside(location) or location] = None
    except (NotKnown, TooMuchWork):
        return None
    return tuple(paths)


def _written_by_program(part: CommandPart, resolver: PathResolver, *, trusted: bool) -> tuple[str, ...]:
    if part.looks is not None:
        if part.looks.git is not None and not trusted:
            raise NotKnown
        return ()
    argv = part.command.argv
    if argv[0] == "cd" and len(argv) == 2:
        return ()
    if part.unwrapped.wrappers or any(argv[index].startswith(("-", "*", "?", "[")) for index in part.command.globs):
        # A glob could expand to a flag.
        raise NotKnown
    if argv[0] == "sed":
        return _edited_by_sed(part.command)
    if argv[0] == "git":
        return _restored_by_git(argv)
    writer = WRITERS.get(argv[0])
    if writer is None:
        raise NotKnown
    operands = _behind_flags(argv[1:], writer.flags)
    if argv[0] == "mkdir" and any(".." in operand.split("/") for operand in operands):
        raise NotKnown  # it creates all directories on the path, even those that `..` leaves again
    return _operands(writer, operands, part, resolver)


def _behind_flags(words: Argv, flags: frozenset[str]) -> Argv:
    operands: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return (*operands, *words[index + 1 :])
        if word.startswith("-") and word not in flags:
            raise NotKnown
        if not word.startswith("-"):
            operands.append(word)
    return tuple(operands)


def _operands(writer: KnownWriter, operands: Argv, part: CommandPart, resolver: PathResolver) -> Argv:
    match writer.operands:
        case WrittenOperands.ALL:
            return operands
        case WrittenOperands.ALL_BUT_FIRST:
            return operands[1:]
        case WrittenOperands.LAST:
            return _destinations(operands, part, resolver)
        case WrittenOperands.MOVED:
            return (*operands[:-1], *_destinations(operands, part, resolver))


def _destinations(operands: Argv, part: CommandPart, resolver: PathResolver) -> Argv:
    """The paths of the copies: inside the last operand if that is a directory, otherwise that operand itself."""
    if len(operands) < 2 or part.command.globs:
        raise NotKnown
    *sources, target = operands
    names = (posixpath.basename(posixpath.normpath(source)) for source in sources)
    within = tuple(posixpath.join(target, name) for name in names)
    if any(posixpath.basename(posixpath.normpath(source)) in {"", ".", ".."} for source in sources):
        raise NotKnown
    is_directory = any(resolver.may_be_directory(target, each) for each in part.directories)
    return within if is_directory else (target,)


def _edited_by_sed(command: SimpleCommand) -> Argv:
    """The files that `sed -i` edits, if its script only prints and substitutes: other scripts can write any file."""
    if not any(word in SED_FLAGS for word in command.argv):
        raise NotKnown
    argv = tuple(word for word in command.argv if word not in SED_FLAGS)
    looks = None if command.globs else only_looks(msgspec.structs.replace(command, argv=argv), argv)
    if looks is None:
        raise NotKnown
    return looks.paths


def _restored_by_git(argv: Argv) -> Argv:
    """The files that git restores, if the command only restores paths that it names."""
    for head in GIT_RESTORING:
        if argv[: len(head)] == head and len(argv) > len(head):
            return tuple(map(_covered_by_pathspec, argv[len(head) :]))
    raise NotKnown


def _covered_by_pathspec(word: str) -> str:
    """The file or directory that contains everything this git pathspec matches.

    git's `*` matches slashes, too, so a pattern may match anything in the directory before it. Words that start with a
    colon are rejected, because their magic can match paths anywhere in the repository.
    """
    if word.startswith(("-", ":")):
        raise NotKnown
    sign = next((index for index, letter in enumerate(word) if letter in SIGNS_OF_GIT), None)
    if sign is None:
        return word
    directory, slash, _ = word[:sign].rpartition("/")
    if not slash or ".." in word.split("/"):
        raise NotKnown  # the directory it runs in, or one that the rest of the word leaves again
    return directory or "/"
