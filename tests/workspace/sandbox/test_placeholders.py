"""Names that must not come into being from inside: how they are kept free, and that nothing of it is left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robota.config.trust.sources import take_snapshot
from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.files.ignore import IgnoreFiles
from robota.workspace.process.wrapped_command import WrappedCommand
from robota.workspace.sandbox.backend import SandboxKind, detect_backend
from robota.workspace.sandbox.border import KEPT_FREE_NAMES
from robota.workspace.sandbox.placeholders import MARK_S, POOL, Placeholders
from tests.cli.scripts import script
from tests.harness.cli import Robota
from tests.workspace.sandbox.cells import Cell

HOLD = """
import sys
from pathlib import Path
from robota.config.trust.sources import take_snapshot
from robota.workspace.files.ignore import IgnoreFiles
from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.sandbox.placeholders import Placeholders
root = Path(sys.argv[1])
held_root = HeldRoot(root)
Placeholders([root / ".robota", root / ".claude"], held_root)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def strong(tmp_path: Path) -> Cell:
    return Cell(SandboxKind.BUBBLEWRAP, tmp_path)


def started(wrapped: WrappedCommand, root: Path) -> "subprocess.Popen[bytes]":
    """Running, and past the building of its walls: its first line has come."""
    process = subprocess.Popen(
        wrapped.argv, pass_fds=wrapped.descriptors, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def names_of(*names: str, root: Path) -> list[Path]:
    return [root / ".robota", *(root / name for name in names)]


@pytest.mark.parametrize(
    "name", [".claude/settings.json", ".mcp.json", ".vscode/tasks.json", ".envrc", ".robota/x", ".gitmodules"]
)
def test_a_guarded_name_cannot_be_made(strong: Cell, name: str) -> None:
    for command in (f"mkdir -p $(dirname {name}); echo evil > {name}", f"rm -rf {name}; ln -s /tmp {name}"):
        strong.run(command)
    assert strong.names() == [".git"]


def test_a_clean_repository_is_clean_from_inside(strong: Cell) -> None:
    git = ["git", "-c", "user.email=a@example.com", "-c", "user.name=a"]
    subprocess.run(["rm", "-rf", ".git"], cwd=strong.root, check=True)
    subprocess.run([*git, "init", "-q"], cwd=strong.root, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], cwd=strong.root, check=True)
    done = strong.run("git status --porcelain; git diff; git submodule status; git log --format=%s")
    assert (done.stdout, done.stderr) == ("x\n", "")


def test_what_came_into_being_meanwhile_is_kept(strong: Cell) -> None:
    wrapped = strong.sandbox.wrap(["/bin/true"])
    (strong.root / ".claude" / "mine").write_text("mine")
    (strong.root / ".mcp.json").rmdir()
    (strong.root / ".mcp.json").write_text("{}")
    (strong.root / ".envrc").rmdir()
    (strong.root / ".envrc").touch()
    (strong.root / ".vscode").rmdir()
    (strong.root / ".vscode").mkdir()
    wrapped.clean_up()
    assert strong.names() == [".claude", ".envrc", ".git", ".mcp.json", ".vscode"]
    assert strong.run("cat .claude/mine .mcp.json").stdout == "mine{}"
    assert strong.names() == [".claude", ".envrc", ".git", ".mcp.json", ".vscode"]


def test_the_end_of_one_command_does_not_open_the_walls_of_another(strong: Cell) -> None:
    """The kernel takes a mount away from everybody when the directory under it is removed."""
    first = strong.sandbox.wrap(["/bin/true"])
    try_it = "echo ready; read go; mkdir -p .claude; echo evil > .mcp.json; echo evil > .claude/x; echo ready"
    second = strong.sandbox.wrap(["/bin/sh", "-c", try_it])
    process = started(second, strong.root)
    first.clean_up()
    assert set(KEPT_FREE_NAMES) <= set(strong.names())
    out, _ = process.communicate(b"go\n")
    assert out == b"ready\n"
    assert not (strong.root / ".mcp.json").is_file() and not list((strong.root / ".claude").iterdir())
    second.clean_up()
    assert strong.names() == [".git"]


