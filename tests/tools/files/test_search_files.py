"""Searching as a model does."""

import json
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.contracts.tool import BadArguments, ToolError
from robota.policy.protected.path_resolver import secret_pattern
from robota.workspace.files.files import LocalFiles
from tests.tools.workbench import Workbench


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def paths_of(content: str) -> list[str]:
    return [line[2:] for line in content.split("\n") if line.startswith("# ")]


def test_matches_stand_under_their_file_with_their_neighbours(bench: Workbench, tmp_path: Path) -> None:
    write(tmp_path, a_dot_py="one\ntwo\nneedle\nfour\nfive\nsix\nseven\nneedle 2\n", sub__b_dot_py="needle\n")
    result = bench.call("search_files", path=".", regex="need.e")
    assert result.content == (
        "Found 3 matches in 2 files.\n\n"
        "# a.py\n2 | two\n3 | needle\n4 | four\n----\n7 | seven\n8 | needle 2\n----\n\n"
        "# sub/b.py\n1 | needle\n----"
    )
    assert not result.is_error


def test_context_can_be_chosen(bench: Workbench, tmp_path: Path) -> None:
    write(tmp_path, f="a\nb\nx\nc\nd\n")
    assert "# f\n3 | x\n----" in bench.call("search_files", path=".", regex="x", context=0).content
    assert "1 | a\n2 | b\n3 | x\n4 | c\n5 | d" in bench.call("search_files", path=".", regex="x", context=2).content


def test_finding_nothing_says_how_much_was_searched(bench: Workbench, tmp_path: Path) -> None:
    write(tmp_path, a="x", b="y")
    assert bench.call("search_files", path=".", regex="zzz").content.startswith("No matches in 2 files. Try")
    nothing = bench.call("search_files", path=".", regex="x", file_pattern="*.nope").content
    assert "No file was searched" in nothing and "file_pattern" in nothing


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"regex": "fo("}, "unclosed group"),
        ({"regex": "(?=a)b"}, "look-around, .* is not supported"),
        ({"regex": "a\nb"}, "line by line"),
        ({"regex": r"a\nb"}, "made: it goes line by line, .* Search for one line.\nNothing was searched"),
        ({"regex": r"(a)\1"}, "made: backreferences are not supported.\nNothing"),
        ({"regex": "*"}, "made: repetition operator missing expression.\nNothing"),
        ({"regex": "a\0b"}, "NUL"),
        ({"regex": "x", "file_type": "klingon"}, "no file type 'klingon'"),
        ({"regex": "x", "file_pattern": "*.{a"}, "not a usable glob pattern"),
        ({"regex": "x", "path": "gone"}, "does not exist"),
        ({"regex": "x", "path": ".."}, "outside the workspace"),
        ({"regex": "x", "path": "pipe"}, "neither a directory nor a regular file"),
    ],
)
def test_what_cannot_be_searched_is_an_error_and_not_nothing(
    bench: Workbench, tmp_path: Path, arguments: dict[str, str], message: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolError, match=message):
        bench.call("search_files", **{"path": ".", **arguments})


@pytest.mark.parametrize(
    "arguments", [{"regex": ""}, {"regex": "x", "context": 21}, {"regex": "x", "max_results": 301}]
)
def test_arguments_have_limits(bench: Workbench, arguments: dict[str, object]) -> None:
    with pytest.raises(BadArguments):
        bench.call("search_files", path=".", **arguments)


def test_files_are_chosen_by_pattern_and_type(bench: Workbench, tmp_path: Path) -> None:
    write(tmp_path, a_dot_py="x", b_dot_ts="x", src__c_dot_ts="x", src__deep__d_dot_tsx="x", src__e_dot_md="x")

    def found(**arguments: str) -> list[str]:
        return paths_of(bench.call("search_files", **{"path": ".", "regex": "x", **arguments}).content)

    assert found(file_pattern="*.ts") == ["b.ts", "src/c.ts"]
    assert found(file_pattern="src/**/*.{ts,tsx}") == ["src/c.ts", "src/deep/d.tsx"]
    assert found(file_pattern="**/*") == found()
    assert found(file_type="ts") == ["b.ts", "src/c.ts", "src/deep/d.tsx"]
    assert found(file_type="ts", file_pattern="*.tsx") == ["src/deep/d.tsx"]
    assert found(path="src", file_pattern="deep/*") == ["src/deep/d.tsx"]
    assert found(path="src/c.ts") == ["src/c.ts"]


