"""Which colours are used: what a user said goes before what the terminal says."""

import pytest

from robota.clients.tui.palettes import NO_COLOURS, ON_DARK, ON_LIGHT, PALETTES, palette_for
from robota.clients.tui.screen.terminal_input import background_of
from robota.clients.tui.theme import Background, Palette, Role
from robota.protocol.appearance import ThemeName


@pytest.mark.parametrize(
    ("env", "chosen", "background", "palette"),
    [
        ({}, ThemeName.AUTO, None, ON_DARK),
        ({}, ThemeName.AUTO, Background.LIGHT, ON_LIGHT),
        ({"COLORFGBG": "0;15"}, ThemeName.AUTO, None, ON_LIGHT),
        ({"COLORFGBG": "0;15"}, ThemeName.AUTO, Background.DARK, ON_DARK),
        ({}, ThemeName.LIGHT, Background.DARK, ON_LIGHT),
        ({"ROBOTA_THEME": "dark"}, ThemeName.LIGHT, Background.LIGHT, ON_DARK),
        ({"ROBOTA_THEME": "nonsense"}, ThemeName.LIGHT, None, ON_LIGHT),
        ({"NO_COLOR": "1", "ROBOTA_THEME": "light"}, ThemeName.LIGHT, None, NO_COLOURS),
        ({}, ThemeName.NONE, Background.LIGHT, NO_COLOURS),
        ({}, ThemeName.HIGH_CONTRAST, Background.LIGHT, PALETTES[ThemeName.HIGH_CONTRAST][1]),
        ({"COLORFGBG": "15;0"}, ThemeName.COLOUR_BLIND, None, PALETTES[ThemeName.COLOUR_BLIND][0]),
        ({"ROBOTA_THEME": "colour-blind"}, ThemeName.AUTO, Background.LIGHT, PALETTES[ThemeName.COLOUR_BLIND][1]),
    ],
)
def test_colours(env: dict[str, str], chosen: ThemeName, background: Background | None, palette: Palette) -> None:
    assert palette_for(env, chosen, background) is palette


@pytest.mark.parametrize(
    ("colour", "background"),
    [
        ("rgb:ffff/ffff/ffff", Background.LIGHT),
        ("rgb:fd/f6/e3", Background.LIGHT),
        ("rgb:0000/2b2b/3636", Background.DARK),
        ("rgba:0000/0000/0000/ffff", Background.DARK),
        ("", None),
        ("blue", None),
    ],
)
def test_a_colour_is_light_or_dark(colour: str, background: Background | None) -> None:
    assert background_of(colour) is background


@pytest.mark.parametrize("palette", [each for pair in PALETTES.values() for each in pair])
def test_every_theme_needs_only_the_sixteen_colours_of_a_terminal(palette: Palette) -> None:
    codes = {int(code) for codes in palette.codes.values() for code in codes.split(";")}
    assert codes <= {1, 2, 4, 7, *range(31, 37), *range(90, 98)}


def test_what_is_told_by_red_and_green_is_told_otherwise_to_those_who_cannot_tell_them_apart() -> None:
    red_and_green = {"31", "32", "91", "92"}
    for palette in PALETTES[ThemeName.COLOUR_BLIND]:
        assert not red_and_green & {code for codes in palette.codes.values() for code in codes.split(";")}
        for good, bad in ((Role.SUCCESS, Role.ERROR), (Role.ADDED, Role.REMOVED), (Role.WARNING, Role.ERROR)):
            assert palette.codes[good] != palette.codes[bad]
    assert all(Role.DIM not in palette.codes for palette in PALETTES[ThemeName.HIGH_CONTRAST])
