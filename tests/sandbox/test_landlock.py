"""What only the kind without namespaces has to see to: reading, sockets, signals and capabilities."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from robota.workspace.sandbox.landlock import LAUNCHER
from robota.workspace.sandbox.walls import Kind
from tests.sandbox.cells import PYTHON, Cell, landlock_abi

OPEN = "import socket; socket.socket(socket.{}, socket.{})"


@pytest.fixture
def weak(tmp_path: Path) -> Cell:
    return Cell(Kind.LANDLOCK, tmp_path)


def test_n10_secrets_are_closed_and_everything_beside_them_is_open(weak: Cell) -> None:
    (weak.home / "notes").write_text("notes\n")
    (weak.home / "deep/er").mkdir(parents=True)
    (weak.home / "deep/er/file").write_text("deep\n")
    (weak.home / "back").symlink_to("/")
    assert weak.run(f"cat {weak.home}/notes {weak.home}/deep/er/file").stdout == "notes\ndeep\n"
    for way in (f"{weak.home}/.ssh/id", f"{weak.home}/back{weak.home}/.ssh/id", f"/proc/self/root{weak.home}/.netrc"):
        assert weak.run(f"cat {way}").returncode != 0
    # Names are no secrets, so that a home can still be listed.
    assert ".ssh" in weak.run(f"ls -A {weak.home}").stdout


def test_secrets_within_secrets_do_not_open_them(weak: Cell) -> None:
    (weak.home / ".aws/sso").mkdir(parents=True)
    (weak.home / ".aws/sso/token").write_text("secret")
    (weak.home / ".aws/sso/other").write_text("secret")
    weak.renew()
    profile = weak.sandbox.profile
    nested = msgspec.structs.replace(profile, hidden_files=(*profile.hidden_files, weak.home / ".aws/sso/token"))
    weak.sandbox = msgspec.structs.replace(weak.sandbox, profile=nested)
    assert "secret" not in weak.run(f"cat {weak.home}/.aws/sso/*").stdout


def test_a_home_around_the_workspace_with_hundreds_of_entries(tmp_path: Path) -> None:
    base = tmp_path / "home"
    base.mkdir()
    cell = Cell(Kind.LANDLOCK, base)
    cell.home = base
    (base / ".ssh").mkdir()
    (base / ".ssh/id").write_text("secret")
    for number in range(500):
        (base / f"file{number}").write_text("x")
    cell.renew()
    done = cell.run(f"cat {base}/.ssh/id; cat {base}/file* | wc -c; echo new > made; cat made; cat /etc/passwd >&2")
    assert (done.returncode, done.stdout) == (0, "500\nnew\n")


@pytest.mark.parametrize(
    ("family", "kind"),
    [("AF_INET", "SOCK_STREAM"), ("AF_INET", "SOCK_DGRAM"), ("AF_INET6", "SOCK_DGRAM"), ("AF_NETLINK", "SOCK_RAW")],
)
def test_c38_no_socket_leads_out(weak: Cell, family: str, kind: str) -> None:
    assert weak.run(f"{PYTHON} -c '{OPEN.format(family, kind)}'").returncode != 0


def test_sockets_between_processes_of_a_command_stay(weak: Cell) -> None:
    script = (
        "import socket; a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'\n"
        "s = socket.socket(socket.AF_UNIX); s.bind('here'); s.listen()\n"
        "c = socket.socket(socket.AF_UNIX); c.connect('here')\n"
    )
    (weak.root / "talk.py").write_text(script)
    done = weak.run(f"{PYTHON} talk.py")
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(landlock_abi() < 6, reason="this kernel's Landlock knows no scopes")
def test_c35_signals_and_abstract_sockets_end_at_the_wall(weak: Cell) -> None:
    name = f"robota-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as service, subprocess.Popen(["sleep", "1000"]) as bystander:
        service.bind(f"\0{name}")
        service.listen()
        talk = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')"
        assert weak.run(f"kill -9 {bystander.pid}").returncode != 0
        assert weak.run(f'{PYTHON} -c "{talk}"').returncode != 0
        assert bystander.poll() is None
        bystander.kill()
    assert weak.run("sleep 1000 & kill %1 || exit 1; wait %1; test $? = 143").returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
def test_p18_root_keeps_power_over_files_only(weak: Cell) -> None:
    effective = int(weak.run("grep CapEff /proc/self/status").stdout.split()[1], 16)
    assert effective & ~0b11011011 == 0
    assert weak.run("mknod disk b 8 0").returncode != 0
    (weak.root / "theirs").write_text("x")
    os.chown(weak.root / "theirs", 12345, 12345)
    assert weak.run("echo more >> theirs && chown 0:0 theirs").returncode == 0


def test_the_directory_for_temporary_files_is_the_sessions_own(weak: Cell) -> None:
    assert weak.run("echo x > $TMPDIR/mine && cat $TMPDIR/mine").stdout == "x\n"
    assert (weak.temporary / "mine").read_text() == "x\n"
    assert weak.run("ls /proc/self/fd | wc -l").stdout.strip() == "4"


def test_a_sandbox_that_cannot_be_built_does_not_run_the_command(tmp_path: Path) -> None:
    options = ["--writable", str(tmp_path), "--device", "/dev/null", "--temporary", str(tmp_path), "--network", "off"]
    broken = ["--filter", "ff" * 8]
    command = [sys.executable, "-I", "-S", str(LAUNCHER), *options, *broken, "--", "/bin/touch", str(tmp_path / "ran")]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 126 and b"was not run" in done.stderr
    assert not (tmp_path / "ran").exists()
