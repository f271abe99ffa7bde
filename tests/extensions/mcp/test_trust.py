"""MCP servers of a repository start only after trust, and not after their entry changed."""

import json
from typing import Any

from tests.cli.scripts import call, script, sessions
from tests.extensions.mcp.setup import DONE, WRITE_NOTE, PlainServer, run_with, sdk_entry
from tests.harness.cli import Finished, Robota
from tests.harness.session_log import log_text


def bring(robota: Robota, name: str = ".mcp.json", **servers: Any) -> None:
    path = robota.workspace / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}, indent=1))


def run(robota: Robota, server: PlainServer) -> Finished:
    server.calls.unlink(missing_ok=True)
    script(robota, WRITE_NOTE, DONE)
    return robota("-p", "go", "--allowed-tools", "mcp__plain__note")


def test_a_server_of_a_repository_needs_trust_and_again_when_its_entry_changes(robota: Robota) -> None:
    server = PlainServer(robota.home)
    bring(robota, plain=server.entry())
    untrusted = run(robota, server)
    assert untrusted.code == 0 and not server.was_called
    assert "is not trusted" in untrusted.stderr and ".mcp.json" in untrusted.stderr
    assert "No MCP server is configured here." in robota("mcp", "list").stdout
    assert robota("trust", "--yes").code == 0
    assert "is new here" in run(robota, server).stderr and server.was_called
    bring(robota, plain={**server.entry(), "env": {"NODE_OPTIONS": "--require ./evil.js"}})
    changed = run(robota, server)
    assert not server.was_called and "has changed since you trusted it" in changed.stderr
    shown = robota("trust", "--show")
    assert shown.code == 1 and '+    "NODE_OPTIONS": "--require ./evil.js"' in shown.stdout
    assert robota("trust", "--yes").code == 0
    run(robota, server)
    assert server.was_called


def test_a_linked_file_is_never_read(robota: Robota) -> None:
    server = PlainServer(robota.home)
    elsewhere = robota.home / "theirs.json"
    elsewhere.write_text(json.dumps({"mcpServers": {"plain": server.entry()}}))
    (robota.workspace / ".mcp.json").symlink_to(elsewhere)
    assert robota("trust", "--yes").code == 0
    done = run(robota, server)
    assert not server.was_called and "was not read, because it is a link" in done.stderr


def test_a_broken_file_is_a_notice(robota: Robota) -> None:
    (robota.workspace / ".mcp.json").write_text('{"mcpServers": [')
    assert robota("trust", "--yes").code == 0
    script(robota, DONE)
    done = robota("-p", "go")
    assert done.code == 0 and "Its MCP servers do not start" in done.stderr


def test_a_server_that_settings_disable_does_not_start(robota: Robota) -> None:
    """As in Claude Code, where `.mcp.json` is shared and a user or a project switches one of its servers off."""
    server = PlainServer(robota.home)
    bring(robota, plain=server.entry())
    settings = robota.workspace / ".claude/settings.local.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"disabledMcpjsonServers": ["plain", "another"]}))
    assert robota("trust", "--yes").code == 0
    assert run(robota, server).code == 0 and not server.was_called
    assert '"disabled": true' in robota("mcp", "get", "plain").stdout


def test_a_user_entry_overrides_that_of_the_repository(robota: Robota) -> None:
    own, theirs = PlainServer(robota.home, name="own"), PlainServer(robota.home, name="theirs")
    bring(robota, plain=theirs.entry())
    assert robota("trust", "--yes").code == 0
    run_with(robota, {"plain": own.entry()}, [WRITE_NOTE, DONE], "--allowed-tools", "mcp__plain")
    assert own.was_called and not theirs.was_called


def test_user_servers_do_not_start_in_an_untrusted_repository(robota: Robota) -> None:
    """Programs such as npx would run code that they find there."""
    ask = {"calls": [call("mcp__sdk__environment", variable="X")]}
    bring(robota, theirs={"command": "true"})
    for is_trusted in (False, True):
        if is_trusted:
            assert robota("trust", "--yes").code == 0
        run_with(robota, {"sdk": sdk_entry()}, [ask, DONE], "--allowed-tools", "mcp__sdk")
        log = log_text(sessions(robota)[-1])
        assert "X is not set in /" in log
        assert (f"X is not set in {robota.workspace}" in log) == is_trusted
