"""Search the content of files with ripgrep: which files it sees, and a bounded result.

ripgrep is fastest when it may answer in any order. The result must not depend on that order, so a search that exceeds
the limit is repeated in path order; having many matches, the second run soon reaches the limit.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.files.ignore import KEPT_FROM_THE_MODEL, LEFT_OUT_OF_LISTINGS
from robota.workspace.problems import FileProblem, Ignored, Missing, NotARegularFile
from robota.workspace.search.confined_lines import ConfinedLines
from robota.workspace.search.pattern import PathPattern
from robota.workspace.search.ripgrep import RipgrepEnd, run_ripgrep

MAX_LINE_CHARACTERS: Final = 500
BEFORE_MATCH: Final = 100
BEGINNING_OF_MATCH: Final = re.compile(rb'\{"type":"match","data":\{"path":(\{[^{}]*\})')
WANTED: Final = "robotawanted"
SWAPPED: Final = "{}: it changed while it was searched"


class SearchFailed(FileProblem):
    """The search failed, as opposed to finding nothing."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """`path` is a resolved path below the root: a directory, or one file. `pattern` is relative to it."""

    path: Path
    regex: str
    limit: int
    context: int = 0
    pattern: PathPattern | None = None
    file_type: str | None = None
    hidden: bool = False


class FoundLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a file, numbered from 1; `is_match` distinguishes a match from its context lines.

    `is_cut`: `text` is a part of a long line.
    """

    number: int
    text: str
    is_match: bool
    is_cut: bool = False


class FoundFile(msgspec.Struct, frozen=True, kw_only=True):
    """Matches and their context lines. `path` is relative to the root, decoded with surrogateescape."""

    path: str
    lines: list[FoundLine]


class ContentSearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """Results in path order. If `is_cut`, there are more matches than the limit, and `searched` is unknown.

    `overlong` are files with matching lines that are too long to be shown.
    """

    files: tuple[FoundFile, ...]
    matches: int
    is_cut: bool
    searched: int | None
    overlong: tuple[str, ...]
    unreadable: tuple[str, ...]


async def search(root: Path, query: Query, is_ignored: Callable[[str], bool]) -> ContentSearchResult:
    """Search below `root`. Symbolic links are not followed; paths that match `is_ignored` are never shown."""
    check_searchable(root, query.path, is_ignored)
    if "\0" in query.regex or "\n" in query.regex:
        raise SearchFailed(
            "A search goes line by line, so the regex cannot contain a line break or a NUL byte. Search for one line."
        )
    collected = await _collect(root, query, is_ignored, in_order=False)
    if collected.is_cut:
        collected = await _collect(root, query, is_ignored, in_order=True)
    return collected


def check_searchable(root: Path, path: Path, is_ignored: Callable[[str], bool]) -> None:
    """Raise unless the path is a directory or a regular file; reading a pipe would block."""
    shown = str(path.relative_to(root))
    if path != root and is_ignored(shown):
        raise Ignored(
            f"{shown!r} is hidden from you by a {KEPT_FROM_THE_MODEL} file. Nothing was searched. Choose another path."
        )
    if not path.exists():
        raise Missing(f"{shown!r} does not exist. Nothing was searched.")
    if not path.is_dir() and not path.is_file():
        raise NotARegularFile(
            f"{shown!r} is neither a directory nor a regular file. Nothing was searched. Choose another path."
        )


def visibility_options(root: Path, *, hidden: bool) -> list[str]:
    """Options for a run in `root` that skip files that git ignores, and hidden ones unless `hidden`."""
    options = ["--hidden", "--glob=!**/.git"] if hidden else []
    rules = [KEPT_FROM_THE_MODEL]
    if not any((directory / ".git").exists() for directory in (root, *root.parents)):
        # Outside a repository, ignore files of the workspace apply, but none of the directories above it.
        options += ["--no-require-git", "--no-ignore-parent"]
        rules.append(LEFT_OUT_OF_LISTINGS)
    return [*options, *(f"--ignore-file={name}" for name in rules if (root / name).is_file())]


