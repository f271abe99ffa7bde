"""The built-in themes: the style of each role, on dark and light backgrounds, with many colours, few and none."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from robota.clients.tui.colours import ColourDepth, Style, StyleProblem, depth_of, sgr, style_of
from robota.clients.tui.glyphs import glyphs_for
from robota.clients.tui.theme import Background, Palette, Role, Theme
from robota.protocol.appearance import ThemeName

if TYPE_CHECKING:
    from robota.clients.tui.personal.own_theme import OwnTheme, OwnThemes

# Few colours: those of the terminal's palette, which suits the user.
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


# Many colours. The number after `|` is that of the nearest among 256 colours which is still a tint.
MANY_DARK: Final = {
    Role.DIM: "#8b929e",
    Role.BOLD: "bold",
    Role.USER: "bold",
    Role.ACTIVE: "#4fc1d9",
    Role.SUCCESS: "#7ee787",
    Role.WARNING: "#e3b341",
    Role.ERROR: "#ff7b72",
    Role.NAME: "#d2a8ff",
    Role.CHOSEN: "bold #ffffff on #264f78|24",
    Role.ADDED: "#7ee787",
    Role.REMOVED: "#ff7b72",
    Role.ADDED_WORDS: "on #17552e|28",
    Role.REMOVED_WORDS: "on #7a2229|88",
    Role.USER_ROW: "on #2b303b|236",
    Role.ADDED_ROW: "on #12301d|22",
    Role.REMOVED_ROW: "on #3d1619|52",
    Role.KEYWORD: "#d3b6ff",
    Role.STRING: "#e8c483",
    Role.NUMBER: "#ffb184",
    Role.COMMENT: "#b4bdc9",
    Role.FUNCTION: "#9cc3ff",
    Role.TYPE: "#7bdcee",
}
MANY_LIGHT: Final = {
    **MANY_DARK,
    Role.DIM: "#656d76",
    Role.ACTIVE: "#0969da",
    Role.SUCCESS: "#1a7f37",
    Role.WARNING: "#8a5a00",
    Role.ERROR: "#cf222e",
    Role.NAME: "#8250df",
    Role.CHOSEN: "bold #0a3069 on #b6dcff|153",
    Role.ADDED: "#1a7f37",
    Role.REMOVED: "#cf222e",
    Role.ADDED_WORDS: "on #aeecbb|157",
    Role.REMOVED_WORDS: "on #ffc9c4|217",
    Role.USER_ROW: "on #e6eaef|254",
    Role.ADDED_ROW: "on #d8f8df|194",
    Role.REMOVED_ROW: "on #ffe5e2|224",
    Role.KEYWORD: "#6a33c9",
    Role.STRING: "#0a3069",
    Role.NUMBER: "#953800",
    Role.COMMENT: "#4a535d",
    Role.FUNCTION: "#0550ae",
    Role.TYPE: "#116329",
}
MANY_BLUE_AND_YELLOW: Final = {
    Role.SUCCESS: "#6cb6ff",
    Role.ERROR: "bold underline #f5c451",
    Role.ADDED: "#6cb6ff",
    Role.REMOVED: "#f5c451",
    Role.ADDED_WORDS: "on #1a4a85|25",
    Role.REMOVED_WORDS: "on #664a00|94",
    Role.ADDED_ROW: "on #10263f|17",
    Role.REMOVED_ROW: "on #3a2c08|58",
    Role.STRING: "#d7c3f0",
}
MANY_BLUE_AND_YELLOW_LIGHT: Final = {
    Role.SUCCESS: "#0550ae",
    Role.ERROR: "bold underline #7a4d00",
    Role.ADDED: "#0550ae",
    Role.REMOVED: "#7a4d00",
    Role.ADDED_WORDS: "on #b5d8ff|153",
    Role.REMOVED_WORDS: "on #ffe08a|222",
    Role.ADDED_ROW: "on #ddeeff|189",
    Role.REMOVED_ROW: "on #fff3c4|230",
    Role.STRING: "#4f3480",
    Role.TYPE: "#0a3069",
}

NO_COLOURS: Final = Palette(codes=WITHOUT_COLOURS, code_style="bw", depth=ColourDepth.NONE)
ON_DARK: Final = Palette(codes=DARK)
ON_LIGHT: Final = Palette(codes=LIGHT, code_style="ansi_light", accent="blue", faint="bright_black")
# The palette on a dark and on a light background.
PALETTES: Final = {
    ThemeName.AUTO: (ON_DARK, ON_LIGHT),
    ThemeName.DARK: (ON_DARK, ON_DARK),
    ThemeName.LIGHT: (ON_LIGHT, ON_LIGHT),
    ThemeName.TERMINAL: (ON_DARK, ON_LIGHT),
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
# The same with many colours. Themes that are not here use the colours of the terminal everywhere.
MANY: Final = {
    ThemeName.AUTO: (MANY_DARK, MANY_LIGHT),
    ThemeName.DARK: (MANY_DARK, MANY_DARK),
    ThemeName.LIGHT: (MANY_LIGHT, MANY_LIGHT),
    ThemeName.COLOUR_BLIND: ({**MANY_DARK, **MANY_BLUE_AND_YELLOW}, {**MANY_LIGHT, **MANY_BLUE_AND_YELLOW_LIGHT}),
}


def no_own_themes(name: str) -> "OwnTheme | None":
    """For a place that knows only the built-in themes."""
    return None


def theme_for(env: Mapping[str, str], chosen: str = ThemeName.AUTO, own_themes: "OwnThemes" = no_own_themes) -> Theme:
    """The theme at the start of a conversation."""
    return Theme(palette_for(env, chosen, own_themes=own_themes), glyphs_for(env))


def palette_for(
    env: Mapping[str, str], chosen: str, background: Background | None = None, own_themes: "OwnThemes" = no_own_themes
) -> Palette:
    """The colours to use, from `NO_COLOR`, then `ROBOTA_THEME`, the chosen theme, and the background.

    The terminal's own report of its background precedes `COLORFGBG`, which may be inherited from another terminal.
    """
    depth = depth_of(env)
    if depth is ColourDepth.NONE:
        return NO_COLOURS
    guessed = Background.LIGHT if env.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15") else Background.DARK
    is_light = (background or guessed) is Background.LIGHT
    name = theme_wanted(env, chosen, own_themes)
    if name in set(ThemeName):
        return _built_in(ThemeName(name), depth, is_light=is_light)
    own = own_themes(name)
    if own is None:
        return _built_in(ThemeName.AUTO, depth, is_light=is_light)
    from robota.clients.tui.personal.own_theme import with_own_colours

    is_light = own.base is ThemeName.LIGHT or (own.base is not ThemeName.DARK and is_light)
    return with_own_colours(_built_in(own.base, depth, is_light=is_light), own, depth, is_light=is_light)


def theme_wanted(env: Mapping[str, str], chosen: str, own_themes: "OwnThemes" = no_own_themes) -> str:
    """The theme in `ROBOTA_THEME` if there is one of that name, else the chosen one."""
    name = env.get("ROBOTA_THEME", "")
    return name if name in set(ThemeName) or (name and own_themes(name) is not None) else chosen


def _built_in(name: ThemeName, depth: ColourDepth, *, is_light: bool) -> Palette:
    few = PALETTES[name][is_light]
    return many_colours(MANY[name][is_light], depth, few) if name in MANY and depth > ColourDepth.SIXTEEN else few


def many_colours(styles: Mapping[Role, str], depth: ColourDepth, few: Palette) -> Palette:
    """A palette from descriptions of styles; `few` is what it is derived from."""
    read = {role: style_of(words) for role, words in styles.items()}
    codes = {role: sgr(style, depth) for role, style in read.items() if isinstance(style, Style)}
    return msgspec.structs.replace(
        few,
        codes={role: code for role, code in codes.items() if code},
        depth=depth,
        accent=_colour(read[Role.ACTIVE], few.accent),
        added=_colour(read[Role.ADDED], few.added),
        removed=_colour(read[Role.REMOVED], few.removed),
        faint=_colour(read[Role.DIM], few.faint),
    )


def _colour(style: Style | StyleProblem, otherwise: str) -> str:
    """The colour of the text in the notation of Markdown styles."""
    shade = style.text if isinstance(style, Style) else None
    return otherwise if shade is None else f"#{shade.red:02x}{shade.green:02x}{shade.blue:02x}"
