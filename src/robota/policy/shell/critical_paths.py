"""Detects commands that delete something vital: the root or a child of it, home, the workspace or its parents.

Also those that recursively delete directories outside the workspace, or git's data, and those that name a disk. The
check looks behind wrappers, into shell scripts and loops, and through variables that are assigned in the same command.
It also looks at arguments that a program could run as a command, and at names that `xargs` gets through a pipe. It does
not see what else a program reads from a pipe or a file, nor what a script in another language does (`python -c`).
"""

import fnmatch
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise, product
from pathlib import Path
from typing import Final

from robota.policy.protected.path_resolver import GLOB_SIGNS, PathResolver
from robota.workspace.shell.script import Argv
from robota.workspace.shell.wrappers import program

DELETING: Final = frozenset({"rm", "rmdir", "shred", "unlink", "srm", "wipe"})
# A trailing `*` or similar: everything in the directory before it.
ALL_WITHIN: Final = re.compile(r"(?:^|(?<=/))[*?]*\*[*?]*/?$")
RECURSIVE: Final = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*|--recursive")
# Tests that make `find` skip most files, if the pattern is specific; losing the matches is not critical.
BY_PATTERN: Final = re.compile(r"-(?:i?name|i?path|i?wholename|i?lname)")
BY_EXPRESSION: Final = frozenset({"-regex", "-iregex"})
LITERAL: Final = re.compile(r"\w{2}")
OF_GIT: Final = (".git", "./.git", "./.git/config", "config")
ALTERNATIVES: Final = frozenset({"-o", "-or", ","})
# Quoted parentheses group tests of `find`; unquoted ones belong to the shell and end a command.
QUOTED_BRACKET: Final = re.compile(r"\\([()])|'([()])'|\"([()])\"")
GROUPING: Final = {"(": "\u27e8", ")": "\u27e9"}
GROUP_SIGNS: Final = frozenset({"(", ")", *GROUPING.values()})
NEGATIONS: Final = frozenset({"!", "-not"})
RUNNING: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
SEPARATORS: Final = re.compile(r"[;&|\n()`]+")
QUOTING: Final = re.compile(r"\\\n|[\"'\\]")
ASSIGNED: Final = re.compile(
    r"(?:^|[\s;&|(])([A-Za-z_]\w{0,50})(\+?)=(\([^)]{0,300}\)?|\"[^\"]{0,300}\"|'[^']{0,300}'|[^\s;&|]{0,300})"
)
LOOPED: Final = re.compile(r"\bfor\s+([A-Za-z_]\w{0,50})\s+in\s+([^;\n]{0,2000})")
# `$X`, `${X}`, `${X:-y}` and similar.
VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z_]\w*)[^{}]*\}|([A-Za-z_]\w*))")
# Another user's home, or the current or previous directory of the shell.
OTHER_TILDE: Final = re.compile(r"~[^/]")
BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
RANGE: Final = re.compile(r"(?:\{\w+\.\.\w+(?:\.\.\w+)?\})+")
MAX_BRACES: Final = 50
HERE_DOCUMENT: Final = re.compile(r"^([^\n]*)<<-?\s*[\"']?(\w+)[\"']?([^\n]*)\n.*?^\s*\2$", re.MULTILINE | re.DOTALL)
SHELL: Final = re.compile(r"(?<![.\w-])(?:(?:ba|da|z|k|s)?sh|eval)\b")
STARTS: Final = re.compile(
    r"(?<![^\s!=])(?:[^\s!=]*/)?(?:(rm|rmdir|shred|unlink|srm|wipe|mv|chmod|chown|chgrp|chattr|setfacl|chcon)"
    r"|find|fd|fdfind|rsync|git|tar|zip|7z[arz]?|rar)(?!\S)"
)
# `git rm` and `git mv` change only tracked files, which git can restore.
OF_GIT_ITSELF: Final = re.compile(r"(?<!\S)(?:\S*/)?git(?:\s+-[Cc]\s+\S+|\s+-\S+)*\s+$")
DELETES: Final = re.compile(r"(?<!\S)(?:\S*/)?(?:rm|rmdir|shred|unlink|srm|wipe|truncate)(?!\S)")
# Deleting what comes through a pipe, and how much of the commands on both sides is looked at.
PIPED: Final = re.compile(r"\|\s*(?:/[\w/]{0,50}/)?xargs\s")
MAX_PIPED_LENGTH: Final = 2_000
NAMING_FEEDERS: Final = frozenset({"echo", "printf", "ls"})
FROM_A_PIPE: Final = "names from a pipe"
# A disk is overwritten as a whole, whatever the program is called.
DISK: Final = re.compile(
    r"(?:[\w-]+=|\d*>+[|&]?)?/dev/(?:(?:[shv]d|xvd)[a-z]|nvme\d|mmcblk|md\d|dm-|mapper/|disk|rdisk|nbd\d|zd\d|k?mem$).*"
)
READING_DISKS: Final = frozenset(
    "lsblk df blkid findmnt smartctl udevadm mount umount ls stat file readlink realpath echo printf grep rg".split()
)
FD_RUNNING: Final = re.compile(r"-[a-zA-Z]*[xX].*|--exec(?:-batch)?(?:=.*)?")
FD_PLACES: Final = frozenset({"-C", "--base-directory", "--search-path"})
FD_WITH_VALUE: Final = frozenset("-e --extension -t --type -d --max-depth -E --exclude -S --size -o --owner".split())
FD_EXTENSION: Final = re.compile(r"-e.*|--extension.*")
# Directory changes of the shell; without an argument to home.
ENTERS: Final = re.compile(r"(?<![\w./-])(?:cd|pushd)(?:[ \t]+-[-A-Za-z@]*)*(?:[ \t]+([^\s;&|()<>]+))?(?![\w./-])")
# rsync deletes what the source does not have. Long flags may be abbreviated.
RSYNC_DELETING: Final = re.compile(r"--del.*|--remove-s.*")
# Programs that can move files into an archive.
ARCHIVING: Final = {
    "tar": re.compile(r"--remove.*"),
    "zip": re.compile(r"-[a-zA-Z]*m[a-zA-Z]*|--move"),
    "rar": re.compile(r"mf?|-d[fr]"),
    **dict.fromkeys(("7z", "7za", "7zr", "7zz"), re.compile(r"-sdel.*")),
}
OTHER_MACHINE: Final = re.compile(r"[^/]*:")
GIT_DATA: Final = ".git"
NAMES_GIT_DATA: Final = re.compile(r"(?i)(?<!\w)\.git(?![\w.-])")
GIT_DIRECTORY_VARIABLES: Final = ("GIT_WORK_TREE", "GIT_DIR")
ASKS_FOR_FORCE: Final = "clean.requireforce"
GIT_WITH_VALUE: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
FORCE: Final = re.compile(r"-[a-zA-Z]*f[a-zA-Z]*|--force")
TEMPORARY_PLACES: Final = ("/tmp/", "/var/tmp/")
# Applied recursively, these can make files inaccessible.
TAKING_AWAY: Final = frozenset({"chmod", "chown", "chgrp", "chattr", "setfacl", "chcon"})
MAX_HERE_DOCUMENTS: Final = 20
MAX_FINDS: Final = 5
MAX_MATCHES: Final = 200
MAX_MEANINGS: Final = 50
MAX_DIRECTORIES: Final = 8
# A path from `mktemp` is deep enough to be deleted.
TEMPORARY: Final = "/tmp/made/x"


