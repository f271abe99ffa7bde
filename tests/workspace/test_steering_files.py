"""The search for what other programs obey, before and after a command: no limit lets anything past it."""

import os
from pathlib import Path

import pytest

from robota.workspace.steering_files import MAX_UNSEARCHED, Survey, SurveyLimits, new_or_changed, survey

FEW = SurveyLimits(entries=60)


def plant(directory: Path) -> None:
    directory.mkdir(parents=True)
    (directory / "AGENTS.md").write_text("evil")


def found_after(root: Path, before: Survey, limits: SurveyLimits | None = None) -> tuple[str, ...]:
    return new_or_changed(before, survey(root, before, limits))


def is_covered(path: str, found: tuple[str, ...]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in found)


def test_what_was_not_searched_after_a_command_counts_as_obeyed(tmp_path: Path) -> None:
    before = survey(tmp_path)
    planted = [f"{top}/{name}" for top in "abc" for name in range(40)]
    for each in planted:
        plant(tmp_path / each)
    found = found_after(tmp_path, before, FEW)
    assert [each for each in planted if not is_covered(f"{each}/AGENTS.md", found)] == []
    assert len(found) < MAX_UNSEARCHED


def test_what_was_there_before_is_searched_before_what_is_piled_up_deep_down(tmp_path: Path) -> None:
    for name in ("src", "zzz"):
        (tmp_path / name).mkdir()
    before = survey(tmp_path)
    for number in range(100):
        plant(tmp_path / f"pile/{number}")
    plant(tmp_path / "zzz/x")
    found = found_after(tmp_path, before, FEW)
    assert found == ("pile", "zzz/x"), "only what a command has piled up is put aside"


def test_a_tree_of_any_depth_costs_one_entry_of_the_search(tmp_path: Path) -> None:
    """Searching it would take the square of its depth: the kernel goes the whole way for each directory."""
    before = survey(tmp_path)
    plant(tmp_path / "beside")
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    found = found_after(tmp_path, before, SurveyLimits(entries=1000))
    [deep] = [each for each in found if each.startswith("d/")]
    assert deep.count("/") == SurveyLimits().depth and "beside/AGENTS.md" in found
    assert survey(tmp_path).problem, "a command may not run unasked where it could hide something in such a tree"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_workspace_that_a_command_closed_is_searched(tmp_path: Path) -> None:
    before = survey(tmp_path)
    plant(tmp_path / "sub")
    tmp_path.chmod(0o300)
    try:
        assert found_after(tmp_path, before) == ("sub/AGENTS.md",)
    finally:
        tmp_path.chmod(0o700)


def test_a_link_gives_what_is_in_a_generated_directory_another_place(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "src").mkdir()
    plant(tmp_path / "build/before")
    (tmp_path / "out").symlink_to("build/before")
    before = survey(tmp_path)
    plant(tmp_path / "build/lib")
    assert found_after(tmp_path, before) == (), "what tools generate is not searched"
    (tmp_path / "src/lib").symlink_to("../build/lib")
    assert found_after(tmp_path, before) == ("build/lib/AGENTS.md",)
    plant(tmp_path / "build/before/x")
    assert "build/before/x/AGENTS.md" in found_after(tmp_path, before)


def test_a_repository_is_also_one_around_a_head_that_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures/HEAD").write_text("ref: refs/heads/main\n")
    before = survey(tmp_path)
    for name in ("objects", "refs", "hooks"):
        (tmp_path / "fixtures" / name).mkdir()
    for name in ("config", "hooks/pre-commit"):
        (tmp_path / "fixtures" / name).write_text("evil")
    expected = tuple(f"fixtures/{name}" for name in ("config", "hooks/pre-commit", "objects", "refs"))
    assert found_after(tmp_path, before) == expected
