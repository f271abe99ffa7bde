"""Blocks of Markdown as rows for a terminal, with rich: prose, lists, tables, highlighted code."""

import io
import re
from typing import ClassVar, Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, HorizontalRule, ListItem, Markdown, MarkdownElement
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme as RichTheme

from robota.clients.tui.markdown.blocks import MarkdownBlock
from robota.clients.tui.theme import Theme
from robota.text.visible import BIDI, CONTROL_CODES, LINES_AND_TABS, TAGS, without_surrogates

COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
SHOWN_CONTROLS: Final = {ord(each): f"‹U+{ord(each):04X}›" for each in (CONTROL_CODES | BIDI | TAGS) - LINES_AND_TABS}
STYLES: Final = RichTheme(
    {
        "markdown.code": "cyan",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.item.number": "cyan",
        "markdown.item.bullet": "cyan",
        "markdown.block_quote": "italic dim",
        "markdown.link": "underline",
        "markdown.link_url": "underline dim",
        "markdown.hr": "dim",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)

# The first that fits counts.
DIFF_STYLES: Final = {
    "+++": "dim",
    "---": "dim",
    "diff ": "dim",
    "index ": "dim",
    "@@": "cyan",
    "+": "green",
    "-": "red",
}


class LeftHeading(Heading):
    """A heading where reading begins, without a box around it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The text alone, at the left."""
        self.text.justify = "left"
        yield self.text


class FullRule(HorizontalRule):
    """A line across the screen."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The same line as around the input."""
        yield Rule(style="markdown.hr")


class NumberedItem(ListItem):
    """An item whose number has its dot, so that it reads like what was written."""

    def render_number(self, console: Console, options: ConsoleOptions, number: int, last_number: int) -> RenderResult:
        """The number, and the text beside it."""
        width = len(str(last_number)) + 2
        style = console.get_style("markdown.item.number", default="none")
        lines = console.render_lines(self.elements, options.update(width=options.max_width - width), style=self.style)
        for place, line in enumerate(lines):
            yield Segment(f"{number}. ".rjust(width) if place == 0 else " " * width, style)
            yield from line
            yield Segment("\n")


class PlainCode(CodeBlock):
    """Code without margins, so that it can be copied; long lines are broken."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The highlighted code, a little to the right."""
        code = str(self.text).rstrip()
        if self.lexer_name == "diff":
            yield Padding(_coloured_diff(code), (0, 0, 0, 2))
            return
        syntax = Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, background_color="default")
        yield Padding(syntax, (0, 0, 0, 2))


def _coloured_diff(code: str) -> Text:
    """A diff as a person reads it: what was removed, what was added, where, and the rest of it."""
    text = Text(overflow="fold")
    for number, line in enumerate(code.split("\n")):
        style = next((style for sign, style in DIFF_STYLES.items() if line.startswith(sign)), "")
        text.append("\n" if number else "").append(line, style)
    return text


class AnswerMarkdown(Markdown):
    """Markdown in our looks."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": LeftHeading,
        "fence": PlainCode,
        "code_block": PlainCode,
        "hr": FullRule,
        "list_item_open": NumberedItem,
    }


class MarkdownRenderer:
    """Draws one block at a time."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme

    def rows(self, block: MarkdownBlock, width: int, *, has_links: bool = True) -> list[str]:
        """The rows of a block, and an empty one before it if it has a gap. Control characters are made visible."""
        text = without_surrogates(block.text).translate(SHOWN_CONTROLS)
        markdown = AnswerMarkdown(text, code_theme=self._theme.palette.code_style, hyperlinks=has_links)
        drawn = self._drawn(markdown, width)
        return ["", *drawn] if block.has_gap else drawn

    def _drawn(self, content: Markdown, width: int) -> list[str]:
        console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system="standard" if self._theme.has_colours else None,
            no_color=not self._theme.has_colours,
            width=max(width, 4),
            legacy_windows=False,
            theme=STYLES,
            emoji=False,
            markup=False,
            highlight=False,
        )
        with console.capture() as capture:
            console.print(content)
        lines = [line.rstrip(" ") for line in capture.get().split("\n")]
        written = [place for place, line in enumerate(lines) if COLOURS.sub("", line).strip()]
        return lines[written[0] : written[-1] + 1] if written else []
