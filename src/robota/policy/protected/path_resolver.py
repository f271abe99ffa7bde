"""How policy sees a path: where it resolves to, which patterns match it, whether it is protected or hidden."""

import fnmatch
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.files.protected_names import PROTECTED_NAMES

# Writing to these files can run code, change what an agent may do, or change how other tools behave.
PROTECTED: Final = tuple(name.pattern for name in PROTECTED_NAMES)
HEAD_OF_REPOSITORY: Final = "HEAD"
PROTECTED_DOTS: Final = tuple(pattern for pattern in PROTECTED if pattern.startswith("."))
# Secrets of the project: neither read nor written without approval.
SECRETS: Final = tuple(
    ".env .env.* .envrc .netrc .pypirc .npmrc *.pem *.key *.p12 *.pfx *.kdbx *.jks *.keystore id_rsa* id_ed25519* "
    "id_ecdsa* .git-credentials .htpasswd secrets.yaml secrets.yml secrets.json credentials.json".split()
)
NO_SECRETS: Final = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")
# Credentials of the user; no command of an agent needs to go there.
CREDENTIAL_STORES: Final = tuple(
    ".ssh .aws .gnupg .kube .docker/config.json .config/gh .config/gcloud .azure .password-store .local/share/keyrings "
    ".git-credentials .netrc .pgpass".split()
)
GLOB_SIGNS: Final = frozenset("*?[")
SHORT_NAME: Final = r"([^~./]{3,6})~[0-9]+(?:\..*)?"
ANY_DEPTH: Final = "**"
MAX_PATH_LENGTH: Final = 4_096
REMEMBERED: Final = 2_000
# One step is roughly one comparison of a path with a pattern; this many take less than a tenth of a second.
MAX_STEPS: Final = 3_000
STEPS_OF_LOCATION: Final = 4
# Resolving a path costs a lookup on disk for each of its components.
NAMES_IN_A_STEP: Final = 3
# Expanding a pattern reads whole directories.
STEPS_OF_PATTERN: Final = 100
STEPS_OF_COMMAND: Final = 6
# The longest literal piece of a pattern: every name that matches contains it.
HINTS: Final = tuple(dict.fromkeys(max(pattern.split("*"), key=len).rstrip(".").casefold() for pattern in SECRETS))
# Each lookup searches the git index.
MAX_COMPARED_WITH_GIT: Final = 100
STEPS_OF_PUBLISHED: Final = 15


def _as_written(path: str) -> str:
    return path


def _anything(directory: str, pattern: str) -> tuple[str, ...]:
    return ("/",)


def _no_other_names(path: str) -> tuple[str, ...]:
    return ()


def _found_nowhere(name: str) -> str | None:
    return None


