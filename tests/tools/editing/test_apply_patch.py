"""Changing several files by one patch, as a model does."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.tool import ToolError
from robota.protocol.views import DiffView
from robota.tools.editing import apply_patch
from robota.tools.editing.patch_format import BadPatch, paths_of, read_patch
from tests.tools.editing.casebook import Case, cases_of
from tests.tools.workbench import Workbench

CASES = cases_of("apply_patch")
PIECES = [
    *("*** Begin Patch\n", "*** End Patch\n", "*** Add File: a\n", "*** Delete File: b\n", "*** Update File: c\n"),
    *("*** Move to: d\n", "@@ x\n", "@@\n", "+1\n", "-1\n", " 1\n", "\n", "*** End of File\n", "\u00a0", " ", "\r"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, bench: Workbench, tmp_path: Path) -> None:
    before = case.files("file")
    for path, text in before.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text.encode())
    if case.text("error") is None:
        said = bench.call("apply_patch", patch=case.text("patch")).content
        expected = case.files("result")
    else:
        with pytest.raises(ToolError) as refused:
            bench.call("apply_patch", patch=case.text("patch"))
        said, expected = str(refused.value), before
    assert tree(tmp_path) == expected
    assert [phrase for phrase in (*case.phrases("error"), *case.phrases("loosely")) if phrase not in said] == []
    assert [phrase for phrase in case.phrases("not said") if phrase in said] == []
    assert ("Not matched exactly" in said) == (case.text("loosely") is not None)


def test_there_are_as_many_cases_as_promised() -> None:
    assert len(CASES) >= 80
    assert len({case.name for case in CASES}) == len(CASES)


def tree(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_bytes().decode() for path in root.rglob("*") if path.is_file()}


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def test_everything_is_undone_when_a_later_file_cannot_be_written(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "m").write_text("3\n")
    (tmp_path / "protected").write_text("2\n")
    (tmp_path / "protected").chmod(0o444)
    before = tree(tmp_path)
    text = patch(
        *("*** Update File: a", "-1", "+one", "*** Add File: new/deep/file", "+x"),
        *("*** Update File: m", "*** Move to: moved/m", "*** Update File: protected", "-2", "+two"),
    )
    with pytest.raises(
        ToolError, match=r"write-protected.*3 change\(s\) made before it were undone.*nothing is changed"
    ):
        bench.call("apply_patch", patch=text)
    assert tree(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_deleted_files_come_back_when_a_later_one_cannot_be_deleted(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_bytes(b"\0binary")
    (tmp_path / "a.sh").chmod(0o750)
    (tmp_path / "protected").touch(mode=0o444)
    with pytest.raises(ToolError, match="undone"):
        bench.call("apply_patch", patch=patch("*** Delete File: a.sh", "*** Delete File: protected"))
    assert (tmp_path / "a.sh").read_bytes() == b"\0binary"
    assert (tmp_path / "a.sh").stat().st_mode & 0o777 == 0o750


def test_the_result_names_every_file(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "b").write_text("2\n")
    (tmp_path / "c").write_text("3\n")
    text = patch(
        *("*** Update File: a", "-1", "+one", "*** Delete File: b", "*** Update File: c", "*** Move to: d"),
        *("*** Add File: e", "+5"),
    )
    assert bench.call("Patch", patch=text).content.splitlines() == [
        "The patch was applied.",
        *("Changed a (+1 -1 lines).", "1 | one"),
        "Deleted b (+0 -1 lines).",
        "Moved c to d (+0 -0 lines).",
        "Created e (+1 -0 lines).",
    ]


def test_the_ask_shows_every_difference_and_changes_nothing(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "b").write_text("2\n")
    before = tree(tmp_path)
    preview = bench.preview("apply_patch", patch=patch("*** Update File: a", "-1", "+one", "*** Delete File: b"))
    say = json.loads(preview.text)
    assert (preview.ask, say["tool"], say["path"]) == ("tool", "appliedDiff", "a, b")
    assert say["diffStats"] == {"added": 1, "removed": 2}
    assert say["diff"] == ("*** modified: a\n@@ -1,1 +1,1 @@\n-1\n+one\n*** deleted: b\n@@ -1,1 +0,0 @@\n-2\n")
    assert tree(tmp_path) == before


def test_a_patch_of_one_file_is_shown_as_its_difference(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    preview = bench.preview("apply_patch", patch=patch("*** Update File: a", "*** Move to: b", "-1", "+one"))
    assert isinstance(preview.view, DiffView)
    assert preview.view.path == "a → b"


@pytest.mark.parametrize(
    ("lines", "paths"),
    [
        (["*** Add File: n", "+*** Update File: not-this", "*** Delete File: d"], ("n", "d")),
        (["*** Update File: a", "*** Move to: b", " *** Delete File: not-this", "-1"], ("a", "b")),
        (["\u00a0*** Update File: .env", "-1"], (".env",)),
        (["*** Update File: a", "-1", "broken", "*** Delete File: b"], ("a", "b")),
    ],
)
def test_policy_is_told_every_path(lines: list[str], paths: tuple[str, ...]) -> None:
    assert apply_patch.touches(apply_patch.ApplyPatchParams(patch=patch(*lines))).paths == paths


@given(st.text(alphabet="*@+- \n\r\u00a0ab") | st.lists(st.sampled_from(PIECES)).map("".join))
def test_policy_is_told_at_least_what_a_patch_does(text: str) -> None:
    told = set(apply_patch.touches(apply_patch.ApplyPatchParams(patch=text)).paths)
    try:
        operations = read_patch(text)
    except BadPatch:
        return
    assert {path for operation in operations for path in paths_of(operation)} <= told


def test_a_file_that_changed_since_it_was_read_stops_the_whole_patch(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "b").write_text("2\n")
    bench.call("read_file", path="b")
    (tmp_path / "b").write_text("2\nby somebody else\n")
    before = tree(tmp_path)
    for operation in (["*** Update File: b", "-2", "+two"], ["*** Delete File: b"]):
        with pytest.raises(ToolError, match="changed since it was last read"):
            bench.call("apply_patch", patch=patch("*** Update File: a", "-1", "+one", *operation))
        assert tree(tmp_path) == before


def test_two_links_to_one_file_are_one_file(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(ToolError, match="'link' is named twice"):
        bench.call("apply_patch", patch=patch("*** Update File: a", "-1", "+x", "*** Update File: link", "-2", "+y"))


def test_broken_syntax_is_told_for_the_file_it_is_in(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text("[1]\n")
    text = patch("*** Update File: good.json", "-[1]", "+[1, 2]", "*** Add File: bad.json", "+[1,")
    good, bad = bench.call("apply_patch", patch=text).content.split("Created bad.json")
    assert "does not parse" not in good
    assert "new file does not parse" in bad and "line 1" in bad


@pytest.mark.parametrize(
    "body",
    [
        "*** Update File: a.txt\n@@\n-one\n+two\n*** Update File: ./a.txt\n@@\n-one\n+three",
        "*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+two",
        "*** Add File: a.txt\n+new",
    ],
)
def test_a_patch_that_would_step_on_a_file_is_refused(bench: Workbench, tmp_path: Path, body: str) -> None:
    """One file under two names, a move onto an existing file, adding a file that exists."""
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt").write_text("other\n")
    with pytest.raises(ToolError):
        bench.call("apply_patch", patch=f"*** Begin Patch\n{body}\n*** End Patch")
    assert (tmp_path / "a.txt").read_text() == "one\n" and (tmp_path / "b.txt").read_text() == "other\n"


def test_deleting_a_link_leaves_what_it_leads_to(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("rules\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    bench.call("apply_patch", patch=patch("*** Delete File: CLAUDE.md"))
    assert not (tmp_path / "CLAUDE.md").is_symlink()
    assert (tmp_path / "AGENTS.md").read_text() == "rules\n"


def test_moving_a_link_moves_the_link(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("rules\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    bench.call("apply_patch", patch=patch("*** Update File: CLAUDE.md", "*** Move to: GEMINI.md"))
    assert not (tmp_path / "CLAUDE.md").is_symlink()
    assert (tmp_path / "GEMINI.md").readlink() == Path("AGENTS.md")
    assert (tmp_path / "AGENTS.md").read_text() == "rules\n"


def test_a_link_is_not_moved_and_changed_at_once(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("rules\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    moved = patch("*** Update File: CLAUDE.md", "*** Move to: X.md", "@@", "-rules", "+laws")
    with pytest.raises(ToolError, match="symbolic link"):
        bench.call("apply_patch", patch=moved)
    assert (tmp_path / "CLAUDE.md").readlink() == Path("AGENTS.md")


def test_a_link_that_was_removed_is_there_again_when_the_rest_fails(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "link").symlink_to("nowhere")
    prepared = bench.prepare("apply_patch", patch=patch("*** Delete File: link", "*** Delete File: a"))
    (tmp_path / "a").write_text("changed\n")
    with pytest.raises(ToolError):
        bench.run(prepared)
    assert (tmp_path / "link").readlink() == Path("nowhere")
