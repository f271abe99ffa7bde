"""Detects new text that a model did not intend: placeholders for omitted code, or line numbers from a listing.

If lines of the file would be lost, the edit is refused. If the text is only added, the result mentions it. Lines that
are already in the file are not checked.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

import msgspec

from robota.workspace.text.source import SourceText, TextSpan

NUMBERED = re.compile(r"\s*(\d+)\s+\|(?!\|)(?: |$)(.*)")

# A quick filter: most texts contain none of this. No model writes more than this in one call.
HINT = re.compile(
    r"\.\.\.|…|rest of|existing|previous|remaining|original|unchanged|omitted|same|\d[ \t]+\|", re.IGNORECASE
)
MAX_CHECKED = 200_000


class UnmeantText(Exception):
    """The new text is not what the model intended to write. The message is written for the model."""


class _NewLines(msgspec.Struct, frozen=True, kw_only=True):
    """The whole lines that an edit adds and removes."""

    coming: list[str]
    going: list[str]


def check_new_text(source: SourceText, spans: Iterable[TextSpan]) -> str:
    """A remark on new text that appears pasted, or "". Raises `UnmeantText` if lines would be lost."""
    suspicious = [span for span in spans if _is_suspicious(span.new)]
    if not suspicious:
        return ""
    source_lines = {line.strip() for line in source.lines}
    remarks = []
    for span in suspicious:
        lines = _whole_lines(source.text, span)
        _refuse_numbers(lines.coming, source_lines)
        remarks += _placeholders(lines, source_lines)
    return " ".join(remarks)


def remark_on_new_file(content: str) -> str:
    """A remark on a new file that appears pasted, or ""."""
    if not _is_suspicious(content):
        return ""
    written = [line for line in content.split("\n") if line.strip()]
    if len(written) > 2 and all(NUMBERED.match(line) for line in written):
        return "Every line begins with a number and a bar, like the listings of read_file. Leave them out if not meant."
    placeholders = [line for line in written if is_placeholder(line)]
    return _remark(placeholders[0]) if placeholders else ""


def is_placeholder(line: str) -> bool:
    """Whether a line is a placeholder for omitted text, such as `# ... rest of the code ...`."""
    return _placeholder().fullmatch(line) is not None


def unnumbered(line: str) -> str:
    """The line without its listing number, if it has one."""
    match = NUMBERED.match(line)
    return match[2] if match else line


def _is_suspicious(text: str) -> bool:
    if len(text) > MAX_CHECKED or not HINT.search(text):
        return False
    return any(is_placeholder(line) or NUMBERED.match(line) for line in text.split("\n"))


def _whole_lines(text: str, span: TextSpan) -> _NewLines:
    start = text.rfind("\n", 0, span.start) + 1
    newline = text.find("\n", span.end)
    end = newline if newline >= 0 else len(text)
    old = text[start:end].split("\n")
    new = (text[start : span.start] + span.new + text[span.end : end]).split("\n")
    before, after = set(old), set(new)
    return _NewLines(
        coming=[line for line in new if line not in before],
        going=[line for line in old if line not in after and line.strip()],
    )


def _refuse_numbers(coming: Sequence[str], file_lines: set[str]) -> None:
    """Numbers in front of lines that are in the file come from a listing of it."""
    numbered = [line for line in coming if NUMBERED.match(line) and line.strip() not in file_lines]
    of_file = [line for line in numbered if unnumbered(line).strip() and unnumbered(line).strip() in file_lines]
    if of_file and 2 * len(of_file) >= len(numbered) and not any(NUMBERED.match(line) for line in file_lines):
        raise UnmeantText(
            f"The new text has line numbers: {_quote(of_file[0])}. They belong to the listing of read_file, not to the "
            "file. Give the text again without the numbers and bars."
        )


def _placeholders(lines: _NewLines, file_lines: set[str]) -> list[str]:
    placeholders = [line for line in lines.coming if is_placeholder(line) and line.strip() not in file_lines]
    if not placeholders:
        return []
    lost = [line for line in lines.going if not is_placeholder(line)]
    if lost:
        raise UnmeantText(
            f"The new text has a placeholder, {_quote(placeholders[0])}, where the file has lines such as "
            f"{_quote(lost[0])}; they would be lost. Write out all of the text, or change only the lines that differ. "
            "If the placeholder is really meant, delete those lines first and add it in a second call."
        )
    return [_remark(placeholders[0])]


def _remark(line: str) -> str:
    return f"The line {_quote(line)} reads like a placeholder for text that was left out; it was written as it is."


def _quote(line: str) -> str:
    text = line.strip()
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


@cache
def _placeholder() -> re.Pattern[str]:
    """Matches a whole line: comment start, the words with dots or brackets around them, comment end."""
    thing = (
        r"(?:code|file|content|function|class|method|implementation|logic|import|line|body|module|component|script"
        r"|test|setting|config|configuration|block|section)(?:s|es)?"
    )
    same = (
        r"(?:(?:(?:remains?|stays?|is|are) )?(?:unchanged|the same|same|as is|as before|as above|omitted|unmodified)"
        r"|(?:goes? )?here)"
    )
    rest = rf"(?:the )?rest of (?:the |your |this )?(?:existing )?{thing}(?: {same})?"
    others = rf"(?:keep )?(?:the |all )?(?:existing|previous|remaining|other|original|unchanged) {thing}(?: {same})?"
    left_out = rf"(?:{rest}|{others}|(?:{thing}|everything else|all else) {same}|unchanged|omitted|same as before)"
    dots = r"(?:\.{3,}|…)"
    return re.compile(
        r"\s*(?://+|\#+|--|;+|%+|/\*+|\*|<!--|\{/\*|'''|\"\"\")?\s*"
        rf"(?:{dots}\s*[\[(]?{left_out}[\])]?\s*{dots}?|[\[(]{dots}?\s*{left_out}\s*{dots}?[\])]"
        rf"|{left_out}\s*{dots}|{rest})"
        r"\.?\s*(?:\*/\}?|-->|'''|\"\"\")?\s*",
        re.IGNORECASE,
    )
