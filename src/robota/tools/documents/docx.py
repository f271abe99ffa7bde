"""The text of a Word document: paragraphs and tables of its body, in order."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from robota.tools.documents.opening import UnreadableDocument, opened_zip

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
TEXT = f"{WORD}t"
BREAKS = {f"{WORD}tab": "\t", f"{WORD}br": "\n", f"{WORD}cr": "\n", f"{WORD}noBreakHyphen": "-"}


def docx_lines(data: bytes) -> Iterator[str]:
    """One line for each paragraph or table row."""
    with opened_zip(data) as archive:
        try:
            body = fromstring(archive.read("word/document.xml")).find(f"{WORD}body")
            yield from () if body is None else _blocks(body)
        except (ParseError, DefusedXmlException, RecursionError) as error:
            raise UnreadableDocument(f"it is damaged ({error})") from error


def _blocks(parent: Element) -> Iterator[str]:
    for element in parent:
        if element.tag == f"{WORD}p":
            yield from _paragraph(element).split("\n")
        elif element.tag == f"{WORD}tbl":
            yield from (_row(row) for row in element.findall(f"{WORD}tr"))
        else:  # a wrapper such as a content control
            yield from _blocks(element)


def _row(row: Element) -> str:
    cells = ("\n".join(_blocks(cell)) for cell in row.findall(f"{WORD}tc"))
    return " | ".join(" ".join(cell.split()) for cell in cells)


def _paragraph(paragraph: Element) -> str:
    pieces = ((each.text or "") if each.tag == TEXT else BREAKS.get(each.tag, "") for each in paragraph.iter())
    return "".join(pieces)