@pytest.mark.parametrize("is_repository", [True, False])
def test_what_git_ignores_stays_out_whatever_the_pattern(bench: Workbench, tmp_path: Path, is_repository: bool) -> None:
    if is_repository:
        (tmp_path / ".git").mkdir()
    write(tmp_path, _dot_gitignore="*.log\nbuild/\n", a_dot_log="x", build__b_dot_txt="x", src__c_dot_log="x", d="x")
    for arguments in ({}, {"file_pattern": "**/*"}, {"file_pattern": "*.{log,txt}"}):
        content = bench.call("search_files", path=".", regex="x", **arguments).content
        assert ".log" not in content and "build" not in content
    assert paths_of(bench.call("search_files", path=".", regex="x").content) == ["d"]
    assert "No file was searched" in bench.call("search_files", path="src", regex="x").content


def test_what_robotaignore_hides_cannot_be_found(bench: Workbench, tmp_path: Path) -> None:
    """Not even with a `.gitignore` that brings it back, which ripgrep alone would obey."""
    (tmp_path / ".git").mkdir()
    write(tmp_path, _dot_robotaignore="secret*\n", _dot_gitignore="!secret*\n", secret="needle", open="needle")
    write(tmp_path, sub___dot_robotaignore="hidden\n", sub__hidden="needle")
    assert paths_of(bench.call("search_files", path=".", regex="needle").content) == ["open"]
    with pytest.raises(ToolError, match="robotaignore"):
        bench.call("search_files", path="secret", regex="needle")


def test_hidden_files_are_searched_on_request(bench: Workbench, tmp_path: Path) -> None:
    write(tmp_path, _dot_env="x", _dot_github__ci="x", _dot_git__config="x", a="x")
    assert paths_of(bench.call("search_files", path=".", regex="x").content) == ["a"]
    everything = bench.call("search_files", path=".", regex="x", include_hidden=True).content
    assert paths_of(everything) == [".env", ".github/ci", "a"]


