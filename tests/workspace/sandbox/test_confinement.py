"""What a command cannot do from inside, tried for real in every kind of sandbox this machine has."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.sandbox.backend import SandboxKind, detect_backend
from robota.workspace.sandbox.border import build_border
from tests.harness.programs import needs
from tests.workspace.sandbox.cells import KINDS, PYTHON, Cell


@pytest.fixture(params=KINDS)
def cell(request: pytest.FixtureRequest, tmp_path: Path) -> Cell:
    return Cell(request.param, tmp_path)


@pytest.fixture
def strong(tmp_path: Path) -> Cell:
    return Cell(SandboxKind.BUBBLEWRAP, tmp_path)


def test_ordinary_work_in_the_workspace_is_possible(cell: Cell) -> None:
    done = cell.run("echo hi > a && mkdir -p d && mv a d/b && cat d/b && rm -r d && echo x > /dev/null")
    assert (done.returncode, done.stdout) == (0, "hi\n"), done.stderr


def test_nothing_outside_can_be_written(cell: Cell) -> None:
    for command in ("echo x > {0}/f", "mkdir {0}/d", "ln -s x {0}/l", "touch {0}/t", "echo x >> /etc/hostname"):
        assert cell.run(command.format(cell.outside)).returncode != 0
    (cell.outside / "victim").write_text("intact")
    for command in ("rm {0}/victim", "mv {0}/victim .", ": > {0}/victim", "truncate -s 0 {0}/victim"):
        cell.run(command.format(cell.outside))
    assert (cell.outside / "victim").read_text() == "intact"
    assert [path.name for path in cell.outside.iterdir()] == ["victim"]


def test_a_link_does_not_lead_out(cell: Cell) -> None:
    (cell.root / "door").symlink_to(cell.outside)
    assert cell.run("echo x > door/f").returncode != 0
    assert not list(cell.outside.iterdir())


def test_the_kernel_cannot_be_reconfigured_even_by_root(cell: Cell) -> None:
    before = Path("/proc/sys/kernel/core_pattern").read_text()
    done = cell.run("echo '|/tmp/evil' > /proc/sys/kernel/core_pattern")
    assert done.returncode != 0
    assert Path("/proc/sys/kernel/core_pattern").read_text() == before


def test_no_file_gets_the_rights_of_its_owner(cell: Cell) -> None:
    """Other users of this machine could run it, and so a program of their choice as the user, outside the sandbox."""
    program = "import os; os.close(os.open('by-open', os.O_CREAT | os.O_WRONLY, 0o4755))"
    cell.run(
        f'cp /bin/sh shell; chmod 4755 shell; chmod u+s shell; install -m 4755 /bin/sh other; {PYTHON} -c "{program}"'
    )
    assert not [path.name for path in cell.root.iterdir() if path.stat().st_mode & 0o6000]
    ordinary = "mkdir shared && chmod 2775 shared && cp -a shell copy && chmod 755 copy && tar -cf all.tar copy"
    assert cell.run(f"{ordinary} && rm copy && tar -xf all.tar && stat -c %a shared copy").stdout == "2775\n755\n"


SNAPSHOT = 0x50009417  # BTRFS_IOC_SNAP_CREATE_V2
COPY_VOLUME = f"import fcntl, os; fcntl.ioctl(os.open('.', os.O_RDONLY), {SNAPSHOT}, bytes(1024))"
CLONE_FILE = "import fcntl; fcntl.ioctl(open('copy', 'w'), 0x40049409, open('original').fileno())"


def test_file_systems_are_not_asked_to_copy_volumes(cell: Cell) -> None:
    assert "Operation not permitted" in cell.run(f'{PYTHON} -c "{COPY_VOLUME}"').stderr
    (cell.root / "original").write_text("x")
    assert "Operation not permitted" not in cell.run(f'{PYTHON} -c "{CLONE_FILE}"').stderr  # not by all file systems


@pytest.fixture
def volume() -> Iterator[Path]:
    """A file system with subvolumes, which only root can mount; not in /tmp, which is private inside."""
    with tempfile.TemporaryDirectory(prefix="robota-", dir="/var/tmp") as base:
        image, mount = Path(base, "image"), Path(base, "mount")
        mount.mkdir()
        with image.open("wb") as file:
            file.truncate(200 << 20)
        subprocess.run(["mkfs.btrfs", "-q", image], check=True, capture_output=True)
        if subprocess.run(["mount", "-o", "loop", image, mount], check=False, capture_output=True).returncode:
            pytest.skip("no btrfs can be mounted here")
        try:
            yield mount
        finally:
            subprocess.run(["umount", "-l", mount], check=True)


@needs("mkfs.btrfs", "btrfs", "mount")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_neither_shows_what_is_hidden_nor_brings_files_out(kind: SandboxKind, volume: Path) -> None:
    cell = Cell(kind, volume / "base")
    shown = cell.run(f"btrfs subvolume snapshot {volume} snapshot; cat snapshot/base/home/.ssh/id")
    assert (shown.returncode, "secret" in shown.stdout) == (1, False)
    cell.run(f"btrfs subvolume create new; echo x > new/planted; btrfs subvolume snapshot new {cell.outside}/planted")
    assert list(cell.outside.iterdir()) == []


def test_the_network_is_off(cell: Cell) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        connect = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 3)"
        done = cell.run(f'{PYTHON} -c "{connect}"')
    assert done.returncode != 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_network_can_be_allowed(kind: SandboxKind, tmp_path: Path) -> None:
    cell = Cell(kind, tmp_path, network=True)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        connect = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 3)"
        assert cell.run(f'{PYTHON} -c "{connect}"').returncode == 0


def test_dangerous_system_calls_are_refused(cell: Cell) -> None:
    trace = "import ctypes; raise SystemExit(0 if ctypes.CDLL(None).ptrace(0, 0, 0, 0) == -1 else 1)"
    assert cell.run(f"{PYTHON} -c '{trace}'").returncode == 0
    assert cell.run("unshare -m true").returncode != 0
    assert cell.run("unshare -U true").returncode != 0


def test_protected_names_are_read_only(strong: Cell) -> None:
    for name in (".git/config", ".git/hooks/pre-commit"):
        assert strong.run(f"echo evil >> {name}").returncode != 0
    assert (strong.root / ".git" / "config").read_text() == "[core]\n"


def test_secrets_are_hidden(cell: Cell) -> None:
    done = cell.run(f"cat {cell.home}/.ssh/id {cell.home}/.netrc")
    assert "secret" not in done.stdout


def test_a_home_that_is_partly_closed_to_its_owner_does_not_stop_commands(cell: Cell) -> None:
    """After a careless `sudo`, ~/.config often belongs to root."""
    (cell.home / ".config/gh").mkdir(parents=True)
    (cell.home / ".config").chmod(0)
    try:
        cell.renew()
        done = cell.run(f"echo works; cat {cell.home}/.ssh/id")
    finally:
        (cell.home / ".config").chmod(0o700)
    assert done.stdout == "works\n"


def test_an_interpreter_in_a_closed_directory_does_not_stop_commands(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script on the PATH names it, and nobody but root may look there."""
    for directory in (cell.home / "bin", cell.home / "closed/tool/bin"):
        directory.mkdir(parents=True)
    (cell.home / "bin/script").write_text(f"#!{cell.home}/closed/tool/bin/python\n")
    (cell.home / "closed").chmod(0)
    monkeypatch.setenv("PATH", f"{cell.home}/bin", prepend=os.pathsep)
    try:
        cell.renew()
        done = cell.run("echo works")
    finally:
        (cell.home / "closed").chmod(0o700)
    assert done.stdout == "works\n"


