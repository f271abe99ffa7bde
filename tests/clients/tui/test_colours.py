"""Colours for terminals with many, few and none; all of them can be read."""

import pytest

from robota.clients.tui.colours import ColourDepth, Shade, Style, StyleProblem, depth_of, sgr, style_of
from robota.clients.tui.palettes import MANY, palette_for
from robota.clients.tui.theme import Background, Role
from robota.protocol.appearance import ThemeName

GREEN = style_of("bold #7ee787 on #12301d|22")
ROWS = (Role.PLAIN, Role.USER_ROW, Role.ADDED_ROW, Role.REMOVED_ROW, Role.ADDED_WORDS, Role.REMOVED_WORDS)
CODE = (Role.PLAIN, Role.KEYWORD, Role.STRING, Role.NUMBER, Role.COMMENT, Role.FUNCTION, Role.TYPE)
TEXTS = (Role.DIM, Role.ACTIVE, Role.SUCCESS, Role.WARNING, Role.ERROR, Role.NAME, Role.ADDED, Role.REMOVED)
# Text and background of usual terminals.
TERMINALS = {Background.DARK: ((215, 218, 224), (30, 30, 36)), Background.LIGHT: ((36, 41, 46), (253, 253, 251))}
READABLE = 4.0


@pytest.mark.parametrize(
    ("env", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, ColourDepth.TRUE),
        ({"TERM": "xterm-direct"}, ColourDepth.TRUE),
        ({"TERM": "screen-256color"}, ColourDepth.MANY),
        ({"TERM": "xterm"}, ColourDepth.SIXTEEN),
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, ColourDepth.NONE),
        ({"TERM": "xterm-256color", "COLORTERM": "24bit", "NO_COLOR": "1"}, ColourDepth.NONE),
    ],
)
def test_how_many_colours_there_are(env: dict[str, str], depth: ColourDepth) -> None:
    assert depth_of(env) is depth


def test_a_style_becomes_the_codes_of_the_terminal() -> None:
    assert isinstance(GREEN, Style)
    assert sgr(GREEN, ColourDepth.TRUE) == "1;38;2;126;231;135;48;2;18;48;29"
    assert sgr(GREEN, ColourDepth.MANY) == "1;38;5;114;48;5;22"
    assert sgr(GREEN, ColourDepth.SIXTEEN) == "1;92"
    assert sgr(GREEN, ColourDepth.NONE) == "1"
    assert isinstance(named := style_of("underline bright-blue"), Style)
    assert sgr(named, ColourDepth.TRUE) == "4;94"
    assert isinstance(style_of("bold #12"), StyleProblem) and isinstance(style_of("#112233|300"), StyleProblem)


@pytest.mark.parametrize("background", Background)
@pytest.mark.parametrize("name", MANY)
def test_every_text_can_be_read_on_every_row(name: ThemeName, background: Background) -> None:
    is_light = name is ThemeName.LIGHT or (name is not ThemeName.DARK and background is Background.LIGHT)
    styles = {role: style_of(words) for role, words in MANY[name][background is Background.LIGHT].items()}
    text, paper = TERMINALS[Background.LIGHT if is_light else Background.DARK]
    shades = {role: style for role, style in styles.items() if isinstance(style, Style)}
    for row in ROWS:
        behind = _rgb(shades[row].background, paper) if row in shades else paper
        for role in (*CODE, *(TEXTS if row is Role.PLAIN else ())):
            colour = _rgb(shades[role].text, text) if role in shades else text
            assert _contrast(colour, behind) >= READABLE, (name, background, row, role, _contrast(colour, behind))


def test_many_colours_are_used_only_where_there_are_some() -> None:
    few = palette_for({"TERM": "xterm"}, ThemeName.AUTO)
    many = palette_for({"TERM": "xterm-256color"}, ThemeName.AUTO)
    assert Role.ADDED_ROW in many.codes and Role.ADDED_ROW not in few.codes
    assert palette_for({"TERM": "xterm-256color"}, ThemeName.TERMINAL) == few


def _rgb(shade: Shade | None, otherwise: tuple[int, int, int]) -> tuple[int, int, int]:
    return otherwise if shade is None else (shade.red, shade.green, shade.blue)


def _contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: tuple[int, int, int]) -> float:
    red, green, blue = (
        part / 255 / 12.92 if part / 255 <= 0.04045 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
