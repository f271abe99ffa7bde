"""Colours: the style of each role in each theme, on dark and light terminals, and without colours."""

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Final

import msgspec

from robota.clients.terminal.line import BOLD, DIM, GREEN, RED, Line
from robota.clients.terminal.width import columns_of
from robota.protocol.appearance import ThemeName
from robota.text.visible import visible, without_surrogates

TAB: Final = frozenset("\t")
TAB_WIDTH: Final = 4


class Background(Enum):
    """The background of the terminal."""

    DARK = auto()
    LIGHT = auto()


class Role(Enum):
    """The role of a piece of text. Colours come from the terminal's palette, which suits the user."""

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


Piece = tuple[str, Role]

WITHOUT_COLOURS: Final = {
    Role.DIM: "2",
    Role.BOLD: "1",
    Role.USER: "1",
    Role.ACTIVE: "1",
    Role.ERROR: "1",
    Role.CHOSEN: "7",
    Role.ADDED_WORDS: "4",
    Role.REMOVED_WORDS: "4",
}
DARK: Final = {
    **WITHOUT_COLOURS,
    Role.ACTIVE: "36",
    Role.SUCCESS: "32",
    Role.WARNING: "33",
    Role.ERROR: "31",
    Role.NAME: "35",
    Role.ADDED: "32",
    Role.REMOVED: "31",
    Role.ADDED_WORDS: "32;7",
    Role.REMOVED_WORDS: "31;7",
}
# In many terminals, dim text is unreadable on white.
LIGHT: Final = {**DARK, Role.DIM: "90", Role.ACTIVE: "34"}
# Nothing is dim, and colours are bright or bold.
CONTRAST_DARK: Final = {
    Role.BOLD: "1",
    Role.USER: "1",
    Role.ACTIVE: "96;1",
    Role.SUCCESS: "92;1",
    Role.WARNING: "93;1",
    Role.ERROR: "91;1",
    Role.NAME: "95;1",
    Role.CHOSEN: "1;7",
    Role.ADDED: "92",
    Role.REMOVED: "91",
    Role.ADDED_WORDS: "92;7",
    Role.REMOVED_WORDS: "91;7",
}
CONTRAST_LIGHT: Final = {
    **CONTRAST_DARK,
    Role.ACTIVE: "34;1",
    Role.SUCCESS: "32;1",
    Role.WARNING: "35;1",
    Role.ERROR: "31;1",
    Role.NAME: "34;1",
    Role.ADDED: "32;1",
    Role.REMOVED: "31;1",
    Role.ADDED_WORDS: "32;7",
    Role.REMOVED_WORDS: "31;7",
}
# Users who cannot distinguish red from green can distinguish blue from yellow. Errors are also underlined.
BLUE_AND_YELLOW: Final = {
    Role.SUCCESS: "94",
    Role.WARNING: "33",
    Role.ERROR: "33;1;4",
    Role.ADDED: "94",
    Role.REMOVED: "33",
    Role.ADDED_WORDS: "94;7",
    Role.REMOVED_WORDS: "33;7",
}
BLUE_AND_YELLOW_DARK: Final = {**DARK, **BLUE_AND_YELLOW}
BLUE_AND_YELLOW_LIGHT: Final = {
    **LIGHT,
    **BLUE_AND_YELLOW,
    Role.SUCCESS: "34",
    Role.ADDED: "34",
    Role.ADDED_WORDS: "34;7",
}


class Palette(msgspec.Struct, frozen=True, kw_only=True):
    """The style of each role, as SGR codes.

    `code_style` names the highlighting of code; `accent`, `added`, `removed` and `faint` the looks of Markdown.
    """

    codes: Mapping[Role, str]
    code_style: str = "ansi_dark"
    has_colours: bool = True
    accent: str = "cyan"
    added: str = "green"
    removed: str = "red"
    faint: str = "dim"


