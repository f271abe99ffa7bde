"""The root of a session is the directory in which it began, whatever its path leads to later."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.workspace.files.files import LocalFiles
from robota.workspace.problems import RootReplaced
from robota.workspace.sandbox.session_sandbox import SessionSandbox

LIMIT = 1000


def by_a_link(root: Path, other: Path) -> None:
    root.rename(root.with_name("gone"))
    root.symlink_to(other)


def by_another_directory(root: Path, other: Path) -> None:
    root.rename(root.with_name("gone"))
    other.rename(root)


def above_by_a_link(root: Path, other: Path) -> None:
    root.parent.rename(root.parent.with_name("gone"))
    root.parent.symlink_to(other.parent)
    other.rename(other.parent / root.name)


def not_at_all(root: Path, other: Path) -> None:
    root.rename(root.with_name("gone"))


SWAPS = [by_a_link, by_another_directory, above_by_a_link, not_at_all]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("outer/ws", "elsewhere/other"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "f").write_text(name)
    return tmp_path / "outer" / "ws"


@pytest.mark.parametrize("swap", SWAPS)
def test_the_file_tools_refuse_a_root_that_was_replaced(
    root: Path, tmp_path: Path, swap: Callable[[Path, Path], None]
) -> None:
    files = LocalFiles(root)
    known = files.read("f", LIMIT)
    swap(root, tmp_path / "elsewhere" / "other")
    for operation in (
        lambda: files.read("f", LIMIT),
        lambda: files.write("f", b"new"),
        lambda: files.write("new/file", b"new"),
        lambda: files.remove("f", over=known),
        lambda: files.make_link("link", "f"),
        lambda: files.list(".", True, 10),
        lambda: files.resolve("f"),
    ):
        with pytest.raises(RootReplaced, match="Nothing was done"):
            operation()
    assert sorted(place.read_text() for place in tmp_path.rglob("f")) == ["elsewhere/other", "outer/ws"]
    assert not list(tmp_path.rglob("new"))


@pytest.mark.parametrize("swap", SWAPS)
def test_commands_refuse_a_root_that_was_replaced(
    root: Path, tmp_path: Path, swap: Callable[[Path, Path], None]
) -> None:
    sandbox = SessionSandbox(root, home=None)
    try:
        if not sandbox.works():
            pytest.skip("no sandbox works here")
        sandbox.wrap(["/bin/true"], root).clean_up()
        swap(root, tmp_path / "elsewhere" / "other")
        with pytest.raises(RootReplaced, match="Nothing was done"):
            sandbox.wrap(["/bin/true"], root)
    finally:
        sandbox.close()


def test_a_root_that_was_put_back_is_used_again(root: Path) -> None:
    files = LocalFiles(root)
    root.rename(root.with_name("gone"))
    root.with_name("gone").rename(root)
    files.write("f", b"new")
    assert (root / "f").read_bytes() == b"new"


def test_a_command_of_a_session_around_ours_cannot_redirect_our_commands(root: Path, tmp_path: Path) -> None:
    """Its workspace contains ours, so it may replace our root; the target must not become writable for us."""
    ours, secret = SessionSandbox(root, home=None), tmp_path / "elsewhere"
    around = SessionSandbox(root.parent, home=None)
    try:
        if not ours.works():
            pytest.skip("no sandbox works here")
        swapping = around.wrap(["/bin/sh", "-c", f"mv ws away; ln -s {secret} ws"], root.parent)
        subprocess.run(swapping.argv, pass_fds=swapping.descriptors, cwd=root.parent, check=False)
        swapping.clean_up()
        with pytest.raises(RootReplaced):
            ours.wrap(["/bin/sh", "-c", f"echo planted > {secret}/made"], root)
    finally:
        ours.close()
        around.close()
    assert not (secret / "made").exists()
