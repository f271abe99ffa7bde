"""The documentation pages, which are installed with the program."""

import re
from pathlib import Path
from typing import Final

import msgspec

import robota
from robota.cli.subcommands import SUBCOMMANDS

# What `robota help` lists instead of explaining.
LISTS: Final = ("commands", "options", "topics")
# A wheel contains the pages in the package; in a checkout they are beside it.
INSTALLED: Final = Path(robota.__path__[0]) / "docs"
CHECKOUT: Final = Path(robota.__path__[0]).parents[1] / "docs"
TITLE: Final = re.compile(r"^#\s+(.+)$", re.MULTILINE)
PICTURE: Final = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n+", re.MULTILINE)
LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]*\)")


class DocumentationPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page and the word it is asked for by."""

    name: str
    path: Path

    def text(self) -> str:
        """The page without what a terminal cannot show: pictures, and links to other pages but for their words."""
        return LINK.sub(r"\1", PICTURE.sub("", self.path.read_text(encoding="utf-8")))

    def title(self) -> str:
        """The heading of the page."""
        with self.path.open(encoding="utf-8") as page:
            heading = TITLE.search(page.read(1000))
        return heading[1].strip() if heading else self.name


def topics() -> dict[str, DocumentationPage]:
    """All pages by name; one in a directory is named with it, as `recipes/ci`. Nothing if they were not installed."""
    directory = INSTALLED if INSTALLED.is_dir() else CHECKOUT
    paths = sorted(directory.rglob("*.md"))
    names = (path.relative_to(directory).with_suffix("").as_posix() for path in paths)
    return {name: DocumentationPage(name=name, path=path) for name, path in zip(names, paths, strict=True)}


def help_words() -> list[str]:
    """Every word that `robota help` knows."""
    return [*dict.fromkeys([*SUBCOMMANDS, *topics(), *LISTS])]


def topic_named(name: str) -> DocumentationPage | None:
    """The page with this name. Its last part, or the singular, is enough."""
    by_name = topics()
    key = name.lower().removesuffix(".md")
    if key in by_name:
        return by_name[key]
    matching = [topic for topic in by_name.values() if topic.name.rpartition("/")[2] in (key, f"{key}s")]
    return matching[0] if len(matching) == 1 else None