class PathResolver(msgspec.Struct, frozen=True, kw_only=True):
    """Resolves paths relative to the workspace. `root` is the real path of the workspace.

    `real` resolves the symlinks in an absolute path, and `matching` expands a shell pattern in a directory; policy
    itself never touches the disk. If an expansion is unknown, `matching` returns "/", which means that it could be
    anything. `program` finds the file that commands run under a name, on their PATH. `linked` takes a path relative to
    the workspace and returns the names under which links lead there.
    """

    root: Path
    home: Path | None = None
    real: Callable[[str], str] = _as_written
    matching: Callable[[str, str], tuple[str, ...]] = _anything
    program: Callable[[str], str | None] = _found_nowhere
    linked: Callable[[str], tuple[str, ...]] = _no_other_names

    def locations(self, word: str, directory: str = ".") -> tuple[str, ...]:
        """The absolute paths that a word of a command could mean when the command runs in that directory."""
        if word == "~" or word.startswith("~/"):
            word = posixpath.join(self._home, word[2:])
        start = str(self.root) if directory == "." else posixpath.join(str(self.root), directory)
        if len(word) > MAX_PATH_LENGTH:
            # No file can have such a long name, but a pattern may expand to shorter ones.
            return ("/",) if GLOB_SIGNS.intersection(word) else (posixpath.join(start, word[:MAX_PATH_LENGTH]),)
        joined = posixpath.join(start, word)
        written = posixpath.normpath(joined)
        named = self.matching(start, word) if GLOB_SIGNS.intersection(word) else ()
        # Normalizing the text is not enough: after a symlink, `..` is the parent of the link's target.
        leads_to = (self.real(joined),) if joined != written else ()
        paths = (written, self.real(written), *leads_to, *map(self.real, named))
        return tuple(dict.fromkeys(map(posixpath.normpath, paths)))

    def becomes_no_flag(self, pattern: str, directory: str) -> bool:
        """Whether no file that the pattern expands to could be mistaken for a flag by a program."""
        start = posixpath.join(str(self.root), directory)
        names = self.matching(start, pattern)
        return all(path.startswith(f"{start}/") and not path.startswith(f"{start}/-") for path in names)

    def may_be_directory(self, word: str, directory: str) -> bool:
        """Whether a word of a command that runs in that directory may name a directory."""
        return any(self.matching("/", f"{location}/.") for location in self.locations(word, directory))

    def inside(self, path: str) -> str | None:
        """The path relative to the workspace; None if it is outside."""
        return path_inside(self.root, path)

    def names(self, path: str) -> tuple[str, ...]:
        """The path relative to the workspace, and the names under which links lead there; none if it is outside."""
        inside = self.inside(path)
        return () if inside is None else (inside, *self.linked(inside))

    def absolute(self, path: str) -> str:
        """The absolute path that a path of a call is written as; no link is followed."""
        return posixpath.normpath(posixpath.join(str(self.root), path))

    def takes_from_workspace(self, name: str) -> bool:
        """Whether the program of this name is a file of the workspace, which may have been edited."""
        program = self.program(name)
        return program is not None and self.inside(self.real(program)) is not None

    def finds_in_workspace(self, name: str) -> bool:
        """Whether the program of this name, or a link to it, is in the workspace: it may load other code from there."""
        program = self.program(name)
        return program is not None and (self.inside(program) is not None or self.inside(self.real(program)) is not None)

    def matches(self, path: str, pattern: str, *, broadly: bool) -> bool:
        """Whether the pattern of a rule matches the path; `broadly` (for deny rules) ignores depth and case."""
        if pattern.startswith("//"):
            return matches_pattern(self._absolute(path), pattern[1:], ignore_case=broadly)
        if pattern.startswith("~/"):
            return matches_pattern(self._absolute(path), self._home + pattern[1:], ignore_case=broadly)
        inside = self.inside(path)
        if inside is None:
            return broadly and matches_pattern(self._absolute(path), "**/" + pattern, ignore_case=True)
        if matches_pattern(inside, pattern, ignore_case=broadly):
            return True
        return broadly and not pattern.startswith("/") and matches_pattern(inside, "**/" + pattern, ignore_case=True)

    def holds_matches(self, path: str, pattern: str, *, at_any_depth: bool) -> bool:
        """Whether the pattern matches everything in this directory or, with `at_any_depth`, something in it."""
        if self.inside(path) == ".":
            return False
        head, _, last = pattern.rpartition("/")
        names_all = last in {"*", "**"} and bool(head.strip("/~")) and self.matches(path, head, broadly=True)
        return names_all or (at_any_depth and any(self._is(path, above) for above in directories_above(pattern)))

    def _is(self, path: str, pattern: str) -> bool:
        """Whether the pattern matches the path itself, not just a parent directory."""
        above = posixpath.dirname(path)
        return self.matches(path, pattern, broadly=True) and not self.matches(above, pattern, broadly=True)

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(str(self.root), path)).lstrip("/")

    @property
    def _home(self) -> str:
        # Without HOME, the shell looks `~` up in the password file, and that home is outside any workspace.
        return str(self.home or "/home")


@lru_cache(maxsize=REMEMBERED)
def protected_pattern(path: str) -> str | None:
    """The pattern of the protected path that this path is, or is inside of."""
    return _first_match(path, PROTECTED) or secret_pattern(path) or _head_of_repository(path)


@lru_cache(maxsize=REMEMBERED)
def protected_dot_pattern(path: str) -> str | None:
    """The same for words of commands, in which a name without a leading dot is too often just a word."""
    return _first_match(path, PROTECTED_DOTS) or secret_pattern(path)


@lru_cache(maxsize=REMEMBERED)
def secret_pattern(path: str) -> str | None:
    """The pattern by which the name of this file suggests secrets."""
    if _first_match(path, NO_SECRETS) is not None:
        return None
    return _first_match(path, SECRETS)


@lru_cache(maxsize=REMEMBERED)
def credential_store(location: str) -> str | None:
    """The credential store that an absolute path is inside of."""
    return _first_match(location.lstrip("/"), CREDENTIAL_STORES)


def hides_what_it_is(path: str, inside: str) -> bool:
    """Whether a protected path is spelled so as to disguise it: `.GIT`, `.git.`, `a/../.git`."""
    if posixpath.normpath(path) != path or _loosely(inside) != inside:
        return True
    is_named = any(_matches(inside, pattern, ignore_case=False) for pattern in (*PROTECTED, *SECRETS))
    return not is_named and _head_of_repository(inside) is None


def _head_of_repository(path: str) -> str | None:
    """git treats any directory with such a file as a repository and obeys the configuration in it."""
    return HEAD_OF_REPOSITORY if posixpath.basename(path).casefold() == HEAD_OF_REPOSITORY.casefold() else None


