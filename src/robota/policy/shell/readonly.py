"""Whether a command is read-only, and what it reads: its program is known and all of its flags are harmless.

The definition of the program sorts the words into flags, values and operands. Some flags make it read files that are
not named: everything below a directory, or older versions in git.
"""

import fnmatch
import re
from functools import cache
from typing import Final

import msgspec

from robota.policy.shell.readonly_commands import COMMANDS, GIT, RG_TYPES, Content, Operands, ReadOnlyCommand, Syntax
from robota.workspace.shell.script import Argv, SimpleCommand

COUNT: Final = re.compile(r"-[0-9]+")
NUMBER: Final = re.compile(r"[-+]?[0-9]+[0-9A-Za-z]{0,3}")
KINDS: Final = "=#@?"
EXPRESSION_SIGNS: Final = frozenset({"(", ")", "!", ","})
# With one of these, git prints changes in files, or runs the programs that convert them to text.
PATCH: Final = frozenset(
    """
    -p -u -U -c -S -G -W --patch --unified --patch-with-stat --cc --check --word-diff --color-words
    --function-context
    """.split()
)
# With one of these, and none of those above, git prints only names and numbers.
SUMMARY: Final = frozenset(
    """
    -s --no-patch --stat --shortstat --numstat --dirstat --name-only --name-status --summary --raw --quiet
    --compact-summary
    """.split()
)
PATCH_OF: Final = {"status": frozenset({"-v"}), "cat-file": frozenset({"-p"})}
# git compares files with its index, which runs filters, or converts them to text.
COMPARING: Final = frozenset({"status", "diff", "blame", "ls-files", "grep", "check-ignore"})
DIFFING: Final = frozenset({"blame"})
# Flags that make git read revisions that are not named.
MORE_VERSIONS: Final = frozenset(
    "--all --branches --tags --remotes --glob --reflog --walk-reflogs -g --bisect --stdin --merge".split()
)
NOT_IN_SUBMODULES: Final = "--no-recurse-submodules"
NO_PROGRAMS: Final = frozenset({"--no-ext-diff", "--no-textconv"})
GREPS: Final = frozenset({"grep", "egrep", "fgrep"})
# These show any object, not only commits.
SHOWING_OBJECTS: Final = frozenset({"show", "cat-file"})
ONLY_ABOUT_OBJECTS: Final = frozenset({"-t", "-s", "-e"})
COMMIT: Final = re.compile(r"(?:HEAD|@)(?:[~^][0-9]*)*(?:\^\{(?:commit|tree)\})?")
# Characters with a special meaning in git's path patterns.
SIGNS_OF_GIT: Final = frozenset("*?[\\")
HIDDEN_TOO: Final = frozenset({"--hidden", "-.", "-u"})
ANY_FILE: Final = "*"
# The meaning of these characters in patterns differs between programs.
OTHER_SIGNS: Final = frozenset("/{}[]\\")
# With more patterns than this, every file is assumed to be read, which avoids comparing each with every pattern.
MAX_PATTERNS: Final = 20
MAX_PATTERN_LENGTH: Final = 200


class GitLook(msgspec.Struct, frozen=True, kw_only=True):
    """Which programs from the user's configuration a git command could run: for diffs, or for every file.

    `searches_submodules`: it does so if that is configured.
    """

    diffs: bool
    compares: bool
    searches_submodules: bool


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """Paths that are read recursively, except for files with names that do not match.

    If `hidden` is false, hidden names are skipped unless they match `unhidden`. `tracked`: only files in the git index;
    `history`: also their older versions.
    """

    paths: tuple[str, ...]
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    without_directories: tuple[str, ...] = ()
    hidden: bool = True
    unhidden: tuple[str, ...] = ()
    tracked: bool = False
    history: bool = False

    def reads(self, path: str, unhidden: tuple[str, ...]) -> bool:
        """Whether a file below one of the paths would be read; `unhidden` names are re-included by ignore files."""
        names = path.split("/")
        is_left_out = not self.hidden and any(name.startswith(".") for name in names)
        brought_back = (*self.unhidden, *unhidden) if is_left_out else ()
        if is_left_out and not any(fnmatch.fnmatchcase(name, each) for each in brought_back for name in names):
            return False
        if any(fnmatch.fnmatchcase(names[-1], pattern) for pattern in self.without):
            return False
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in self.without_directories for name in names[:-1]):
            return False
        return not self.only or any(fnmatch.fnmatchcase(names[-1], pattern) for pattern in self.only)


