"""Finds mentions in a prompt: paths, lines of files, addresses, commits, branches, the words of `MENTION_WORDS`.

Nothing is looked up here: whether a path names anything is for others to find out.
"""

import re
from enum import StrEnum
from typing import Final

import msgspec

LONGEST_PATH: Final = 1_024
# A mention stands at the start or behind white space or an opening bracket, so that mail addresses are none; or
# behind the signs of languages that are written without white space.
_MENTION: Final = re.compile(
    r"""
    (?<![^\s(\[{（［｛「『【《〈，。、；：！？])@
    (?: (?P<quote>["'])(?P<quoted>(?:(?!(?P=quote)).)+)(?P=quote)(?P<quoted_range>[:\#][L0-9:-]*)?
      | (?P<bare>(?:\\[^\n]|[^\s\\"])+)
    )
    """,
    re.VERBOSE,
)
_RANGE: Final = re.compile(r"(?::|#L)(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9})|:\d{1,9})?\Z")
_PATH_AND_RANGE: Final = re.compile(rf"(?P<path>.+?){_RANGE.pattern}")
_ESCAPED: Final = re.compile(r"\\(.)")
# A commit: its hash, which a digit tells from a word, how it is reached from the last one, or the tag of a version.
_COMMIT: Final = re.compile(
    r"(?:(?=[a-f]*[0-9])[0-9a-f]{7,40}|HEAD(?:[~^][0-9]{0,4}){0,9}|v[0-9]+(?:\.[0-9]+)+(?:[.-][0-9A-Za-z]+){0,9})\Z"
)
# As git writes what one side changed since it left the other; nothing that a shell or git would read otherwise.
_BRANCHES: Final = re.compile(r"(?P<since>[A-Za-z0-9][\w./-]{0,199}?)\.\.\.(?P<to>[A-Za-z0-9][\w/-]{0,199})?", re.ASCII)
# A URI behind the name of a server: two colons tell it from a path with lines.
_RESOURCE: Final = re.compile(r"(?P<server>[A-Za-z0-9][A-Za-z0-9_-]{0,31}):(?P<uri>[A-Za-z][A-Za-z0-9+.-]+:.+)")
_PUNCTUATION: Final = frozenset(".,;:!?'\"…。，、；：！？")
_BRACKETS: Final = dict(zip(")]}>）］｝」』】》〉", "([{<（［｛「『【《〈", strict=True))


class GitState(StrEnum):
    """What is not committed yet: everything, or what is staged."""

    CHANGES = "git-changes"
    STAGED = "staged"


GIT_STATES: Final = frozenset(GitState)
PROBLEMS: Final = "problems"
TERMINAL: Final = "terminal"
SESSION: Final = "session:"
# The mentions that are words of their own, with what each stands for.
MENTION_WORDS: Final = {
    GitState.CHANGES.value: "what is not committed yet",
    GitState.STAGED.value: "what is staged for the next commit",
    PROBLEMS: "what the project's checks and its syntax say",
    TERMINAL: "the last commands and what runs in the background, with their output",
    SESSION: "another session of this directory: what was asked and answered",
}


class LineRange(msgspec.Struct, frozen=True):
    """Lines counted from 1, both included."""

    first: int
    last: int


class PromptText(msgspec.Struct, frozen=True):
    """Words that mention nothing."""

    written: str


class PathMention(msgspec.Struct, frozen=True, kw_only=True):
    """A path that may or may not name a file or directory."""

    written: str
    path: str
    lines: LineRange | None = None


class GitMention(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that are not committed."""

    written: str
    state: GitState


class CommitMention(msgspec.Struct, frozen=True, kw_only=True):
    """What may be a commit, by its hash, from the last one on or by a tag."""

    written: str
    commit: str


class BranchMention(msgspec.Struct, frozen=True, kw_only=True):
    """What may be a branch: what was committed since it was left, here or in `to`."""

    written: str
    since: str
    to: str = ""


class UrlMention(msgspec.Struct, frozen=True, kw_only=True):
    """A page on the web."""

    written: str
    url: str


class ProblemsMention(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with the project."""

    written: str


class TerminalMention(msgspec.Struct, frozen=True, kw_only=True):
    """What commands printed in this session."""

    written: str


class ResourceMention(msgspec.Struct, frozen=True, kw_only=True):
    """What may be a resource of an MCP server."""

    written: str
    server: str
    uri: str


class SessionMention(msgspec.Struct, frozen=True, kw_only=True):
    """Another session, by its id, the beginning of that, or its name."""

    written: str
    wanted: str


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
    """The prompt in pieces that, joined, are the prompt again. Takes time that grows with its length."""
    pieces: list[Piece] = []
    end = 0
    for found in _MENTION.finditer(prompt):
        mention = _mention(found)
        if mention is None:
            continue
        if found.start() > end:
            pieces.append(PromptText(prompt[end : found.start()]))
        pieces.append(mention)
        end = found.start() + len(mention.written)
    return (*pieces, PromptText(prompt[end:])) if end < len(prompt) else tuple(pieces)


def mention_of_path(path: str) -> str | None:
    """How to mention a path, as plain as possible; None if there is no way, as with some names that hold quotes."""
    escaped = re.sub(r"([^\w./-])", r"\\\1", path)
    forms = (f"@{path}", f"@./{path}", f'@"{path}"', f"@{escaped}")
    return next((form for form in forms if _means_only(form, path)), None)


def _means_only(written: str, path: str) -> bool:
    match parse_mentions(written):
        case (PathMention(path=named, lines=None) as found,):
            return found.written == written and named in (path, f"./{path}")
    return False


def _mention(found: re.Match[str]) -> Mention | None:
    if found["quoted"] is not None:
        return _quoted(found["quote"], found["quoted"], found["quoted_range"] or "")
    if len(found["bare"]) > LONGEST_PATH:
        return None
    if branches := _BRANCHES.match(found["bare"]):
        return BranchMention(written=f"@{branches[0]}", since=branches["since"], to=branches["to"] or "")
    word = _without_punctuation(found["bare"])
    return (_word(word) or _path(word)) if word else None


def _word(word: str) -> Mention | None:
    """The mention that a word is by itself, whatever files there are; `./` before a path tells them apart."""
    written = f"@{word}"
    if word in GIT_STATES:
        return GitMention(written=written, state=GitState(word))
    if word == PROBLEMS:
        return ProblemsMention(written=written)
    if word == TERMINAL:
        return TerminalMention(written=written)
    if word.startswith(SESSION):
        return SessionMention(written=written, wanted=word.removeprefix(SESSION))
    if word.lower().startswith(("https://", "http://")):
        return UrlMention(written=written, url=word)
    if resource := _RESOURCE.fullmatch(word):
        return ResourceMention(written=written, server=resource["server"], uri=resource["uri"])
    return CommitMention(written=written, commit=word) if _COMMIT.match(word) else None


def _path(word: str) -> PathMention | None:
    if "://" in word:
        return None
    ranged = _PATH_AND_RANGE.match(word)
    path = word if ranged is None else ranged["path"]
    return PathMention(written=f"@{word}", path=_ESCAPED.sub(r"\1", path), lines=ranged and _lines(ranged))


def _quoted(quote: str, path: str, after: str) -> PathMention | None:
    """Within quotes nothing is special; only a range of lines may follow them."""
    if len(path) > LONGEST_PATH:
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
    """The word without what ends a sentence, a quotation or a bracket that was opened before it."""
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
