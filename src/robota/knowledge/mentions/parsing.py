"""Finds mentions in a prompt: paths, line ranges, URLs, commits, branches, and the words of `MENTION_WORDS`.

Pure syntax: nothing is looked up, so a mentioned path may not exist.
"""

import re
from enum import StrEnum
from typing import Final

import msgspec

MAX_PATH: Final = 1_024
# A mention starts at the beginning or after white space or an opening bracket, so that mail addresses are none; or
# after the punctuation of languages that are written without white space.
MENTION_START: Final = r"(?<![^\s(\[{（［｛「『【《〈，。、；：！？])@"
_MENTION: Final = re.compile(
    rf"""
    {MENTION_START}
    (?: (?P<quote>["'])(?P<quoted>(?:(?!(?P=quote)).)+)(?P=quote)(?P<quoted_range>[:\#][L0-9:-]*)?
      | (?P<bare>(?:\\[^\n]|[^\s\\"])+)
    )
    """,
    re.VERBOSE,
)
_RANGE: Final = re.compile(r"(?::|#L)(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9})|:\d{1,9})?\Z")
_PATH_AND_RANGE: Final = re.compile(rf"(?P<path>.+?){_RANGE.pattern}")
_ESCAPED: Final = re.compile(r"\\(.)")
# A commit: a hash (with a digit, so that it is no word), HEAD with ancestors, or a version tag.
_COMMIT: Final = re.compile(
    r"(?:(?=[a-f]*[0-9])[0-9a-f]{7,40}|HEAD(?:[~^][0-9]{0,4}){0,9}|v[0-9]+(?:\.[0-9]+)+(?:[.-][0-9A-Za-z]+){0,9})\Z"
)
# `main...topic`, only with characters that neither the shell nor git interprets.
_BRANCHES: Final = re.compile(r"(?P<since>[A-Za-z0-9][\w./-]{0,199}?)\.\.\.(?P<to>[A-Za-z0-9][\w/-]{0,199})?", re.ASCII)
# `server:scheme:rest`; the second colon tells it from a path with a line number.
_RESOURCE: Final = re.compile(r"(?P<server>[A-Za-z0-9][A-Za-z0-9_-]{0,31}):(?P<uri>[A-Za-z][A-Za-z0-9+.-]+:.+)")
_PUNCTUATION: Final = frozenset(".,;:!?'\"…。，、；：！？")
_BRACKETS: Final = dict(zip(")]}>）］｝」』】》〉", "([{<（［｛「『【《〈", strict=True))


class GitState(StrEnum):
    """Uncommitted changes: all of them, or only the staged ones."""

    CHANGES = "git-changes"
    STAGED = "staged"


GIT_STATES: Final = frozenset(GitState)
PROBLEMS: Final = "problems"
TERMINAL: Final = "terminal"
SESSION: Final = "session:"
# Mentions that are fixed words, with the descriptions that completion shows.
MENTION_WORDS: Final = {
    GitState.CHANGES.value: "uncommitted changes",
    GitState.STAGED.value: "staged changes",
    PROBLEMS: "problems reported by the project's checks and parsers",
    TERMINAL: "recent commands and background processes, with their output",
    SESSION: "prompts and answers of another session of this directory",
}


class LineRange(msgspec.Struct, frozen=True):
    """A range of lines, counted from 1, both ends included."""

    first: int
    last: int


class PromptText(msgspec.Struct, frozen=True):
    """Text between mentions."""

    written: str


class PathMention(msgspec.Struct, frozen=True, kw_only=True):
    """A path that may or may not name a file or directory."""

    written: str
    path: str
    lines: LineRange | None = None


class GitMention(msgspec.Struct, frozen=True, kw_only=True):
    """Uncommitted changes."""

    written: str
    state: GitState


class CommitMention(msgspec.Struct, frozen=True, kw_only=True):
    """What may be a commit: a hash, HEAD with ancestors, or a version tag."""

    written: str
    commit: str


class BranchMention(msgspec.Struct, frozen=True, kw_only=True):
    """What may be a branch: the commits of `to` (HEAD if empty) since it left `since`."""

    written: str
    since: str
    to: str = ""


class UrlMention(msgspec.Struct, frozen=True, kw_only=True):
    """A web page."""

    written: str
    url: str


class ProblemsMention(msgspec.Struct, frozen=True, kw_only=True):
    """The problems that checks of the project report."""

    written: str


class TerminalMention(msgspec.Struct, frozen=True, kw_only=True):
    """The output of commands in this session."""

    written: str


