"""The values of a spreadsheet: a heading for each sheet, then a line for each row that is not empty."""

from collections.abc import Iterator
from datetime import date, datetime, time
from io import BytesIO
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from robota.tools.documents.opening import UnreadableDocument, opened_zip

# What openpyxl raises on a file that is not a valid workbook.
BROKEN = (InvalidFileException, ParseError, DefusedXmlException, ValueError, KeyError, TypeError, AttributeError)


def xlsx_lines(data: bytes) -> Iterator[str]:
    """Cells are separated by tabs; a formula shows the value it had when the file was saved."""
    with opened_zip(data):
        try:
            workbook = load_workbook(BytesIO(data), read_only=True, data_only=True)
            for sheet in workbook.worksheets:
                yield f"--- sheet {sheet.title} ---"
                for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
                    cells = "\t".join(_cell_text(value) for value in row).rstrip("\t")
                    if cells:
                        yield f"row {number}: {cells}"
        except BROKEN as error:
            raise UnreadableDocument(f"it is damaged ({error})") from error


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return " ".join(str(value).split("\n"))
