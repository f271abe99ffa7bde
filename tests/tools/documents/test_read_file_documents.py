"""Images and documents as a model reads them. The files are made by the libraries that people use, or by hand."""

import json
import tracemalloc
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from openpyxl import Workbook

from robota.contracts.tool import ToolError
from robota.tools.documents import document_child
from tests.tools.workbench import Workbench

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


class Blind(Workbench):
    sees_images = False


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def docx(body: str, head: str = "") -> bytes:
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        document = f'<?xml version="1.0"?>{head}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", document)
    return packed.getvalue()


def xlsx() -> bytes:
    book = Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Sums"
    sheet.append(["name", "count"])
    sheet.append(["a", 3])
    sheet.cell(row=5, column=2, value="far")
    book.create_sheet("Empty")
    packed = BytesIO()
    book.save(packed)
    return packed.getvalue()


def pdf(*pages: str) -> bytes:
    """The smallest PDF with these texts; cross references are left for the reader to find."""
    kids = " ".join(f"{10 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj",
        f"2 0 obj <</Type/Pages/Count {len(pages)}/Kids[{kids}]>> endobj",
        "3 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj",
    ]
    for number, text in enumerate(pages):
        page, stream = 10 + 2 * number, f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET"
        objects.append(
            f"{page} 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {page + 1} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>> endobj"
        )
        objects.append(f"{page + 1} 0 obj <</Length {len(stream)}>>\nstream\n{stream}\nendstream endobj")
    return "\n".join(["%PDF-1.4", *objects, "trailer <</Root 1 0 R>>", "startxref", "0", "%%EOF"]).encode()


def read(bench: Workbench, name: str, data: bytes, **more: object) -> list[str]:
    (bench.cwd / name).write_bytes(data)
    return bench.call("read_file", path=name, **more).content.split("\n")


