"""What only the kind without namespaces has to see to: reading, sockets, signals and capabilities."""

import os
import pty
import signal
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.sandbox.backend import SandboxKind, detect_backend
from robota.workspace.sandbox.border import build_border
from robota.workspace.sandbox.landlock import LAUNCHER
from tests.harness.programs import needs
from tests.workspace.process.commanding import Witness
from tests.workspace.sandbox.cells import PYTHON, Cell, landlock_abi

OPEN = "import socket; socket.socket(socket.{}, socket.{})"


@pytest.fixture
def weak(tmp_path: Path) -> Cell:
    return Cell(SandboxKind.LANDLOCK, tmp_path)


def test_a_home_is_closed_and_everything_beside_it_is_open(weak: Cell) -> None:
    (weak.home / "notes").write_text("notes\n")
    (weak.home / "back").symlink_to("/")
    (weak.outside / "deep/er").mkdir(parents=True)
    (weak.outside / "deep/er/file").write_text("deep\n")
    assert weak.run(f"cat {weak.home}/notes {weak.outside}/deep/er/file").stdout == "deep\n"
    for way in (f"{weak.home}/.ssh/id", f"{weak.home}/back{weak.home}/.ssh/id", f"/proc/self/root{weak.home}/.netrc"):
        assert weak.run(f"cat {way}").returncode != 0
    # Names are no secrets, so that a home can still be listed.
    assert ".ssh" in weak.run(f"ls -A {weak.home}").stdout


def test_secrets_within_secrets_do_not_open_them(weak: Cell) -> None:
    (weak.home / ".aws/sso").mkdir(parents=True)
    (weak.home / ".aws/sso/token").write_text("secret")
    (weak.home / ".aws/sso/other").write_text("secret")
    weak.renew()
    border = weak.sandbox.border
    hidden = (*border.home.hidden, weak.home / ".aws/sso/token")
    nested = msgspec.structs.replace(border, home=msgspec.structs.replace(border.home, hidden=hidden))
    weak.sandbox = msgspec.structs.replace(weak.sandbox, border=nested)
    assert "secret" not in weak.run(f"cat {weak.home}/.aws/sso/*").stdout


def test_a_home_around_the_workspace_with_hundreds_of_entries(tmp_path: Path) -> None:
    base = tmp_path / "home"
    base.mkdir()
    cell = Cell(SandboxKind.LANDLOCK, base)
    cell.home = base
    (base / ".ssh").mkdir()
    (base / ".ssh/id").write_text("secret")
    for number in range(500):
        (base / f"file{number}").write_text("x")
    cell.renew()
    done = cell.run(f"cat {base}/.ssh/id; cat {base}/file*; echo new > made; cat made; cat /etc/passwd >&2")
    assert (done.returncode, done.stdout) == (0, "new\n")


def test_a_home_is_no_workspace_for_landlock(weak: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that may write in it could also write to ~/.ssh and to Robota's settings."""
    monkeypatch.setenv("PATH", str(tmp_path))  # where no bubblewrap is
    inside = detect_backend(build_border(HeldRoot(weak.home), weak.temporary, home=weak.home))
    assert inside.kind is SandboxKind.NONE and str(weak.home) in inside.reason
    beside = detect_backend(build_border(HeldRoot(weak.root), weak.temporary, home=weak.home))
    assert beside.kind is SandboxKind.LANDLOCK


@pytest.mark.parametrize(
    ("family", "kind"),
    [("AF_INET", "SOCK_STREAM"), ("AF_INET", "SOCK_DGRAM"), ("AF_INET6", "SOCK_DGRAM"), ("AF_NETLINK", "SOCK_RAW")],
)
def test_no_socket_leads_out(weak: Cell, family: str, kind: str) -> None:
    assert weak.run(f"{PYTHON} -c '{OPEN.format(family, kind)}'").returncode != 0


def test_sockets_between_processes_of_a_command_stay(weak: Cell) -> None:
    script = "import socket; a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'\n"
    (weak.root / "talk.py").write_text(script)
    done = weak.run(f"{PYTHON} talk.py")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("network", [False, True], ids=["no network", "network of the machine"])
@pytest.mark.parametrize(
    "attempt",
    [
        "socket.socket(socket.AF_UNIX).connect({!r})",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', {!r})",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', {!r})",
    ],
)
def test_no_service_of_the_user_is_reached(tmp_path: Path, network: bool, attempt: str) -> None:
    """tmux, D-Bus, Docker and others do what they are told by whoever connects to a socket in the file system."""
    cell = Cell(SandboxKind.LANDLOCK, tmp_path, network=network)
    with socket.socket(socket.AF_UNIX) as service, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mailbox:
        place = tmp_path / "service"
        for each, name in ((service, "stream"), (mailbox, "mail")):
            each.bind(str(place.with_name(name)))
            each.setblocking(False)
        service.listen()
        name = "stream" if "connect" in attempt else "mail"
        (cell.root / "knock.py").write_text(f"import socket; {attempt.format(str(place.with_name(name)))}\n")
        done = cell.run(f"{PYTHON} knock.py")
        assert (done.returncode, "Operation not permitted" in done.stderr) == (1, True), done.stderr
        with pytest.raises(BlockingIOError):
            service.accept()
        with pytest.raises(BlockingIOError):
            mailbox.recv(1)


