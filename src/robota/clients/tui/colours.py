"""Colours of a terminal: how many it has, and the SGR codes of a style such as `bold #7ee787 on #12301d|22`."""

import re
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import Final

import msgspec


class ColourDepth(IntEnum):
    """How many colours a terminal has."""

    NONE = 0
    SIXTEEN = 4
    MANY = 8  # 256
    TRUE = 24


class Shade(msgspec.Struct, frozen=True):
    """One colour: exact, and its number among 256 and among 16. The nearest number is not always the right one."""

    red: int
    green: int
    blue: int
    many: int
    sixteen: int


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """How a text looks."""

    text: Shade | None = None
    background: Shade | None = None
    attributes: tuple[str, ...] = ()


class StyleProblem(msgspec.Struct, frozen=True):
    """Why a style cannot be read."""

    why: str


ATTRIBUTES: Final = {"bold": "1", "dim": "2", "italic": "3", "underline": "4", "reverse": "7"}
NAMES: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
SHADE: Final = re.compile(r"#(?P<rgb>[0-9a-fA-F]{6})(?:\|(?P<many>\d{1,3}))?")
# The levels of the 6x6x6 cube of colours, which begins at 16, and the common values of the 16 colours.
LEVELS: Final = (0, 95, 135, 175, 215, 255)
CUBE: Final = 16
GREYS: Final = 232
SIXTEEN: Final = (
    (0, 0, 0), (205, 49, 49), (13, 188, 121), (229, 229, 16), (36, 114, 200), (188, 63, 188), (17, 168, 205),
    (229, 229, 229), (102, 102, 102), (241, 76, 76), (35, 209, 139), (245, 245, 67), (59, 142, 234), (214, 112, 214),
    (41, 184, 219), (255, 255, 255),
)  # fmt: skip
TRUE_COLOUR: Final = frozenset({"truecolor", "24bit"})


def depth_of(env: Mapping[str, str]) -> ColourDepth:
    """The colours that the environment promises; `NO_COLOR` (https://no-color.org) goes before everything."""
    term = env.get("TERM", "")
    if env.get("NO_COLOR") or term == "dumb":
        return ColourDepth.NONE
    if env.get("COLORTERM", "").lower() in TRUE_COLOUR or term.endswith(("-direct", "-truecolor")):
        return ColourDepth.TRUE
    return ColourDepth.MANY if "256color" in term or term.startswith("xterm-kitty") else ColourDepth.SIXTEEN


@cache
def style_of(words: str) -> Style | StyleProblem:
    """A style from its description: attributes, a colour, and a background after `on`."""
    text: Shade | None = None
    background: Shade | None = None
    attributes: list[str] = []
    is_behind = False
    for word in words.split():
        if word == "on":
            is_behind = True
        elif word in ATTRIBUTES:
            attributes.append(ATTRIBUTES[word])
        elif (shade := shade_of(word)) is None:
            allowed = ", ".join((*ATTRIBUTES, *NAMES))
            return StyleProblem(f"“{word}” is neither a colour like #7ee787 nor one of: {allowed}, bright-red …")
        elif is_behind:
            background = shade
        else:
            text = shade
    return Style(text=text, background=background, attributes=tuple(attributes))


def shade_of(word: str) -> Shade | None:
    """A colour as `#rrggbb`, with its number among the 256 after `|`, or as a name; None if it is invalid."""
    name = word.removeprefix("bright-")
    if name in NAMES:
        number = NAMES.index(name) + (8 if word != name else 0)
        return Shade(*SIXTEEN[number], number, number)
    shade = SHADE.fullmatch(word)
    if shade is None or int(shade["many"] or 0) > 255:
        return None
    red, green, blue = (int(shade["rgb"][at : at + 2], 16) for at in (0, 2, 4))
    many = int(shade["many"]) if shade["many"] else _nearest_of_many(red, green, blue)
    return Shade(red, green, blue, many, _nearest_of_sixteen(red, green, blue))


def sgr(style: Style, depth: ColourDepth) -> str:
    """The codes that switch the style on. Sixteen colours have no tints, so they have no backgrounds either."""
    codes = list(style.attributes)
    if style.text is not None and depth > ColourDepth.NONE:
        codes.append(_code(style.text, depth, 38))
    if style.background is not None and depth > ColourDepth.SIXTEEN:
        codes.append(_code(style.background, depth, 48))
    return ";".join(codes)


def _code(shade: Shade, depth: ColourDepth, kind: int) -> str:
    if depth is ColourDepth.TRUE and shade.many >= CUBE:
        return f"{kind};2;{shade.red};{shade.green};{shade.blue}"
    if depth > ColourDepth.SIXTEEN and shade.many >= CUBE:
        return f"{kind};5;{shade.many}"
    number = shade.sixteen
    return str(kind - 8 + number if number < 8 else kind + 52 + number - 8)


def _nearest_of_many(red: int, green: int, blue: int) -> int:
    levels = (_level(red), _level(green), _level(blue))
    steps = [LEVELS.index(level) for level in levels]
    cube = (CUBE + 36 * steps[0] + 6 * steps[1] + steps[2], levels)
    level = max(0, min(23, round(((red + green + blue) / 3 - 8) / 10)))
    grey = (GREYS + level, (8 + 10 * level,) * 3)
    return min((cube, grey), key=lambda each: _distance(each[1], (red, green, blue)))[0]


def _level(part: int) -> int:
    return min(LEVELS, key=lambda level: abs(level - part))


def _nearest_of_sixteen(red: int, green: int, blue: int) -> int:
    return min(range(16), key=lambda number: _distance(SIXTEEN[number], (red, green, blue)))


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