def name_options(pattern: PathPattern) -> list[str]:
    """Options that skip files whose names cannot match; complete paths are compared afterwards."""
    if pattern.names is None:
        return []
    # A file type, because ripgrep's globs would include files that git ignores.
    return [*(f"--type-add={WANTED}:{name}" for name in pattern.names), f"--type={WANTED}"]


def argument(root: Path, path: Path) -> str:
    """The path as an argument of a run in `root`, which cannot be mistaken for an option."""
    return "." if path == root else f"./{path.relative_to(root)}"


def tidy(path: str) -> str:
    """A path printed by ripgrep, relative to the root."""
    return path.removeprefix("./")


async def _collect(
    root: Path, query: Query, is_ignored: Callable[[str], bool], *, in_order: bool
) -> ContentSearchResult:
    collector = _Collector(root, query, is_ignored)
    try:
        end = await run_ripgrep(_arguments(root, query, in_order=in_order), root, collector.take)
    finally:
        collector.close()
    if not end.was_stopped and collector.searched is None:
        raise SearchFailed(_why_failed(query, end))
    return collector.found(end)


def _arguments(root: Path, query: Query, *, in_order: bool) -> list[str]:
    options = [
        "--json",
        f"--context={query.context}",
        f"--max-count={query.limit + 1}",
        *visibility_options(root, hidden=query.hidden),
        *(["--sort=path"] if in_order else []),
    ]
    if query.file_type is not None:
        options.append(f"--type={query.file_type}")
    elif query.pattern is not None:
        options += name_options(query.pattern)
    return [*options, f"--regexp={query.regex}", "--", argument(root, query.path)]


def _why_failed(query: Query, end: RipgrepEnd) -> str:
    message = end.errors.removeprefix("rg: ")
    if "unrecognized file type" in message:
        return (
            f"There is no file type {query.file_type!r}. Nothing was searched. Use a short name such as py, js, ts, "
            "rust, go, java, md, json or yaml, or give a file_pattern instead."
        )
    return (
        f"The search could not be made: {_regex_problem(message)}.\n"
        "Nothing was searched. Correct the regex (Rust syntax) and try again."
    )


def _regex_problem(message: str) -> str:
    """What ripgrep says of a regex, without its options and the regex as it sees it."""
    if "is not allowed in a regex" in message:
        return "it goes line by line, so the regex cannot contain a line break. Search for one line"
    if named := re.search(r"^error: (.+)$", message, re.MULTILINE):
        return named[1]
    return message.partition("\n")[0] or "it ended without an answer"


class _Text(msgspec.Struct, frozen=True):
    """Text in ripgrep's JSON: base64 `bytes` if it is not UTF-8."""

    text: str | None = None
    raw: bytes | None = msgspec.field(name="bytes", default=None)

    @property
    def as_line(self) -> str:
        return self.text if self.text is not None else (self.raw or b"").decode("latin-1")

    @property
    def as_bytes(self) -> bytes:
        return self.text.encode() if self.text is not None else self.raw or b""

    @property
    def as_path(self) -> str:
        return self.text if self.text is not None else os.fsdecode(self.raw or b"")


class _Submatch(msgspec.Struct, frozen=True):
    start: int


class _LineData(msgspec.Struct, frozen=True):
    path: _Text
    lines: _Text
    line_number: int
    absolute_offset: int
    submatches: list[_Submatch]


class _Match(msgspec.Struct, frozen=True, tag="match"):
    data: _LineData


class _Context(msgspec.Struct, frozen=True, tag="context"):
    data: _LineData


class _Begin(msgspec.Struct, frozen=True, tag="begin"):
    pass


class _End(msgspec.Struct, frozen=True, tag="end"):
    pass


class _Stats(msgspec.Struct, frozen=True):
    searches: int