def test_an_image_is_shown_to_a_model_that_sees(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(PNG)
    result = bench.call("read_file", path="picture")
    (image,) = result.images
    assert image.media_type == "image/png" and b64decode(image.data) == PNG
    assert result.content == "Image: picture (image/png, 24 bytes)"


def test_a_model_that_does_not_see_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(b"GIF89a....")
    result = Blind(tmp_path).call("read_file", path="a.gif")
    assert result.images == () and "you cannot see images" in result.content


@pytest.mark.parametrize(
    ("data", "media_type"),
    [(b"\xff\xd8\xff\xe0", "image/jpeg"), (b"GIF87a", "image/gif"), (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp")],
)
def test_images_are_known_by_their_content(bench: Workbench, data: bytes, media_type: str) -> None:
    assert media_type in read(bench, "a.dat", data)[0]


def test_a_huge_image_and_a_false_one(bench: Workbench) -> None:
    with pytest.raises(ToolError, match="Create a smaller copy"):
        read(bench, "a.png", PNG + bytes(6_000_000))
    assert read(bench, "b.png", b"not a picture") == ["File: b.png", "1 | not a picture"]


def test_a_pdf_gives_its_text_page_by_page(bench: Workbench) -> None:
    lines = read(bench, "paper.pdf", pdf("Hello PDF", "Second page"))
    assert "the text of a PDF" in lines[1]
    assert lines[2:] == [
        "1 | --- page 1 of 2 ---",
        "2 | Hello PDF",
        "3 | --- page 2 of 2 ---",
        "4 | Second page",
    ]


def test_a_document_can_be_read_on(bench: Workbench) -> None:
    data = pdf("One", "Two")
    first = "\n".join(read(bench, "paper.pdf", data, limit=2))
    assert "Showing lines 1-2 of more." in first
    assert first.endswith('[To read on: read_file {"path":"paper.pdf","offset":3,"limit":2}]')
    rest = read(bench, "paper.pdf", data, offset=3, limit=2)
    assert rest[-2:] == ["3 | --- page 2 of 2 ---", "4 | Two"]
    with pytest.raises(ToolError, match="no line 9"):
        read(bench, "paper.pdf", data, offset=9)


def test_a_word_document_gives_paragraphs_and_tables_in_order(bench: Workbench) -> None:
    cell = f"<w:tc>{paragraph('x')}{paragraph('y')}</w:tc>"
    table = f"<w:tbl><w:tr>{cell}<w:tc>{paragraph('z')}</w:tc></w:tr></w:tbl>"
    last = "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c &amp; d</w:t></w:r></w:p>"
    lines = read(bench, "letter.docx", docx(paragraph("Title") + table + last))
    assert lines[2:] == ["1 | Title", "2 | x y | z", "3 | a\tb", "4 | c & d"]


def test_a_spreadsheet_gives_its_rows_sheet_by_sheet(bench: Workbench) -> None:
    assert read(bench, "sums.xlsx", xlsx())[2:] == [
        "1 | --- sheet Sums ---",
        "2 | row 1: name\tcount",
        "3 | row 2: a\t3",
        "4 | row 5: \tfar",
        "5 | --- sheet Empty ---",
    ]


def test_a_small_file_does_not_fill_our_memory(bench: Workbench) -> None:
    """A cell refers to its text, so a few kilobytes can stand for one text of any length in every row."""
    book = Workbook()
    for number in range(700):
        book.worksheets[0].append([f"row {number} " + "x" * 30_000 if number == 699 else "x" * 30_000])
    packed = BytesIO()
    book.save(packed)
    tracemalloc.start()
    try:
        beginning = read(bench, "small.xlsx", packed.getvalue())
        rest = read(bench, "small.xlsx", packed.getvalue(), offset=701)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000
    shown = [line for line in beginning if " | " in line]
    assert shown[-1].endswith("xxx...") and len(shown[-1]) < 2_010
    assert "of 701 total lines" in rest[2] and rest[3].startswith("701 | row 700: row 699 xxx")


def test_a_notebook_gives_cells_and_what_they_printed(bench: Workbench) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "source": "print(1)\nplot()",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"image/png": "aaaa"}},
                {"output_type": "error", "traceback": ["Boom", "at line 2"]},
            ],
        },
    ]
    shown = [line.split(" | ", 1)[1] for line in read(bench, "n.ipynb", json.dumps({"cells": cells}).encode())[2:]]
    assert shown == [
        "--- cell 1 (markdown) ---",
        "# Title",
        "text",
        "--- cell 2 (code) ---",
        "print(1)",
        "plot()",
        "--- output of cell 2 ---",
        "1",
        "--- output of cell 2 ---",
        "(image/png)",
        "--- output of cell 2 ---",
        "Boom",
        "at line 2",
    ]


def test_a_broken_notebook_is_shown_as_it_is(bench: Workbench) -> None:
    assert read(bench, "n.ipynb", b'{"cells": [}') == ["File: n.ipynb", '1 | {"cells": [}']


def bomb(name: str) -> bytes:
    """A workbook with a part that nobody would take for text, far larger than it seems."""
    packed = BytesIO(xlsx())
    with ZipFile(packed, "a", ZIP_DEFLATED) as archive:
        archive.writestr(name, " " * 100_000_000)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.pdf", b"%PDF-1.7\ngarbage", "as a PDF: it is damaged"),
        ("a.docx", b"PK\x03\x04garbage", "as a Word document: it is damaged"),
        ("a.xlsx", b"PK\x03\x04garbage", "as a spreadsheet: it is damaged"),
        ("b.xlsx", docx(""), "as a spreadsheet: it is damaged"),
        ("b.docx", xlsx(), "as a Word document: it is damaged"),
        ("c.docx", docx("&b;", '<!DOCTYPE d [<!ENTITY a "x"><!ENTITY b "&a;&a;">]>'), "damaged"),
        ("d.docx", docx(" " * 70_000_000), "unpacks to"),
        ("e.xlsx", bomb("xl/worksheets/sheet9.png"), "unpacks to"),
    ],
)
def test_a_damaged_or_malicious_document_is_refused(bench: Workbench, name: str, data: bytes, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        read(bench, name, data)


def test_a_document_that_takes_too_long_is_refused(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The libraries that read documents have no limits of their own."""
    monkeypatch.setattr(document_child, "TIMEOUT_S", 0.001)
    with pytest.raises(ToolError, match="takes more than"):
        read(bench, "a.pdf", pdf("one"))
