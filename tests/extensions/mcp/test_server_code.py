"""MCP servers run outside the sandbox: what they run of the workspace is protected, and compared before each start."""

import shutil
import sys
from typing import Any

import pytest

from tests.cli.scripts import call, trust
from tests.extensions.mcp.setup import DONE, PLAIN, WRITE_NOTE, PlainServer, configure
from tests.harness.cli import Finished, Robota
from tests.harness.programs import needs


@pytest.fixture
def server(robota: Robota) -> PlainServer:
    """A server whose program lies in the workspace."""
    (robota.workspace / "servers").mkdir()
    shutil.copy(PLAIN, robota.workspace / "servers" / "plain.py")
    return PlainServer(robota.workspace.parent)


def entry(server: PlainServer) -> dict[str, Any]:
    written = server.entry()
    return {**written, "command": sys.executable, "args": ["servers/plain.py", *written["args"][1:]]}


def run(robota: Robota, server: PlainServer, *turns: Any) -> Finished:
    server.calls.unlink(missing_ok=True)
    trust(robota)
    configure(robota, {"plain": entry(server)}, [*turns, WRITE_NOTE, DONE])
    return robota("-p", "go", "--allowed-tools", "mcp__plain,Bash", "--permission-mode", "acceptEdits")


def test_a_server_whose_script_changed_does_not_start_until_the_user_accepts_it(
    robota: Robota, server: PlainServer
) -> None:
    assert run(robota, server).code == 0 and server.was_called
    script = robota.workspace / "servers" / "plain.py"
    script.write_text(script.read_text() + "# changed\n")
    words = " ".join(run(robota, server).stderr.split())
    assert "servers/plain.py changed since you agreed" in words and not server.was_called
    assert "+# changed" in robota("trust", "--show").stdout
    assert robota("trust", "--yes").code == 0
    assert run(robota, server).code == 0 and server.was_called


@needs("bwrap")
@pytest.mark.parametrize(
    "attack",
    (
        "echo planted >> servers/plain.py",
        "mv servers gone && mkdir servers && echo planted > servers/plain.py",
        "ln -f planted servers/plain.py",
    ),
)
def test_a_sandboxed_command_cannot_change_it(robota: Robota, server: PlainServer, attack: str) -> None:
    script = robota.workspace / "servers" / "plain.py"
    before = script.read_bytes()
    (robota.workspace / "planted").write_text("planted")
    # In a script, where policy does not see what it does.
    (robota.workspace / "attack.sh").write_text(f"touch attacked\n{attack}\n")
    run(robota, server, {"calls": [call("execute_command", command="sh attack.sh")]})
    assert (robota.workspace / "attacked").exists()
    assert script.read_bytes() == before and server.was_called


def test_an_unasked_edit_does_not_change_it(robota: Robota, server: PlainServer) -> None:
    script = robota.workspace / "servers" / "plain.py"
    before = script.read_bytes()
    run(robota, server, {"calls": [call("write_to_file", path="servers/plain.py", content="planted\n")]})
    assert script.read_bytes() == before and server.was_called


def test_a_fresh_clone_does_not_lend_its_files_to_a_server_of_the_user(robota: Robota, server: PlainServer) -> None:
    """The user's entry names a script by a relative path, which any repository may have."""
    configure(robota, {"plain": entry(server)}, [WRITE_NOTE, DONE])
    done = robota("-p", "go", "--allowed-tools", "mcp__plain")
    assert "which is not trusted. To decide: robota trust" in " ".join(done.stderr.split())
    assert not server.was_called