class OnlyLooks(msgspec.Struct, frozen=True, kw_only=True):
    """What a read-only command reads. `git` is set for git, which also obeys the repository it runs in.

    A command that `takes_no_directories` would follow any links in them. `search` is set if it reads files that are not
    named.
    """

    paths: tuple[str, ...]
    git: GitLook | None = None
    takes_no_directories: bool = False
    search: Search | None = None


class Word(msgspec.Struct, frozen=True):
    """A word, and whether it is a glob, which the shell may expand to several file names."""

    text: str
    globs: bool = False


class UnknownWord(Exception):
    """The effect of a word is unknown."""


class SortedWords:
    """The words of a command, sorted into flags and operands as its program would.

    `values` are the values of flags, `paths` the values that name files, `after_dashes` what follows `--`.
    """

    def __init__(self, definition: ReadOnlyCommand, words: list[Word]) -> None:
        self.flags: list[str] = []
        self.operands: list[Word] = []
        self.paths: list[str] = []
        self.values: list[tuple[str, str]] = []
        self.after_dashes: list[str] | None = None
        self._definition = definition
        self._table = _table(definition.flags)
        self._rest = iter(words)
        for word in self._rest:
            self._sort_in(word)

    def _sort_in(self, word: Word) -> None:
        syntax = self._definition.syntax
        looks_like_a_flag = word.text.startswith("-") and word.text != "-"
        is_past_flags = bool(self.operands) and syntax is Syntax.FLAGS_FIRST
        if looks_like_a_flag and is_past_flags and self._definition.operands.texts is not None:
            # Versions of the program differ in whether this is a flag.
            raise UnknownWord
        if syntax is Syntax.EXPRESSION and not self._is_in_order(word.text):
            raise UnknownWord
        if word.text == "--" and not is_past_flags:
            rest = list(self._rest)
            self.after_dashes = [each.text for each in rest]
            self.operands.extend(rest)
        elif not looks_like_a_flag or is_past_flags:
            self.operands.append(word)
        elif not (self._definition.counts and COUNT.fullmatch(word.text)):
            self._flag(word.text)

    def _is_in_order(self, word: str) -> bool:
        """Paths come before the expression, which has only flags and these characters; `--` does not end it."""
        return word != "--" and (word.startswith("-") or word in EXPRESSION_SIGNS or not self.flags)

    def _flag(self, word: str) -> None:
        name, equals, value = word.partition("=")
        kind = self._table.get(name)
        if kind is None:
            if word.startswith("--") or self._definition.syntax is Syntax.EXPRESSION:
                raise UnknownWord
            self._cluster(word)
            return
        self.flags.append(name)
        if equals and kind == "":
            raise UnknownWord
        # The value of `-x=v` is `=v`, that of `--long=v` is `v`.
        attached = (value if name.startswith("--") else f"={value}") if equals else None
        self._value(name, kind, attached)

    def _cluster(self, word: str) -> None:
        """Short flags in one word, as in `-la`; a flag with a value must be the last."""
        for index, letter in enumerate(word[1:], start=2):
            name, attached = f"-{letter}", word[index:]
            kind = self._table.get(name)
            if kind is None:
                raise UnknownWord
            self.flags.append(name)
            if kind == "":
                continue
            if attached and not self._definition.attached:
                raise UnknownWord
            self._value(name, kind, attached or None)
            return

    def _value(self, name: str, kind: str, attached: str | None) -> None:
        """Take the value of a flag, from the same word or the next one."""
        if kind == "" or (kind == "?" and attached is None):
            return
        value = attached if attached is not None else self._separate_value()
        if kind == "#" and NUMBER.fullmatch(value) is None:
            raise UnknownWord
        self.values.append((name, value))
        if kind == "@":
            self.paths.append(value)
        pattern = self._definition.values.get(name)
        if pattern is not None and re.fullmatch(pattern, value, re.DOTALL) is None:
            raise UnknownWord

    def _separate_value(self) -> str:
        """Reject values that the program may interpret as flags, and globs, which may expand to several words."""
        value = next(self._rest, None)
        if value is None or value.globs or (value.text.startswith("-") and not NUMBER.fullmatch(value.text)):
            raise UnknownWord
        return value.text


