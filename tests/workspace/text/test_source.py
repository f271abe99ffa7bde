"""Edits of decoded text: only the bytes that an edit means to change are changed."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.files.files import FileData, LocalFiles
from robota.workspace.problems import BinaryContent, FileChanged, NotRead, Unencodable
from robota.workspace.text.source import LineEdit, SourceText, TextSpan, common_prefix, common_suffix, read_source

MARKS = {"utf-8": b"", "utf-8-sig": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-32-be": b"\x00\x00\xfe\xff"}
LINES = st.lists(st.tuples(st.text("ab é", max_size=4), st.sampled_from(["\n", "\r\n", "\r"])), max_size=12)


def source(data: bytes) -> SourceText:
    return SourceText(FileData(path=Path("f"), data=data, stamp=()))


def plain(content: str) -> str:
    return content.replace("\r\n", "\n").replace("\r", "\n")


@given(LINES, st.text("ab", max_size=3), st.sampled_from(sorted(MARKS)), st.data())
def test_replaced_lines_give_the_text_that_was_meant(
    lines: list[tuple[str, str]], last: str, encoding: str, data: st.DataObject
) -> None:
    content = "".join(line + ending for line, ending in lines) + last
    subject = source(MARKS[encoding] + content.encode(encoding.removesuffix("-sig")))
    count = len(subject.lines)
    start = data.draw(st.integers(1, count + 1))
    end = data.draw(st.integers(start - 1, count))
    new = data.draw(st.lists(st.text("xab", max_size=3), max_size=4))
    edited = source(subject.replace([LineEdit(start_line=start, end_line=end, new_lines=new)]))
    expected = "\n".join([*subject.lines[: start - 1], *new, *subject.lines[end:]])
    assert edited.text in {expected, f"{expected}\n"}
    assert edited.form.encoding == subject.form.encoding and edited.form.mark == subject.form.mark


@given(LINES, st.text("ab", max_size=3), st.data())
def test_replacing_a_stretch_touches_nothing_before_and_after_it(
    lines: list[tuple[str, str]], last: str, data: st.DataObject
) -> None:
    content = "".join(line + ending for line, ending in lines) + last
    subject = source(content.encode())
    start = data.draw(st.integers(0, len(subject.text)))
    end = data.draw(st.integers(start, len(subject.text)))
    new = data.draw(st.text("xy\n", max_size=6))
    edited = bytes(subject.replace_spans([TextSpan(start=start, end=end, new=new)])).decode()
    assert plain(edited) == subject.text[:start] + new + subject.text[end:]
    before = next(at for at in range(len(content) + 1) if plain(content[:at]) == subject.text[:start])
    assert edited.startswith(content[:before])
    after = content[len(content) - raw_length_of_end(content, len(subject.text) - end) :]
    assert edited.endswith(after) or edited.endswith("\r\n" + after.removeprefix("\n"))


def raw_length_of_end(content: str, wanted: int) -> int:
    return next(n for n in range(len(content) + 1) if len(plain(content[len(content) - n :])) == wanted)


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        (b"a\r\nb\r\n", LineEdit(start_line=2, end_line=2, new_lines=["x", "y"]), b"a\r\nx\r\ny\r\n"),
        (b"a\rb\r", LineEdit(start_line=1, end_line=0, new_lines=["x"]), b"x\ra\rb\r"),
        (b"a\nb", LineEdit(start_line=3, end_line=2, new_lines=["c"]), b"a\nb\nc"),
        (b"a\nb", LineEdit(start_line=2, end_line=2, new_lines=["c", "d"]), b"a\nc\nd"),
        (b"", LineEdit(start_line=1, end_line=0, new_lines=["c"]), b"c\n"),
        (b"a\r\nb\nc\n", LineEdit(start_line=1, end_line=3, new_lines=["a", "B", "c"]), b"a\r\nB\nc\n"),
        (b"a\r\nb\nc\r\n", LineEdit(start_line=2, end_line=1, new_lines=["n"]), b"a\r\nn\r\nb\nc\r\n"),
        (b"a\rb\nc", LineEdit(start_line=2, end_line=2, new_lines=[""]), b"a\r\r\nc"),
        (b"a\rb\nc\n", LineEdit(start_line=2, end_line=3, new_lines=["", "x"]), b"a\r\r\nx\n"),
        (b"p\rq\n\nz\n", LineEdit(start_line=1, end_line=2, new_lines=["x"]), b"x\n\nz\n"),
        (b"a\nb\nc\n", LineEdit(start_line=2, end_line=2, new_lines=[]), b"a\nc\n"),
    ],
)
def test_new_lines_end_like_the_lines_around_them(before: bytes, edit: LineEdit, after: bytes) -> None:
    assert source(before).replace([edit]) == after


def test_two_endings_never_become_one() -> None:
    assert bytes(source(b"p\rq\n").replace_spans([TextSpan(start=3, end=3, new="x\n")])) == b"p\rqx\r\n\n"
    assert bytes(source(b"p\rq\nr").replace_spans([TextSpan(start=2, end=3, new="")])) == b"p\r\r\nr"


def test_several_edits_in_any_order_that_do_not_overlap() -> None:
    edits = [
        LineEdit(start_line=3, end_line=3, new_lines=["three"]),
        LineEdit(start_line=1, end_line=1, new_lines=["one", "more"]),
    ]
    assert source(b"1\n2\n3\n").replace(edits) == b"one\nmore\n2\nthree\n"
    with pytest.raises(ValueError, match="overlaps"):
        source(b"1\n2\n3\n").replace([*edits, LineEdit(start_line=2, end_line=3, new_lines=[])])
    with pytest.raises(ValueError, match="not among"):
        source(b"1\n").replace([LineEdit(start_line=2, end_line=2, new_lines=[])])


def test_bytes_that_are_no_text_survive_around_and_within_an_edit() -> None:
    """One stray byte in a UTF-8 file changes neither the others nor itself."""
    subject = source("é ü ".encode() + b"\xe9\n" + "x ö\n".encode())
    assert subject.text == "é ü \ufffd\nx ö\n"
    assert subject.replace([LineEdit(start_line=2, end_line=2, new_lines=["y ö"])]) == (
        "é ü ".encode() + b"\xe9\n" + "y ö\n".encode()
    )
    edited = subject.replace([LineEdit(start_line=1, end_line=1, new_lines=["A é ü \ufffd !"])])
    assert edited == "A é ü ".encode() + b"\xe9 !\n" + "x ö\n".encode()
    with pytest.raises(Unencodable, match="Nothing was written"):
        subject.replace([LineEdit(start_line=2, end_line=2, new_lines=["\ufffd"])])


def test_a_cp1252_file_is_read_and_written_in_its_own_code_page() -> None:
    subject = source(b"\x93quoted\x94 \x80\n")
    assert subject.text == "“quoted” €\n"
    edited = subject.replace([LineEdit(start_line=1, end_line=1, new_lines=["“quoted” € é"])])
    assert edited == b"\x93quoted\x94 \x80 \xe9\n"


def test_an_explicit_carriage_return_is_kept_in_a_file_that_has_none() -> None:
    assert bytes(source(b"a\n").replace_spans([TextSpan(start=0, end=2, new="a\r\n")])) == b"a\r\n"
    assert bytes(source(b"a\r\n").replace_spans([TextSpan(start=0, end=2, new="b\r\nc\n")])) == b"b\r\nc\r\n"


@given(st.text("ab"), st.text("ab"))
def test_common_ends_are_the_longest(one: str, other: str) -> None:
    shortest = min(len(one), len(other))
    head = max(n for n in range(shortest + 1) if one[:n] == other[:n])
    assert common_prefix(one, other) == head
    tail = max(n for n in range(shortest + 1) if one[len(one) - n :] == other[len(other) - n :])
    assert common_suffix(one, other, shortest) == tail


def test_a_file_changed_since_it_was_read_is_refused(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    place = tmp_path / "f"
    place.write_text("one")
    assert read_source(files, "f").text == "one"
    with pytest.raises(NotRead, match="read_file first"):
        read_source(files, "f", must_be_read=True)
    files.note_read(files.read("f", 99))
    seen = read_source(files, "f", must_be_read=True)
    files.write("f", b"two", over=seen.file)
    assert read_source(files, "f", must_be_read=True).text == "two"
    place.write_text("six")
    with pytest.raises(FileChanged, match="Read it again"):
        read_source(files, "f")


def test_binary_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\0b")
    with pytest.raises(BinaryContent):
        read_source(LocalFiles(tmp_path), "f")