def critical_target(argv: Argv, resolver: PathResolver, directory: str) -> str | None:
    """The word of a parsed command that makes it delete something vital."""
    if not argv:
        return None
    disk = None if program(argv) in READING_DISKS else next(filter(_writes_disk, argv[1:]), None)
    return disk or _deleted(argv, resolver, directory, {})


def critical_target_in_text(text: str, resolver: PathResolver, directory: str) -> str | None:
    """The same for text that a shell would run, as far as static analysis can go."""
    if text.count("<<") <= MAX_HERE_DOCUMENTS:
        text = HERE_DOCUMENT.sub(_without_data, text)
    text = QUOTED_BRACKET.sub(lambda match: f" {GROUPING[match[match.lastindex or 1]]} ", text)
    # Both forms of command substitution are treated alike: their output is unknown.
    unquoted = QUOTING.sub("", text).replace("`", "$(")
    values = _values(text, resolver)
    parts = [
        part
        for written in dict.fromkeys((unquoted, _with_programs(unquoted, values)))
        for part in dict.fromkeys(SEPARATORS.split(written))
        if STARTS.search(part)
    ]
    parts += _piped_deletions(unquoted)
    words = unquoted.split() if "/dev/" in unquoted else ()
    disk = next(filter(_writes_disk, words), None)
    if disk is not None and READING_DISKS.isdisjoint(words):
        return disk
    if FROM_A_PIPE in parts:
        return FROM_A_PIPE
    if not parts:
        return None
    for start in _directories(unquoted, resolver, directory, values):
        for argv in (argv for part in parts[:MAX_MATCHES] for argv in _deleting(part)):
            target = _deleted(argv, resolver, start, values)
            if target is not None:
                return target
    return None