@needs("renice", "ionice")
def test_nobody_outside_gets_another_priority(weak: Cell) -> None:
    with subprocess.Popen(["sleep", "1000"]) as bystander:
        for change in ("renice -n 19 -p {}", "ionice -c 3 -p {}", "chrt -i -p 0 {}"):
            assert weak.run(change.format(bystander.pid)).returncode != 0
        assert os.getpriority(os.PRIO_PROCESS, bystander.pid) == os.getpriority(os.PRIO_PROCESS, 0)
        bystander.kill()
    assert weak.run("nice -n 5 nice").stdout == f"{os.getpriority(os.PRIO_PROCESS, 0) + 5}\n"


@pytest.mark.skipif(landlock_abi() < 6, reason="this kernel's Landlock knows no scopes")
def test_signals_and_abstract_sockets_end_at_the_wall(weak: Cell) -> None:
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


@needs("setsid")
@pytest.mark.parametrize(
    "hiding",
    [
        "env -i setsid -f sleep 1000",
        "env -i sh -c '(setsid sleep 1000 &)'",
        "env -i setsid -f sh -c 'trap \"\" TERM; setsid -f sleep 1000; sleep 1000'",
    ],
)
def test_whoever_hides_from_robota_still_ends_with_the_command(weak: Cell, hiding: str) -> None:
    """Neither session, nor parent, nor environment of such a process leads back to the command."""
    witness = Witness(weak.root)
    done = weak.run(f"{hiding} 3> witness > /dev/null 2>&1; echo said; exit 7")
    assert (done.returncode, done.stdout) == (7, "said\n")
    assert witness.wait_until_gone() == b""


@pytest.mark.parametrize("name", ["SEGV", "KILL", "TERM", "PIPE", "INT"])
def test_a_command_that_a_signal_ended_is_seen_to(weak: Cell, name: str) -> None:
    assert weak.run(f"kill -{name} $$").returncode == -signal.Signals[f"SIG{name}"]


def test_pipes_break_silently_as_everywhere(weak: Cell) -> None:
    done = weak.run("yes | head -n 1")
    assert (done.stdout, done.stderr) == ("y\n", "")


def test_what_is_typed_into_other_terminals_cannot_be_read_or_forged(weak: Cell) -> None:
    keyboard, terminal = pty.openpty()
    try:
        os.write(keyboard, b"password\n")
        name = os.ttyname(terminal)
        assert weak.run(f"head -n 1 {name}").stdout == ""
        assert weak.run(f"echo forged > {name}").returncode != 0
        assert weak.run("echo x > /dev/null && head -c 1 /dev/urandom | wc -c").stdout == "1\n"
    finally:
        os.close(keyboard)
        os.close(terminal)


def test_nobody_outside_gets_other_limits(weak: Cell) -> None:
    """Without files to open, or time to compute, Robota would be as good as killed."""
    with subprocess.Popen(["sleep", "1000"]) as bystander:
        before = Path(f"/proc/{bystander.pid}/limits").read_text()
        change = f"import resource; resource.prlimit({bystander.pid}, resource.RLIMIT_NOFILE, (7, 7))"
        assert weak.run(f"{PYTHON} -c '{change}'").returncode != 0
        assert Path(f"/proc/{bystander.pid}/limits").read_text() == before
        bystander.kill()
    assert weak.run("ulimit -n 64 && ulimit -n").stdout == "64\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