def test_symbolic_links_do_not_lead_out(bench: Workbench, tmp_path: Path) -> None:
    """Neither a link found on the way nor one given as the path."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "f").write_text("needle")
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "file").symlink_to(outside / "f")
    assert "No file was searched" in bench.call("search_files", path=".", regex="needle").content
    for path in ("link", "file", "link/f"):
        with pytest.raises(ToolError, match="outside the workspace"):
            bench.call("search_files", path=path, regex="needle")


def test_encodings_are_read_and_binary_files_passed_over(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"caf\xe9 needle\n")
    (tmp_path / "utf16").write_bytes("über needle\r\n".encode("utf-16"))
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0needle\n")
    content = bench.call("search_files", path=".", regex="needle").content
    assert "1 | café needle\n" in content
    assert "1 | über needle\n" in content
    assert paths_of(content) == ["latin", "utf16"]


def test_too_many_results_are_cut_in_path_order_and_it_says_so(bench: Workbench, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number:02}").write_text("x\n" * 10)
    content = bench.call("search_files", path=".", regex="x", context=0).content
    assert content.startswith("Showing matches 1-300 of more than 300.")
    assert content.endswith('[For the next matches: search_files {"regex":"x","context":0,"offset":300}]')
    assert paths_of(content) == [f"{number:02}" for number in range(30)]
    assert "matches 1-7 of more than 7" in bench.call("search_files", path=".", regex="x", max_results=7).content
    assert "Found 300 matches" in bench.call("search_files", path=".", regex="x", file_pattern="[012]*").content
    assert "only 10 matches; offset 10" in bench.call("search_files", path="00", regex="x", offset=10).content


@given(
    files=st.lists(st.lists(st.sampled_from(["x", "-", "x" * 450]), min_size=1, max_size=60), min_size=1, max_size=4),
    context=st.integers(0, 3),
    max_results=st.sampled_from([3, 50, 300]),
)
@settings(max_examples=15)
def test_what_a_cut_leaves_out_is_what_the_named_call_returns(
    files: list[list[str]], context: int, max_results: int
) -> None:
    """Follow the calls that the results name: together they show every match once, and each shows what it claims."""
    with TemporaryDirectory() as place:
        bench = Workbench(Path(place))
        for number, lines in enumerate(files):
            (Path(place) / f"f{number}").write_text("\n".join(lines))
        call: dict[str, object] | None = {"regex": "x+", "context": context, "max_results": max_results}
        seen: list[tuple[str, str]] = []
        while call is not None:
            content = bench.call("search_files", **call).content
            assert len(content) < 45_000
            shown, path = [], ""
            for line in content.split("\n"):
                path = line if line.startswith("# ") else path
                if re.match(r" *\d+ \| x", line):
                    shown.append((path, line.split("|")[0].strip()))
            fresh = [each for each in shown if each not in seen]
            claimed = re.match(r"Showing matches (\d+)-(\d+) of|Found (\d+) match", content)
            if claimed is not None and context == 0:
                first, last, whole = claimed.groups()
                assert len(shown) == (int(whole) if whole else int(last) - int(first) + 1)
            seen += fresh
            following = re.search(r"\[For the next matches: search_files (.*)\]$", content)
            call = None if following is None else json.loads(following[1])
        assert len(seen) == sum(line.startswith("x") for lines in files for line in lines)


def test_a_long_line_is_cut_around_its_match(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("é" * 5000 + "needle" + "z" * 5000 + "\n" + "needle" + "y" * 494 + "\n")
    content = bench.call("search_files", path=".", regex="needle").content
    first, second = [line for line in content.split("\n") if "|" in line]
    assert "needle" in first and first.count("[truncated...]") == 2 and len(first) < 550
    assert second == "2 | needle" + "y" * 494
    assert content.endswith('For a whole one: read_file {"path":"f","offset":1,"limit":1}]')


def test_very_wide_results_stay_within_a_budget(bench: Workbench, tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number:03}").write_text("x" * 499)
    content = bench.call("search_files", path=".", regex="x").content
    assert len(content) < 42_000
    assert content.startswith(f"Showing matches 1-{len(paths_of(content))} of 300.")


def test_strange_names_and_strange_expressions(bench: Workbench, tmp_path: Path) -> None:
    """They are shown escaped, and never interpreted as an option."""
    for name in ("-n", "a\nb", "esc\x1b[31m", os.fsdecode(b"\xff")):
        (tmp_path / name).write_text("--files\n")
    content = bench.call("search_files", path=".", regex="--files").content
    assert paths_of(content) == ["-n", "a\\nb", "esc\\x1b[31m", "\\xff"]
    assert paths_of(bench.call("search_files", path="-n", regex="-").content) == ["-n"]


def test_settings_of_the_machine_do_not_matter(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, f="needle")
    config = tmp_path.parent / f"{tmp_path.name}-ripgreprc"
    config.write_text("--glob=!f\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    assert "1 | needle" in bench.call("search_files", path=".", regex="needle").content


def test_the_ask_names_place_and_expression(bench: Workbench) -> None:
    preview = bench.preview("search_files", path="src", regex="a.*b", file_pattern="*.py")
    assert json.loads(preview.text) == {"tool": "searchFiles", "path": "src", "content": "a.*b", "reason": "*.py"}


@pytest.mark.parametrize("arguments", [{"include_hidden": True}, {"include_hidden": True, "file_pattern": ".env"}])
def test_a_search_leaves_out_files_whose_names_say_that_they_hold_secrets(
    tmp_path: Path, arguments: dict[str, object]
) -> None:
    """Such a file is searched only if the call names it, and then the user is asked."""
    (tmp_path / ".env").write_text("KEY=needle\n")
    bench = Workbench(tmp_path)
    bench.files = LocalFiles(tmp_path, is_secret=lambda relative: secret_pattern(relative) is not None)
    assert "needle" not in bench.call("search_files", path=".", regex="KEY", **arguments).content
    assert "needle" in bench.call("search_files", path=".env", regex="KEY", **arguments).content