def _with_programs(text: str, values: dict[str, tuple[str, ...]]) -> str:
    """The text with variables expanded that hold a deleting program or its flags."""
    programs = {
        name: each
        for name, meanings in values.items()
        for each in meanings
        if each.startswith("-") or STARTS.match(each.partition(" ")[0])
    }
    return VARIABLE.sub(lambda match: programs.get(match[1] or match[2], match[0]), text) if programs else text


def _directories(text: str, resolver: PathResolver, start: str, values: dict[str, tuple[str, ...]]) -> list[str]:
    """The directory the text runs in, and each directory it visibly changes to."""
    directories = {start: None}
    for entered in islice(ENTERS.finditer(text), MAX_MATCHES):
        word = entered[1] or str(resolver.home or "/")
        for meaning in _meanings(word, values, may_be_empty=False):
            if meaning is not None and "$" not in meaning:
                directories.update(dict.fromkeys(resolver.locations(meaning, each)[0] for each in tuple(directories)))
        if len(directories) > MAX_DIRECTORIES:
            return [*islice(directories, MAX_DIRECTORIES), "/"]
    return list(directories)


def _deleting(part: str) -> Iterator[Argv]:
    """The positions of deleting programs; the words after the first one include those of all others."""
    finds = 0
    has_deleting = False
    for match in STARTS.finditer(part):
        if (match[1] and has_deleting) or (not match[1] and finds == MAX_FINDS):
            continue
        if match[1] and OF_GIT_ITSELF.search(part, 0, match.start()):
            continue
        has_deleting = has_deleting or bool(match[1])
        finds += not match[1]
        yield tuple(part[match.start() :].split())


def _piped_deletions(text: str) -> Iterator[str]:
    """The commands that `xargs` runs and that delete, written as if they named what comes through the pipe."""
    for match in islice(PIPED.finditer(text), MAX_MATCHES):
        feeder = SEPARATORS.split(text[max(0, match.start() - MAX_PIPED_LENGTH) : match.start()])[-1]
        run = SEPARATORS.split(text[match.end() : match.end() + MAX_PIPED_LENGTH], maxsplit=1)[0]
        part = _with_names(feeder, run)
        if part is not None:
            yield part


def _with_names(feeder: str, run: str) -> str | None:
    """The command that `xargs` runs, as one that names what it deletes; None if it deletes nothing."""
    deletes = DELETES.search(run)
    if deletes is None:
        return None
    words = feeder.split()
    name = program(tuple(words[:1]))
    if name in {"find", "fd", "fdfind"}:
        return f"{feeder} {'-exec' if name == 'find' else '-x'} {run}"
    if not any(RECURSIVE.fullmatch(word) for word in run[deletes.end() :].split()):
        return None
    if name == "git":  # lists names of its own repository
        return None
    return f"{run} {' '.join(words[1:]) or '.'}" if name in NAMING_FEEDERS else FROM_A_PIPE


def _writes_disk(word: str) -> bool:
    return DISK.fullmatch(word) is not None and not word.startswith("if=")


def _without_data(match: re.Match[str]) -> str:
    """A here-document is data, unless a shell reads it."""
    return match[0] if SHELL.search(match[1] + match[3]) else f"{match[1]}{match[3]}"