NO_COLOURS: Final = Palette(codes=WITHOUT_COLOURS, code_style="bw", has_colours=False)
ON_DARK: Final = Palette(codes=DARK)
ON_LIGHT: Final = Palette(codes=LIGHT, code_style="ansi_light", accent="blue", faint="bright_black")
PALETTES: Final = {
    ThemeName.AUTO: (ON_DARK, ON_LIGHT),
    ThemeName.DARK: (ON_DARK, ON_DARK),
    ThemeName.LIGHT: (ON_LIGHT, ON_LIGHT),
    ThemeName.HIGH_CONTRAST: (
        Palette(codes=CONTRAST_DARK, accent="bright_cyan", added="bright_green", removed="bright_red", faint=""),
        Palette(
            codes=CONTRAST_LIGHT,
            code_style="ansi_light",
            accent="bold blue",
            added="bold green",
            removed="bold red",
            faint="",
        ),
    ),
    ThemeName.COLOUR_BLIND: (
        Palette(codes=BLUE_AND_YELLOW_DARK, added="bright_blue", removed="yellow"),
        Palette(
            codes=BLUE_AND_YELLOW_LIGHT,
            code_style="ansi_light",
            accent="blue",
            added="blue",
            removed="yellow",
            faint="bright_black",
        ),
    ),
    ThemeName.NONE: (NO_COLOURS, NO_COLOURS),
}
# The colours that clients share, as what they mean.
SHARED_COLOURS: Final = {RED: Role.ERROR, GREEN: Role.SUCCESS, DIM: Role.DIM, BOLD: Role.BOLD}


class Theme:
    """Paints text. The palette may change: the terminal reports its background late, or the user changes the theme."""

    def __init__(self, palette: Palette) -> None:
        self.palette = palette

    @property
    def codes(self) -> Mapping[Role, str]:
        """The current style of each role."""
        return self.palette.codes

    @property
    def has_colours(self) -> bool:
        """Whether colours are used."""
        return self.palette.has_colours

    def paint(self, text: str, role: Role = Role.PLAIN) -> str:
        """The text in its colours. It cannot control the terminal: control characters are made visible."""
        shown = safe(text)
        code = self.codes.get(role)
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


def theme_for(env: Mapping[str, str], chosen: ThemeName = ThemeName.AUTO) -> Theme:
    """The theme at the start of a conversation."""
    return Theme(palette_for(env, chosen))


def palette_for(env: Mapping[str, str], chosen: ThemeName, background: Background | None = None) -> Palette:
    """The colours to use, from `NO_COLOR`, then `ROBOTA_THEME`, the chosen theme, and the background.

    The terminal's own report of its background precedes `COLORFGBG`, which may be inherited from another terminal.
    """
    name = theme_wanted(env, chosen)
    if env.get("NO_COLOR"):
        return NO_COLOURS
    guessed = Background.LIGHT if env.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15") else Background.DARK
    on_dark, on_light = PALETTES[name]
    return on_light if (background or guessed) is Background.LIGHT else on_dark


def theme_wanted(env: Mapping[str, str], chosen: ThemeName) -> ThemeName:
    """The theme in `ROBOTA_THEME`, else the chosen one."""
    wanted = env.get("ROBOTA_THEME", "")
    return ThemeName(wanted) if wanted in set(ThemeName) else chosen


def safe(text: str) -> str:
    """Text without control characters that a terminal would act on."""
    if text.isascii() and text.isprintable():
        return text
    return visible(without_surrogates(text), TAB).expandtabs(TAB_WIDTH)


def cut_columns(text: str, width: int) -> str:
    """The text cut to this width in columns, with `…` at its end if it was cut."""
    if columns_of(text) <= width:
        return text
    end, columns = 0, 1
    for character in text:
        columns += columns_of(character)
        if columns > width:
            break
        end += 1
    return f"{text[:end]}…" if width > 0 else ""
