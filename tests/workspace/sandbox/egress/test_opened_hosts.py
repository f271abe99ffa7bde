"""A host that was opened for one command: that command reaches it, and nothing else that runs in the session does."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.workspace.process.wrapped_command import SandboxAccess
from tests.workspace.sandbox.cells import PYTHON
from tests.workspace.sandbox.test_session_network import play, served, session
from tests.workspace.web.web_server import Page, Web, web_server

# Waits until the other command runs, then tries every port on its loopback as a proxy to the address given.
THIEF = """
import os, sys, time, urllib.request as u
while not os.path.exists('opened'):
    time.sleep(0.02)
heard = []
for name in ('tcp', 'tcp6'):
    for line in list(open(f'/proc/self/net/{name}'))[1:]:
        port = int(line.split()[1].rpartition(':')[2], 16)
        opener = u.build_opener(u.ProxyHandler({'http': f'http://127.0.0.1:{port}'}))
        try:
            heard.append(opener.open(sys.argv[1], timeout=20).read().decode())
        except OSError as error:
            heard.append(f'{port}: {error}')
open('heard.new', 'w').write('\\n'.join(heard))
os.rename('heard.new', 'heard')
"""
# Keeps what was opened for it open until the other one has tried.
VICTIM = """
import os, sys, time, urllib.request as u
print(u.urlopen(sys.argv[1], timeout=20).read().decode().strip(), flush=True)
open('opened', 'w').close()
while not os.path.exists('heard'):
    time.sleep(0.02)
"""


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as served_pages:
        served_pages.pages["/"] = Page(body=b"hello from outside\n")
        yield served_pages


@pytest.mark.parametrize("thief_runs", ["in the background", "beside it"])
def test_no_other_command_of_the_session_reaches_the_host(tmp_path: Path, web: Web, thief_runs: str) -> None:
    async def story() -> None:
        root = tmp_path / "ws"
        async with session(root) as processes:
            (root / "thief.py").write_text(THIEF)
            (root / "victim.py").write_text(VICTIM)
            await served(processes, root)  # something runs in the background, so that commands share a loopback
            steal = f"exec {PYTHON} thief.py {web.url('/')}"
            access = SandboxAccess(hosts=(f"127.0.0.1:{web.port}",))
            ask = processes.run(f"{PYTHON} victim.py {web.url('/')}", root, 90, lambda _: None, access=access)
            if thief_runs == "in the background":
                processes.start_background(steal, root)
                done = await ask
            else:
                done, _ = await asyncio.gather(ask, processes.run(steal, root, 90, lambda _: None))
            assert (done.exit_code, done.output_head.strip()) == (0, "hello from outside")
            assert "hello from outside" not in (root / "heard").read_text()

    play(story)


def test_the_command_still_reaches_a_server_of_the_session(tmp_path: Path, web: Web) -> None:
    async def story() -> None:
        root = tmp_path / "ws"
        async with session(root) as processes:
            port, ports = await served(processes, root)
            access = SandboxAccess(hosts=(f"127.0.0.1:{web.port}",))
            both = f'http_proxy= {PYTHON} fetch.py {port} && {PYTHON} -c "{fetch_through_proxy(web)}"'
            done = await processes.run(both, root, 60, lambda _: None, access=access)
            assert (done.exit_code, done.output_head.split("\n")[:2]) == (0, ["hello", "hello from outside"])
            assert await ports.listening_ports() == (port,)

    play(story)


def fetch_through_proxy(web: Web) -> str:
    return f"import urllib.request as u; print(u.urlopen('{web.url('/')}').read().decode())"
