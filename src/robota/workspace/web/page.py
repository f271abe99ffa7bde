"""Convert a fetched body to readable text: decoded, HTML as Markdown, without invisible characters."""

import codecs
import re
from typing import Final

from robota.text.visible import without_controls
from robota.workspace.process.python_child import ChildFailed, run_module
from robota.workspace.text.encoding import BYTE_ORDER_MARKS

CONVERSION_S: Final = 15.0
SNIFFED_BYTES: Final = 1024
HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES: Final = frozenset(
    {"application/json", "application/xml", "application/javascript", "application/ecmascript", "application/toml"}
    | {"application/yaml", "application/x-yaml", "application/x-sh", "application/x-ndjson", "application/sql"}
    | {"application/graphql", "application/rtf", "image/svg+xml"}
)
CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
LOOKS_LIKE_HTML: Final = re.compile(rb"<(?:!doctype html|html|head|body)\b", re.IGNORECASE)


def is_text(content_type: str) -> bool:
    """Whether a body of this type is text; True if there is no type, because it may be."""
    kind = _media_type(content_type)
    return not kind or kind.startswith("text/") or kind in TEXT_TYPES | HTML_TYPES or kind.endswith(("+json", "+xml"))


async def readable(body: bytes, content_type: str, url: str, *, conversion_s: float = CONVERSION_S) -> str | None:
    """The text of a body; None if it is not text. A page whose conversion fails or times out is returned as HTML."""
    kind = _media_type(content_type)
    if not is_text(content_type) or (not kind and b"\0" in body[:SNIFFED_BYTES] and not _mark_encoding(body)):
        return None
    text = _decoded(body, content_type)
    if kind in HTML_TYPES or (not kind and LOOKS_LIKE_HTML.search(body[:SNIFFED_BYTES])):
        text = await _markdown(text, url, conversion_s)
    return without_controls(text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _decoded(body: bytes, content_type: str) -> str:
    """Decode by byte order mark, header or the page itself, else as UTF-8; invalid bytes are replaced."""
    declared = CHARSET.search(content_type) or CHARSET.search(body[:SNIFFED_BYTES].decode("latin-1"))
    encoding = _mark_encoding(body) or (declared[1] if declared else "utf-8")
    try:
        codecs.lookup(encoding)
        return body.decode(encoding, "replace").removeprefix("\ufeff")
    except (LookupError, ValueError):
        return body.decode("utf-8", "replace")


def _mark_encoding(body: bytes) -> str | None:
    return next((encoding for mark, encoding in BYTE_ORDER_MARKS if body.startswith(mark)), None)


async def _markdown(html: str, url: str, conversion_s: float) -> str:
    """Convert in a separate process, which can be killed: the parser is a C library and the page is untrusted."""
    try:
        markdown = await run_module(
            "robota.workspace.web.markdown", (url,), html.encode("utf-8", "replace"), timeout_s=conversion_s
        )
    except ChildFailed:
        return f"(The page could not be turned into Markdown; this is its HTML.)\n\n{html}"
    return markdown.decode("utf-8", "replace")
