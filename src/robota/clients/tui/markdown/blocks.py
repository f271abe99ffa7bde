"""Split a stream of Markdown into blocks as each is completed. Pure; the cost of a piece depends only on its length."""

import re
from enum import Enum, auto
from typing import Final

import msgspec
from msgspec.structs import replace

FENCE: Final = r" {0,12}(`{3,}|~{3,})(.*)"
HEADING: Final = r" {0,3}#{1,6}(\s|$)"
RULE: Final = r" {0,3}([-*_])[ \t]*(\1[ \t]*){2,}$"
UNDERLINE: Final = r" {0,3}(-+|=+)[ \t]*$"  # turns the paragraph above it into a heading
LIST_ITEM: Final = r" ?([-*+]|\d{1,9}[.)])(\s|$)"
# Longer blocks are drawn in parts, so that the part that is redrawn stays small.
MAX_CODE_LINES: Final = 30
MAX_TEXT_LENGTH: Final = 1500


class BlockKind(Enum):
    """The kinds of blocks that end differently."""

    TEXT = auto()
    ITEM = auto()
    CODE = auto()
    TABLE = auto()


class MarkdownBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of Markdown that can be drawn by itself.

    `has_gap`: an empty line comes before it. `is_cut`: its paragraph continues in the next block.
    """

    text: str
    kind: BlockKind
    has_gap: bool = False
    is_cut: bool = False


class BlockStream:
    """Splits a text that is still arriving."""

    def __init__(self) -> None:
        self._partial = ""  # the line that has not ended
        self._lines: list[str] = []  # of the block that has not ended
        self._kind = BlockKind.TEXT
        self._fence = ""  # inside a code block: the fence that closes it
        self._opening = ""  # the line that opened it
        self._gap = False  # an empty line has come since the block before
        self._blank = False  # there was an empty line inside a list item
        self._done: list[MarkdownBlock] = []
        self._is_first = True

    def feed(self, text: str) -> list[MarkdownBlock]:
        """The blocks that this text completes."""
        *lines, self._partial = (self._partial + text.replace("\r", "")).split("\n")
        for line in lines:
            self._take(line)
        if len(self._partial) > MAX_TEXT_LENGTH and not self._fence and self._kind is not BlockKind.TABLE:
            self._cut_partial()
        return self._given()

    def finish(self) -> list[MarkdownBlock]:
        """End the text; returns the remaining blocks."""
        if self._partial:
            self._take(self._partial)
        self._partial = ""
        self._end_block()
        return self._given()

    @property
    def tail(self) -> MarkdownBlock | None:
        """The unfinished block; None if there is none."""
        # A dash may become a list item, an underline or a rule: it is drawn when its line has ended.
        is_open = bool(self._partial) and not (self._is_paragraph and re.match(UNDERLINE, self._partial))
        text = "\n".join([*self._lines, self._partial] if is_open else self._lines)
        if not text.strip():
            return None
        kind = BlockKind.TABLE if not self._lines and self._partial.startswith("|") else self._kind
        return MarkdownBlock(text=text, kind=kind, has_gap=self._needs_gap(text))

    @property
    def _is_paragraph(self) -> bool:
        return bool(self._lines) and self._kind is BlockKind.TEXT

    def _take(self, line: str) -> None:
        if self._fence:
            self._take_code(line)
        elif not line.strip():
            self._take_blank()
        else:
            self._take_text(line)

    def _take_code(self, line: str) -> None:
        self._lines.append(line)
        if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
            self._fence = ""
            if self._kind is BlockKind.CODE:
                self._end_block()
        elif self._kind is BlockKind.CODE and len(self._lines) > MAX_CODE_LINES and not line.strip():
            fence = self._fence
            self._lines[-1] = fence
            self._end_block()
            self._lines, self._kind, self._fence = [self._opening], BlockKind.CODE, fence
            self._gap = True  # the empty line that it was cut at

    def _take_blank(self) -> None:
        if self._kind is BlockKind.ITEM and self._lines:
            self._blank = True
        else:
            self._end_block()
            self._gap = True

    def _take_text(self, line: str) -> None:
        if self._blank:
            self._blank = False
            if line.startswith("  "):
                self._lines.append("")  # a further paragraph of the same item
            else:
                self._end_block()
                self._gap = True
        fence = re.match(FENCE, line)
        if fence is not None:
            self._open_code(line, fence[1])
        elif self._is_paragraph and re.match(UNDERLINE, line):
            self._lines.append(line)
            self._end_block()
        elif re.match(HEADING, line) or re.match(RULE, line):
            self._end_block()
            self._lines.append(line)
            self._end_block()
        else:
            self._add(line)

    def _open_code(self, line: str, fence: str) -> None:
        is_inside_item = self._kind is BlockKind.ITEM and line.startswith("  ") and bool(self._lines)
        if not is_inside_item:
            self._end_block()
            self._kind, self._opening = BlockKind.CODE, line
        self._fence = fence
        self._lines.append(line)

    def _add(self, line: str) -> None:
        if re.match(LIST_ITEM, line):
            self._end_block()
            self._kind = BlockKind.ITEM
        elif not self._lines:
            self._kind = BlockKind.TABLE if line.lstrip().startswith("|") else BlockKind.TEXT
        self._lines.append(line)
        if self._kind is BlockKind.TEXT and sum(map(len, self._lines)) > MAX_TEXT_LENGTH:
            self._end_block()

    def _cut_partial(self) -> None:
        head, _, rest = self._partial.rpartition(" ")
        self._lines.append(head or self._partial)
        self._partial = rest if head else ""
        is_paragraph = self._kind is BlockKind.TEXT
        self._end_block()
        if is_paragraph and head:
            self._done[-1] = replace(self._done[-1], is_cut=True)

    def take_back(self, words: str) -> None:
        """Let the next block begin with these words, the last ones of a block that was cut."""
        self._partial = f"{words} {self._partial}"

    def _needs_gap(self, text: str) -> bool:
        return not self._is_first and (self._gap or bool(re.match(HEADING, text)))

    def _end_block(self) -> None:
        text = "\n".join(self._lines)
        if text.strip():
            self._done.append(MarkdownBlock(text=text, kind=self._kind, has_gap=self._needs_gap(text)))
            self._is_first, self._gap = False, False
        self._lines, self._kind, self._fence, self._blank = [], BlockKind.TEXT, "", False

    def _given(self) -> list[MarkdownBlock]:
        done, self._done = self._done, []
        return done
