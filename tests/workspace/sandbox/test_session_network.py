"""One loopback for all commands of a session: later ones reach a server in the background, and so does a user."""

import asyncio
import socket
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.session_ports import SessionPorts
from robota.workspace.sandbox.session_sandbox import SessionSandbox
from tests.workspace.sandbox.cells import PYTHON

SERVE = (
    "import http.server as h, sys\n"
    "server = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler)\n"
    "print(server.server_port, flush=True)\n"
    "server.serve_forever()\n"
)
FETCH = "import sys, urllib.request as u; print(u.urlopen(f'http://127.0.0.1:{sys.argv[1]}/word').read().decode())"


def fill(root: Path) -> None:
    root.mkdir(exist_ok=True)
    for name, text in (("word", "hello"), ("serve.py", SERVE), ("fetch.py", FETCH)):
        (root / name).write_text(text)


@asynccontextmanager
async def session(root: Path, hosts: tuple[str, ...] = ()) -> AsyncIterator[LocalProcesses]:
    fill(root)
    sandbox = SessionSandbox(root, home=None, allowed_hosts=hosts)
    if not sandbox.works() or sandbox.backend.kind != "bubblewrap":
        pytest.skip("no bubblewrap")
    processes = LocalProcesses(wrap=sandbox.wrap, ports=lambda: sandbox.ports)
    try:
        yield processes
    finally:
        await processes.end_background()
        processes.close()
        sandbox.close()


async def served(processes: LocalProcesses, root: Path) -> tuple[int, SessionPorts]:
    """Start a server; the port it has inside."""
    server = processes.start_background(f"exec {PYTHON} serve.py", root)
    news = await server.new_output(60)
    assert processes.ports is not None
    return int(news.head.split()[0]), processes.ports


def play(story: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await story()

    asyncio.run(run())


@pytest.mark.parametrize("hosts", [(), ("example.com",)], ids=["no network", "egress"])
def test_a_later_command_reaches_a_server_in_the_background(tmp_path: Path, hosts: tuple[str, ...]) -> None:
    """With and without a list of allowed hosts."""

    async def story() -> None:
        root = tmp_path / "ws"
        async with session(root, hosts) as processes:
            port, ports = await served(processes, root)
            done = await processes.run(f"{PYTHON} fetch.py {port}", root, 60, lambda _: None)
            assert (done.exit_code, done.output_head.strip()) == (0, "hello")
            assert await ports.new_ports() == (port,)
            assert await ports.new_ports() == ()

    play(story)


def test_the_user_reaches_it_through_a_port_that_is_closed_with_the_session(tmp_path: Path) -> None:
    """Only after it was forwarded, and only from this machine."""

    async def story() -> None:
        root = tmp_path / "ws"
        async with session(root) as processes:
            port, ports = await served(processes, root)
            with pytest.raises(OSError):
                await asyncio.to_thread(socket.create_connection, ("127.0.0.1", port), 5)
            outside = await ports.forward(port)
            assert await ports.forward(port) == outside
            address = f"http://127.0.0.1:{outside}/word"
            for _ in range(3):
                assert await asyncio.to_thread(lambda: urllib.request.urlopen(address).read()) == b"hello"
        with pytest.raises(OSError):
            await asyncio.to_thread(socket.create_connection, ("127.0.0.1", outside), 5)

    play(story)


def test_if_the_same_port_is_taken_another_one_is_forwarded(tmp_path: Path) -> None:
    async def story() -> None:
        root = tmp_path / "ws"
        async with session(root) as processes:
            port, ports = await served(processes, root)
            with socket.socket() as taken:
                taken.bind(("127.0.0.1", port))
                taken.listen()
                outside = await ports.forward(port)
                assert outside != port
                address = f"http://127.0.0.1:{outside}/word"
                assert await asyncio.to_thread(lambda: urllib.request.urlopen(address).read()) == b"hello"

    play(story)


def test_the_shared_network_has_no_route_to_the_outside(tmp_path: Path) -> None:
    """Neither to servers on the machine outside, nor to those of another session."""

    async def story() -> None:
        one, other = tmp_path / "one", tmp_path / "other"
        async with session(one) as first, session(other) as second:
            port, _ = await served(first, one)
            second.start_background("exec sleep 60", other)
            reached = await second.run(f"{PYTHON} fetch.py {port}", other, 60, lambda _: None)
            assert reached.exit_code != 0
            with socket.socket() as outside:
                outside.bind(("127.0.0.1", 0))
                outside.listen()
                number = outside.getsockname()[1]
                reached = await first.run(f"{PYTHON} fetch.py {number}", one, 60, lambda _: None)
            assert reached.exit_code != 0
            listed = await first.run("ls -l /proc/self/fd", one, 60, lambda _: None)
            assert "ns" not in listed.output_head and "net:[" not in listed.output_head

    play(story)