def test_root_keeps_power_over_files_only(weak: Cell) -> None:
    effective = int(weak.run("grep CapEff /proc/self/status").stdout.split()[1], 16)
    assert effective & ~0b11011011 == 0
    assert weak.run("mknod disk b 8 0").returncode != 0
    (weak.root / "theirs").write_text("x")
    os.chown(weak.root / "theirs", 12345, 12345)
    assert weak.run("echo more >> theirs && chown 0:0 theirs").returncode == 0


def test_files_outside_are_given_to_nobody(weak: Cell) -> None:
    victim = weak.outside / "victim"
    victim.write_text("x")
    before = victim.stat()
    for change in ("os.chown(path, 12345, -1)", "os.setxattr(path, 'user.x', b'y')", "os.chmod(path, 0o4755)"):
        assert weak.run(f"{PYTHON} -c \"import os; path = '{victim}'; {change}\"").returncode != 0
    after = victim.stat()
    assert (after.st_uid, after.st_mode, os.listxattr(victim)) == (before.st_uid, before.st_mode, [])


CHANGE_FLAGS = """
import fcntl, os, struct, sys
opened = os.open(sys.argv[1], os.O_RDONLY)
GET_FLAGS, SET_FLAGS, NOT_DUMPED = 0x80086601, 0x40086602, 0x40
flags = struct.unpack("l", fcntl.ioctl(opened, GET_FLAGS, bytes(8)))[0]
fcntl.ioctl(opened, SET_FLAGS, struct.pack("l", flags | NOT_DUMPED))
"""


def test_files_outside_get_no_other_flags(weak: Cell) -> None:
    (weak.root / "flags.py").write_text(CHANGE_FLAGS)
    victim = weak.outside / "victim"
    victim.write_text("x")
    without = subprocess.run([PYTHON, weak.root / "flags.py", victim], check=False, capture_output=True, text=True)
    if "Inappropriate ioctl" in without.stderr or "not supported" in without.stderr:
        pytest.skip("this file system has no flags")
    assert without.returncode == 0
    assert "Operation not permitted" in weak.run(f"{PYTHON} flags.py {victim}").stderr


def test_the_directory_for_temporary_files_is_the_sessions_own(weak: Cell) -> None:
    assert weak.run("echo x > $TMPDIR/mine && cat $TMPDIR/mine").stdout == "x\n"
    assert (weak.temporary / "mine").read_text() == "x\n"
    assert weak.run("ls /proc/self/fd | wc -l").stdout.strip() == "4"


def test_a_sandbox_that_cannot_be_built_does_not_run_the_command(tmp_path: Path) -> None:
    options = ["--writable", str(tmp_path), "--device", "/dev/null", "--temporary", str(tmp_path), "--network", "off"]
    options += ["--oom-score", "500"]
    broken = ["--filter", "ff" * 8]
    command = [sys.executable, "-I", "-S", str(LAUNCHER), *options, *broken, "--", "/bin/touch", str(tmp_path / "ran")]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 126 and b"was not run" in done.stderr
    assert not (tmp_path / "ran").exists()


SHARED_MEMORY = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print([libc.shmget(0, 4096, 0o1600), libc.semget(0, 1, 0o1600), libc.msgget(0, 0o1600)])
print(libc.mq_open(b"/robota-test", 0o102, 0o600, None))
"""


def test_memory_that_other_programs_share_is_out_of_reach(weak: Cell, tmp_path: Path) -> None:
    """What System V has of it belongs to no file, so that Landlock does not see it."""
    assert weak.run(f"{PYTHON} -c '{SHARED_MEMORY}'").stdout == "[-1, -1, -1]\n-1\n"
    strong = Cell(SandboxKind.BUBBLEWRAP, tmp_path / "strong")  # which has memory of its own
    assert "-1" not in strong.run(f"{PYTHON} -c '{SHARED_MEMORY}'").stdout
