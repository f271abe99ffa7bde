"""Unix sockets that programs outside have in odd places (ssh-agent, docker, an editor): no command reaches them."""

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import pytest

from robota.workspace.sandbox import bubblewrap
from robota.workspace.sandbox.backend import SandboxKind
from tests.workspace.sandbox.cells import PYTHON, Cell
from tests.workspace.sandbox.test_session_network import play, served, session

CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
SEND = "import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'stolen', sys.argv[1])"
TALK_INSIDE = (
    "import socket; s = socket.socket(socket.AF_UNIX); s.bind('own'); s.listen(); "
    "socket.socket(socket.AF_UNIX).connect('own')"
)


@pytest.fixture(params=[False, True], ids=["no network", "network of the machine"])
def network(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def odd_place() -> Iterator[Path]:
    """A directory that is neither /tmp nor /run, where commands can read."""
    place = Path(tempfile.mkdtemp(prefix="robota-test-", dir="/var/tmp"))
    yield place
    shutil.rmtree(place)


def listen(place: Path) -> socket.socket:
    service = socket.socket(socket.AF_UNIX)
    service.bind(str(place))
    service.listen()
    return service


def test_a_socket_in_an_odd_place_is_not_reached(tmp_path: Path, odd_place: Path, network: bool) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path, network=network)
    with closing(listen(odd_place / "agent.sock")):
        assert cell.run(f'{PYTHON} -c "{CONNECT}" {odd_place}/agent.sock').returncode != 0


def test_nothing_is_sent_to_a_socket_for_messages(tmp_path: Path, odd_place: Path, network: bool) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path, network=network)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mailbox:
        mailbox.bind(str(odd_place / "mail.sock"))
        mailbox.setblocking(False)
        assert cell.run(f'{PYTHON} -c "{SEND}" {odd_place}/mail.sock').returncode != 0
        with pytest.raises(BlockingIOError):
            mailbox.recv(100)


def test_a_socket_of_a_program_outside_in_the_workspace_is_not_reached(odd_place: Path) -> None:
    """For example of an editor that listens for commands."""
    cell = Cell(SandboxKind.BUBBLEWRAP, odd_place)
    with closing(listen(cell.root / "editor.sock")):
        assert cell.run(f'{PYTHON} -c "{CONNECT}" editor.sock').returncode != 0


def test_nor_from_the_network_that_commands_of_a_session_share(odd_place: Path) -> None:
    async def story() -> None:
        root = odd_place / "ws"
        async with session(root) as processes:
            await served(processes, root)
            with closing(listen(root / "editor.sock")):
                done = await processes.run(f'{PYTHON} -c "{CONNECT}" editor.sock', root, 60, lambda _: None)
            assert done.exit_code == 1

    play(story)


def test_nor_on_a_machine_without_directories_for_sockets(tmp_path: Path, odd_place: Path) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path)
    border = msgspec.structs.replace(cell.sandbox.border, socket_directories=())
    cell.sandbox = msgspec.structs.replace(cell.sandbox, border=border)
    with closing(listen(odd_place / "agent.sock")):
        assert cell.run(f'{PYTHON} -c "{CONNECT}" {odd_place}/agent.sock').returncode != 0


def test_commands_can_use_sockets_of_their_own(odd_place: Path, network: bool) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, odd_place, network=network)
    done = cell.run(f'{PYTHON} -c "{TALK_INSIDE}"')
    assert (done.returncode, done.stderr) == (0, "")


def test_if_there_are_too_many_none_is_reached(
    tmp_path: Path, odd_place: Path, network: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a smaller limit: a machine full of sockets would disturb the tests that run beside this one."""
    monkeypatch.setattr(bubblewrap, "MAX_SOCKETS", 1)
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path, network=network)
    places = [odd_place / f"{number}.sock" for number in range(2)]
    with ExitStack() as stack:
        for place in places:
            stack.enter_context(closing(listen(place)))
        words = " ".join(map(str, places))
        done = cell.run(f'for each in {words}; do {PYTHON} -c "{CONNECT}" $each && echo $each; done; true')
    assert (done.returncode, done.stdout) == (0, "")