class _SummaryData(msgspec.Struct, frozen=True):
    stats: _Stats


class _Summary(msgspec.Struct, frozen=True, tag="summary"):
    data: _SummaryData


_decoder = msgspec.json.Decoder(_Match | _Context | _Begin | _End | _Summary)


class _Collector:
    """Collects ripgrep's output, one JSON object at a time, until the limit is exceeded."""

    def __init__(self, root: Path, query: Query, is_ignored: Callable[[str], bool]) -> None:
        self._query = query
        self._is_ignored = is_ignored
        self._base = f"{argument(root, query.path)}/"
        self._lines: dict[str, list[FoundLine]] = {}
        self._wanted: dict[str, bool] = {}
        self._confined = ConfinedLines(root)
        self._changed: dict[str, None] = {}
        self._matches = 0
        self.searched: int | None = None

    def close(self) -> None:
        self._confined.close()

    def take(self, record: bytes) -> bool:
        message = _decoder.decode(record)
        if isinstance(message, _Match | _Context):
            return self._take_line(message.data, is_match=isinstance(message, _Match))
        if isinstance(message, _Summary):
            self.searched = message.data.stats.searches
        return True

    def found(self, end: RipgrepEnd) -> ContentSearchResult:
        ordered = sorted(self._lines.items(), key=lambda item: item[0].split("/"))
        return ContentSearchResult(
            files=tuple(FoundFile(path=path, lines=lines) for path, lines in ordered),
            matches=min(self._matches, self._query.limit),
            is_cut=end.was_stopped,
            searched=self.searched,
            overlong=tuple(dict.fromkeys(path for start in end.overlong for path in self._overlong_match(start))),
            unreadable=(
                *(line.removeprefix("rg: ") for line in end.errors.splitlines()),
                *(SWAPPED.format(path) for path in self._changed),
            ),
        )

    def _take_line(self, data: _LineData, *, is_match: bool) -> bool:
        path = data.path.as_path
        if not self._is_wanted(path):
            return True
        if not self._confined.has(tidy(path), data.lines.as_bytes, data.absolute_offset):
            self._changed[tidy(path)] = None
            return True
        self._matches += is_match
        if self._matches > self._query.limit:
            return False
        whole = data.lines.as_line.rstrip("\r\n")
        text = _around_match(whole, data.submatches[0].start if data.submatches else 0)
        line = FoundLine(number=data.line_number, text=text, is_match=is_match, is_cut=text is not whole)
        self._lines.setdefault(tidy(path), []).append(line)
        return True

    def _overlong_match(self, beginning: bytes) -> list[str]:
        """The path of an overlong match, from the beginning of its record, if it is wanted."""
        match = BEGINNING_OF_MATCH.match(beginning)
        if match is None:
            return []
        try:
            path = msgspec.json.decode(match[1], type=_Text).as_path
        except msgspec.DecodeError:
            return []
        return [tidy(path)] if self._is_wanted(path) else []

    def _is_wanted(self, path: str) -> bool:
        is_wanted = self._wanted.get(path)
        if is_wanted is None:
            pattern = self._query.pattern
            fits = pattern is None or pattern.matches(tidy(path.removeprefix(self._base)))
            is_wanted = self._wanted[path] = fits and not self._is_ignored(tidy(path))
        return is_wanted


def _around_match(line: str, match_start: int) -> str:
    """At most 500 characters of a line that contain the match."""
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    # ripgrep's offsets are in bytes of the UTF-8 line.
    start = len(line.encode("utf-8", "surrogateescape")[:match_start].decode("utf-8", "ignore"))
    first = 0 if start < MAX_LINE_CHARACTERS - BEFORE_MATCH else start - BEFORE_MATCH
    shown = line[first : first + MAX_LINE_CHARACTERS]
    before = "[truncated...] " if first else ""
    return f"{before}{shown}{' [truncated...]' if first + len(shown) < len(line) else ''}"
