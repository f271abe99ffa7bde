"""Commands with `sandbox.network: true`: they reach servers, but no program outside that listens on a Unix socket."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.workspace.sandbox.backend import SandboxKind
from robota.workspace.sandbox.bubblewrap import wrap_in_bubblewrap
from robota.workspace.sandbox.machine_network.socket_guard import (
    LandlockScope,
    NoNetwork,
    NoUnixSockets,
    SocketGuard,
    landlock_abi,
    socket_guard,
    wrap_with_network,
)
from tests.workspace.sandbox.cells import KINDS, PYTHON, Cell

CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1].replace('@', chr(0)))"
SEND_FROM_PAIR = (
    "import socket, sys; one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); "
    "one.sendto(b'stolen', sys.argv[1].replace('@', chr(0)))"
)
SERVE_INSIDE = (
    "import socket; s = socket.socket(socket.AF_UNIX); s.bind(chr(0) + 'own'); s.listen(); "
    "socket.socket(socket.AF_UNIX).connect(chr(0) + 'own')"
)
FETCH = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 20)"


@pytest.fixture(params=KINDS, ids=str)
def cell(request: pytest.FixtureRequest, tmp_path: Path) -> Cell:
    return Cell(request.param, tmp_path, network=True)


@pytest.fixture
def listener() -> Iterator[str]:
    """An abstract socket outside, as D-Bus and X11 have; its name with an @."""
    name = f"robota-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as service, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mailbox:
        service.bind(f"\0{name}")
        service.listen()
        mailbox.bind(f"\0{name}-mail")
        yield f"@{name}"
        mailbox.setblocking(False)
        with pytest.raises(BlockingIOError):
            mailbox.recv(100)


def test_no_abstract_socket_outside_is_reached(cell: Cell, listener: str) -> None:
    assert cell.run(f'{PYTHON} -c "{CONNECT}" {listener}').returncode != 0
    assert cell.run(f'{PYTHON} -c "{SEND_FROM_PAIR}" {listener}-mail').returncode != 0


def test_a_server_of_the_machine_is_reached(cell: Cell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = cell.run(f'{PYTHON} -c "{FETCH}" {server.getsockname()[1]}')
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(landlock_abi() < 6, reason="this kernel's Landlock knows no scopes")
def test_programs_of_one_command_still_talk_to_each_other(tmp_path: Path) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path, network=True)
    done = cell.run(f'{PYTHON} -c "{SERVE_INSIDE}"')
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_runs_as_without_a_launcher(cell: Cell) -> None:
    """The same exit code, no file left open, and it ends when nobody reads what it writes."""
    assert cell.run("exit 7").returncode == 7
    opened = cell.run("ls /proc/self/fd | tr '\\n' ' '").stdout
    assert opened.split() == ["0", "1", "2", "3"]  # 3 is the directory that ls reads
    assert cell.run("set -o pipefail; yes | head -1; test $? = 141").returncode == 0


def run_guarded(cell: Cell, guard: SocketGuard, command: str) -> "subprocess.CompletedProcess[str]":
    sandbox = cell.sandbox
    argv = ["/bin/bash", "-c", command]
    wrapped = wrap_with_network(wrap_in_bubblewrap, sandbox.executable, sandbox.border, argv, cell.root, guard)
    try:
        return subprocess.run(
            wrapped.argv, pass_fds=wrapped.descriptors, cwd=cell.root, capture_output=True, text=True, check=False
        )
    finally:
        wrapped.clean_up()


def test_an_older_kernel_has_no_unix_sockets_instead(tmp_path: Path, listener: str) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path, network=True)
    guard = socket_guard(cell.sandbox.border, abi=5)
    assert guard == NoUnixSockets() or isinstance(guard, NoNetwork)
    assert run_guarded(cell, guard, f'{PYTHON} -c "{CONNECT}" {listener}').returncode != 0
    assert run_guarded(cell, guard, f'{PYTHON} -c "{SEND_FROM_PAIR}" {listener}-mail').returncode != 0
    assert run_guarded(cell, guard, f"{PYTHON} -c 'import asyncio; asyncio.run(asyncio.sleep(0))'").returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = run_guarded(cell, guard, f'{PYTHON} -c "{FETCH}" {server.getsockname()[1]}')
    assert (done.returncode == 0) == (guard == NoUnixSockets())


def test_where_nothing_closes_the_sockets_there_is_no_network(tmp_path: Path, listener: str) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path, network=True)
    assert run_guarded(cell, NoNetwork(), f'{PYTHON} -c "{CONNECT}" {listener}').returncode != 0
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = run_guarded(cell, NoNetwork(), f'{PYTHON} -c "{FETCH}" {server.getsockname()[1]}')
    assert done.returncode != 0


def test_a_new_kernel_scopes_them(tmp_path: Path) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path, network=True)
    assert isinstance(socket_guard(cell.sandbox.border, abi=6), LandlockScope)
