"""Whether a command only looks: its program is known and every one of its flags is harmless."""

import re

import msgspec

from robota.policy.shell.readonly_commands import COMMANDS, GIT, Operands, ReadOnlyCommand
from robota.policy.shell.searched_files import GitLook, Search, git_look, search_of
from robota.policy.shell.sorted_words import SortedWords, UnknownWord, Word
from robota.workspace.shell.script import Argv, SimpleCommand


class OnlyLooks(msgspec.Struct, frozen=True, kw_only=True):
    """What the command looks at. `git` is there for git, which also obeys the repository it runs in.

    One that `takes_no_directories` would follow links in them, wherever those lead. `search` is there if it reads
    files that it was not given by name.
    """

    paths: tuple[str, ...]
    git: GitLook | None = None
    takes_no_directories: bool = False
    search: Search | None = None


def only_looks(command: SimpleCommand, argv: Argv, no_flags: frozenset[int] = frozenset()) -> OnlyLooks | None:
    """What a command would look at if that is all it does. `argv` is the command without its wrappers.

    `no_flags` are the places of patterns that are known to become no flags.
    """
    # The shell itself looks for what a pattern stands for, whatever the program then does with the names.
    patterns = tuple(command.argv[place] for place in sorted(command.globs))
    if argv[:2] == ("command", "-v") or argv[:2] == ("command", "-V"):
        return OnlyLooks(paths=patterns)
    known = _known(argv)
    if known is None:
        return None
    definition, words = known
    skipped = len(command.argv) - len(words)
    marked = [Word(word, place in command.globs) for place, word in enumerate(words, start=skipped)]
    # What a pattern becomes could look like a flag, unless it begins with something else.
    if any(command.argv[place][0] in "-*?[" for place in command.globs - no_flags if place >= skipped):
        return None
    try:
        sorted_out = _sorted_out(definition, marked)
        paths = _paths(definition, sorted_out)
    except UnknownWord:
        return None
    return OnlyLooks(
        paths=tuple(dict.fromkeys((*paths, *patterns))),
        git=git_look(definition, argv, sorted_out.flags) if argv[0] == "git" else None,
        takes_no_directories=definition.takes_no_directories,
        search=search_of(definition, argv, sorted_out, paths),
    )


def is_known(argv: Argv) -> bool:
    """Whether the program looks with some flags and does more with others."""
    known = _known(argv)
    return known is not None and not known[0].needs_flag


def _known(argv: Argv) -> tuple[ReadOnlyCommand, Argv] | None:
    """The definition of the command and the words after its name."""
    if argv[0] != "git":
        definition = COMMANDS.get(argv[0])
        return None if definition is None else (definition, argv[1:])
    words = argv[2:] if argv[1:2] in {("--no-pager",), ("-P",)} else argv[1:]
    for length in (2, 1):
        definition = GIT.get(" ".join(words[:length]))
        if definition is not None and len(words) >= length:
            return definition, words[length:]
    return COMMANDS["git"], words


def _sorted_out(definition: ReadOnlyCommand, words: list[Word]) -> SortedWords:
    if definition.never is not None and any(re.search(definition.never, word.text) for word in words):
        raise UnknownWord
    found = SortedWords(definition, words)
    if definition.needs_flag and not found.flags:
        raise UnknownWord
    return found


def _paths(definition: ReadOnlyCommand, words: SortedWords) -> tuple[str, ...]:
    """The words that name files."""
    names_a_pattern = not definition.pattern_flags.isdisjoint(words.flags)
    return (*words.paths, *_operand_paths(definition.operands, words.operands, names_a_pattern))


def _operand_paths(kind: Operands, operands: list[Word], names_a_pattern: bool) -> tuple[str, ...]:
    matters_which_is_which = kind.limit is not None or kind.first is not None
    if matters_which_is_which and any(operand.globs for operand in operands):
        raise UnknownWord
    if kind.limit is not None and len(operands) > kind.limit:
        raise UnknownWord
    if kind.first is not None and operands and re.fullmatch(kind.first, operands[0].text, re.DOTALL) is None:
        raise UnknownWord
    if kind.texts is None:
        return ()
    return tuple(operand.text for operand in operands[0 if names_a_pattern else kind.texts :])
