"""Editing files as a model does."""

import json
import os
from pathlib import Path

import pytest

from robota.contracts.tool import ToolError
from robota.protocol.views import DiffView
from tests.tools.workbench import Workbench


def edit(bench: Workbench, old: str, new: str, **more: object) -> str:
    return bench.call("edit_file", path="f", old_string=old, new_string=new, **more).content


def refusal(bench: Workbench, old: str, new: str, **more: object) -> str:
    """What the model is told; the file must be as it was."""
    place = bench.cwd / "f"
    before = place.read_bytes() if place.exists() else None
    with pytest.raises(ToolError) as caught:
        edit(bench, old, new, **more)
    assert (place.read_bytes() if place.exists() else None) == before
    return str(caught.value)


def test_text_is_replaced_literally(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a.b $1 \\1 &lt;\n")
    result = bench.call("edit_file", path="f", old_string="a.b", new_string="$& \\g<0> &amp;")
    assert (tmp_path / "f").read_text() == "$& \\g<0> &amp; $1 \\1 &lt;\n"
    assert result.content == "Changed f (+1 -1 lines).\n1 | $& \\g<0> &amp; $1 \\1 &lt;"
    assert isinstance(result.view, DiffView)
    assert (result.view.added, result.view.removed) == (1, 1)


def test_a_text_in_several_places_is_replaced_only_on_request(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x = 1\ny = x\n")
    assert "2 times" in refusal(bench, "x", "z") and "lines 1, 2" in refusal(bench, "x", "z")
    assert "Replaced 2 occurrences" in edit(bench, "x", "xx", replace_all=True)
    assert (tmp_path / "f").read_text() == "xx = 1\ny = xx\n"


def test_a_crlf_file_is_matched_and_kept(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"one\r\ntwo\r\nthree")
    edit(bench, "one\ntwo\n", "1\n2\n2.5\n")
    assert (tmp_path / "f").read_bytes() == b"1\r\n2\r\n2.5\r\nthree"
    edit(bench, "2\r\n2.5", "two\r\nhalf")
    assert (tmp_path / "f").read_bytes() == b"1\r\ntwo\r\nhalf\r\nthree"


def test_trailing_blanks_of_the_new_text_are_kept(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\n")
    edit(bench, "a", "a  ")
    assert (tmp_path / "f").read_text() == "a  \nb\n"


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        # Indentation: the quotation has too little or none, or blanks for tabs; new lines move along.
        (
            "class A:\n    def f(self):\n        pass\n",
            "def f(self):\n    pass",
            "def f(self):\n    x = 1\n    pass",
            "class A:\n    def f(self):\n        x = 1\n        pass\n",
        ),
        (
            "\tif x:\n\t\ty()\n",
            "    if x:\n        y()",
            "    if x:\n        z()\n        y()",
            "\tif x:\n\t\tz()\n\t\ty()\n",
        ),
        ("if x:\n  y()\n", "    if x:\n      y()", "    if x:\n      z()", "if x:\n  z()\n"),
        # Blanks at line ends: those of lines that stay, stay.
        ("a  \nb\t\nc\n", "a\nb\nc", "a\nB\nc", "a  \nB\nc\n"),
        # Newlines at the ends of the new text are meant.
        ("  a\n  b\n", "\tb\n", "\n\tB\n", "  a\n\n  B\n"),
        ("a\nb", "b\n", "B\n", "a\nB"),
        ("x\n  a\n  b\nc\n", " a\n b\n", "", "x\nc\n"),
        # Blanks within a line.
        ("call(a,  b)\nnext\n", "call(a, b)", "call(a, c)", "call(a, c)\nnext\n"),
        # Typographic characters: those that are not part of the change stay.
        ("say “hello” — twice\n", 'say "hello" - twice', 'say "hello" - once', "say “hello” — once\n"),
        ("a\u00a0b “c”\n", 'b "c"', 'b "d"', "a\u00a0b “d”\n"),
        ("“a” is “b”, “c”\n", '"a" is "b", "c"', '"x" is "b", "y"', "“x” is “b”, “y”\n"),
        # A run of signs is either that of the file or that of the new text, never a mixture.
        ("break—here\n", "break-here", "break--here", "break--here\n"),
        ("pages 1–5\n", "pages 1-5", "pages 1-6", "pages 1–6\n"),
        ("it’s\n", "it's", "it''s", "it''s\n"),
        # Full-width punctuation, and characters composed in another way.
        ("print（“你好”，a）：x\n", 'print("你好",a):x', 'print("你好",b):y', "print（“你好”，b）：y\n"),
        ("cafe\u0301 naïve 1\n", "café naïve 1", "café naïve 2", "cafe\u0301 naïve 2\n"),
        ("café 1\nx\n", "cafe\u0301 1", "tea 1", "tea 1\nx\n"),
        ("\u1112\u1161\u11ab글 a\nz\n", "한글 a", "한글 b", "\u1112\u1161\u11ab글 b\nz\n"),
        ("o\u0308\n  e\u0301(a)\n", "é(a)\n", "é(b)\n", "o\u0308\n  e\u0301(b)\n"),
        ("e\u0301\n  if  e\u0301:\n", "if é:", "if é and x:", "e\u0301\n  if é and x:\n"),
    ],
)
def test_a_near_miss_in_one_place_only_is_found(
    bench: Workbench, tmp_path: Path, content: str, old: str, new: str, expected: str
) -> None:
    (tmp_path / "f").write_text(content)
    assert "no exact match in the file" in edit(bench, old, new)
    assert (tmp_path / "f").read_text() == expected


@pytest.mark.parametrize(
    ("content", "old"),
    [
        ("  go()\n\tgo()\n", "    go()\n"),
        ("call(a,  b)\ncall(a,   b)\n", "call(a, b)"),
        ("“a”\n„a‟\n", '"a"'),
        ("f（a）\nf(a）\n", "f(a)"),
        ("e\u0301\nx\ne\u0301 \n", "é"),
    ],
)
def test_a_near_miss_in_several_places_is_not_guessed(bench: Workbench, tmp_path: Path, content: str, old: str) -> None:
    (tmp_path / "f").write_text(content)
    told = refusal(bench, old, "other")
    assert "2 times" in told and "Copy the text exactly" in told
    assert "2 times" in refusal(bench, old, "other", replace_all=True)


def test_lines_whose_indentation_differs_unevenly_are_not_matched(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("if x:\n        y()\n    z()\n")
    assert "was not found" in refusal(bench, "if x:\n  y()\n  z(1)\n", "new")


def test_a_failure_shows_the_nearest_text(bench: Workbench, tmp_path: Path) -> None:
    filler = "".join(f"line {n}\n" for n in range(50))
    (tmp_path / "f").write_text(f"{filler}def total(items):\n    return sum(items)\n")
    told = refusal(bench, "def total(rows):\n    return sum(rows)", "x")
    assert "was not found in 'f'. Nothing was changed." in told
    assert "lines 51-52:\n51 | def total(items):\n52 |     return sum(items)\n" in told
    percent = int(told.split(" % alike")[0].rsplit(" ", 1)[1])
    assert 70 <= percent < 100


def test_nothing_similar_is_said_plainly(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("aaa\n")
    assert "Nothing in the file is similar to it" in refusal(bench, "zzz", "x")
    (tmp_path / "f").write_text("def total(items):\n    return 1\n")
    told = refusal(bench, "import os from somewhere else", "x")
    assert "Nothing in the file is similar to it" in told, "some letters in common are no similarity"


def test_a_nearest_line_that_is_cut_is_not_shown_as_if_it_were_whole(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("short\n" + "word " * 400 + "\n")
    told = refusal(bench, "word " * 399 + "other", "x")
    assert "is at line 2:" in told and "(Lines are cut after 500 characters here. Read the file" in told


def test_old_and_new_must_differ(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    assert "the same" in refusal(bench, "a", "a")
    assert "the same" in refusal(bench, "", "")


def test_an_empty_old_string_makes_a_new_file_only(bench: Workbench, tmp_path: Path) -> None:
    result = bench.call("edit_file", path="a/b", old_string="", new_string="hello\n")
    assert (tmp_path / "a/b").read_text() == "hello\n"
    assert result.content == "Created a/b (+1 -0 lines)."
    (tmp_path / "f").write_text("")
    assert "exists" in refusal(bench, "", "x")


def test_a_missing_file_is_said_to_be_missing(bench: Workbench) -> None:
    assert "does not exist" in refusal(bench, "a", "b")


def test_a_file_changed_since_it_was_read_is_refused(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\n")
    edit(bench, "a", "A")  # never read: the quotation itself shows that its content is known
    (tmp_path / "f").write_text("a\nb\nc\n")
    assert "Read it again" in refusal(bench, "b", "B")
    bench.call("read_file", path="f")
    edit(bench, "b", "B")
    edit(bench, "c", "C")
    assert (tmp_path / "f").read_text() == "a\nB\nC\n"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("bin", "binary"),
        (".", "directory"),
        ("../x", "outside"),
        ("ro", "write-protected"),
        ("pipe", "named pipe"),
        ("big", "at most"),
        ("hidden", "hidden from you"),
    ],
)
def test_what_must_not_be_edited_is_left_alone(bench: Workbench, tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "bin").write_bytes(b"a\0b")
    (tmp_path / "ro").write_text("a")
    (tmp_path / "ro").chmod(0o444)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".robotaignore").write_text("hidden\n")
    (tmp_path / "hidden").write_text("a")
    with (tmp_path / "big").open("wb") as big:
        big.truncate(1 << 30)
    with pytest.raises(ToolError, match=message):
        bench.call("edit_file", path=path, old_string="a", new_string="b")
    assert [(tmp_path / name).read_bytes() for name in ("bin", "ro", "hidden")] == [b"a\0b", b"a", b"a"]


def test_mode_and_links_survive_an_edit(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("echo a\n")
    (tmp_path / "script").chmod(0o755)
    (tmp_path / "f").symlink_to("script")
    edit(bench, "a", "b")
    assert (tmp_path / "f").is_symlink()
    assert (tmp_path / "script").read_text() == "echo b\n"
    assert (tmp_path / "script").stat().st_mode & 0o777 == 0o755


def test_the_ask_shows_the_difference_and_changes_nothing(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"{n}\n" for n in range(1, 21)))
    preview = bench.preview("edit_file", path="f", old_string="10\n", new_string="ten\n")
    say = json.loads(preview.text)
    assert (preview.ask, say["tool"], say["path"]) == ("tool", "appliedDiff", "f")
    assert say["diff"] == "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    assert isinstance(preview.view, DiffView)
    assert "10\n" in (tmp_path / "f").read_text()


def test_names_that_cannot_be_shown_are_escaped(bench: Workbench, tmp_path: Path) -> None:
    name = "a\n\x1b[31m'-x"
    (tmp_path / name).write_text("a")
    result = bench.call("edit_file", path=name, old_string="a", new_string="b")
    assert "\x1b" not in result.content and result.content.splitlines()[1:] == ["1 | b"]
    assert (tmp_path / name).read_text() == "b"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("edit_file", {"old_string": "(1)", "new_string": "(1"}),
        ("write_to_file", {"content": "def f():\n    return (1\n"}),
    ],
)
def test_an_edit_that_breaks_the_syntax_is_made_and_pointed_out(
    bench: Workbench, tmp_path: Path, tool: str, arguments: dict[str, str]
) -> None:
    place = tmp_path / "f.py"
    place.write_text("def f():\n    return (1)\n")
    bench.call("read_file", path="f.py")
    result = bench.call(tool, path="f.py", **arguments)
    assert place.read_text() == "def f():\n    return (1\n"
    assert "line 2" in result.content.split("\n", 1)[1]