def only_looks(command: SimpleCommand, argv: Argv, no_flags: frozenset[int] = frozenset()) -> OnlyLooks | None:
    """What a command reads, if it is read-only; otherwise None. `argv` is the command without its wrappers.

    `no_flags` are the indices of globs that cannot expand to flags.
    """
    # The shell itself reads directories to expand globs, regardless of the program.
    patterns = tuple(command.argv[index] for index in sorted(command.globs))
    if argv[:2] == ("command", "-v") or argv[:2] == ("command", "-V"):
        return OnlyLooks(paths=patterns)
    known_command = _definition_of(argv)
    if known_command is None:
        return None
    definition, words = known_command
    skipped = len(command.argv) - len(words)
    marked = [Word(word, index in command.globs) for index, word in enumerate(words, start=skipped)]
    # A glob could expand to a flag, unless it starts with a literal character other than a dash.
    if any(command.argv[index][0] in "-*?[" for index in command.globs - no_flags if index >= skipped):
        return None
    try:
        sorted_out = _sorted_out(definition, marked)
        paths = _paths(definition, sorted_out)
    except UnknownWord:
        return None
    return OnlyLooks(
        paths=tuple(dict.fromkeys((*paths, *patterns))),
        git=_git_look(definition, argv, sorted_out.flags) if argv[0] == "git" else None,
        takes_no_directories=definition.takes_no_directories,
        search=_search_of(definition, argv, sorted_out, paths),
    )


def is_known(argv: Argv) -> bool:
    """Whether the program is read-only with some flags but not with others."""
    known_command = _definition_of(argv)
    return known_command is not None and not known_command[0].needs_flag


def _definition_of(argv: Argv) -> tuple[ReadOnlyCommand, Argv] | None:
    """The definition of the command, and the words after its name."""
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
    sorted_words = SortedWords(definition, words)
    if definition.needs_flag and not sorted_words.flags:
        raise UnknownWord
    return sorted_words


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
    if not names_a_pattern and any(operand.globs for operand in operands[: kind.texts]):
        # A glob may expand to several words, and then the second would be a file.
        raise UnknownWord
    return tuple(operand.text for operand in operands[0 if names_a_pattern else kind.texts :])


@cache
def _table(flags: str) -> dict[str, str]:
    """Each flag with the character that says how it takes a value; empty if it takes none."""
    return {word.rstrip(KINDS): word[len(word.rstrip(KINDS)) :] for word in flags.split()}


def _git_look(definition: ReadOnlyCommand, argv: Argv, flags: list[str]) -> GitLook:
    """Which programs git would run, if they were configured."""
    subcommand = _subcommand(argv)
    shows = subcommand in DIFFING or (definition.content is not Content.NEVER and subcommand != "grep")
    return GitLook(
        diffs=shows and _prints(definition.content, subcommand, flags) and not set(flags) >= NO_PROGRAMS,
        compares=subcommand in COMPARING,
        searches_submodules=subcommand == "grep" and NOT_IN_SUBMODULES not in flags,
    )


def _search_of(definition: ReadOnlyCommand, argv: Argv, words: SortedWords, paths: tuple[str, ...]) -> Search | None:
    """What the command searches; None if it reads only files that are named."""
    name = argv[0]
    if name == "git":
        return _search_of_git(definition, _subcommand(argv), words)
    if name in GREPS and {"-r", "--recursive"} & set(words.flags):
        only = tuple(_as_name(pattern) for pattern in _values(words, "--include"))
        return Search(
            paths=paths or (".",),
            only=_narrowing(only),
            # If patterns contradict each other, the last one wins.
            without=() if only else _plainly(_values(words, "--exclude")),
            without_directories=_plainly(_values(words, "--exclude-dir")),
        )
    if name == "rg" and not {"--files", "--type-list"} & set(words.flags):
        globs = (*_values(words, "-g", "--glob"), *(ANY_FILE for _ in _values(words, "--iglob")))
        only = tuple(_as_name(glob) for glob in globs if not glob.startswith("!"))
        without = () if only else _plainly(tuple(glob[1:] for glob in globs if glob.startswith("!")))
        return Search(
            paths=paths or (".",),
            only=_narrowing(only),
            without=without,
            without_directories=without,
            # Hidden files that match a pattern or a type are searched, too.
            hidden=bool(only) or not HIDDEN_TOO.isdisjoint(words.flags),
            unhidden=tuple(name for kind in _values(words, "-t", "--type") for name in RG_TYPES.get(kind, (ANY_FILE,))),
        )
    return None


