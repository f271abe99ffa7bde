"""Themes in files: the colours they change, with many and few, and what is wrong with one."""

import json
from typing import Any

import pytest

from robota.clients.tui.colours import StyleProblem
from robota.clients.tui.palettes import palette_for
from robota.clients.tui.personal.own_theme import ROLES, OwnTheme, read_theme
from robota.clients.tui.theme import Background, Palette, Role
from robota.protocol.appearance import ThemeName

TRUE = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
SEA = {
    "base": "auto",
    "colours": {"active": "bold #268bd2", "addedRow": "on #073642"},
    "onLight": {"active": "#003366"},
}


def theme(content: dict[str, Any]) -> OwnTheme:
    read = read_theme(json.dumps(content).encode())
    assert isinstance(read, OwnTheme), read
    return read


def palette(content: dict[str, Any], env: dict[str, str], background: Background | None = None) -> Palette:
    own = {"sea": theme(content)}
    return palette_for(env, "sea", background, own.get)


def test_the_file_changes_what_it_names_and_leaves_the_rest() -> None:
    usual, own = palette_for(TRUE, ThemeName.AUTO), palette(SEA, TRUE)
    assert own.codes[Role.ACTIVE] == "1;38;2;38;139;210" and own.codes[Role.ADDED_ROW] == "48;2;7;54;66"
    changed = {role for role in Role if own.codes.get(role) != usual.codes.get(role)}
    assert changed == {Role.ACTIVE, Role.ADDED_ROW}
    assert own.accent == "#268bd2"


def test_a_light_background_has_its_own_colours() -> None:
    own = palette(SEA, TRUE, Background.LIGHT)
    assert own.codes[Role.ACTIVE] == "38;2;0;51;102" and own.codes[Role.ADDED_ROW] == "48;2;7;54;66"
    assert own.codes[Role.DIM] == palette_for(TRUE, ThemeName.LIGHT).codes[Role.DIM]
    assert palette(SEA | {"base": "dark"}, TRUE, Background.LIGHT).codes[Role.ACTIVE] == "1;38;2;38;139;210"


def test_with_sixteen_colours_rows_keep_the_look_of_the_built_in_theme() -> None:
    usual, own = palette_for({"TERM": "xterm"}, ThemeName.AUTO), palette(SEA, {"TERM": "xterm"})
    assert own.codes[Role.ACTIVE] == "1;34" and Role.ADDED_ROW not in own.codes
    assert own.codes[Role.CHOSEN] == usual.codes[Role.CHOSEN]


def test_the_environment_can_name_an_own_theme_and_no_color_precedes_it() -> None:
    own = {"sea": theme(SEA)}.get
    assert palette_for(TRUE | {"ROBOTA_THEME": "sea"}, "dark", None, own) == palette(SEA, TRUE)
    assert palette_for(TRUE | {"ROBOTA_THEME": "lake"}, "dark", None, own) == palette_for(TRUE, "dark")
    assert palette_for(TRUE | {"NO_COLOR": "1"}, "sea", None, own).codes == palette_for({"NO_COLOR": "1"}, "auto").codes


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "truncated"),
        (b'{"base": "pink"}', "pink"),
        (b'{"colors": {}}', "colors"),
        (b'{"colours": {"sky": "#112233"}}', "“sky”"),
        (b'{"colours": {"active": "#12"}}', "active: “#12”"),
        (b'{"onLight": {"active": "shiny"}}', "active: “shiny”"),
        (b"\xff", ""),
    ],
)
def test_what_is_wrong_is_named(content: bytes, why: str) -> None:
    read = read_theme(content)
    assert isinstance(read, StyleProblem) and why in read.why


def test_everything_that_is_painted_can_be_named() -> None:
    assert set(ROLES.values()) == set(Role) - {Role.PLAIN} and ROLES["addedWords"] is Role.ADDED_WORDS