def _first_match(path: str, patterns: tuple[str, ...]) -> str | None:
    loose = _loosely(path).casefold()
    names, others = _sorted_out(patterns)
    plain = next((names[name] for name in loose.split("/") if name in names), None)
    if plain is None and "~" in loose:
        plain = next((pattern for part in loose.split("/") if (pattern := _in_short(part, names))), None)
    possible = (pattern for hint, pattern in others if hint in loose)
    return plain or next((pattern for pattern in possible if _matches(loose, pattern, ignore_case=True)), None)


@cache
def _sorted_out(patterns: tuple[str, ...]) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """Splits the patterns into plain names, for direct lookup, and others, each with a literal part."""
    names = {pattern.casefold(): pattern for pattern in patterns if not set(pattern) & set("*?/")}
    others = (pattern for pattern in patterns if pattern.casefold() not in names)
    return names, tuple((max(re.split(r"[*?/]", each), key=len).casefold(), each) for each in others)


def _matches(path: str, pattern: str, *, ignore_case: bool) -> bool:
    return matches_pattern(path, f"**/{pattern}", ignore_case=ignore_case)


def _loosely(path: str) -> str:
    """Some file systems drop trailing dots and spaces, so `.git./config` is `.git/config` there.

    Others drop invisible characters, or treat what follows a colon as a stream of the same file.
    """
    if not path.isascii():
        path = "".join(character for character in path if unicodedata.category(character) != "Cf")
    return "/".join((part.partition(":")[0] or part).rstrip(". ") or part for part in path.split("/"))


def _in_short(name: str, protected: dict[str, str]) -> str | None:
    """The pattern of the protected name that this is the Windows short form of: `git~1` is `.git`."""
    match = re.fullmatch(SHORT_NAME, name)
    if match is None:
        return None
    return next((protected[each] for each in protected if each.replace(".", "").startswith(match[1])), None)


def path_inside(root: Path, path: str) -> str | None:
    """The path relative to the root, without `.` and `..`; None if it is outside. The root itself is `.`."""
    base = posixpath.normpath(str(root))
    whole = posixpath.normpath(posixpath.join(base, path))
    if whole == base:
        return "."
    # Compared by component: /ws-evil is not inside /ws.
    prefix = base if base.endswith("/") else base + "/"
    return whole[len(prefix) :] if whole.startswith(prefix) else None


def problem_with_pattern(pattern: str) -> str | None:
    """Why a pattern is invalid; None if it is valid."""
    if pattern.startswith("!"):
        return "a pattern cannot be negated with '!'"
    if "[" in pattern:
        return "character classes are not supported; write '?' for one character"
    if ".." in pattern.split("/"):
        return "a pattern cannot leave the workspace with '..'"
    if not pattern.strip("/"):
        return "the pattern is empty; write '**' for everything"
    return None


def matches_pattern(path: str, pattern: str, *, ignore_case: bool) -> bool:
    """Whether the pattern matches the path or one of its parent directories.

    As in gitignore, a slash anchors the pattern to the root; without one it matches at any depth. Matching goes
    component by component, so that no pattern, however hostile, can make it slow.
    """
    if ignore_case:
        path, pattern = _folded(path), _folded(pattern)
    pattern_names = _names_of(pattern)
    # All positions in the pattern that the components read so far can have reached.
    reached = _with_skipped({0}, pattern_names)
    for name in path.split("/"):
        fitting = {index for index in reached if pattern_names[index] == ANY_DEPTH}
        fitting |= {index + 1 for index in reached if fits_name(name, pattern_names[index])}
        reached = _with_skipped(fitting, pattern_names)
        if len(pattern_names) in reached:
            return True
    return False


