"""Whatever the encoding of a file, an edit changes the bytes that it means to change and no others."""

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.workbench import Workbench

# Marks, encodings, and a text that each of them can hold. Of `stray` the last byte is no UTF-8.
FORMS: dict[str, tuple[bytes, str, str]] = {
    "utf-8": (b"", "utf-8", "äß→🙂"),
    "utf-8 with mark": (b"\xef\xbb\xbf", "utf-8", "äß→🙂"),
    "utf-16-le": (b"\xff\xfe", "utf-16-le", "äß→🙂"),
    "utf-16-be": (b"\xfe\xff", "utf-16-be", "äß→🙂"),
    "utf-32-le": (b"\xff\xfe\0\0", "utf-32-le", "äß→🙂"),
    "utf-32-be": (b"\0\0\xfe\xff", "utf-32-be", "äß→🙂"),
    "cp1252": (b"", "cp1252", "äß“€”"),
    "latin-1": (b"", "latin-1", "äß\x81"),
    "stray": (b"", "utf-8", "äöüß\udcff"),
    "ascii": (b"", "ascii", "plain"),
}
ENDINGS: dict[str, tuple[str, ...]] = {
    "lf": ("\n", "\n", "\n", "\n"),
    "crlf": ("\r\n", "\r\n", "\r\n", "\r\n"),
    "cr": ("\r", "\r", "\r", "\r"),
    "mixed": ("\r\n", "\n", "\r", "\r\n"),
    "no final newline": ("\n", "\n", "\n", ""),
    "crlf, no final newline": ("\r\n", "\r\n", "\r\n", ""),
    "mixed, no final newline": ("\n", "\r\n", "\n", ""),
}
LINES = ("first", "second", "third", "fourth")


def written_down(form: str, endings: str, lines: tuple[str, ...] = LINES) -> bytes:
    mark, encoding, sample = FORMS[form]
    content = "".join(f"{line} {sample}{ending}" for line, ending in zip(lines, ENDINGS[endings], strict=True))
    return mark + content.encode(encoding, "surrogateescape")


def shown(bench: Workbench) -> str:
    """The text as the model sees it, put together from the numbered lines."""
    lines = [line for line in bench.call("read_file", path="f").content.split("\n") if re.match(r"\s*\d+ \| ", line)]
    return "\n".join(line.split(" | ", 1)[1] for line in lines)


def edited(bench: Workbench, old: str, new: str) -> None:
    bench.call("edit_file", path="f", old_string=old, new_string=new)


def rewritten(bench: Workbench, old: str, new: str) -> None:
    final = "" if not ends_with_newline(bench.cwd / "f") else "\n"
    bench.call("write_to_file", path="f", content=shown(bench).replace(old, new, 1) + final)


def ends_with_newline(place: Path) -> bool:
    return place.read_bytes().replace(b"\0", b"")[-1:] in {b"\n", b"\r"}


TOOLS: dict[str, Callable[[Workbench, str, str], None]] = {"edit_file": edited, "write_to_file": rewritten}
MATRIX = list(product(FORMS, ENDINGS, TOOLS))


@pytest.mark.parametrize(("form", "endings", "tool"), MATRIX, ids=["-".join(row) for row in MATRIX])
def test_one_word_changes_and_every_other_byte_stays(bench: Workbench, form: str, endings: str, tool: str) -> None:
    place = bench.cwd / "f"
    for number in range(len(LINES)):
        place.write_bytes(written_down(form, endings))
        shown(bench)
        TOOLS[tool](bench, LINES[number], "NEW")
        changed = (*LINES[:number], "NEW", *LINES[number + 1 :])
        assert place.read_bytes() == written_down(form, endings, changed)


@pytest.mark.parametrize(("form", "endings", "tool"), MATRIX, ids=["-".join(row) for row in MATRIX])
def test_a_new_line_ends_like_its_neighbour_and_every_other_byte_stays(
    bench: Workbench, form: str, endings: str, tool: str
) -> None:
    before = written_down(form, endings)
    encoding = FORMS[form][1]
    head = before.index("second".encode(encoding))
    place = bench.cwd / "f"
    place.write_bytes(before)
    shown(bench)
    TOOLS[tool](bench, "second", "extra\nsecond")
    after = place.read_bytes()
    assert after.startswith(before[:head]) and after.endswith(before[head:])
    assert after[head : len(after) - len(before) + head].decode(encoding) == f"extra{ENDINGS[endings][0]}"


CHARACTERS = st.sampled_from(["a", "b", " ", "\t", "é", "“", "\x0c", "\u2028", "🙂"])
LINE = st.text(CHARACTERS, max_size=6)
ENDING = st.sampled_from(["\n", "\r\n", "\r"])
CONTENT = st.lists(st.tuples(LINE, ENDING), max_size=8).map(lambda rows: "".join(line + end for line, end in rows))


@given(CONTENT, LINE, LINE, CONTENT, st.sampled_from(["utf-8", "utf-8 with mark", "utf-16-le", "utf-32-be"]))
def test_any_file_keeps_what_surrounds_an_edit(before: str, start: str, end: str, after: str, form: str) -> None:
    mark, encoding, _ = FORMS[form]
    with TemporaryDirectory() as directory:
        bench = Workbench(Path(directory))
        place = bench.cwd / "f"
        place.write_bytes(mark + f"{before}{start}OLD{end}{after}".encode(encoding))
        bench.call("edit_file", path="f", old_string="OLD", new_string="NEW TEXT")
        assert place.read_bytes() == mark + f"{before}{start}NEW TEXT{end}{after}".encode(encoding)


@given(st.binary(max_size=40).filter(lambda data: b"\0" not in data), st.binary(max_size=40))
def test_bytes_of_no_encoding_survive_an_edit_beside_them(before: bytes, after: bytes) -> None:
    after = after.replace(b"\0", b"")
    if (before + after).startswith((b"\xff\xfe", b"\xfe\xff")):
        return  # a mark makes the rest something else
    with TemporaryDirectory() as directory:
        bench = Workbench(Path(directory))
        place = bench.cwd / "f"
        place.write_bytes(before + b"-OLD-" + after)
        bench.call("edit_file", path="f", old_string="-OLD-", new_string="-NEW-")
        assert place.read_bytes() == before + b"-NEW-" + after
