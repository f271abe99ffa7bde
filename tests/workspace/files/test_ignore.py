"""Ignore files keep paths from the model, whatever way it takes to them."""

import os
from pathlib import Path

import pytest

from robota.workspace.files.files import LocalFiles
from robota.workspace.problems import Ignored


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    for path in ("secret.env", "src/app.py", "src/keys/id", "docs/secret.env", "build/out.js"):
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_text("content")
    return LocalFiles(tmp_path)


def refused(files: LocalFiles, path: str) -> bool:
    """Whether both reading and writing are refused, and nothing was changed."""
    place = files.root / path
    before = place.read_bytes() if place.is_file() else None
    outcomes = []
    for attempt in (lambda: files.read(path, 99), lambda: files.write(path, b"content")):
        try:
            attempt()
            outcomes.append(False)
        except Ignored:
            outcomes.append(True)
    assert outcomes[0] == outcomes[1]
    assert (place.read_bytes() if place.is_file() else None) == before
    return outcomes[0]


def test_without_an_ignore_file_nothing_is_refused(files: LocalFiles) -> None:
    assert not refused(files, "secret.env")


def test_matched_files_and_everything_in_matched_directories_are_refused(files: LocalFiles) -> None:
    (files.root / ".robotaignore").write_text("# private\n/secret.env\nkeys/\n")
    assert refused(files, "secret.env")
    assert refused(files, "src/keys/id")
    assert refused(files, "src/keys/new")
    assert not refused(files, "docs/secret.env")
    assert not refused(files, "src/app.py")


def test_a_negated_pattern_takes_a_file_back(files: LocalFiles) -> None:
    (files.root / ".robotaignore").write_text("*.env\n!docs/*.env\n")
    assert refused(files, "secret.env")
    assert not refused(files, "docs/secret.env")


def test_an_ignore_file_further_down_speaks_about_its_directory(files: LocalFiles) -> None:
    (files.root / "src/.robotaignore").write_text("app.py\n")
    (files.root / "app.py").write_text("content")
    assert refused(files, "src/app.py")
    assert not refused(files, "app.py")


def test_what_is_in_an_ignored_directory_cannot_be_taken_back(files: LocalFiles) -> None:
    (files.root / ".robotaignore").write_text("src/keys/\n")
    (files.root / "src/keys/.robotaignore").write_text("!id\n")
    assert refused(files, "src/keys/id")


def test_other_spellings_and_links_lead_to_the_same_refusal(files: LocalFiles) -> None:
    (files.root / ".robotaignore").write_text("secret.env\nalias\n")
    (files.root / "harmless").symlink_to("secret.env")
    (files.root / "alias").symlink_to("src/app.py")
    for path in ("./secret.env", "src/../secret.env", str(files.root / "secret.env"), "harmless", "alias"):
        with pytest.raises(Ignored, match="hidden from you"):
            files.read(path, 99)


def test_a_changed_ignore_file_counts_at_once(files: LocalFiles) -> None:
    rules = files.root / ".robotaignore"
    rules.write_text("secret.env\n")
    assert refused(files, "secret.env")
    rules.write_text("src/app.py\n")
    assert not refused(files, "secret.env")
    assert refused(files, "src/app.py")


def test_the_model_cannot_change_the_rules(files: LocalFiles) -> None:
    with pytest.raises(Ignored, match="Ask the user to change it"):
        files.write(".robotaignore", b"")
    (files.root / "src/.robotaignore").write_text("x\n")
    with pytest.raises(Ignored, match="Ask the user to change it"):
        files.remove("src/.robotaignore", over=files.read("src/.robotaignore", 99))
    assert files.read("src/.robotaignore", 99).data == b"x\n"


def test_an_ignore_file_that_cannot_be_read_hides_everything(files: LocalFiles) -> None:
    os.mkfifo(files.root / ".robotaignore")
    with pytest.raises(Ignored, match="cannot be used"):
        files.read("src/app.py", 99)


def test_listings_leave_out_what_is_kept_from_the_model(files: LocalFiles) -> None:
    (files.root / ".robotaignore").write_text("*.env\nkeys/\n")
    assert files.list(".", True, 99).entries == (
        "build/",
        "build/out.js",
        "docs/",
        "src/",
        "src/app.py",
        ".robotaignore",
    )
    assert files.list("docs", False, 99).entries == ()
    with pytest.raises(Ignored):
        files.list("src/keys", False, 99)


def test_recursive_listings_leave_out_what_git_ignores_unless_it_is_named(files: LocalFiles) -> None:
    (files.root / ".gitignore").write_text("build/\n")
    (files.root / "src/.gitignore").write_text("keys\n")
    assert files.list(".", True, 99).entries == (
        "docs/",
        "docs/secret.env",
        "src/",
        "src/.gitignore",
        "src/app.py",
        ".gitignore",
        "secret.env",
    )
    assert "build/" in files.list(".", False, 99).entries
    assert files.list("build", True, 99).entries == ("out.js",)
    assert files.read("build/out.js", 99).data == b"content"
