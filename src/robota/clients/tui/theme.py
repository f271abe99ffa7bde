"""Paint text: the roles of texts, their style in a palette, and rows that fit the screen."""

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Final

import msgspec

from robota.clients.terminal.line import BOLD, DIM, GREEN, RED, Line
from robota.clients.terminal.width import columns_of, cut_columns
from robota.clients.tui.colours import ColourDepth
from robota.clients.tui.glyphs import SYMBOLS, Glyphs
from robota.text.visible import visible, without_surrogates

TAB: Final = frozenset("\t")
TAB_WIDTH: Final = 4


class Background(Enum):
    """The background of the terminal."""

    DARK = auto()
    LIGHT = auto()


class Role(Enum):
    """The role of a piece of text."""

    PLAIN = auto()
    DIM = auto()
    BOLD = auto()
    USER = auto()  # text of the user
    ACTIVE = auto()  # something that is running
    SUCCESS = auto()
    WARNING = auto()  # also decisions of the user
    ERROR = auto()
    NAME = auto()  # of the session
    CHOSEN = auto()  # the row that Enter takes
    ADDED = auto()
    REMOVED = auto()
    ADDED_WORDS = auto()
    REMOVED_WORDS = auto()
    # Backgrounds of whole rows. In a palette without them, rows differ by the colour of their text.
    USER_ROW = auto()
    ADDED_ROW = auto()
    REMOVED_ROW = auto()
    # Code.
    KEYWORD = auto()
    STRING = auto()
    NUMBER = auto()
    COMMENT = auto()
    FUNCTION = auto()
    TYPE = auto()


Piece = tuple[str, Role]


class Palette(msgspec.Struct, frozen=True, kw_only=True):
    """The style of each role, as SGR codes.

    `code_style` names the highlighting of code where the palette has no colours for it; `accent`, `added`, `removed`
    and `faint` are the looks of Markdown.
    """

    codes: Mapping[Role, str]
    depth: ColourDepth = ColourDepth.SIXTEEN
    code_style: str = "ansi_dark"
    accent: str = "cyan"
    added: str = "green"
    removed: str = "red"
    faint: str = "dim"


# The colours that clients share, as what they mean.
SHARED_COLOURS: Final = {RED: Role.ERROR, GREEN: Role.SUCCESS, DIM: Role.DIM, BOLD: Role.BOLD}


class Theme:
    """Paints text. The palette may change: the terminal reports its background late, or the user changes the theme."""

    def __init__(self, palette: Palette, glyphs: Glyphs = SYMBOLS) -> None:
        self.palette = palette
        self.glyphs = glyphs

    @property
    def codes(self) -> Mapping[Role, str]:
        """The current style of each role."""
        return self.palette.codes

    @property
    def has_colours(self) -> bool:
        """Whether colours are used."""
        return self.palette.depth > ColourDepth.NONE

    @property
    def has_tints(self) -> bool:
        """Whether rows can have a background, on which code has its colours."""
        return Role.ADDED_ROW in self.codes

    def paint(self, text: str, role: Role = Role.PLAIN, on: Role = Role.PLAIN) -> str:
        """The text in its colours. It cannot control the terminal: control characters are made visible.

        `on` is the role of the whole row, whose background is behind the text.
        """
        shown = safe(text)
        code, behind = self.codes.get(role, ""), self.codes.get(on, "")
        if behind:
            code = f"{behind};{code}" if code else behind
        return f"\x1b[{code}m{shown}\x1b[0m" if code and shown else shown

    def row(self, pieces: Iterable[Piece], width: int) -> str:
        """One row of the screen, cut with `…` if it does not fit."""
        painted, left = "", width
        for text, role in pieces:
            shown = cut_columns(safe(text), left)
            painted += self.paint(shown, role)
            left -= columns_of(shown)
            if left <= 0:
                break
        return painted

    def line(self, line: Line) -> str:
        """A line that clients share."""
        shown = safe(line.text)
        role = SHARED_COLOURS.get(line.colour or "")
        if role is not None and (self.has_colours or line.colour in (BOLD, DIM)):
            return self.paint(line.text, role)
        return f"\x1b[{line.colour}m{shown}\x1b[0m" if line.colour and self.has_colours and shown else shown


def safe(text: str) -> str:
    """Text without control characters that a terminal would act on."""
    if text.isascii() and text.isprintable():
        return text
    return visible(without_surrogates(text), TAB).expandtabs(TAB_WIDTH)
