"""The same lines written down in every way that must survive an edit."""

from collections.abc import Sequence

ENCODINGS = {
    "utf-8": (b"", "utf-8"),
    "utf-8 with mark": (b"\xef\xbb\xbf", "utf-8"),
    "utf-16-le": (b"\xff\xfe", "utf-16-le"),
    "utf-16-be": (b"\xfe\xff", "utf-16-be"),
    "utf-32-le": (b"\xff\xfe\x00\x00", "utf-32-le"),
    "utf-32-be": (b"\x00\x00\xfe\xff", "utf-32-be"),
    "latin-1": (b"", "latin-1"),
    "cp1252": (b"", "cp1252"),
}
ENDINGS = {
    "LF": ("\n", "\n", "\n", "\n", "\n"),
    "CRLF": ("\r\n", "\r\n", "\r\n", "\r\n", "\r\n"),
    "CR": ("\r", "\r", "\r", "\r", "\r"),
    "mixed": ("\r\n", "\n", "\r\n", "\r", "\n"),
    "no final newline": ("\r\n", "\n", "\r", "\r\n", ""),
}


def written(lines: Sequence[str], endings: Sequence[str], encoding: str) -> bytes:
    """Line by line, each with its own ending."""
    mark, codec = ENCODINGS[encoding]
    return mark + b"".join(f"{line}{end}".encode(codec) for line, end in zip(lines, endings, strict=True))
