"""A theme of the user: a file that names a built-in theme and the colours that differ from it."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from robota.clients.tui.colours import ColourDepth, Style, StyleProblem, sgr, style_of
from robota.clients.tui.theme import Palette, Role
from robota.protocol.appearance import ThemeName


class OwnTheme(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The content of the file; `on_light` has the colours that differ again on a light background."""

    base: ThemeName = ThemeName.AUTO
    description: str = ""
    colours: Mapping[str, str] = {}
    on_light: Mapping[str, str] = {}


# The theme of this name; None if there is none that can be used.
OwnThemes = Callable[[str], OwnTheme | None]


def _name_of(role: Role) -> str:
    first, *others = role.name.lower().split("_")
    return first + "".join(map(str.capitalize, others))


ROLES: Final = {_name_of(role): role for role in Role if role is not Role.PLAIN}


def read_theme(content: bytes) -> OwnTheme | StyleProblem:
    """The theme in a file, or the first thing that is wrong with it."""
    try:
        theme = msgspec.json.decode(content, type=OwnTheme)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return StyleProblem(str(error))
    for name, words in [*theme.colours.items(), *theme.on_light.items()]:
        if name not in ROLES:
            return StyleProblem(f"there is nothing named “{name}” to colour; there are: {', '.join(ROLES)}")
        style = style_of(words)
        if isinstance(style, StyleProblem):
            return StyleProblem(f"{name}: {style.why}")
    return theme


def with_own_colours(base: Palette, own: OwnTheme, depth: ColourDepth, *, is_light: bool) -> Palette:
    """The palette of the built-in theme with the user's colours.

    Sixteen colours have no tints: what has a background in the file looks as in the built-in theme there.
    """
    words = dict(own.colours) | dict(own.on_light if is_light else {})
    styles = {ROLES[name]: style for name, text in words.items() if isinstance(style := style_of(text), Style)}
    if depth is ColourDepth.SIXTEEN:
        styles = {role: style for role, style in styles.items() if style.background is None}
    markdown = {Role.ACTIVE: "accent", Role.ADDED: "added", Role.REMOVED: "removed", Role.DIM: "faint"}
    looks = {field: _colour(styles[role]) for role, field in markdown.items() if role in styles}
    codes: dict[Role, str] = {**base.codes, **{role: sgr(style, depth) for role, style in styles.items()}}
    return msgspec.structs.replace(
        base,
        codes={role: code for role, code in codes.items() if code},
        depth=depth,
        **{field: look for field, look in looks.items() if look},
    )


def _colour(style: Style) -> str:
    """The colour of the text in the notation of Markdown styles; empty if it has none."""
    shade = style.text
    return "" if shade is None else f"#{shade.red:02x}{shade.green:02x}{shade.blue:02x}"
