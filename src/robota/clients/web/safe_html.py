"""HTML that the page may insert: only what these functions return, and nothing that runs, loads or styles."""

from html import escape
from typing import Final

import nh3

TAGS: Final = frozenset(
    {
        *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "pre", "code"),
        *("em", "strong", "s", "del", "a", "span", "table", "thead", "tbody", "tr", "th", "td"),
    }
)
ATTRIBUTES: Final = {"a": {"href", "title"}, "span": {"class"}, "code": {"class"}, "ol": {"start"}}
SCHEMES: Final = frozenset({"http", "https", "mailto"})


def cleaned(html: str) -> str:
    """The HTML without any element, attribute or address that is not listed here."""
    return nh3.clean(
        html,
        tags=set(TAGS),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        url_schemes=set(SCHEMES),
        link_rel="noopener noreferrer nofollow",
        # A wide table scrolls, also for those who have no mouse.
        set_tag_attribute_values={"a": {"target": "_blank"}, "table": {"tabindex": "0"}},
    )


def escaped(text: str) -> str:
    """A text as HTML."""
    return escape(text, quote=True)
