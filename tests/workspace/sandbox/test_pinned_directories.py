"""What is protected or hidden stays where it is: no directory on the way to it can be moved, removed or replaced."""

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from robota.workspace.problems import CommandNotStarted, RootReplaced
from robota.workspace.process.foreground import CommandOutcome
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.wrapped_command import CHANGED_MEANWHILE, SandboxAccess, WrappedCommand
from robota.workspace.sandbox.backend import SandboxKind, detect_backend
from robota.workspace.sandbox.bubblewrap import BEGUN_MARK
from tests.workspace.sandbox.cells import PYTHON, Cell

PROTECTED = (
    "docs/AGENTS.md",
    "docs/deep/er/CLAUDE.md",
    ".github/instructions/style.md",
    ".config/mise.toml",
    "packages/inner/.git/config",
    "scripts/hooks/pre-commit",
    "odd \nname/\udce9/AGENTS.md",
)


@pytest.fixture
def strong(tmp_path: Path) -> Cell:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path)
    for name in PROTECTED:
        (cell.root / name).parent.mkdir(parents=True, exist_ok=True)
        (cell.root / name).write_text("old")
    subprocess.run(["rm", "-rf", ".git"], cwd=cell.root, check=True)
    subprocess.run(["git", "init", "-q"], cwd=cell.root, check=True)
    subprocess.run(["git", "config", "core.hooksPath", "scripts/hooks"], cwd=cell.root, check=True)
    cell.renew()
    return cell


REPLACE = """
import os, shutil
place = open("target", "rb").read()
for depth in range(1, place.count(b"/") + 1):
    above = b"/".join(place.split(b"/")[:depth])
    for way in (lambda: os.rename(above, b"gone"), lambda: shutil.rmtree(above)):
        try:
            way()
        except OSError:
            pass
try:
    os.makedirs(os.path.dirname(place), exist_ok=True)
    open(place, "wb").write(b"planted")
except OSError:
    pass
"""


@pytest.mark.parametrize("name", PROTECTED)
def test_no_directory_on_the_way_to_a_protected_file_can_be_replaced(strong: Cell, name: str) -> None:
    (strong.root / "replace.py").write_text(REPLACE)
    before = (strong.root / name).stat().st_ino
    (strong.root / "target").write_bytes(os.fsencode(name))
    assert strong.run(f"{PYTHON} replace.py").returncode == 0
    assert (strong.root / name).read_text() == "old"
    assert (strong.root / name).stat().st_ino == before


def test_work_beside_protected_files_goes_on(strong: Cell) -> None:
    work = "echo x > docs/page.md && mv docs/page.md docs/deep/moved.md && mv docs/deep/moved.md top.md && cat top.md"
    assert strong.run(f"{work} && mkdir docs/new && rm -r docs/new").stdout == "x\n"


def test_no_directory_on_the_way_to_a_hidden_file_can_be_moved(strong: Cell) -> None:
    (strong.root / "keys/of").mkdir(parents=True)
    (strong.root / "keys/of/server.pem").write_text("TELLTALE")
    border = msgspec.structs.replace(strong.sandbox.border, kept_from_model=(strong.root / "keys/of/server.pem",))
    strong.sandbox = msgspec.structs.replace(strong.sandbox, border=border)
    for command in ("mv keys x; cat x/of/server.pem", "mv keys/of x; cat x/server.pem", "cp -r keys y; cat y/of/*"):
        assert "TELLTALE" not in strong.run(command).stdout
    assert (strong.root / "keys/of/server.pem").read_text() == "TELLTALE"


def test_a_link_in_place_of_a_pinned_directory_opens_nothing(strong: Cell) -> None:
    """The directory was swapped after it was found, so a mount by its name would make the target writable."""
    (strong.root / "docs").rename(strong.root / "elsewhere")
    (strong.root / "docs").symlink_to(strong.outside)
    (strong.outside / "AGENTS.md").write_text("theirs")
    strong.run("echo planted > docs/made; echo planted > docs/AGENTS.md; rm docs/AGENTS.md")
    assert [place.name for place in strong.outside.iterdir()] == ["AGENTS.md"]
    assert (strong.outside / "AGENTS.md").read_text() == "theirs"


