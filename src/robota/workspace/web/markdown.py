"""Convert HTML to Markdown. As a program it reads a page from standard input; its argument is the page's URL."""

import re
import resource
import sys
from collections.abc import Callable
from typing import Final
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from robota.workspace.web.markdown_writer import MarkdownWriter

MEMORY_BYTES: Final = 2 * 1024**3
CPU_SECONDS: Final = 15

PASSED_OVER: Final = frozenset(
    {"head", "script", "style", "template", "noscript", "svg", "iframe", "canvas", "object", "video", "audio"}
    | {"select", "button", "dialog"}
)
PARAGRAPHS: Final = frozenset({"p", "figure", "dl", "details", "article", "section", "fieldset"})
LINES: Final = frozenset(
    {"div", "header", "footer", "nav", "main", "aside", "form", "address", "dt", "dd", "summary", "figcaption"}
    | {"caption", "center", "option", "label", "legend", "body", "tr", "td", "th"}
)
MARKERS: Final = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~", "code": "`", "kbd": "`"}
HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
LANGUAGE: Final = re.compile(r"\b(?:language|lang|highlight-source|highlight)-([\w+#-]+)")
LINKABLE: Final = ("http://", "https://", "mailto:")


def to_markdown(html: str, url: str) -> str:
    """Convert the main part of a page, or the whole page if there is none; links become absolute."""
    page = LexborHTMLParser(html)
    title = page.css_first("title")
    heading = " ".join(title.text().split()) if title is not None else ""
    body = page.css_first("main, [role=main]") or page.body
    markdown = _Converter(url).convert(body) if body is not None else ""
    return f"Title: {heading}\n\n{markdown}" if heading else markdown


class _Converter:
    """Converts a page without recursion, because pages can be nested deeper than Python's stack."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._writer = MarkdownWriter()

    def convert(self, root: LexborNode) -> str:
        waiting: list[LexborNode | Callable[[], None]] = [root]
        while waiting:
            node = waiting.pop()
            if not isinstance(node, LexborNode):
                node()
            elif node.is_text_node:
                self._writer.text(node.text_content or "")
            elif node.is_element_node and node.tag not in PASSED_OVER:
                waiting.append(self._start(node))
                waiting.extend(reversed(list(node.iter(include_text=True))))
        return self._writer.finish()

    def _start(self, node: LexborNode) -> Callable[[], None]:
        """Open an element; returns the function that closes it."""
        tag, writer = node.tag or "", self._writer
        if tag in LINES:
            return self._start_cell(tag) if tag in ("tr", "td", "th") else writer.line()
        if tag in PARAGRAPHS:
            return writer.paragraph()
        if tag in HEADINGS:
            return writer.heading(HEADINGS[tag])
        if tag in MARKERS:
            return writer.marked(MARKERS[tag])
        return self._start_special(tag, node)

    def _start_cell(self, tag: str) -> Callable[[], None]:
        return self._writer.row() if tag == "tr" else self._writer.cell()

    def _start_special(self, tag: str, node: LexborNode) -> Callable[[], None]:
        writer, attributes = self._writer, node.attributes
        special: dict[str, Callable[[], Callable[[], None]]] = {
            "a": lambda: writer.link(self._absolute(attributes.get("href"))),
            "img": lambda: writer.image(attributes.get("alt") or "", self._absolute(attributes.get("src"))),
            "pre": lambda: writer.code_block(_language(node)),
            "ul": lambda: writer.bullets(ordered=False),
            "ol": lambda: writer.bullets(ordered=True),
            "li": writer.item,
            "blockquote": writer.quote,
            "table": lambda: writer.table(is_data=len(node.css("table")) == 1),
            "br": writer.line_break,
            "hr": writer.rule,
        }
        return special.get(tag, lambda: _nothing)()

    def _absolute(self, reference: str | None) -> str | None:
        """The absolute URL of a reference; None if it does not point to another page."""
        if not reference or reference.startswith("#"):
            return None
        try:
            url = urljoin(self._url, reference.strip())
        except ValueError:
            return None
        return url.replace(" ", "%20") if url.startswith(LINKABLE) else None


def _language(node: LexborNode) -> str:
    code = node.css_first("code")
    for each in (node, code, node.parent):
        match = LANGUAGE.search(each.attributes.get("class") or "") if each is not None else None
        if match:
            return match[1]
    return ""


def _nothing() -> None:
    pass


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stdout.buffer.write(to_markdown(html, sys.argv[1]).encode("utf-8", "replace"))


if __name__ == "__main__":
    _main()
