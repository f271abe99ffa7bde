"""Decode bytes to text and encode them back without loss: keeps byte order mark, encoding and line endings."""

import re
from collections.abc import Iterable
from io import IncrementalNewlineDecoder

import msgspec

from robota.workspace.problems import BinaryContent, Unencodable

# UTF-32 first: its little-endian mark begins with the UTF-16 one.
BYTE_ORDER_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
BYTE_TRANSPARENT = "surrogateescape"
STRAY_BYTES = re.compile("[\udc80-\udcff]")
REPLACEMENT = "\ufffd"
# Pieces that fit in the processor's cache are much faster than megabytes at once.
CACHED = 65_536


class TextForm(msgspec.Struct, frozen=True, kw_only=True):
    """The encoding of a text. `newline` is the ending of all its lines, None if they differ.

    `errors` is Python's error handler for bytes that are invalid in the encoding: strict, or lone surrogates.
    """

    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str | None = None
    errors: str = "strict"


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A text in a file: `plain` has `\\n` for every line ending."""

    plain: str
    form: TextForm
    data: bytes
    decoded: str | None = None

    @property
    def content(self) -> str:
        """The text of the file with its line endings, without the byte order mark."""
        return self.data.decode("ascii") if self.decoded is None else self.decoded

    @property
    def readable(self) -> str:
        """`plain` with U+FFFD for every byte that is invalid in the encoding."""
        return STRAY_BYTES.sub(REPLACEMENT, self.plain) if self.form.errors == BYTE_TRANSPARENT else self.plain

    @property
    def has_returns(self) -> bool:
        """Whether the file contains a carriage return."""
        return self.plain is not self.decoded


def decode(data: bytes) -> Text:
    """Decode by the byte order mark, else UTF-8, else the likeliest encoding. `encode` restores the same bytes."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            content = _strictly(data[len(mark) :], encoding)
            if content is not None:
                return _decoded_text(data, content, TextForm(encoding=encoding, mark=mark))
    if b"\0" in data:
        raise BinaryContent("The file is binary, so its content cannot be shown or edited as text. Use a command.")
    if b"\r" in data and data.isascii():
        return _ascii_with_returns(data)
    content = _strictly(data, "utf-8")
    if content is not None and b"\r" not in data:  # so the text needs no search for them
        return Text(plain=content, form=TextForm(newline=_newline_in(content)), data=data, decoded=content)
    return _decoded_text(data, content, TextForm()) if content is not None else _decode_without_mark(data)


def encode(content: str, form: TextForm) -> bytes:
    """The bytes of a text in the given form, with the line endings of `content`."""
    return form.mark + encode_part(content, form)


def encode_part(content: str, form: TextForm) -> bytes:
    """Like `encode`, for a text that is not at the beginning of the file: without a byte order mark."""
    try:
        return content.encode(form.encoding, form.errors)
    except UnicodeEncodeError as error:
        character = content[error.start]
        raise Unencodable(
            f"The file is encoded in {form.encoding}, which has no U+{ord(character):04X} ({character!a}). "
            "Nothing was written. Leave that character out, or convert the file first."
        ) from error


def _decode_without_mark(data: bytes) -> Text:
    """Decode as UTF-8 with some invalid bytes, else as Windows-1252, else as Latin-1, which accepts every byte."""
    content = data.decode("utf-8", BYTE_TRANSPARENT)
    valid = len(data.decode("utf-8", "ignore"))
    stray = len(content) - valid
    if valid - len(data.decode("ascii", "ignore")) >= stray:
        return _decoded_text(data, content, TextForm(errors=BYTE_TRANSPARENT))
    western = _strictly(data, "cp1252")
    if western is not None:
        return _decoded_text(data, western, TextForm(encoding="cp1252"))
    return _decoded_text(data, data.decode("latin-1"), TextForm(encoding="latin-1"))


def plain_newlines(text: str) -> str:
    """The text with `\\n` for every line ending."""
    return _with_plain_newlines(text)[0]


def lines_of(text: str) -> list[str]:
    """The lines of a text with plain newlines; a final newline does not start another line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _ascii_with_returns(data: bytes) -> Text:
    """Fast path for ASCII with carriage returns: they are removed piece by piece while decoding."""
    plain, newline = _without_returns(str(data[start : start + CACHED], "ascii") for start in _starts(data))
    return Text(plain=plain, form=TextForm(newline=newline), data=data)


def _decoded_text(data: bytes, content: str, form: TextForm) -> Text:
    plain, newline = _with_plain_newlines(content)
    return Text(plain=plain, form=msgspec.structs.replace(form, newline=newline), data=data, decoded=content)


def _with_plain_newlines(text: str) -> tuple[str, str | None]:
    """The text with plain newlines, and the ending of all its lines, None if they differ."""
    if "\r" not in text:
        return text, _newline_in(text)
    return _without_returns(text[start : start + CACHED] for start in _starts(text))


def _newline_in(text: str) -> str | None:
    return "\n" if "\n" in text else None


def _without_returns(pieces: Iterable[str]) -> tuple[str, str | None]:
    decoder = IncrementalNewlineDecoder(None, translate=True)
    plain = "".join([*(decoder.decode(piece) for piece in pieces), decoder.decode("", final=True)])
    return plain, decoder.newlines if isinstance(decoder.newlines, str) else None


def _starts(whole: str | bytes) -> range:
    return range(0, len(whole), CACHED)


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None
