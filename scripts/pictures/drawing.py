"""The screen of a terminal as an SVG."""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby

import msgspec
from pyte.screens import Char
from wcwidth import wcswidth

CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 12
FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Noto Sans Mono CJK JP', monospace"


class Colours(msgspec.Struct, frozen=True, kw_only=True):
    """What the colours of a terminal look like."""

    background: str
    text: str
    palette: Mapping[str, str]


DARK = Colours(
    background="#16181d",
    text="#d7dae0",
    palette={
        "red": "#f07178",
        "green": "#8ccf7e",
        "brown": "#e5c76b",
        "blue": "#67b0e8",
        "magenta": "#c47fd5",
        "cyan": "#6cbfbf",
        "white": "#d7dae0",
        "brightblack": "#7d8490",
    },
)
LIGHT = Colours(
    background="#fdfdfb",
    text="#24292e",
    palette={
        "red": "#b3261e",
        "green": "#1a7f37",
        "brown": "#8a6100",
        "blue": "#0550ae",
        "magenta": "#8250df",
        "cyan": "#1b7c83",
        "white": "#57606a",
        "brightblack": "#6e7781",
    },
)


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """How characters look."""

    text: str
    behind: str
    is_bold: bool
    is_underlined: bool
    is_reversed: bool

    @property
    def is_filled(self) -> bool:
        """Whether something is drawn behind the characters."""
        return self.is_reversed or self.behind != "default"


def svg(rows: Sequence[Sequence[Char]], colours: Colours, title: str, rename: Mapping[str, str]) -> str:
    """The rows as a picture, up to the last that shows something; `rename` replaces what differs between machines."""
    columns = len(rows[0])
    used = max(number for number, row in enumerate(rows, 1) if any(cell.data.strip() for cell in row))
    rows = rows[:used]
    width, height = columns * CELL_WIDTH + 2 * MARGIN, len(rows) * CELL_HEIGHT + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{colours.background}"/>',
        f'<g xml:space="preserve" font-family="{FONT}" font-size="14" fill="{colours.text}">',
        *(piece for number, row in enumerate(rows) for piece in _row(row, number, colours, rename)),
        "</g></svg>",
    ]
    return "\n".join(lines) + "\n"


def _looks(cell: Char) -> Looks:
    return Looks(
        text=cell.fg,
        behind=cell.bg,
        is_bold=cell.bold,
        is_underlined=cell.underscore,
        is_reversed=cell.reverse,
    )


def _colour(name: str, colours: Colours, otherwise: str) -> str:
    """A colour of the palette, or an exact one."""
    return f"#{name}" if re.fullmatch("[0-9a-f]{6}", name) else colours.palette.get(name, otherwise)


def _row(row: Sequence[Char], number: int, colours: Colours, rename: Mapping[str, str]) -> Iterator[str]:
    top = MARGIN + number * CELL_HEIGHT
    column = 0
    for looks, group in groupby(row, key=_looks):
        cells = list(group)
        left, span = MARGIN + column * CELL_WIDTH, len(cells)
        column += span
        text = "".join(cell.data for cell in cells)
        if not text.strip() and not looks.is_filled:
            continue
        for found, shown in rename.items():
            text = re.sub(found, shown, text)
        # A browser joins blanks into one, but not these.
        text = text.replace(" ", "\u00a0") if looks.is_filled else text.rstrip().replace(" ", "\u00a0")
        if text or looks.is_filled:
            yield from _run(text, looks, (left, top, span), colours)


def _run(text: str, looks: Looks, place: tuple[float, float, int], colours: Colours) -> Iterator[str]:
    left, top, span = place
    colour = _colour(looks.text, colours, colours.text)
    behind = _colour(looks.behind, colours, colours.background)
    if looks.is_reversed:
        colour, behind = behind, colour
    if looks.is_filled:
        width = span * CELL_WIDTH
        yield f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{CELL_HEIGHT}" fill="{behind}"/>'
    if not text.strip("\u00a0"):
        return
    attributes = "" if colour == colours.text else f' fill="{colour}"'
    attributes += ' font-weight="bold"' if looks.is_bold else ""
    attributes += ' text-decoration="underline"' if looks.is_underlined else ""
    # Whatever font a reader has, what stands below one another stays there.
    width = wcswidth(text) * CELL_WIDTH
    yield f'<text x="{left:.1f}" y="{top + 13}" textLength="{width:.1f}"{attributes}>{escape(text)}</text>'
