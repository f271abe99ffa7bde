"""Commands that try to get out of the sandbox, once they run."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from robota.workspace.sandbox.backend import SandboxKind
from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota
from tests.harness.session_log import log_text
from tests.workspace.sandbox.cells import Cell

SECRETS = {
    "ANTHROPIC_API_KEY": "sk-ant-REDACTED",
    "GITHUB_TOKEN": "token-value-1",
    "DB_PASSWORD": "password-value-1",
    "AWS_SECRET_ACCESS_KEY": "aws-value-1",
    "SSH_AUTH_SOCK": "/run/agent-socket-1",
    "NPM_PAT": "pat-value-1",
}


@pytest.fixture
def strong(tmp_path: Path) -> Cell:
    return Cell(SandboxKind.BUBBLEWRAP, tmp_path)


def test_no_secret_of_the_environment_is_seen_inside(robota: Robota) -> None:
    look = "printenv; cat /proc/self/environ; tr '\\0' '\\n' < /proc/1/environ; env"
    script(robota, {"calls": [call("execute_command", command=look)]}, {"text": "ok"})
    robota("-p", "go", "--allowed-tools", "Bash", env={**SECRETS, "ORDINARY": "ordinary-value"})
    log = log_text(sessions(robota)[0])
    assert "ordinary-value" in log
    for name, value in SECRETS.items():
        # Values would be covered in the log anyway; it is the name that tells whether it was there.
        assert f"{name}=" not in log and value not in log


@pytest.mark.parametrize(
    "command",
    [
        "cd .git && echo x > config",
        "mv .git x",
        "rm -rf .git",
        "echo x > /proc/self/root$PWD/.git/config",
        "mkdir -p .vscode && echo x > .vscode/tasks.json",
        "ln -s /tmp .claude",
        "rename=.git; mv $rename other",
    ],
)
def test_protected_names_hold_from_inside(strong: Cell, command: str) -> None:
    assert strong.run(command).returncode != 0
    assert (strong.root / ".git" / "config").read_text() == "[core]\n"
    assert [path.name for path in strong.root.iterdir()] == [".git"]


@pytest.mark.parametrize("path", ["/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"])
def test_the_kernel_is_out_of_reach_for_root_too(strong: Cell, path: str) -> None:
    assert strong.run(f"echo 0 > {path}").returncode != 0


def test_there_is_no_way_to_the_network_and_no_resolver(strong: Cell) -> None:
    resolve = f"{sys.executable} -c \"import socket; socket.getaddrinfo('example.com', 80)\""
    assert strong.run(resolve).returncode != 0
    assert strong.run("bash -c 'exec 3<>/dev/tcp/1.1.1.1/53'").returncode != 0


def test_kill_reaches_only_what_is_inside(strong: Cell) -> None:
    with subprocess.Popen(["sleep", "1000"]) as bystander:
        strong.run(f"kill -9 {bystander.pid} {os.getpid()}; kill -9 -1")
        assert bystander.poll() is None
        bystander.kill()


def test_a_command_gone_wild_leaves_no_core_and_no_endless_file(strong: Cell) -> None:
    strong.run("ulimit -c unlimited 2>/dev/null; sh -c 'kill -SEGV $$'")
    assert strong.run("truncate -s 17G big").returncode != 0
    (strong.root / "big").unlink(missing_ok=True)
    assert [path.name for path in strong.root.iterdir()] == [".git"]


def test_stores_of_credentials_are_empty(strong: Cell) -> None:
    done = strong.run(f"cat {strong.home}/.ssh/id; ls -A {strong.home}/.ssh; cat {strong.home}/.netrc")
    assert done.stdout == ""


def test_services_outside_cannot_be_reached_through_their_sockets(strong: Cell) -> None:
    """A container engine or systemd runs anything for any client, outside the sandbox."""
    place = Path(f"/run/robota-test-{os.getpid()}.sock")
    with socket.socket(socket.AF_UNIX) as service:
        try:
            service.bind(str(place))
        except PermissionError:
            pytest.skip("only root can open a socket in /run")
        try:
            assert strong.run("find /run /var/run /tmp -type s").stdout == ""
        finally:
            place.unlink()
