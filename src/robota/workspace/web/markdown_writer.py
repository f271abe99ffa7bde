"""Write Markdown incrementally. Each method that opens an element returns the function that closes it."""

import re
from collections.abc import Callable
from typing import Final

BLANKS: Final = re.compile(r"[ \t\r\n\f]+")
MAX_NESTING: Final = 20

Close = Callable[[], None]


class _Prefix:
    """The prefix of the lines of a list item or a quotation, with a different one for the first line."""

    def __init__(self, first: str, rest: str) -> None:
        self.first = first
        self.rest = rest
        self.is_used = False


class MarkdownWriter:
    """`_text` is the current line; finished lines are in `_lines`."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._text: list[str] = []
        self._prefixes: list[_Prefix] = []
        self._numbers: list[int | None] = []
        self._rows: list[list[str]] | None = None
        self._is_code = False
        self._wants_gap = False
        self._broken_off = 0

    def finish(self) -> str:
        self._end_line()
        return "\n".join(self._lines).strip("\n")

    def text(self, text: str) -> None:
        if not self._is_code:
            text = BLANKS.sub(" ", text)
            if text.startswith(" ") and (not self._text or self._text[-1].endswith((" ", "\n"))):
                text = text[1:]
        if text:
            self._text.append(text)

    def line(self) -> Close:
        """Content on its own line or lines."""
        self._end_line()
        return self._end_line

    def paragraph(self) -> Close:
        """Content with empty lines around it."""
        self._end_block()
        return self._end_block

    def heading(self, level: int) -> Close:
        self._end_block()

        def close() -> None:
            content = " ".join("".join(self._text).split())
            self._text = [f"{'#' * level} {content}"] if content and self._rows is None else [content]
            self._end_block()

        return close

    def marked(self, marker: str) -> Close:
        """Emphasis or code within a line."""

        def mark(content: str) -> str:
            return f"{marker}{content}{marker}"

        return self._wrapped(mark, lambda: None)

    def link(self, url: str | None) -> Close:
        if url is None:
            return lambda: None
        # Markdown has no link around whole blocks; the URL is written after them.
        return self._wrapped(lambda content: f"[{content}]({url})", lambda: self._text.append(f"({url})"))

    def image(self, alternative: str, url: str | None) -> Close:
        words = " ".join(alternative.split())
        if words:
            self._text.append(f"![{words}]({url})" if url else words)
        return lambda: None

    def code_block(self, language: str) -> Close:
        self._end_block()
        if self._rows is not None:
            return lambda: None
        self._is_code = True

        def close() -> None:
            code = "".join(self._text).strip("\n")
            self._text, self._is_code = [], False
            fence = "```" if "```" not in code else "````"
            for line in (f"{fence}{language}", *code.split("\n"), fence):
                self._write_line(line.rstrip("\r"))
            self._wants_gap = True

        return close

    def bullets(self, *, ordered: bool) -> Close:
        if self._numbers:
            self._end_line()
        else:
            self._end_block()
        self._numbers.append(0 if ordered else None)

        def close() -> None:
            self._end_line()
            self._numbers.pop()
            self._wants_gap = self._wants_gap or not self._numbers

        return close

    def item(self) -> Close:
        self._end_line()
        marker = "- "
        if self._numbers and self._numbers[-1] is not None:
            self._numbers[-1] += 1
            marker = f"{self._numbers[-1]}. "
        return self._nested(_Prefix(marker, " " * len(marker)), self._end_line)

    def quote(self) -> Close:
        self._end_block()
        return self._nested(_Prefix("> ", "> "), self._end_block)

    def table(self, *, is_data: bool) -> Close:
        """A table of data becomes a Markdown table; a table for layout becomes lines."""
        self._end_block()
        if not is_data or self._rows is not None:
            return self._end_block
        self._rows = []

        def close() -> None:
            rows, self._rows, self._text = self._rows or [], None, []
            self._put_table([row for row in rows if any(row)])
            self._wants_gap = True

        return close

    def row(self) -> Close:
        if self._rows is None:
            return self.line()
        self._rows.append([])
        return lambda: None

    def cell(self) -> Close:
        if self._rows is None:
            return self.line()
        self._text = []

        def close() -> None:
            if self._rows:
                self._rows[-1].append(" ".join("".join(self._text).split()).replace("|", "\\|"))
            self._text = []

        return close

    def line_break(self) -> Close:
        self._text.append("\n")
        return lambda: None

    def rule(self) -> Close:
        self._end_block()
        self._text = ["---"]
        self._end_block()
        return lambda: None

    def _wrapped(self, wrap: Callable[[str], str], if_broken_off: Close) -> Close:
        """Wrap a part of a line, unless it is empty, code, or more than one line."""
        if self._is_code:
            return lambda: None
        start, broken_off = len(self._text), self._broken_off

        def close() -> None:
            if broken_off != self._broken_off:
                if_broken_off()
                return
            inner = "".join(self._text[start:])
            content = inner.strip()
            if content:
                before = inner[: len(inner) - len(inner.lstrip())]
                self._text[start:] = [before + wrap(content) + inner[len(inner.rstrip()) :]]

        return close

    def _nested(self, prefix: _Prefix, end: Close) -> Close:
        if len(self._prefixes) >= MAX_NESTING:
            return end
        self._prefixes.append(prefix)

        def close() -> None:
            end()
            self._prefixes.remove(prefix)

        return close

    def _end_block(self) -> None:
        self._end_line()
        # No empty line between the marker of a list item and its text.
        if not self._prefixes or self._prefixes[-1].is_used:
            self._wants_gap = True

    def _end_line(self) -> None:
        if self._rows is not None:
            self._text.append(" ")
            return
        self._broken_off += 1
        content = "".join(self._text).strip()
        self._text = []
        if content:
            for line in content.split("\n"):
                self._write_line(line.strip())

    def _write_line(self, line: str) -> None:
        if self._wants_gap and self._lines and self._lines[-1].strip("> "):
            self._lines.append("".join(prefix.rest for prefix in self._prefixes if prefix.is_used).rstrip())
        self._wants_gap = False
        start = "".join(prefix.rest if prefix.is_used else prefix.first for prefix in self._prefixes)
        for prefix in self._prefixes:
            prefix.is_used = True
        self._lines.append((start + line).rstrip())

    def _put_table(self, rows: list[list[str]]) -> None:
        if not rows:
            return
        width = max(map(len, rows))
        head, *body = [row + [""] * (width - len(row)) for row in rows]
        for cells in (head, ["---"] * width, *body):
            self._write_line(f"| {' | '.join(cells)} |")
