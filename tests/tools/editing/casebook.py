"""Cases kept as text: `#### name`, then sections that begin with `~~~ name`.

Characters that an editor would hide or drop are written visibly: ␠ blank, ␉ tab, ␍ carriage return, ⍽ no-break space.
␄ ends a section without a newline.
"""

from pathlib import Path

import msgspec

VISIBLE = str.maketrans({"␠": " ", "␉": "\t", "␍": "\r", "⍽": "\u00a0"})
CASES = Path(__file__).parent / "cases"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """`sections` in their order; a name may have an argument, as in `file src/a.py`."""

    name: str
    sections: tuple[tuple[str, str], ...]

    def text(self, name: str) -> str | None:
        return next((text for each, text in self.sections if each == name), None)

    def phrases(self, name: str) -> list[str]:
        """The lines of a section, each of which must appear in what is said."""
        return [line for line in (self.text(name) or "").split("\n") if line]

    def files(self, name: str) -> dict[str, str]:
        """All sections `name path`, by their path."""
        prefix = f"{name} "
        return {each.removeprefix(prefix): text for each, text in self.sections if each.startswith(prefix)}


def cases_of(tool: str) -> list[Case]:
    """Every case in the folder of a tool."""
    books = sorted((CASES / tool).glob("*.txt"))
    return [case for book in books for case in _read(book.read_text(encoding="utf-8"))]


def _read(book: str) -> list[Case]:
    cases = []
    for entry in book.split("#### ")[1:]:
        name, _, body = entry.partition("\n")
        sections = [section.partition("\n") for section in body.split("~~~ ")[1:]]
        cases.append(Case(name=name.strip(), sections=tuple((head, _visible(text)) for head, _, text in sections)))
    return cases


def _visible(text: str) -> str:
    text = text.translate(VISIBLE)
    return text.partition("␄")[0] if "␄" in text else text
