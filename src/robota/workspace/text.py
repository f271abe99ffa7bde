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


class TextForm(msgspec.Struct, frozen=True, kw_only=True):
    """How a text is written down. `newline` is the ending that all its lines share, if they do."""

    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str | None = None


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A text as it stands in a file, line endings untouched, without the byte order mark."""

    content: str
    form: TextForm


def decode(data: bytes) -> Text:
    """Text by its byte order mark, else UTF-8, else Latin-1, which maps every byte to one character and back."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            content = _strictly(data[len(mark) :], encoding)
            if content is not None:
                return _text(content, encoding, mark)
    if b"\0" in data:
        raise BinaryContent("The file is binary, so its content cannot be shown or edited as text.")
    content = _strictly(data, "utf-8")
    if content is not None:
        return _text(content, "utf-8", b"")
    return _text(data.decode("latin-1"), "latin-1", b"")


def encode(content: str, form: TextForm) -> bytes:
    """The bytes of a text in the given form. Line endings are written as they stand in `content`."""
    try:
        return form.mark + content.encode(form.encoding)
    except UnicodeEncodeError as error:
        character = content[error.start]
        raise Unencodable(
            f"The file is encoded in {form.encoding}, which has no U+{ord(character):04X} ({character!a}). "
            "Nothing was written. Leave that character out, or convert the file first."
        ) from error


def in_form_of(content: str, form: TextForm) -> str:
    """New content for a file of this form: a CRLF file stays one, and a mark is not written twice."""
    if form.mark:
        content = content.removeprefix("\ufeff")
    if form.newline == "\r\n":
        return content.replace("\r\n", "\n").replace("\n", "\r\n")
    return content


def _text(content: str, encoding: str, mark: bytes) -> Text:
    return Text(content=content, form=TextForm(encoding=encoding, mark=mark, newline=_only_newline(content)))


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _only_newline(content: str) -> str | None:
    crlf = content.count("\r\n")
    lf = content.count("\n") - crlf
    cr = content.count("\r") - crlf
    used = [ending for ending, count in (("\r\n", crlf), ("\n", lf), ("\r", cr)) if count]
    return used[0] if len(used) == 1 else None
