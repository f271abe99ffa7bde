"""Which hidden files an ignore file brings back: at least those that ripgrep really searches."""

import fnmatch
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robota.workspace.files.found_files import files_below
from robota.workspace.search.unhidden import IGNORE_FILES, MAX_BYTES, MAX_FILES, unhidden_names

RG = shutil.which("rg", path=f"{Path(sys.executable).parent}:/usr/bin")
HIDDEN = (".env", "src/.env", "src/.env.json", ".config/.env", ".config/app.txt", "src/deep/.npmrc")
LINES = st.sampled_from(
    [
        *("!.env", "!/.env", "!.*", "!src/.env", "!.env*", "!**/.env", "!.config", "!.config/", "!.config/**", "!*"),
        *("![.]env", "!{.env,x}", "!\\.env", "!.env  ", "!.ENV", "*.json", ".env", "# !.env", "!.env.example", "!"),
    ]
)


def unhidden(root: Path, start: str = ".") -> tuple[str, ...]:
    return unhidden_names(str(root), start, files_below(str(root), start) or ())


def made(root: Path) -> Path:
    for path in HIDDEN:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("words\n")
    return root


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    lines=st.lists(LINES, max_size=3),
    name=st.sampled_from(sorted(IGNORE_FILES)),
    place=st.sampled_from(["", "src/", "src/deep/", ".config/"]),
    start=st.sampled_from([".", "src", "src/deep"]),
)
def test_what_ripgrep_searches_is_among_them(
    tmp_path: Path, lines: list[str], name: str, place: str, start: str
) -> None:
    assert RG is not None, "rg comes with the development environment"
    root = made(tmp_path)
    ignoring = root / place / name
    ignoring.write_text("\n".join(lines))
    try:
        found = subprocess.run(
            [RG, "--files", "--no-config", "--no-require-git", start], cwd=root, capture_output=True, text=True
        )
        patterns = unhidden(root, start)
    finally:
        ignoring.unlink()
    below = (path.removeprefix("./") for path in found.stdout.splitlines())
    hidden = [path.removeprefix(f"{start}/") for path in below if path in HIDDEN]
    for path in hidden:
        names = path.split("/")
        assert any(fnmatch.fnmatchcase(each, pattern) for each in names for pattern in patterns), path


def test_other_exceptions_bring_nothing_back(tmp_path: Path) -> None:
    root = made(tmp_path)
    (root / ".gitignore").write_text(".env*\n!.env.example\nbuild/\n!build/keep.txt\n")
    patterns = unhidden(root)
    assert not any(fnmatch.fnmatchcase(".env", pattern) for pattern in patterns)


def test_every_name_is_included_if_the_patterns_cannot_be_evaluated(tmp_path: Path) -> None:
    root = made(tmp_path)
    (root / ".ignore").write_text("x\n" * MAX_BYTES)
    assert unhidden(root) == ("*",)
    assert unhidden_names(str(root), ".", [f"{number}/.gitignore" for number in range(MAX_FILES + 1)]) == ("*",)


@pytest.mark.parametrize("start", [".", "src"])
def test_ignore_files_above_the_place_and_of_git_count(tmp_path: Path, start: str) -> None:
    root = made(tmp_path)
    (root / ".ignore").write_text("!.env\n")
    assert unhidden(root, start) == (".env",)
    (root / ".ignore").unlink()
    (root / ".git" / "info").mkdir(parents=True)
    (root / ".git" / "info" / "exclude").write_text("!.npmrc\n")
    assert unhidden(root, start) == (".npmrc",)


def test_a_directory_in_place_of_an_ignore_file_is_passed_over(tmp_path: Path) -> None:
    root = made(tmp_path)
    (root / ".ignore").mkdir()
    assert unhidden(root, "src") == ()