def _folded(text: str) -> str:
    """Some file systems treat names as equal that differ only in case or in Unicode normalization."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).casefold()


def fits_name(name: str, pattern: str) -> bool:
    """Whether a pattern with `*` and `?` matches an entire name."""
    if "*" not in pattern and "?" not in pattern:
        return name == pattern
    # fnmatch avoids exponential backtracking over the stars.
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))


@lru_cache(maxsize=REMEMBERED)
def _names_of(pattern: str) -> tuple[str, ...]:
    body = pattern.rstrip("/").removeprefix("./")
    names = body.removeprefix("/").split("/")
    if names[-1] == ANY_DEPTH:
        # A match of this component includes everything below it.
        names[-1] = "*"
    return tuple(names) if "/" in body else (ANY_DEPTH, *names)


def _with_skipped(reached: set[int], pattern_names: tuple[str, ...]) -> set[int]:
    """A `**` may also match zero directories."""
    indices = set(reached)
    for index, name in enumerate(pattern_names):
        if index in indices and name == ANY_DEPTH:
            indices.add(index + 1)
    return indices


def directories_above(pattern: str) -> Iterator[str]:
    """Patterns for the parent directories of what the pattern matches."""
    pieces = pattern.removeprefix(".").split("/") if pattern.startswith("./") else pattern.split("/")
    for length in range(1, len(pieces)):
        above = "/".join(pieces[:length])
        if above.strip("/~") and pieces[length - 1] != "**":
            yield above


class TooMuchWork(Exception):
    """Deciding about the call would take too long."""


class Work:
    """Counts the steps of one decision."""

    def __init__(self) -> None:
        self._steps = 0

    def spend(self, steps: int) -> None:
        """Count these steps. Raises `TooMuchWork`."""
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise TooMuchWork


class MeasuredResolver(PathResolver, frozen=True, kw_only=True):
    """A resolver that caches lookups and counts their cost."""

    work: Work
    resolved: dict[tuple[str, str], tuple[str, ...]]

    def locations(self, word: str, directory: str = ".") -> tuple[str, ...]:
        """As in `PathResolver`. Raises `TooMuchWork` when the step limit is exceeded."""
        key = (word, directory)
        locations = self.resolved.get(key)
        if locations is None:
            self.work.spend(STEPS_OF_LOCATION + word.count("/") // NAMES_IN_A_STEP)
            locations = self.resolved[key] = super().locations(word, directory)
        return locations

    def matches(self, path: str, pattern: str, *, broadly: bool) -> bool:
        """As in `PathResolver`. Raises `TooMuchWork` when the step limit is exceeded."""
        self.work.spend(1)
        return super().matches(path, pattern, broadly=broadly)


def measured(resolver: PathResolver) -> MeasuredResolver:
    """The resolver with a step limit, for a single decision."""
    work = Work()

    @cache
    def matching(directory: str, pattern: str) -> tuple[str, ...]:
        work.spend(STEPS_OF_PATTERN)
        paths = resolver.matching(directory, pattern)
        work.spend(len(paths) * STEPS_OF_LOCATION)
        return paths

    return MeasuredResolver(
        root=resolver.root,
        home=resolver.home,
        real=resolver.real,
        matching=matching,
        program=cache(resolver.program),
        linked=cache(resolver.linked),
        work=work,
        resolved={},
    )


class KeptFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Looks up facts about workspace files for policy. Paths are relative to the workspace root.

    `is_ignored` and `ignores_any` refer to `.robotaignore`. `below` lists the files below a directory and `tracked`
    those in the git index; both return None if there are too many or the list is unavailable. If the functions
    themselves are None, nothing is known. `published` says whether git tracks a file and the file is unmodified.
    `unhidden` takes a directory and its files, and returns patterns for hidden names that ripgrep searches anyway.
    """

    is_ignored: Callable[[str], bool] = lambda path: False
    ignores_any: Callable[[], bool] = lambda: False
    below: Callable[[str], tuple[str, ...] | None] | None = None
    tracked: Callable[[], tuple[str, ...] | None] | None = None
    published: Callable[[str], bool] = lambda path: False
    unhidden: Callable[[str, Sequence[str]], tuple[str, ...]] = lambda start, below: ()

    def secret_pattern(self, path: str) -> str | None:
        """The pattern by which a file name suggests secrets; None if it does not, or if the file is published."""
        pattern = secret_pattern(path)
        return None if pattern is None or self.published(path) else pattern

    def secrets_among(self, paths: Sequence[str]) -> Iterator[str]:
        """The files that may hold secrets. If there are too many candidates, published ones are not filtered out."""
        named = list(secrets_among(paths))
        return (path for path in named if len(named) > MAX_COMPARED_WITH_GIT or not self.published(path))


def measured_files(files: KeptFiles, work: Work) -> KeptFiles:
    """The same lookups for a single decision: cached, and counted as steps."""

    @cache
    def is_ignored(path: str) -> bool:
        work.spend(1)
        return files.is_ignored(path)

    @cache
    def published(path: str) -> bool:
        work.spend(STEPS_OF_PUBLISHED)
        return files.published(path)

    return msgspec.structs.replace(files, is_ignored=is_ignored, published=published)


def secrets_among(paths: Sequence[str]) -> Iterator[str]:
    """The files for which `secret_pattern` returns a pattern; fast for long lists."""
    everything = "\n".join(paths).casefold()
    hints = [hint for hint in HINTS if hint in everything]
    if not hints:
        return
    for path in paths:
        folded = path.casefold()
        if any(hint in folded for hint in hints) and secret_pattern(path) is not None:
            yield path
