"""No test reaches the network, neither by itself nor through a process it starts."""

import asyncio
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.cli import Robota
from tests.harness.network_guard.sitecustomize import NetworkRefusedError

# TEST-NET-1: belongs to nobody, so that even a broken guard bothers no one.
ELSEWHERE = ("192.0.2.1", 9)


def connect(address: tuple[str, int]) -> None:
    with socket.socket() as sock:
        sock.setblocking(False)
        sock.connect(address)


def connect_ex(address: tuple[str, int]) -> None:
    with socket.socket() as sock:
        sock.setblocking(False)
        sock.connect_ex(address)


def sendto(address: tuple[str, int]) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", address)


def sendmsg(address: tuple[str, int]) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.sendmsg([b"x"], [], 0, address)


def open_connection(address: tuple[str, int]) -> None:
    asyncio.run(asyncio.wait_for(asyncio.open_connection(*address), 5))


@pytest.mark.parametrize("reach_out", [connect, connect_ex, sendto, sendmsg, open_connection])
def test_every_way_out_is_refused(reach_out: Callable[[tuple[str, int]], None]) -> None:
    with pytest.raises(NetworkRefusedError, match="loopback"):
        reach_out(ELSEWHERE)


@pytest.mark.parametrize("name", ["example.invalid", "127.example.invalid", b"example.invalid"])
def test_names_are_not_looked_up(name: str | bytes) -> None:
    with pytest.raises(NetworkRefusedError, match="getaddrinfo"):
        socket.getaddrinfo(name, 80)


def test_loopback_works() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        answer = threading.Thread(target=lambda: server.accept()[0].close())
        answer.start()
        with socket.create_connection(("localhost", port)) as client:
            assert client.recv(1) == b""
        answer.join()


def test_unix_sockets_work(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "door"))
        server.listen()
        client.connect(str(tmp_path / "door"))


def test_processes_started_by_tests_are_guarded_too(robota: Robota) -> None:
    code = f"import socket; s = socket.socket(); s.setblocking(False); s.connect_ex({ELSEWHERE!r})"
    finished = robota.python("-c", code)
    assert finished.code == 1
    assert "NetworkRefusedError" in finished.stderr
