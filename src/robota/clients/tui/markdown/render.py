"""Blocks of Markdown as rows for a terminal, with rich: prose, lists, tables, highlighted code."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import ClassVar, Final, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments.token import _TokenType
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import CodeBlock, Heading, HorizontalRule, ListItem, Markdown, MarkdownElement, TableDataElement
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.syntax import RICH_SYNTAX_THEMES, ANSISyntaxTheme, Syntax, SyntaxTheme
from rich.text import Text
from rich.theme import Theme as RichTheme

from robota.clients.tui.colours import ColourDepth
from robota.clients.tui.file_links import FileAddress, no_links, with_file_links
from robota.clients.tui.glyphs import SYMBOLS
from robota.clients.tui.markdown.blocks import MarkdownBlock
from robota.clients.tui.markdown.code_colours import TOKEN_ROLES, role_of
from robota.clients.tui.painted_rows import plain
from robota.clients.tui.theme import Role, Theme
from robota.text.visible import BIDI, CONTROL_CODES, LINES_AND_TABS, TAGS, without_surrogates

SHOWN_CONTROLS: Final = {ord(each): f"‹U+{ord(each):04X}›" for each in (CONTROL_CODES | BIDI | TAGS) - LINES_AND_TABS}
WEB: Final = re.compile(r"https?://|mailto:")
STYLES: Final = {
    "markdown.h1": "bold underline",
    "markdown.h2": "bold underline",
    "markdown.h3": "bold",
    "markdown.link": "underline",
    "markdown.table.header": "bold",
}
# The style of less important text: dim, grey or plain, depending on the theme.
FAINT: Final = {
    "faint": "",
    "markdown.block_quote": "italic ",
    "markdown.link_url": "underline ",
    "markdown.hr": "",
    "markdown.table.border": "",
}
EXACT_OR_NUMBERED: Final = r"38;(?:2;(?P<rgb>\d+;\d+;\d+)|5;(?P<number>\d+))$"
COLOUR_SYSTEMS: Final[Mapping[ColourDepth, Literal["standard", "256", "truecolor"] | None]] = {
    ColourDepth.NONE: None,
    ColourDepth.SIXTEEN: "standard",
    ColourDepth.MANY: "256",
    ColourDepth.TRUE: "truecolor",
}
ACCENTED: Final = ("markdown.code", "markdown.item.number", "markdown.item.bullet", "diff.place")

TASK: Final = r"\[(?P<mark>[ xX])\] (?=\S)"
BOXES: Final = (SYMBOLS.done, SYMBOLS.open)
# The first match counts.
DIFF_STYLES: Final = {
    "+++": "faint",
    "---": "faint",
    "diff ": "faint",
    "index ": "faint",
    "@@": "diff.place",
    "+": "diff.added",
    "-": "diff.removed",
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
    """A list item whose number keeps its dot, as in the source."""

    def render_number(self, console: Console, options: ConsoleOptions, number: int, last_number: int) -> RenderResult:
        """The number, followed by the text."""
        width = len(str(last_number)) + 2
        style = console.get_style("markdown.item.number", default="none")
        lines = console.render_lines(self.elements, options.update(width=options.max_width - width), style=self.style)
        for index, line in enumerate(lines):
            yield Segment(f"{number}. ".rjust(width) if index == 0 else " " * width, style)
            yield from line
            yield Segment("\n")

    def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The bullet, followed by the text; a task has a box, and needs no bullet."""
        text = getattr(self.elements._renderables[0] if self.elements else None, "text", None)
        is_task = isinstance(text, Text) and text.plain.startswith(BOXES)
        bullet = " " if is_task else " • "
        style = console.get_style("markdown.item.bullet", default="none")
        room = options.update(width=options.max_width - len(bullet))
        for index, line in enumerate(console.render_lines(self.elements, room, style=self.style)):
            yield Segment(bullet if index == 0 else " " * len(bullet), style)
            yield from line
            yield Segment("\n")


class WholeCell(TableDataElement):
    """A cell of a table; a word that is wider than its column is broken, not cut off."""

    def __init__(self, justify: JustifyMethod) -> None:
        super().__init__(justify)
        self.content.overflow = "fold"


class PlainCode(CodeBlock):
    """Code without margins, so that it can be copied; long lines are broken."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The highlighted code, slightly indented."""
        code = str(self.text).rstrip()
        if self.lexer_name == "diff":
            yield Padding(_coloured_diff(code), (0, 0, 0, 2))
            return
        theme = _code_theme(self.theme, console)
        syntax = Syntax(code, self.lexer_name, theme=theme, word_wrap=True, background_color="default")
        yield Padding(syntax, (0, 0, 0, 2))


