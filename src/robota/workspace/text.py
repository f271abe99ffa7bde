"""Bytes to text and back without loss: byte order mark, encoding and line endings are remembered."""

import msgspec

from robota.workspace.problems import BinaryContent, Unencodable

# UTF-32 first: its little-endian mark begins with that of UTF-16.
BYTE_ORDER_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
BYTE_TRANSPARENT = "surrogateescape"


class TextForm(msgspec.Struct, frozen=True, kw_only=True):
    """How a text is written down. `newline` is the ending that all its lines share, if they do.

    `errors` is how Python carries bytes that do not belong to the encoding: not at all, or as lone surrogates.
    """

    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str | None = None
    errors: str = "strict"


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A text as it stands in a file, line endings untouched, without the byte order mark.

    `plain` is the same with `\\n` for every line ending.
    """

    content: str
    plain: str
    form: TextForm


def decode(data: bytes) -> Text:
    """Text by its byte order mark, else UTF-8, else what its bytes look most like. `encode` gives the same bytes."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            content = _strictly(data[len(mark) :], encoding)
            if content is not None:
                return _text(content, TextForm(encoding=encoding, mark=mark))
    if b"\0" in data:
        raise BinaryContent("The file is binary, so its content cannot be shown or edited as text.")
    content = _strictly(data, "utf-8")
    return _text(content, TextForm()) if content is not None else _not_quite_utf8(data)


def encode(content: str, form: TextForm) -> bytes:
    """The bytes of a text in the given form. Line endings are written as they stand in `content`."""
    return form.mark + encode_part(content, form)


def encode_part(content: str, form: TextForm) -> bytes:
    """The same for a text that does not stand at the beginning of the file."""
    try:
        return content.encode(form.encoding, form.errors)
    except UnicodeEncodeError as error:
        character = content[error.start]
        raise Unencodable(
            f"The file is encoded in {form.encoding}, which has no U+{ord(character):04X} ({character!a}). "
            "Nothing was written. Leave that character out, or convert the file first."
        ) from error


def _not_quite_utf8(data: bytes) -> Text:
    """UTF-8 with some stray bytes, else a Western code page; Latin-1 has a character for every byte."""
    content = data.decode("utf-8", BYTE_TRANSPARENT)
    valid = len(data.decode("utf-8", "ignore"))
    stray = len(content) - valid
    if valid - len(data.decode("ascii", "ignore")) >= stray:
        return _text(content, TextForm(errors=BYTE_TRANSPARENT))
    western = _strictly(data, "cp1252")
    if western is not None:
        return _text(western, TextForm(encoding="cp1252"))
    return _text(data.decode("latin-1"), TextForm(encoding="latin-1"))


def plain_newlines(text: str) -> str:
    """The text with `\\n` for every line ending."""
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    return text.replace("\r", "\n") if "\r" in text else text


def _text(content: str, form: TextForm) -> Text:
    plain = plain_newlines(content)
    return Text(content=content, plain=plain, form=msgspec.structs.replace(form, newline=_newline(content, plain)))


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _newline(content: str, plain: str) -> str | None:
    """The ending that all lines share. Megabytes are counted through only where the answer is not plain to see."""
    if "\n" not in plain:
        return None
    if content is plain:
        return "\n"
    if "\n" not in content:
        return "\r"
    pairs = len(content) - len(plain)
    return "\r\n" if pairs and pairs == plain.count("\n") else None