def test_other_processes_are_out_of_sight_and_reach(strong: Cell) -> None:
    with subprocess.Popen(["sleep", "1000"]) as bystander:
        done = strong.run(f"kill -9 {bystander.pid}; ls /proc | grep -c '^[0-9]'")
        assert bystander.poll() is None
        assert int(done.stdout.split()[-1]) < 10
        bystander.kill()


@needs("setsid", "pgrep")
def test_what_was_started_dies_with_the_command(strong: Cell) -> None:
    strong.run(f"setsid sleep 4242 & {PYTHON} -c pass")
    listing = subprocess.run(["pgrep", "-f", "sleep 4242"], capture_output=True, check=False)
    assert listing.stdout == b""


def test_tmp_is_the_sessions_own(strong: Cell) -> None:
    assert strong.run("echo x > /tmp/mine").returncode == 0
    assert strong.run("cat /tmp/mine").stdout == "x\n"
    assert not Path("/tmp/mine").exists()


@pytest.mark.parametrize("name", ["TMPDIR", "TMP", "TEMP"])
def test_temporary_files_can_be_made_wherever_they_are_outside(
    strong: Cell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, str(strong.outside))
    done = strong.run(f"mktemp && {PYTHON} -c 'import tempfile; print(tempfile.mkdtemp())'")
    assert [Path(line).parent for line in done.stdout.split()] == [Path("/tmp")] * 2, done.stderr


def test_a_bubblewrap_that_a_command_could_have_written_is_not_used(
    strong: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The virtual environment of a project is on the PATH when it is active, and commands can write to it."""
    programs = strong.root / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "bwrap").write_text(f"#!/bin/sh\ntouch {strong.outside}/ran\n")
    (programs / "bwrap").chmod(0o755)
    for folder in (programs, strong.outside / "link"):
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    (strong.outside / "link").symlink_to(programs)
    found = detect_backend(strong.sandbox.border)
    assert found.kind is SandboxKind.BUBBLEWRAP and found.executable == strong.sandbox.executable
    assert not (strong.outside / "ran").exists()


def test_without_bubblewrap_landlock_is_found_and_the_reason_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    border = build_border(HeldRoot(tmp_path), tmp_path, home=None)
    found = detect_backend(border)
    assert found.kind is SandboxKind.LANDLOCK and "not installed" in found.reason


def test_an_archive_cannot_be_unpacked_outside(strong: Cell) -> None:
    """Members named `../x` and members below a link: nothing outside can be written."""
    pack = (
        "import tarfile, io\n"
        "with tarfile.open('evil.tar', 'w') as archive:\n"
        "    for name in ('../../outside/dropped', 'door/dropped'):\n"
        "        archive.addfile(tarfile.TarInfo(name), io.BytesIO())\n"
    )
    (strong.root / "pack.py").write_text(pack)
    subprocess.run([sys.executable, "pack.py"], cwd=strong.root, check=True)
    (strong.root / "door").symlink_to(strong.outside)
    strong.run(f"tar -xPf evil.tar; {PYTHON} -c \"import tarfile; tarfile.open('evil.tar').extractall()\"")
    assert not list(strong.outside.iterdir())