def _values(text: str, resolver: PathResolver) -> dict[str, tuple[str, ...]]:
    """The possible values of variables, as far as the text itself shows them."""
    values: dict[str, tuple[str, ...]] = {"HOME": (str(resolver.home or "/home"),), "PWD": (str(resolver.root),)}
    for match in islice(LOOPED.finditer(text), MAX_MATCHES):
        values[match[1]] = tuple(QUOTING.sub("", match[2]).split()[:MAX_MATCHES])
    for match in islice(ASSIGNED.finditer(text), MAX_MATCHES):
        before = values.get(match[1], ())
        if match[3].startswith("("):
            values[match[1]] = (*before, *QUOTING.sub("", match[3].strip("()")).split()[:MAX_MATCHES])
            continue
        value = TEMPORARY if "mktemp" in match[3] else QUOTING.sub("", match[3])
        longer = (f"{each}{value}" for each in before[:MAX_MATCHES]) if match[2] else ()
        values[match[1]] = (*before, *longer, value)
    return values


def _deleted(argv: Argv, resolver: PathResolver, directory: str, values: dict[str, tuple[str, ...]]) -> str | None:
    name, words = program(argv), argv[1:]
    if name in DELETING_THEIR_WAY:
        return DELETING_THEIR_WAY[name](words, resolver, directory, values)
    if name in ARCHIVING:
        puts_away = any(ARCHIVING[name].fullmatch(word) for word in words)
        operands = [word for word in words if not word.startswith("-")] if puts_away else []
        return _first_critical(operands, resolver, directory, values)
    is_recursive = any(RECURSIVE.fullmatch(word) for word in words)
    worth_asking = _is_worth_asking if is_recursive and name in DELETING else _nothing
    if name == "mv":
        # The last word is the destination, unless a flag names it.
        words = words if any(word.startswith(("-t", "--target")) for word in words) else words[:-1]
        is_recursive, worth_asking = False, _is_main_part_of_git
    elif name not in DELETING and not (name in TAKING_AWAY and is_recursive):
        return None
    for word in dict.fromkeys(words):
        if word.startswith("-"):
            continue
        if _leads_to_critical(word, resolver, directory, values, unknown=is_recursive, worth_asking=worth_asking):
            return word
    return None


def _deleted_by_rsync(
    words: Sequence[str], resolver: PathResolver, directory: str, values: dict[str, tuple[str, ...]]
) -> str | None:
    if not any(RSYNC_DELETING.fullmatch(word) for word in words):
        return None
    operands = [word for word in words if not word.startswith("-") and not OTHER_MACHINE.match(word)]
    # Values of flags cannot be told apart from operands. Sources are only read, unless a flag removes them.
    judged = operands if any(word.startswith("--remove-s") for word in words) else operands[-1:]
    return _first_critical(judged, resolver, directory, values)


def _first_critical(
    words: Sequence[str], resolver: PathResolver, directory: str, values: dict[str, tuple[str, ...]]
) -> str | None:
    return next((word for word in words if _leads_to_critical(word, resolver, directory, values, unknown=True)), None)