@pytest.mark.parametrize("swapped", ["ws", "ws/docs"])
def test_a_swap_while_the_sandbox_is_being_built_is_noticed(strong: Cell, swapped: str, tmp_path: Path) -> None:
    """The last moment: the command line is complete, but nothing is mounted yet. The link leads to what looks alike."""
    wrapped = strong.sandbox.wrap(["/bin/bash", "-c", "echo planted > made; echo planted > docs/made; echo ran"])
    try:
        # bubblewrap follows only a link that leads somewhere in the sandbox that it is building.
        alike = shutil.copytree(tmp_path / swapped, (strong.outside if swapped == "ws" else strong.root) / "alike")
        (tmp_path / swapped).rename(tmp_path / "gone")
        (tmp_path / swapped).symlink_to(alike if swapped == "ws" else "alike")
        done = subprocess.run(
            wrapped.argv, pass_fds=wrapped.descriptors, cwd="/", capture_output=True, text=True, check=False
        )
        assert wrapped.was_not_run()
    finally:
        wrapped.clean_up()
    assert done.returncode > 0 and "ran" not in done.stdout
    assert not list(tmp_path.rglob("made"))


def test_what_was_swapped_for_something_else_is_not_taken_for_the_original(strong: Cell) -> None:
    """bubblewrap mounts any directory of that name; only the comparison afterwards tells."""
    wrapped = strong.sandbox.wrap(["/bin/echo", "ran"])
    try:
        (strong.root / "docs").rename(strong.root / "gone")
        for name in PROTECTED[:2]:
            (strong.root / name).parent.mkdir(parents=True)
            (strong.root / name).write_text("planted")
        done = subprocess.run(
            wrapped.argv, pass_fds=wrapped.descriptors, cwd="/", capture_output=True, text=True, check=False
        )
        assert wrapped.was_not_run()
    finally:
        wrapped.clean_up()
    assert done.returncode > 0 and done.stdout == ""


def test_a_command_inherits_no_descriptor_that_leads_out(strong: Cell) -> None:
    listing = "for fd in /proc/*/fd/*; do readlink $fd; done"
    shown = strong.run(listing).stdout.splitlines()
    assert shown and not [line for line in shown if line.startswith("/") and not line.startswith(("/dev", "/proc"))]


