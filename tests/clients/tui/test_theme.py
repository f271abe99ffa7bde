"""Which colours are used: what a person said goes before what the terminal says."""

import pytest

from robota.clients.tui.screen.terminal_input import background_of
from robota.clients.tui.theme import NO_COLOURS, ON_DARK, ON_LIGHT, Background, Palette, palette_for
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