class ResourceMention(msgspec.Struct, frozen=True, kw_only=True):
    """What may be a resource of an MCP server."""

    written: str
    server: str
    uri: str


class SessionMention(msgspec.Struct, frozen=True, kw_only=True):
    """Another session, by its id, a prefix of it, or its name."""

    written: str
    session: str


Mention = (
    PathMention
    | GitMention
    | CommitMention
    | BranchMention
    | UrlMention
    | ResourceMention
    | ProblemsMention
    | TerminalMention
    | SessionMention
)
Piece = PromptText | Mention


def parse_mentions(prompt: str) -> tuple[Piece, ...]:
    """Split a prompt into text and mentions, in linear time. The pieces, joined, are the prompt."""
    pieces: list[Piece] = []
    end = 0
    for match in _MENTION.finditer(prompt):
        mention = _mention(match)
        if mention is None:
            continue
        if match.start() > end:
            pieces.append(PromptText(prompt[end : match.start()]))
        pieces.append(mention)
        end = match.start() + len(mention.written)
    return (*pieces, PromptText(prompt[end:])) if end < len(prompt) else tuple(pieces)


def mention_of_path(path: str) -> str | None:
    """The simplest mention that names a path; None if there is none, as for some names with quotes."""
    escaped = re.sub(r"([^\w./-])", r"\\\1", path)
    forms = (f"@{path}", f"@./{path}", f'@"{path}"', f"@{escaped}")
    return next((form for form in forms if _mentions_exactly(form, path)), None)


def _mentions_exactly(written: str, path: str) -> bool:
    match parse_mentions(written):
        case (PathMention(path=named, lines=None) as mention,):
            return mention.written == written and named in (path, f"./{path}")
    return False


def _mention(match: re.Match[str]) -> Mention | None:
    if match["quoted"] is not None:
        return _quoted_path(match["quote"], match["quoted"], match["quoted_range"] or "")
    if len(match["bare"]) > MAX_PATH:
        return None
    if branches := _BRANCHES.match(match["bare"]):
        return BranchMention(written=f"@{branches[0]}", since=branches["since"], to=branches["to"] or "")
    word = _without_punctuation(match["bare"])
    return (_special_mention(word) or _path_mention(word)) if word else None


def _special_mention(word: str) -> Mention | None:
    """The mention of a special word, even if a file has the same name: `@./terminal` mentions the file."""
    written = f"@{word}"
    if word in GIT_STATES:
        return GitMention(written=written, state=GitState(word))
    if word == PROBLEMS:
        return ProblemsMention(written=written)
    if word == TERMINAL:
        return TerminalMention(written=written)
    if word.startswith(SESSION):
        return SessionMention(written=written, session=word.removeprefix(SESSION))
    if word.lower().startswith(("https://", "http://")):
        return UrlMention(written=written, url=word)
    if resource := _RESOURCE.fullmatch(word):
        return ResourceMention(written=written, server=resource["server"], uri=resource["uri"])
    return CommitMention(written=written, commit=word) if _COMMIT.match(word) else None


def _path_mention(word: str) -> PathMention | None:
    if "://" in word:
        return None
    ranged = _PATH_AND_RANGE.match(word)
    path = word if ranged is None else ranged["path"]
    return PathMention(written=f"@{word}", path=_ESCAPED.sub(r"\1", path), lines=ranged and _lines(ranged))


def _quoted_path(quote: str, path: str, after: str) -> PathMention | None:
    """A path in quotes, in which nothing is special. A line range may follow them."""
    if len(path) > MAX_PATH:
        return None
    after = _without_punctuation(after)
    ranged = _RANGE.match(after)
    written = f"@{quote}{path}{quote}{after if ranged else ''}"
    return PathMention(written=written, path=path, lines=ranged and _lines(ranged))


def _lines(ranged: re.Match[str]) -> LineRange:
    first = int(ranged["first"])
    last = int(ranged["last"] or first)
    return LineRange(min(first, last), max(first, last))


def _without_punctuation(word: str) -> str:
    """The word without trailing punctuation, quotes, and closing brackets that were opened before it."""
    surplus = {close: word.count(close) - word.count(opened) for close, opened in _BRACKETS.items()}
    end = len(word)
    while end > 0:
        last = word[end - 1]
        is_escaped = word[end - 2 : end - 1] == "\\"
        if is_escaped or not (last in _PUNCTUATION or surplus.get(last, 0) > 0):
            break
        if last in surplus:
            surplus[last] -= 1
        end -= 1
    return word[:end]