def test_two_processes_respect_each_other(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with other:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline() == b"held\n"
        own = Placeholders(names_of(".claude", root=tmp_path), HeldRoot(tmp_path))
        own.release()
        assert sorted(place.name for place in tmp_path.iterdir()) == [".claude", ".robota"]


def test_leftovers_of_a_killed_robota_are_removed_with_the_next_command(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        other.send_signal(signal.SIGKILL)
    assert sorted(place.name for place in tmp_path.iterdir()) == [".claude", ".robota"]
    Placeholders(names_of(".claude", root=tmp_path), HeldRoot(tmp_path)).release()
    assert not list(tmp_path.iterdir())


def test_what_a_killed_robota_left_goes_with_the_next_start(tmp_path: Path, robota: Robota) -> None:
    """Even if that session runs no command."""
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(robota.workspace)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        other.send_signal(signal.SIGKILL)
    private = robota.home / ".robota" / "tmp"
    (private / "robota-tmp-old").mkdir(parents=True)
    os.utime(private / "robota-tmp-old", (1e9, 1e9))
    assert (robota.workspace / ".claude").is_dir()
    script(robota, {"text": "ok"})
    assert robota("-p", "go").code == 0
    assert not (robota.workspace / ".claude").exists()
    assert not list(private.iterdir())


def test_between_commands_placeholders_wait_in_our_own_directory(strong: Cell) -> None:
    """They are moved, which costs hardly anything; files put into one meanwhile are moved back to their place."""
    (strong.root / ".robota" / "sessions").mkdir(parents=True)
    strong.renew()
    assert strong.run("echo evil > .envrc").returncode != 0
    assert strong.names() == [".git", ".robota"]
    waiting = strong.root / ".robota" / POOL
    made = {place.stat().st_ino for place in waiting.iterdir()}
    assert len(made) >= len(KEPT_FREE_NAMES) - 2

    wrapped = strong.sandbox.wrap(["/bin/true"])
    assert (strong.root / ".envrc").stat().st_ino in made
    assert not list(waiting.iterdir())
    (strong.root / ".vscode" / "mine").write_text("mine")
    wrapped.clean_up()
    assert strong.names() == [".git", ".robota", ".vscode"]
    assert strong.run("cat .vscode/mine; echo evil > .vscode/mine").stdout == "mine"


@pytest.mark.parametrize("kind", ["filled", "link", "file"])
def test_files_put_into_the_pool_of_placeholders_never_get_into_the_workspace(strong: Cell, kind: str) -> None:
    waiting = strong.root / ".robota" / POOL
    waiting.mkdir(parents=True)
    for number in range(50):
        match kind:
            case "filled":
                (waiting / str(number)).mkdir()
                (waiting / str(number) / "settings.json").write_text("{}")
            case "link":
                (waiting / str(number)).symlink_to("/etc")
            case _:
                (waiting / str(number)).write_text("evil")
    strong.renew()
    wrapped = strong.sandbox.wrap(["/bin/true"])
    assert all(not list((strong.root / name).iterdir()) for name in KEPT_FREE_NAMES if name not in (".git", ".robota"))
    wrapped.clean_up()
    assert strong.names() == [".git", ".robota"]


def test_files_of_an_archive_that_bear_the_time_of_a_placeholder_stay_where_they_are(strong: Cell) -> None:
    """An archive can give its entries any time: what is in a directory counts, not only its time."""
    waiting = strong.root / ".robota" / POOL
    for place in (strong.root / ".vscode", strong.root / ".husky", *(waiting / str(number) for number in range(9))):
        place.mkdir(parents=True)
        (place / "settings.json").write_text("of the archive")
        os.utime(place, (MARK_S, MARK_S))
    for number in range(10, 50):
        (waiting / str(number)).symlink_to(strong.root)
        os.utime(waiting / str(number), (MARK_S, MARK_S), follow_symlinks=False)
    strong.renew()
    assert strong.run("cat .vscode/settings.json .husky/settings.json").stdout == "of the archive" * 2
    assert strong.run("ls -d .envrc/* .claude/*; echo evil > .envrc").stdout == ""
    assert strong.names() == [".git", ".husky", ".robota", ".vscode"]


def test_a_link_in_place_of_where_they_wait_is_not_followed(strong: Cell) -> None:
    (strong.root / ".robota").mkdir()
    (strong.root / ".robota" / POOL).symlink_to(strong.outside)
    strong.renew()
    assert strong.run("echo evil > .envrc").returncode != 0
    assert not list(strong.outside.iterdir()) and strong.names() == [".git", ".robota"]


def test_files_created_after_changing_the_mode_of_a_placeholder_are_not_visible_outside(strong: Cell) -> None:
    done = strong.run("chmod 777 .vscode && echo evil > .vscode/tasks.json && cat .vscode/tasks.json")
    assert done.stdout == "evil\n"
    assert strong.names() == [".git"]


def test_an_empty_directory_of_the_user_is_kept(tmp_path: Path) -> None:
    (tmp_path / ".husky").mkdir()
    old = tmp_path / ".idea"
    old.mkdir()
    os.utime(old, (time.time() - 1e8, time.time() - 1e8))
    held = Placeholders(names_of(".husky", ".idea", ".claude", root=tmp_path), HeldRoot(tmp_path))
    held.release()
    held.release()
    assert sorted(place.name for place in tmp_path.iterdir()) == [".husky", ".idea"]


def test_other_code_does_not_mistake_a_placeholder_for_a_file(tmp_path: Path) -> None:
    """Neither is trust asked for again nor are files kept from the model, while a command runs."""
    (tmp_path / "file").write_text("text")
    before = take_snapshot(tmp_path)
    held = Placeholders([tmp_path / name for name in KEPT_FREE_NAMES], HeldRoot(tmp_path))
    assert take_snapshot(tmp_path) == before
    assert not IgnoreFiles(tmp_path, ".robotaignore").match(("file",))
    held.release()


@pytest.mark.parametrize("target", ["/nowhere", "/etc", "..", ".", ".claude", "../outside"])
def test_a_link_with_a_guarded_name_does_not_break_the_sandbox(strong: Cell, target: str) -> None:
    """A repository could otherwise choose the weaker kind for itself."""
    (strong.root / ".claude").symlink_to(target)
    assert detect_backend(strong.sandbox.border).kind is SandboxKind.BUBBLEWRAP
    assert strong.run("echo works > file && cat file").stdout == "works\n"
    assert (strong.root / ".claude").readlink() == Path(target)


def test_the_target_of_a_link_with_a_guarded_name_is_protected(strong: Cell) -> None:
    (strong.root / "real").mkdir()
    (strong.root / ".claude").symlink_to("real")
    assert strong.run("echo evil > .claude/settings.json").returncode != 0
    assert strong.run("echo evil > real/settings.json").returncode != 0
    assert not list((strong.root / "real").iterdir())


def test_nothing_is_created_behind_a_link_that_was_put_in_place_of_a_directory(tmp_path: Path) -> None:
    """The command may not create the name then either, so its workspace is read-only."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "sub").mkdir(parents=True)
    outside.mkdir()
    (root / "sub").rename(root / "moved")
    (root / "sub").symlink_to(outside)
    held = Placeholders(names_of("sub/.git", ".claude", root=root), HeldRoot(root))
    assert not list(outside.iterdir())
    assert held.standing == {root / ".robota", root / ".claude"} and held.unblocked == (root / "sub/.git",)
    held.release()
    assert not list(outside.iterdir()) and sorted(place.name for place in root.iterdir()) == ["moved", "sub"]


@pytest.mark.parametrize("swapped", ["root", "root/sub"])
def test_what_is_removed_is_removed_where_it_was_created(tmp_path: Path, swapped: str) -> None:
    """Whatever the path leads to by then, even to something that looks like a placeholder."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "sub").mkdir(parents=True)
    held = Placeholders(names_of("sub/.git", root=root), HeldRoot(root))
    for place in (outside / ".git", outside / "sub" / ".git"):
        place.mkdir(parents=True)
        os.utime(place, (MARK_S, MARK_S))
    (tmp_path / swapped).rename(tmp_path / "moved")
    (tmp_path / swapped).symlink_to(outside)
    held.release()
    assert sorted(place.name for place in outside.iterdir()) == [".git", "sub"] and (outside / "sub/.git").is_dir()
    assert not (tmp_path / "moved/sub/.git").exists()
