"""Glob patterns for paths: `*`, `?`, `[…]`, `{a,b}` and `**`, matched in linear time.

A pattern without a slash matches files at any depth, as in a `.gitignore`; with one it is relative to the searched
directory. ripgrep's own `--glob` is not used, because it includes files that a `.gitignore` excludes.
"""

import re
from collections.abc import Sequence
from fnmatch import translate
from typing import Final

from robota.workspace.problems import FileProblem

MAX_CHARACTERS: Final = 1000
MAX_ALTERNATIVES: Final = 100
MAX_DEPTH: Final = 10
DEEP: Final = "**"
NOT_PLAIN: Final = frozenset("[]{}\\:")


class InvalidPattern(FileProblem):
    """The text is not a valid glob pattern, or too complex."""


class PathPattern:
    """A compiled pattern. `text` is the pattern as written."""

    def __init__(self, text: str) -> None:
        if not text.strip() or len(text) > MAX_CHARACTERS or not text.isprintable():
            raise _invalid(text, f"it must have 1 to {MAX_CHARACTERS} characters, all of them visible")
        self.text = text
        self._alternatives = [_segments(alternative, text) for alternative in _expanded(text)]

    @property
    def wants_hidden(self) -> bool:
        """Whether it explicitly matches hidden names, such as `.github/**`."""
        return any(segment.text.startswith(".") for segments in self._alternatives for segment in segments)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Globs for the last part of every matching path; None if any name can match, or ripgrep's syntax differs."""
        last = [segments[-1].text for segments in self._alternatives]
        return None if any(name == DEEP or NOT_PLAIN & set(name) for name in last) else tuple(last)

    @property
    def is_about_names(self) -> bool:
        """Whether `names` is the complete condition, because the directory does not matter."""
        return self.names is not None and all(
            len(segments) == 2 and segments[0].is_deep for segments in self._alternatives
        )

    def matches(self, path: str) -> bool:
        """Whether the path, relative to the searched directory, matches."""
        parts = path.split("/")
        return any(_fits(segments, parts) for segments in self._alternatives)


class _Segment:
    """One part of a pattern between slashes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_deep = text == DEEP
        self._expression = re.compile(translate(text))

    def fits(self, name: str) -> bool:
        # The literal comparison is for directories that are really named `[id]`.
        return self._expression.match(name) is not None or self.text == name


def _fits(segments: Sequence[_Segment], parts: Sequence[str]) -> bool:
    """Match with backtracking to the last `**` only: what an earlier one could match, the last one can match too."""
    in_pattern = in_name = 0
    deep = -1
    resumed_at = 0
    while in_name < len(parts):
        if in_pattern < len(segments) and segments[in_pattern].is_deep:
            deep, resumed_at = in_pattern, in_name
            in_pattern += 1
        elif in_pattern < len(segments) and segments[in_pattern].fits(parts[in_name]):
            in_pattern += 1
            in_name += 1
        elif deep >= 0:
            resumed_at += 1
            in_pattern, in_name = deep + 1, resumed_at
        else:
            return False
    return all(segment.is_deep for segment in segments[in_pattern:])


def _segments(alternative: str, pattern: str) -> list[_Segment]:
    body = alternative.removeprefix("./")
    if not body.strip("/"):
        raise _invalid(pattern, "a part of it is empty")
    if body.endswith("/"):
        body += DEEP
    is_anywhere = "/" not in body and body == alternative
    parts = [part for part in body.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise _invalid(pattern, "it leads out with '..'; give a path instead")
    return [_Segment(part) for part in ([DEEP, *parts] if is_anywhere else parts)]


def _expanded(text: str) -> list[str]:
    alternatives, _ = _sequence(text, 0, 0)
    return list(dict.fromkeys(alternatives))


def _sequence(text: str, index: int, depth: int) -> tuple[list[str], int]:
    """Expand the text from `index` to its end or, inside braces, to a comma or the closing brace."""
    expanded = [""]
    while index < len(text) and not (depth and text[index] in ",}"):
        if text[index] == "{":
            options, index = _choice(text, index + 1, depth + 1)
        elif text[index] == "[":
            end = text.find("]", index + 2) + 1
            if not end:
                raise _invalid(text, "a '[' is not closed")
            options, index = [text[index:end]], end
        else:
            options, index = [text[index]], index + 1
        if len(expanded) * len(options) > MAX_ALTERNATIVES:
            raise _invalid(text, f"its braces expand to more than {MAX_ALTERNATIVES} patterns")
        expanded = [before + option for before in expanded for option in options]
    return expanded, index


def _choice(text: str, index: int, depth: int) -> tuple[list[str], int]:
    if depth > MAX_DEPTH:
        raise _invalid(text, f"its braces are nested more than {MAX_DEPTH} deep")
    options: list[str] = []
    while True:
        more, index = _sequence(text, index, depth)
        options += more
        if index == len(text):
            raise _invalid(text, "a '{' is not closed")
        index += 1
        if text[index - 1] == "}":
            return options, index


def _invalid(text: str, problem: str) -> InvalidPattern:
    shown = text if len(text) <= 100 else text[:100] + "…"
    return InvalidPattern(f"{shown!r} is not a usable glob pattern: {problem}. Nothing was searched. Correct it.")