@pytest.mark.parametrize("is_link", [True, False])
def test_a_directory_that_was_opened_is_not_reached_through_a_link(strong: Cell, is_link: bool, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    opened.symlink_to(strong.outside) if is_link else opened.mkdir()
    access = SandboxAccess(writable=(opened,))
    try:
        wrapped = strong.sandbox.wrap(["/bin/sh", "-c", f"echo x > {opened}/made"], strong.root, access)
    except CommandNotStarted as error:
        assert is_link and "not run" in str(error)
        return
    try:
        subprocess.run(wrapped.argv, pass_fds=wrapped.descriptors, cwd="/", check=False)
    finally:
        wrapped.clean_up()
    assert (opened / "made").exists() and not list(strong.outside.iterdir())


def test_a_workspace_replaced_before_the_first_command_does_not_count_as_a_machine_without_sandbox(
    strong: Cell, tmp_path: Path
) -> None:
    """Rules of the user would then let the command run unconfined, where the path leads now."""
    strong.root.rename(tmp_path / "aside")
    strong.root.symlink_to(strong.outside)
    with pytest.raises(RootReplaced):
        detect_backend(strong.sandbox.border)


def test_a_command_does_not_run_if_a_mount_was_made_elsewhere(strong: Cell) -> None:
    """A name can be a link for just as long as its mount is made: then what the link leads to would be writable."""
    (strong.root / "a").mkdir()
    (strong.root / "a" / "AGENTS.md").write_text("mine")
    strong.renew()
    pinned = str(strong.root / "a")
    wrapped = strong.sandbox.wrap(["/bin/touch", str(strong.outside / "made")])
    # What bubblewrap does with a name that is a link to this directory at that moment.
    assert pinned in wrapped.argv[: wrapped.argv.index("--")]
    argv = [str(strong.outside) if word == pinned else word for word in wrapped.argv[: wrapped.argv.index("--")]]
    done = subprocess.run(
        [*argv, *wrapped.argv[wrapped.argv.index("--") :]],
        pass_fds=wrapped.descriptors,
        cwd=strong.root,
        capture_output=True,
        text=True,
        check=False,
    )
    wrapped.clean_up()
    assert "was not run" in done.stderr and not list(strong.outside.iterdir())


def test_names_that_the_kernel_escapes_do_not_stop_a_command(strong: Cell) -> None:
    for name in ("a b", "c\\d", "e\nf", "g*[h]", "#i"):
        (strong.root / name).mkdir()
        (strong.root / name / "AGENTS.md").write_text("mine")
    strong.renew()
    done = strong.run('for f in */AGENTS.md; do echo evil >> "$f"; done; cat */AGENTS.md')
    assert done.stdout.count("mine") == 5 and "evil" not in done.stdout


@pytest.mark.parametrize("name", [".git/config", "docs/AGENTS.md", "scripts/hooks/pre-commit"])
def test_a_protected_file_with_another_name_makes_the_workspace_read_only(strong: Cell, name: str) -> None:
    os.link(strong.root / name, strong.root / "other.txt")
    before = (strong.root / name).read_bytes()
    strong.renew()
    done = strong.run("echo planted >> other.txt; echo x > ordinary.txt")
    assert (strong.root / name).read_bytes() == before
    assert not (strong.root / "ordinary.txt").exists() and "Read-only" in done.stderr
    assert "is a hard link" in detect_backend(strong.sandbox.border).reason


def test_objects_that_a_local_clone_shares_are_no_problem(strong: Cell, tmp_path: Path) -> None:
    (strong.root / ".git/objects/ab").mkdir()
    (strong.root / ".git/objects/ab/cdef").write_text("object")
    os.link(strong.root / ".git/objects/ab/cdef", tmp_path / "elsewhere")
    strong.renew()
    strong.run("echo x > ordinary.txt")
    assert (strong.root / "ordinary.txt").exists()


@pytest.mark.parametrize("swaps", [1, 2])
def test_a_sandbox_that_was_not_built_as_planned_is_built_once_more(strong: Cell, swaps: int) -> None:
    """Whoever replaced something in that moment may be an editor; who does it again and again is told to the user."""
    left = iter(range(swaps))

    def wrap(command: Sequence[str], cwd: Path, access: SandboxAccess) -> WrappedCommand:
        wrapped = strong.sandbox.wrap(command, cwd, access)
        if (number := next(left, None)) is not None:
            (strong.root / "docs").rename(strong.root / f"gone{number}")
            shutil.copytree(strong.root / f"gone{number}", strong.root / "docs")
        return wrapped

    async def run() -> CommandOutcome:
        processes = LocalProcesses(wrap=wrap)
        try:
            return await processes.run("echo ran >> made", strong.root, 60, lambda _: None)
        finally:
            processes.close()

    if swaps == 1:
        assert asyncio.run(run()).exit_code == 0
        assert (strong.root / "made").read_text() == "ran\n"
    else:
        with pytest.raises(CommandNotStarted, match="was not run: its sandbox could not be built, twice"):
            asyncio.run(run())
        assert not (strong.root / "made").exists()


def test_a_socket_that_goes_away_while_the_sandbox_is_being_built_costs_a_second_try(strong: Cell) -> None:
    """Sockets of other programs are covered, and such a program may end between the list and the mount."""
    directory = Path(tempfile.mkdtemp(prefix="robota-test-", dir="/var/tmp"))
    other = socket.socket(socket.AF_UNIX)
    other.bind(str(directory / "0.sock"))

    def wrap(command: Sequence[str], cwd: Path, access: SandboxAccess) -> WrappedCommand:
        wrapped = strong.sandbox.wrap(command, cwd, access)
        assert directory.exists() == (str(directory / "0.sock") in wrapped.argv)
        shutil.rmtree(directory, ignore_errors=True)
        return wrapped

    async def run() -> CommandOutcome:
        processes = LocalProcesses(wrap=wrap)
        try:
            return await processes.run("echo ran >> made", strong.root, 60, lambda _: None)
        finally:
            processes.close()

    with other:
        assert asyncio.run(run()).exit_code == 0
    assert (strong.root / "made").read_text() == "ran\n"


def test_a_command_that_says_that_it_was_not_run_runs_once(strong: Cell) -> None:
    """It can print what the sandbox prints. To believe it would repeat what was approved once, and deny that it ran."""
    processes = LocalProcesses(wrap=strong.sandbox.wrap)

    async def run() -> CommandOutcome:
        try:
            marking = f"for each in {{3..30}}; do /bin/echo '{BEGUN_MARK}' 2>/dev/null >&$each; done"
            command = f"echo ran >> made; {marking}; echo 'robota: {CHANGED_MEANWHILE}' >&2; exit 125"
            return await processes.run(command, strong.root, 60, lambda _: None)
        finally:
            processes.close()

    assert asyncio.run(run()).exit_code == 125
    assert (strong.root / "made").read_text() == "ran\n"
