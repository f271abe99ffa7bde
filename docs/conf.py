"""How Sphinx makes a site of these pages: `make site`. The pages themselves stay plain Markdown."""

import re

from sphinx.application import Sphinx

from robota.version import VERSION

project = "Robota"
author = "The Robota developers"
copyright = "the Robota developers, Apache-2.0"
release = version = VERSION

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
nitpicky = True
html_theme = "furo"
language = "en"
smartquotes = False
html_title = f"Robota {VERSION}"
html_show_sphinx = False
html_copy_source = False
html_use_index = False
html_static_path = ["style"]
html_css_files = ["narrow.css"]

LISTED_PAGE = re.compile(r"^- \[[^\]]+\]\(([\w./-]+)\.md\)", re.MULTILINE)
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
DARK_PICTURE = re.compile(r"^(!\[[^\]]*\]\([\w./-]+)-dark\.svg\)", re.MULTILINE)


def navigation(index: str) -> str:
    """The table of contents for the side of every page: the pages that each section of the index lists."""
    _, *parts = SECTION.split(index)
    trees = (
        f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{chr(10).join(LISTED_PAGE.findall(text))}\n```\n"
        for caption, text in zip(parts[::2], parts[1::2], strict=True)
    )
    return "\n".join(trees)


def both_looks(page: str) -> str:
    """The page with each picture in both looks; the theme shows the one that fits."""
    return DARK_PICTURE.sub(r"\1-light.svg){.only-light}\n\1-dark.svg){.only-dark}", page)


def complete(app: Sphinx, name: str, source: list[str]) -> None:
    """Keep the pages readable where they are not built: what only a site needs is added while they are read."""
    source[0] = both_looks(source[0])
    if name == root_doc:
        source[0] = f"{source[0]}\n{navigation(source[0])}"


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", complete)