def _search_of_git(definition: ReadOnlyCommand, subcommand: str, words: SortedWords) -> Search | None:
    if subcommand in DIFFING:
        return None
    operands = [word.text for word in words.operands]
    before = operands[: len(operands) - len(words.after_dashes or ())]
    is_of_objects = subcommand in SHOWING_OBJECTS
    if is_of_objects and not _shows_files(subcommand, words.flags, before):
        return None
    if not is_of_objects and not _prints(definition.content, subcommand, words.flags):
        return None
    after = words.after_dashes or []
    if subcommand == "grep" and not before and definition.pattern_flags.isdisjoint(words.flags):
        # The search pattern comes first, even after the dashes, and revisions may follow it.
        before, after = after, []
    is_limited = bool(after) and not any(word.startswith(":") or SIGNS_OF_GIT & set(word) for word in after)
    return Search(
        paths=tuple(after) if is_limited else (".",),
        tracked="--untracked" not in words.flags,
        history=not _looks_at_present(subcommand, words.flags, before),
    )


def _shows_files(subcommand: str, flags: list[str], before: list[str]) -> bool:
    """Whether git may show the content of files that are not named. Any name, such as a tag, may refer to a file."""
    names_only_files = bool(before) and all(map(_names_a_file, before))
    has_more = not MORE_VERSIONS.isdisjoint(flags)
    if names_only_files and not has_more:
        return False
    if subcommand == "cat-file":
        # Without a flag, the first word is the object type.
        objects = before if flags else before[1:]
        return ONLY_ABOUT_OBJECTS.isdisjoint(flags) and not all(map(_names_a_commit, objects))
    return has_more or _prints(Content.BY_DEFAULT, subcommand, flags) or not all(map(_names_a_commit, before))


def _names_a_commit(word: str) -> bool:
    return all(not part or COMMIT.fullmatch(part) for part in re.split(r"\.{2,3}", word.removeprefix("^")))


def _looks_at_present(subcommand: str, flags: list[str], before: list[str]) -> bool:
    """Whether only the present version of files is read; the operands `before` the dashes may name a revision."""
    if subcommand == "grep":
        return len(before) <= (0 if "-e" in flags else 1)
    return subcommand == "diff" and not before and {"--cached", "--staged", "--merge-base"}.isdisjoint(flags)


def _names_a_file(word: str) -> bool:
    """Whether the word is a path in a revision (`HEAD:src/a.py` or `:a.py`); `:/words` is a commit."""
    version, colon, path = word.partition(":")
    # Without a revision, these characters start a pathspec that excludes paths or starts at the top.
    return bool(colon and path) and not path.startswith("/" if version else ("/", "!", "^", "("))


def _prints(content: Content, subcommand: str, flags: list[str]) -> bool:
    patch_flags = PATCH_OF.get(subcommand, PATCH)
    if content is Content.BY_FLAG:
        return not patch_flags.isdisjoint(flags)
    if content is Content.BY_DEFAULT:
        return SUMMARY.isdisjoint(flags) or not patch_flags.isdisjoint(flags)
    return content is Content.ALWAYS or subcommand in DIFFING


def _subcommand(argv: Argv) -> str:
    return next((word for word in argv[1:] if not word.startswith("-")), "")


def _values(words: SortedWords, *flags: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for flag, value in words.values if flag in flags))


def _narrowing(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns, or none if comparing every file with them would take too long."""
    is_little = len(patterns) <= MAX_PATTERNS and all(len(each) <= MAX_PATTERN_LENGTH for each in patterns)
    return patterns if is_little else ()


def _plainly(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns that mean the same to every program, so that files they exclude are certainly excluded."""
    return _narrowing(tuple(each for each in patterns if OTHER_SIGNS.isdisjoint(each)))


def _as_name(glob: str) -> str:
    """A pattern for file names that matches at least what rg's pattern matches."""
    return glob if glob and OTHER_SIGNS.isdisjoint(glob) else ANY_FILE
