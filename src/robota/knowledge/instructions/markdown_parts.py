"""Splits an instruction file into prose, code, comments, and imports (`@path`) in the prose.

Everything takes linear time, because files of a repository may be hostile.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

import msgspec

# A fence may be inside a list or a quotation.
_FENCE: Final = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)")
_COMMENT_BEGINS: Final = re.compile(r" {0,3}<!--")
_COMMENT_ENDS: Final = "-->"
_BACKTICKS: Final = re.compile(r"`+")
_IMPORT: Final = re.compile(r"(?<![^\s(])@(?P<path>[\w.~/](?:\\ |[^\s`])*)")
_AFTER_PATH: Final = ".,;:!?)]}>'\"*_"


class Prose(msgspec.Struct, frozen=True):
    """Text for the model."""

    text: str


class Code(msgspec.Struct, frozen=True):
    """A fenced block or a code span, in which nothing is interpreted."""

    text: str


class Comment(msgspec.Struct, frozen=True):
    """An HTML comment block: for people, not for the model."""

    text: str


class Import(msgspec.Struct, frozen=True):
    """An import of another file, as written, including the `@`."""

    text: str

    @property
    def path(self) -> str:
        return self.text[1:].replace("\\ ", " ")


Part = Prose | Code | Comment | Import


def markdown_parts(document: str) -> tuple[Part, ...]:
    """Split a document. Never raises; the texts of the parts, joined, are the document."""
    parts: list[Part] = []
    for block in _blocks(document):
        parts.extend(_spans(block.text) if isinstance(block, Prose) else (block,))
    return tuple(parts)


def _blocks(document: str) -> Iterator[Prose | Code | Comment]:
    """Fenced code, comments, and the paragraphs between them."""
    lines = document.splitlines(keepends=True)
    last_end = max((number for number, line in enumerate(lines) if _COMMENT_ENDS in line), default=-1)
    prose: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        fence = _FENCE.match(line)
        is_fence = fence is not None and not (fence["fence"][0] == "`" and "`" in fence["info"])
        is_comment = number <= last_end and _COMMENT_BEGINS.match(line) is not None
        # Of many empty lines only the first ends a paragraph, so that they do not become as many parts.
        ends_paragraph = not line.strip() and bool(prose and prose[-1].strip())
        if (is_fence or is_comment or ends_paragraph) and prose:
            yield Prose("".join(prose))
            prose = []
        if fence is not None and is_fence:
            end = _fence_end(lines, number, fence["fence"])
            yield Code("".join(lines[number:end]))
            number = end
        elif is_comment:
            comment, rest, number = _comment(lines, number)
            if comment:
                yield Comment(comment)
            prose = [rest] if rest else []
        else:
            prose.append(line)
            number += 1
    if prose:
        yield Prose("".join(prose))


def _fence_end(lines: list[str], begins: int, fence: str) -> int:
    """The index of the line after a fenced block; an unclosed one extends to the end."""
    for number in range(begins + 1, len(lines)):
        words = lines[number].strip(" \t\r\n>")
        if len(words) >= len(fence) and not words.strip(fence[0]):
            return number + 1
    return len(lines)


def _comment(lines: list[str], begins: int) -> tuple[str, str, int]:
    """A comment, the rest of the line after its end, and the index of the next line."""
    taken: list[str] = []
    for number in range(begins, len(lines)):
        line = lines[number]
        start = line.index("<!--") + len("<!--") if number == begins else 0
        at = line.find(_COMMENT_ENDS, start)
        if at >= 0:
            end = at + len(_COMMENT_ENDS)
            return "".join((*taken, line[:end])), line[end:], number + 1
        taken.append(line)
    # The only `-->` left is that of a `<!-->`, so this is text and not a comment.
    return "", lines[begins], begins + 1


def _spans(paragraph: str) -> Iterator[Part]:
    """Code spans, imports and prose of one paragraph."""
    if "`" not in paragraph and "@" not in paragraph:
        yield Prose(paragraph)
        return
    at = 0
    for begin, end in _code_spans(paragraph):
        yield from _imports(paragraph, at, begin)
        yield Code(paragraph[begin:end])
        at = end
    yield from _imports(paragraph, at, len(paragraph))


def _code_spans(paragraph: str) -> Iterator[tuple[int, int]]:
    """Each span from a run of backticks to the next run of the same length."""
    runs = [match.span() for match in _BACKTICKS.finditer(paragraph)]
    starts: dict[int, list[int]] = {}
    for begin, end in runs:
        starts.setdefault(end - begin, []).append(begin)
    at = 0
    for begin, end in runs:
        if begin < at:
            continue
        same = starts[end - begin]
        following = bisect_right(same, begin)
        if following < len(same):
            at = same[following] + end - begin
            yield begin, at


def _imports(text: str, begin: int, end: int) -> Iterator[Part]:
    at = begin
    for match in _IMPORT.finditer(text, begin, end):
        written = match[0].rstrip(_AFTER_PATH)
        if len(written) < 2:
            continue
        if match.start() > at:
            yield Prose(text[at : match.start()])
        at = match.start() + len(written)
        yield Import(written)
    if at < end:
        yield Prose(text[at:end])
