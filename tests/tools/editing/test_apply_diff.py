"""Changing parts of a file by SEARCH/REPLACE blocks, as a model does."""

import json
from pathlib import Path

import pytest

from robota.contracts.tool import ToolError
from robota.protocol.views import DiffView
from tests.tools.editing.casebook import Case, cases_of
from tests.tools.workbench import Workbench

CASES = cases_of("apply_diff")


def block(search: str, replace: str, start_line: int | None = None) -> str:
    head = f":start_line:{start_line}\n-------\n" if start_line else ""
    return f"<<<<<<< SEARCH\n{head}{search}=======\n{replace}>>>>>>> REPLACE\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, bench: Workbench, tmp_path: Path) -> None:
    before, after = case.text("file") or "", case.text("result")
    file = tmp_path / "f.txt"
    file.write_bytes(before.encode())
    if after is None:
        with pytest.raises(ToolError) as refused:
            bench.call("apply_diff", path="f.txt", diff=case.text("diff"))
        said = str(refused.value)
    else:
        said = bench.call("apply_diff", path="f.txt", diff=case.text("diff")).content
    assert file.read_bytes().decode() == (before if after is None else after)
    expected = (*case.phrases("error"), *case.phrases("notice"), *case.phrases("loosely"))
    assert [phrase for phrase in expected if phrase not in said] == []
    assert [phrase for phrase in case.phrases("not said") if phrase in said] == []
    assert ("Not matched exactly" in said) == (case.text("loosely") is not None)


def test_there_are_as_many_cases_as_promised() -> None:
    assert len(CASES) >= 80
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_ask_shows_the_difference_and_changes_nothing(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\nc\n")
    preview = bench.preview("apply_diff", path="f", diff=block("b\n", "B\nB2\n"))
    say = json.loads(preview.text)
    assert (preview.ask, say["tool"], say["path"]) == ("tool", "appliedDiff", "f")
    assert say["diff"] == "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n"
    assert say["diffStats"] == {"added": 2, "removed": 1}
    assert (tmp_path / "f").read_text() == "a\nb\nc\n"


def test_the_result_carries_the_difference(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\n")
    result = bench.call("Diff", path="f", diff=block("b\n", "B\n"))
    assert isinstance(result.view, DiffView)
    assert (result.view.path, result.view.added, result.view.removed) == ("f", 1, 1)
    assert result.content == "Changed f (+1 -1 lines).\n1 | a\n2 | B"


def test_a_diff_that_cannot_be_applied_is_not_asked_about(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    with pytest.raises(ToolError, match="not in the file"):
        bench.preview("apply_diff", path="f", diff=block("zzz\n", "x\n"))


def test_a_file_that_changed_since_it_was_read_is_left_alone(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\n")
    bench.call("read_file", path="f")
    (tmp_path / "f").write_text("a\nb\nby somebody else\n")
    with pytest.raises(ToolError, match="changed since it was last read"):
        bench.call("apply_diff", path="f", diff=block("a\n", "A\n"))
    assert (tmp_path / "f").read_text() == "a\nb\nby somebody else\n"


def test_one_diff_after_another_needs_no_reading_in_between(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    bench.call("read_file", path="f")
    bench.call("apply_diff", path="f", diff=block("a\n", "b\n"))
    bench.call("apply_diff", path="f", diff=block("b\n", "c\n"))
    assert (tmp_path / "f").read_text() == "c\n"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("gone", "does not exist"),
        ("bin", "binary"),
        (".", "directory"),
        ("../x", "outside"),
        ("secret", "hidden from you"),
    ],
)
def test_what_must_not_be_edited_is_left_alone(bench: Workbench, tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "bin").write_bytes(b"a\n\0\1")
    (tmp_path / "secret").write_text("a\n")
    (tmp_path / ".robotaignore").write_text("secret\n")
    with pytest.raises(ToolError, match=message):
        bench.call("apply_diff", path=path, diff=block("a\n", "b\n"))
    assert (tmp_path / "bin").read_bytes() == b"a\n\0\1"
    assert (tmp_path / "secret").read_text() == "a\n"


def test_a_character_that_the_file_cannot_hold_changes_nothing(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"caf\xe9\nprice\n")
    with pytest.raises(ToolError, match="Nothing was written"):
        bench.call("apply_diff", path="f", diff=block("price\n", "5 日\n"))
    assert (tmp_path / "f").read_bytes() == b"caf\xe9\nprice\n"


@pytest.mark.parametrize(("distance", "is_found"), [(40, True), (41, True), (42, False)])
def test_how_far_from_its_start_line_a_block_is_found(
    bench: Workbench, tmp_path: Path, distance: int, is_found: bool
) -> None:
    (tmp_path / "f").write_text("".join(f"line {number}\n" for number in range(1, 201)))
    diff = block("line 100\n", "here\n", start_line=100 - distance)
    if is_found:
        bench.call("apply_diff", path="f", diff=diff)
        assert "here" in (tmp_path / "f").read_text()
        return
    with pytest.raises(ToolError, match="it occurs at line 100"):
        bench.call("apply_diff", path="f", diff=diff)


def test_an_edit_that_breaks_the_syntax_is_kept_and_told(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def f(x):\n    return (x + 1)\n")
    said = bench.call("apply_diff", path="m.py", diff=block("    return (x + 1)\n", "    return (x + 1\n")).content
    assert "parsed before this edit and does not now" in said
    assert "line 2" in said and "2 |     return (x + 1\n" in said
    assert (tmp_path / "m.py").read_text() == "def f(x):\n    return (x + 1\n"
    repaired = bench.call("apply_diff", path="m.py", diff=block("    return (x + 1\n", "    return x + 1\n")).content
    assert "parse" not in repaired