class RoleSyntax(SyntaxTheme):
    """The highlighting of code in the colours of the palette, the same as in diffs."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def get_style_for_token(self, token_type: _TokenType) -> Style:
        """The style of a token."""
        role = role_of(token_type)
        return Style.null() if role is Role.PLAIN else self._console.get_style(f"code.{role.name}", default="")

    def get_background_style(self) -> Style:
        """The background of the terminal."""
        return Style.null()


def _code_theme(name: str, console: Console) -> SyntaxTheme:
    """The highlighting of the palette, or of that name. It dims comments, which not every theme wants."""
    if console.get_style(f"code.{Role.KEYWORD.name}", default="").color is not None:
        return RoleSyntax(console)
    faint = console.get_style("faint")
    styles = RICH_SYNTAX_THEMES.get(name)
    if styles is None:
        return Syntax.get_theme(name)
    return ANSISyntaxTheme({token: faint if style.dim else style for token, style in styles.items()})


def _coloured_diff(code: str) -> Text:
    """A diff with colours for removed lines, added lines and headers."""
    text = Text(overflow="fold")
    for number, line in enumerate(code.split("\n")):
        style = next((style for sign, style in DIFF_STYLES.items() if line.startswith(sign)), "")
        text.append("\n" if number else "").append(line, style)
    return text


class AnswerMarkdown(Markdown):
    """Markdown in our style. Links lead to web addresses and existing files, and always show their target."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": LeftHeading,
        "fence": PlainCode,
        "code_block": PlainCode,
        "hr": FullRule,
        "list_item_open": NumberedItem,
        "th_open": WholeCell,
        "td_open": WholeCell,
    }

    def __init__(self, text: str, theme: Theme, file_address: FileAddress, *, has_links: bool) -> None:
        super().__init__("", code_theme=theme.palette.code_style, hyperlinks=has_links)
        self.parsed = _parser().parse(text)
        for token in self.parsed:
            if token.children is None:
                continue
            kinds = {child.type for child in token.children}
            if theme.glyphs is SYMBOLS and (task := re.match(TASK, token.content)) is not None:
                _put_box(token.children[0], task)
            if "image" in kinds:
                token.children = list(map(_image_as_text, token.children))
            if has_links and "link_open" in kinds:
                token.children = list(_honest_links(token.children, file_address))


@cache
def _parser() -> MarkdownIt:
    """Parses what a terminal can show. HTML stays text (`List<String>` would be HTML), and so do link definitions."""
    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("reference")


def _put_box(token: Token, task: re.Match[str]) -> None:
    """Draw `[x]` at the beginning of an item as a box."""
    box = SYMBOLS.open if task["mark"] == " " else SYMBOLS.done
    token.content = f"{box} {token.content[task.end() :]}"


def _image_as_text(token: Token) -> Token:
    if token.type != "image":
        return token
    address = str(token.attrs.get("src", ""))
    return Token("text", "", 0, content=f"{token.content} ({address})" if token.content else address)


def _honest_links(tokens: Sequence[Token], file_address: FileAddress) -> Iterator[Token]:
    """The same text, with the address added after each link whose text is different."""
    address, words = "", ""
    for token in tokens:
        if token.type == "link_open":
            address, words = str(token.attrs.get("href", "")), ""
            file = None if WEB.match(address) else file_address(address)
            if file is not None or WEB.match(address):
                yield Token("link_open", "a", 1, attrs={"href": file or address})
        elif token.type == "link_close":
            file = None if WEB.match(address) else file_address(address)
            if file is not None or WEB.match(address):
                yield token
            if words not in (address, address.removeprefix("mailto:")):
                yield Token("text", "", 0, content=f" ({address})")
        else:
            words += token.content
            yield token


@cache
def _styles(accent: str, added: str, removed: str, faint: str, code: tuple[tuple[str, str], ...]) -> RichTheme:
    faintly = {name: (style + faint).strip() for name, style in FAINT.items()}
    accented = dict.fromkeys(ACCENTED, accent)
    return RichTheme({**STYLES, **faintly, **accented, "diff.added": added, "diff.removed": removed, **dict(code)})


def _code_styles(theme: Theme) -> tuple[tuple[str, str], ...]:
    """The colours of code, by the names that `RoleSyntax` looks for."""
    codes = {role: re.match(EXACT_OR_NUMBERED, theme.codes.get(role, "")) for role in set(TOKEN_ROLES.values())}
    styles = ((role, code) for role, code in codes.items() if code is not None)
    return tuple(
        (f"code.{role.name}", f"color({code['number']})" if code["number"] else f"rgb({code['rgb'].replace(';', ',')})")
        for role, code in sorted(styles, key=lambda each: each[0].name)
    )


class MarkdownRenderer:
    """Draws one block at a time."""

    def __init__(self, theme: Theme, file_address: FileAddress = no_links) -> None:
        self._theme = theme
        self._file_address = file_address

    def rows(self, block: MarkdownBlock, width: int) -> list[str]:
        """The rows of a block, and an empty one before it if it has a gap. Control characters are made visible."""
        return [with_file_links(row, self._file_address) for row in self._block(block, width, has_links=True)]

    def tail_rows(self, block: MarkdownBlock, width: int) -> list[str]:
        """The rows of a block that may still change; they have no links."""
        return self._block(block, width, has_links=False)

    def _block(self, block: MarkdownBlock, width: int, *, has_links: bool) -> list[str]:
        text = without_surrogates(block.text).translate(SHOWN_CONTROLS)
        markdown = AnswerMarkdown(text, self._theme, self._file_address, has_links=has_links)
        drawn = self._drawn(markdown, width)
        return ["", *drawn] if block.has_gap else drawn

    def _drawn(self, content: Markdown, width: int) -> list[str]:
        palette = self._theme.palette
        console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system=COLOUR_SYSTEMS[palette.depth],
            no_color=palette.depth is ColourDepth.NONE,
            width=max(width, 4),
            legacy_windows=False,
            theme=_styles(palette.accent, palette.added, palette.removed, palette.faint, _code_styles(self._theme)),
            emoji=False,
            markup=False,
            highlight=False,
        )
        with console.capture() as capture:
            console.print(content)
        lines = [line.rstrip(" ") for line in capture.get().split("\n")]
        written = [index for index, line in enumerate(lines) if plain(line).strip()]
        return lines[written[0] : written[-1] + 1] if written else []