def _deleted_by_git(
    words: Sequence[str], resolver: PathResolver, directory: str, values: dict[str, tuple[str, ...]]
) -> str | None:
    """`git clean -ff` also removes nested repositories; outside the workspace, a single -f is enough.

    `git worktree remove --force` removes a directory with changes that are not committed.
    """
    rest, directories = list(words), [".", *(each for name in GIT_DIRECTORY_VARIABLES for each in values.get(name, ()))]
    needs_no_force = any(word.casefold().startswith(ASKS_FOR_FORCE) for word in words)
    while rest and rest[0].startswith("-"):
        flag = rest.pop(0)
        if flag in GIT_WITH_VALUE and rest:
            value = rest.pop(0)
            directories += [value] if flag in {"-C", "--work-tree", "--git-dir"} else []
        elif flag.startswith(("--work-tree=", "--git-dir=")):
            directories.append(flag.partition("=")[2])
    if rest[:2] == ["worktree", "remove"] and any(FORCE.fullmatch(word) for word in rest):
        return _first_critical([word for word in rest[2:] if not word.startswith("-")], resolver, directory, values)
    if rest[:1] != ["clean"]:
        return None
    forces = sum(word.count("f") if word != "--force" else 1 for word in rest[1:] if FORCE.fullmatch(word))
    forces += needs_no_force
    dry = any(word == "--dry-run" or re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*", word) for word in rest[1:])
    if dry or not forces:
        return None
    if forces > 1:
        return "repositories in the workspace"
    for path in (*directories, *(word for word in rest[1:] if not word.startswith("-"))):
        if _is_outside(path, resolver, directory, values):
            return path
    return None


def _deleted_by_find(
    words: Sequence[str], resolver: PathResolver, directory: str, values: dict[str, tuple[str, ...]]
) -> str | None:
    index = next((at for at, word in enumerate(words) if word.startswith(("-", "!", *GROUP_SIGNS))), len(words))
    starts, tests = words[:index], words[index:]
    run = (" ".join(tests[at + 1 :]) for at, word in enumerate(tests) if word in RUNNING)
    if "-delete" not in tests and not any(DELETES.search(text) for text in run):
        return None
    of_git = next((word for word in tests if GIT_DATA in word.casefold().split("/")), None)
    if of_git is not None:
        return of_git
    is_narrow = _is_narrow(tests)
    for word in dict.fromkeys(starts or (".",)):
        if is_narrow and _is_workspace(word, resolver, directory):
            continue
        if _leads_to_critical(word, resolver, directory, values, unknown=True):
            return word
    return None


def _deleted_by_fd(
    words: Sequence[str], resolver: PathResolver, directory: str, values: dict[str, tuple[str, ...]]
) -> str | None:
    """`fd PATTERN DIRECTORY -x rm` is `find DIRECTORY -name PATTERN -exec rm`."""
    runs = next((at for at, word in enumerate(words) if FD_RUNNING.fullmatch(word)), len(words))
    if not DELETES.search(" ".join(words[runs:]).replace("=", " ")):
        return None
    of_git = next((word for word in words[:runs] if NAMES_GIT_DATA.search(word)), None)
    if of_git is not None:
        return of_git
    operands, directories = list[str](), list[str]()
    for before, word in pairwise(("", *words[:runs])):
        if before in FD_PLACES:
            directories.append(word)
        elif not word.startswith("-") and before not in FD_WITH_VALUE:
            operands.append(word)
    pattern, directories = (operands[:1] or [""])[0], [*directories, *operands[1:]] or ["."]
    is_narrow = LITERAL.search(pattern) is not None or any(FD_EXTENSION.fullmatch(word) for word in words[:runs])
    starts = [word for word in directories if not (is_narrow and _is_workspace(word, resolver, directory))]
    return _first_critical(starts, resolver, directory, values)


def _is_workspace(word: str, resolver: PathResolver, directory: str) -> bool:
    return any(resolver.inside(each) == "." for each in resolver.locations(word, directory))


DELETING_THEIR_WAY: Final = {
    "find": _deleted_by_find,
    "fd": _deleted_by_fd,
    "fdfind": _deleted_by_fd,
    "rsync": _deleted_by_rsync,
    "git": _deleted_by_git,
}


def _is_narrow(tests: Sequence[str]) -> bool:
    """Whether each alternative of a `find` expression excludes git's data and most other files."""
    if any(word in NEGATIONS and follower in GROUP_SIGNS for word, follower in pairwise(tests)):
        return False
    alternatives: list[list[str]] = [[]]
    for word in tests:
        if word in ALTERNATIVES:
            alternatives.append([])
        elif word not in GROUP_SIGNS:
            alternatives[-1].append(word)
    return all(_has_narrow_test(each) for each in alternatives)


def _has_narrow_test(tests: Sequence[str]) -> bool:
    for before, word, value in zip(("", *tests), tests, (*tests[1:], ""), strict=False):
        if before in NEGATIONS:
            continue
        if word == "-empty" or (word in BY_EXPRESSION and LITERAL.search(value)):
            return True
        pattern = value.casefold()
        if BY_PATTERN.fullmatch(word) and not any(fnmatch.fnmatchcase(each, pattern) for each in OF_GIT):
            return True
    return False


def _is_worth_asking(location: str, resolver: PathResolver) -> bool:
    """Whether deleting all of it is asked about: it is outside the workspace and not temporary, or git's data."""
    inside = resolver.inside(location)
    if inside is None:
        return not location.startswith(TEMPORARY_PLACES)
    return any(map(_is_git_data, inside.split("/")))


def _is_main_part_of_git(location: str, resolver: PathResolver) -> bool:
    """Whether moving it away is asked about: git's data, or a directory or file at the top of it."""
    names = (resolver.inside(location) or location).split("/")
    return any(map(_is_git_data, names[-2:])) and not names[-1].endswith(".lock")


def _is_git_data(name: str) -> bool:
    return name.casefold() == GIT_DATA or (
        not GLOB_SIGNS.isdisjoint(name) and fnmatch.fnmatchcase(GIT_DATA, name.casefold())
    )


def _nothing(location: str, resolver: PathResolver) -> bool:
    return False


def _leads_to_critical(
    word: str,
    resolver: PathResolver,
    directory: str,
    values: dict[str, tuple[str, ...]],
    *,
    unknown: bool,
    worth_asking: Callable[[str, PathResolver], bool] = _is_worth_asking,
) -> bool:
    """`unknown` is the result for a word that starts with a variable of unknown value.

    `worth_asking` says which paths are asked about besides the vital ones.
    """
    words = islice(_without_braces(word), MAX_BRACES)
    for meaning in (meaning for each in words for meaning in _meanings(each, values, may_be_empty=unknown)):
        if meaning is None:
            return unknown
        stripped = ALL_WITHIN.sub("", meaning).rstrip("/") or ("/" if meaning.startswith("/") else ".")
        locations = resolver.locations(stripped, directory)
        if any(_is_critical(location, resolver) or worth_asking(location, resolver) for location in locations):
            return True
    return False


def _is_outside(word: str, resolver: PathResolver, directory: str, values: dict[str, tuple[str, ...]]) -> bool:
    meanings = _meanings(word, values, may_be_empty=True)
    return any(
        meaning is None or any(resolver.inside(location) is None for location in resolver.locations(meaning, directory))
        for meaning in meanings
    )


def _meanings(word: str, values: dict[str, tuple[str, ...]], *, may_be_empty: bool) -> Iterator[str | None]:
    """The word with each combination of values for its variables; None if its beginning is unknown.

    With `may_be_empty`, unknown variables later in the word are taken as empty.
    """
    options: list[tuple[str | None, ...]] = []
    end = 0
    for match in VARIABLE.finditer(word):
        unknown = None if match.start() == 0 else "" if may_be_empty else match[0]
        options += [(word[end : match.start()],), values.get(match[1] or match[2], ()) or (unknown,)]
        end = match.end()
    for pieces in islice(product(*options, (word[end:],)), MAX_MEANINGS):
        known_pieces = [piece for piece in pieces if piece is not None]
        meaning = "".join(known_pieces) or ("/" if options else "")
        is_unknown = len(known_pieces) < len(pieces) or meaning.startswith("$") or OTHER_TILDE.match(meaning)
        yield None if is_unknown else meaning


def _without_braces(word: str) -> Iterator[str]:
    """Expand braces: `{a,b}c` gives `ac` and `bc`. A range is treated as `*`."""
    if VARIABLE.search(word):
        yield word
        return
    waiting = [RANGE.sub("*", word)]
    for _ in range(MAX_BRACES):
        if not waiting:
            return
        each = waiting.pop()
        match = BRACES.search(each)
        if match is None:
            yield each
        else:
            waiting += [f"{each[: match.start()]}{middle}{each[match.end() :]}" for middle in match[1].split(",")]
    yield from waiting


def _is_critical(location: str, resolver: PathResolver) -> bool:
    if location.count("/") <= 1:
        return True
    above = _anchors(resolver.root, resolver.home)
    if GLOB_SIGNS.isdisjoint(location):
        return location in above
    return any(fnmatch.fnmatchcase(each, location) for each in above)


@cache
def _anchors(root: Path, home: Path | None) -> frozenset[str]:
    """The workspace, home, and all their parent directories."""
    anchors = (root, home) if home else (root,)
    return frozenset(str(each) for anchor in anchors for each in (anchor, *anchor.parents))
