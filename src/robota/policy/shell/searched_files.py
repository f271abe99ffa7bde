"""What a command reads that it was not given by name: everything below a directory, or what git has kept of it."""

import fnmatch
import re
from typing import Final

import msgspec

from robota.policy.shell.readonly_commands import Content, ReadOnlyCommand
from robota.policy.shell.sorted_words import SortedWords
from robota.workspace.shell.script import Argv

# With one of these git prints what has changed in files, or asks the programs that turn them into text.
PATCH: Final = frozenset(
    """
    -p -u -U -c -S -G -W --patch --unified --patch-with-stat --cc --check --word-diff --color-words
    --function-context
    """.split()
)
# With one of these, and none of those, only names and numbers.
SUMMARY: Final = frozenset(
    """
    -s --no-patch --stat --shortstat --numstat --dirstat --name-only --name-status --summary --raw --quiet
    --compact-summary
    """.split()
)
PATCH_OF: Final = {"status": frozenset({"-v"}), "cat-file": frozenset({"-p"})}
# git compares files with what it knows of them, which runs filters, or turns them into text.
COMPARING: Final = frozenset({"status", "diff", "blame", "ls-files", "grep", "check-ignore"})
DIFFING: Final = frozenset({"blame"})
NO_PROGRAMS: Final = frozenset({"--no-ext-diff", "--no-textconv"})
GREPS: Final = frozenset({"grep", "egrep", "fgrep"})
OBJECT: Final = re.compile(r"[0-9a-f]{4,}", re.IGNORECASE)
# git has patterns and signs of its own in paths.
SIGNS_OF_GIT: Final = frozenset("*?[\\")
HIDDEN_TOO: Final = frozenset({"--hidden", "-.", "-u"})
ANY_FILE: Final = "*"


class GitLook(msgspec.Struct, frozen=True, kw_only=True):
    """Which programs of the person a git command could run: those for differences, those for every file."""

    diffs: bool
    compares: bool


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """The places of which everything is read, but for names that do not fit.

    `tracked`: only what git has in its index; `history`: also what was there once.
    """

    places: tuple[str, ...]
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    without_directories: tuple[str, ...] = ()
    hidden: bool = True
    tracked: bool = False
    history: bool = False

    def reads(self, path: str) -> bool:
        """Whether a file found below one of the places would be read."""
        names = path.split("/")
        if not self.hidden and any(name.startswith(".") for name in names):
            return False
        if any(fnmatch.fnmatchcase(names[-1], pattern) for pattern in self.without):
            return False
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in self.without_directories for name in names[:-1]):
            return False
        return not self.only or any(fnmatch.fnmatchcase(names[-1], pattern) for pattern in self.only)


def git_look(definition: ReadOnlyCommand, argv: Argv, flags: list[str]) -> GitLook:
    """Which programs git would ask for, were they configured."""
    subcommand = _subcommand(argv)
    shows = subcommand in DIFFING or (definition.content is not Content.NEVER and subcommand != "grep")
    return GitLook(
        diffs=shows and _prints(definition.content, subcommand, flags) and not set(flags) >= NO_PROGRAMS,
        compares=subcommand in COMPARING,
    )


def search_of(definition: ReadOnlyCommand, argv: Argv, words: SortedWords, paths: tuple[str, ...]) -> Search | None:
    """What the command searches; None if it reads only what it was given by name."""
    name = argv[0]
    if name == "git":
        return _search_of_git(definition, _subcommand(argv), words)
    if name in GREPS and {"-r", "--recursive"} & set(words.flags):
        only = tuple(_as_name(pattern) for pattern in _values(words, "--include"))
        return Search(
            places=paths or (".",),
            only=only,
            # Of patterns that contradict one another the last one counts.
            without=() if only else _values(words, "--exclude"),
            without_directories=_values(words, "--exclude-dir"),
        )
    if name == "rg" and not {"--files", "--type-list"} & set(words.flags):
        globs = (*_values(words, "-g", "--glob"), *(ANY_FILE for _ in _values(words, "--iglob")))
        only = tuple(_as_name(glob) for glob in globs if not glob.startswith("!"))
        without = () if only else tuple(glob[1:] for glob in globs if glob.startswith("!"))
        return Search(
            places=paths or (".",),
            only=only,
            without=without,
            without_directories=without,
            # What a pattern asks for is searched even if it is hidden.
            hidden=bool(only) or not HIDDEN_TOO.isdisjoint(words.flags),
        )
    return None


def _search_of_git(definition: ReadOnlyCommand, subcommand: str, words: SortedWords) -> Search | None:
    if subcommand in DIFFING:
        return None
    operands = [word.text for word in words.operands]
    before = operands[: len(operands) - len(words.after_dashes or ())]
    may_be_object = subcommand in {"show", "cat-file"} and any(OBJECT.fullmatch(word) for word in before)
    if not _prints(definition.content, subcommand, words.flags) and not (may_be_object and subcommand == "show"):
        return None
    if subcommand in {"show", "cat-file"} and before and all(map(_names_a_file, before)):
        return None
    if subcommand == "cat-file" and not may_be_object:
        # A commit or a tag, of which no file is shown.
        return None
    after = words.after_dashes or []
    is_limited = bool(after) and not any(word.startswith(":") or SIGNS_OF_GIT & set(word) for word in after)
    return Search(
        places=tuple(after) if is_limited else (".",),
        tracked="--untracked" not in words.flags,
        history=not _looks_at_present(subcommand, words.flags, before),
    )


def _looks_at_present(subcommand: str, flags: list[str], before: list[str]) -> bool:
    """Whether no older version of a file is read; `before` are the operands before `--`, which may name one."""
    if subcommand == "grep":
        return len(before) <= (0 if "-e" in flags else 1)
    return subcommand == "diff" and not before and {"--cached", "--staged", "--merge-base"}.isdisjoint(flags)


def _names_a_file(word: str) -> bool:
    """`HEAD:src/a.py` or `:a.py`, which is judged by its name; `:/words` is a commit."""
    _, colon, path = word.partition(":")
    return bool(colon and path) and not path.startswith("/")


def _prints(content: Content, subcommand: str, flags: list[str]) -> bool:
    wanted = PATCH_OF.get(subcommand, PATCH)
    if content is Content.BY_FLAG:
        return not wanted.isdisjoint(flags)
    if content is Content.BY_DEFAULT:
        return SUMMARY.isdisjoint(flags) or not wanted.isdisjoint(flags)
    return content is Content.ALWAYS or subcommand in DIFFING


def _subcommand(argv: Argv) -> str:
    return next((word for word in argv[1:] if not word.startswith("-")), "")


def _values(words: SortedWords, *flags: str) -> tuple[str, ...]:
    return tuple(value for flag, value in words.values if flag in flags)


def _as_name(glob: str) -> str:
    """A pattern for the last name of a path that fits at least what the pattern of rg fits."""
    return ANY_FILE if not glob or set(glob) & set("/{}[]\\") else glob
