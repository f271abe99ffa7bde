"""Listings of real directories."""

import os
from pathlib import Path

import pytest

from robota.workspace.files.files import LocalFiles
from robota.workspace.problems import Missing, NotADirectory


def make(root: Path, *paths: str) -> LocalFiles:
    for path in paths:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"")
    return LocalFiles(root)


def test_top_level_shows_directories_first_and_marked(tmp_path: Path) -> None:
    files = make(tmp_path, "b.txt", "a.txt", "zoo/x", ".hidden")
    listing = files.list(".", False, 100)
    assert listing.entries == ("zoo/", ".hidden", "a.txt", "b.txt")
    assert not listing.truncated


def test_a_recursive_listing_is_a_tree_without_generated_directories(tmp_path: Path) -> None:
    files = make(
        tmp_path, "src/app.py", "src/deep/x.py", "node_modules/m/i.js", ".git/config", "README", "target/dependency/j"
    )
    assert files.list(".", True, 100).entries == (
        ".git/",
        "node_modules/",
        "src/",
        "src/deep/",
        "src/deep/x.py",
        "src/app.py",
        "target/",
        "target/dependency/",
        "README",
    )


def test_an_ignored_directory_can_be_listed_by_name(tmp_path: Path) -> None:
    assert make(tmp_path, "node_modules/m/i.js").list("node_modules", True, 9).entries == ("m/", "m/i.js")


def test_linked_directories_are_named_but_not_entered(tmp_path: Path) -> None:
    files = make(tmp_path, "real/x")
    (tmp_path / "loop").symlink_to(".")
    assert files.list(".", True, 100).entries == ("real/", "real/x", "loop")


def test_a_cut_listing_shows_the_top_and_says_so(tmp_path: Path) -> None:
    files = make(tmp_path, "a/1", "a/2", "b/1", "c")
    assert files.list(".", True, 3).entries == ("a/", "b/", "c")
    assert files.list(".", True, 3).truncated
    assert not files.list(".", True, 6).truncated


def test_names_that_are_not_utf8_are_listed(tmp_path: Path) -> None:
    os.mknod(os.fsencode(tmp_path) + b"/caf\xe9")
    assert LocalFiles(tmp_path).list(".", False, 9).entries == ("caf\udce9",)


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    files = make(tmp_path, "f")
    with pytest.raises(NotADirectory):
        files.list("f", False, 9)
    with pytest.raises(Missing):
        files.list("gone", False, 9)
