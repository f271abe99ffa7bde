"""`.gitignore` patterns, matched in time linear in the length of the name, whatever the patterns are."""

import re
from collections.abc import Callable, Sequence
from itertools import groupby

import msgspec

# More would slow down every file operation, and nobody writes that many by hand.
MAX_PATTERNS = 2_000
MAX_PATTERN_CHARACTERS = 1_000
DEEP = "**"
NEVER = "(?!)"
DEEPER = re.compile(r"\*{2,}")
WILD = re.compile(r"[*?\[\\]")
POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "digit": "0-9",
    "lower": "a-z",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
    "punct": re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
}

Fits = Callable[[str], object]


class _Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """One line. `parts` are its path segments; a single segment matches at any depth unless `is_anchored`."""

    parts: tuple[str, ...]
    is_anchored: bool
    takes_back: bool
    only_directories: bool


class _Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Adjacent lines with the same effect on what they match."""

    matches: Callable[[Sequence[str]], bool]
    takes_back: bool
    only_directories: bool


class GitIgnore:
    """All patterns of one file; `ValueError` if there are too many."""

    def __init__(self, lines: Sequence[str]) -> None:
        patterns = [pattern for line in lines if (pattern := _pattern(line)) is not None]
        if len(patterns) > MAX_PATTERNS:
            raise ValueError(f"it has more than {MAX_PATTERNS:,} patterns")
        self._rules = [_rule(list(group)) for _, group in groupby(patterns, key=_kind)]

    def check(self, parts: Sequence[str], *, is_directory: bool) -> bool | None:
        """Whether the last pattern that matches the path ignores (True) or re-includes it (False); None if none does.

        The caller must have checked the parent directories before.
        """
        for rule in reversed(self._rules):
            if (is_directory or not rule.only_directories) and rule.matches(parts):
                return not rule.takes_back
        return None


def fits(segments: Sequence[Fits | None], parts: Sequence[str]) -> bool:
    """Whether path names match the segments in order, where None matches any number of names.

    Backtracking to the last None is enough: whatever an earlier None could match, the last one can match too.
    """
    in_segments = in_parts = 0
    deep = -1
    resumed_at = 0
    while in_parts < len(parts):
        segment = segments[in_segments] if in_segments < len(segments) else None
        if in_segments < len(segments) and segment is None:
            deep, resumed_at = in_segments, in_parts
            in_segments += 1
        elif segment is not None and segment(parts[in_parts]):
            in_segments += 1
            in_parts += 1
        elif deep >= 0:
            resumed_at += 1
            in_segments, in_parts = deep + 1, resumed_at
        else:
            return False
    return all(segment is None for segment in segments[in_segments:])


def _kind(pattern: _Pattern) -> tuple[bool, bool, bool | _Pattern]:
    """Group key: adjacent patterns for names are combined into one rule, a pattern for a path is a separate rule."""
    return pattern.takes_back, pattern.only_directories, pattern if pattern.is_anchored else False


def _rule(patterns: list[_Pattern]) -> _Rule:
    first = patterns[0]
    matches = _path_matcher(first.parts) if first.is_anchored else _name_matcher([each.parts[0] for each in patterns])
    return _Rule(matches=matches, takes_back=first.takes_back, only_directories=first.only_directories)


def _name_matcher(names: list[str]) -> Callable[[Sequence[str]], bool]:
    plain = frozenset(name for name in names if not WILD.search(name))
    wild = [expression_of(name) for name in names if WILD.search(name)]
    expression = re.compile("|".join(wild), re.DOTALL) if wild else None

    def matches(parts: Sequence[str]) -> bool:
        name = parts[-1]
        return name in plain or (expression is not None and expression.fullmatch(name) is not None)

    return matches


def _path_matcher(parts: tuple[str, ...]) -> Callable[[Sequence[str]], bool]:
    *before, last = [_segment(part) for part in parts]
    if last is None:  # `a/**` matches the content of a, not a itself
        before, last = [*before, None], re.compile(".+", re.DOTALL).fullmatch
    segments = [*before, last]
    return lambda path: fits(segments, path)


def _segment(part: str) -> Fits | None:
    return None if part == DEEP else re.compile(expression_of(part), re.DOTALL).fullmatch


def _pattern(line: str) -> _Pattern | None:
    text = _without_trailing_spaces(line)
    if not text or text.startswith("#"):
        return None
    takes_back = text.startswith("!")
    text = text[takes_back:]
    body = text.removesuffix("/")
    parts = tuple(DEEP if DEEPER.fullmatch(part) else part for part in body.split("/") if part)
    if not parts:
        return None
    if len(text) > MAX_PATTERN_CHARACTERS:
        raise ValueError(f"it has a pattern of more than {MAX_PATTERN_CHARACTERS:,} characters")
    is_anchored = "/" in body
    if parts[0] == DEEP and len(parts) == 2 and not body.startswith("/"):
        parts, is_anchored = parts[1:], False  # `**/name` is `name`
    if parts == (DEEP,):
        parts, is_anchored = ("*",), False
    return _Pattern(parts=parts, is_anchored=is_anchored, takes_back=takes_back, only_directories=text.endswith("/"))


def _without_trailing_spaces(line: str) -> str:
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not _is_escaped(text, len(text) - 1):
        text = text[:-1]
    return text


def _is_escaped(text: str, index: int) -> bool:
    before = text[:index]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def expression_of(name: str) -> str:
    """A regular expression for one name. `*` becomes an atomic group, so that matching does not backtrack."""
    pieces = [""]
    index = 0
    while index < len(name):
        character = name[index]
        if character == "*":
            pieces.append("")
            index += 1
            continue
        if character == "?":
            written, index = ".", index + 1
        elif character == "[":
            written, index = _character_class(name, index)
        elif character == "\\" and index + 1 < len(name):
            written, index = re.escape(name[index + 1]), index + 2
        else:
            written, index = re.escape(character), index + 1
        pieces[-1] += written
    first, *rest = pieces
    if not rest:
        return first
    *middle, last = rest
    # The first match of each piece leaves the most room for the rest; only the last piece must match at the end.
    middle_pattern = "".join(f"(?>.*?{piece})" for piece in middle if piece)
    return f"{first}{middle_pattern}.*{last}"


def _character_class(name: str, start: int) -> tuple[str, int]:
    """The character class that starts at a `[`, and where it ends; an unclosed one matches nothing, as in git."""
    index = start + 1
    negated = index < len(name) and name[index] in "!^"
    index += negated
    members: list[str] = []
    is_first = True
    while index < len(name) and (name[index] != "]" or is_first):
        is_first = False
        posix = re.compile(r"\[:(\w+):\]").match(name, index)
        if posix and posix[1] in POSIX_CLASSES:
            members.append(POSIX_CLASSES[posix[1]])
            index = posix.end()
            continue
        low, index = _member(name, index)
        if name[index : index + 1] == "-" and name[index + 1 : index + 2] not in ("", "]"):
            high, index = _member(name, index + 1)
            if low <= high:
                members.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            members.append(re.escape(low))
    if index >= len(name):
        return NEVER, len(name)
    if not members:
        return ("." if negated else NEVER), index + 1
    return f"[{'^' * negated}{''.join(members)}]", index + 1


def _member(name: str, index: int) -> tuple[str, int]:
    if name[index] == "\\" and index + 1 < len(name):
        return name[index + 1], index + 2
    return name[index], index + 1
