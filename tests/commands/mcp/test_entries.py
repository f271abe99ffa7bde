"""`robota mcp add`, `get`, `remove`: entries in the three places, and nothing else of a file changed."""

import json
import stat
import sys

import pytest

from tests.extensions.mcp.setup import SDK
from tests.harness.cli import Robota


def test_a_server_that_was_added_can_be_tried_shown_and_removed(robota: Robota) -> None:
    added = robota("mcp", "add", "sums", "-e", "GREETING=hi", "--", sys.executable, str(SDK))
    assert added.code == 0 and "robota mcp test sums" in added.stdout
    tried = robota("mcp", "test", "sums")
    assert tried.code == 0 and "add: Adds two numbers." in tried.stdout
    shown = json.loads(robota("mcp", "get", "sums", "--json").stdout)
    assert shown["entry"] == {"command": sys.executable, "args": [str(SDK)], "env": {"GREETING": "hi"}}
    assert robota("mcp", "remove", "sums").code == 0
    assert robota("mcp", "get", "sums").code == 1


def test_a_command_keeps_its_own_options(robota: Robota) -> None:
    robota("mcp", "add", "db", "npx", "-y", "some-server", "--scope", "x")
    assert json.loads(robota("mcp", "get", "db", "--json").stdout)["entry"] == {
        "command": "npx",
        "args": ["-y", "some-server", "--scope", "x"],
    }


def test_a_server_elsewhere_has_headers_which_are_never_printed(robota: Robota) -> None:
    robota("mcp", "add", "web", "https://mcp.example.com/mcp", "-H", "Authorization: Bearer s3cret", "--timeout", "500")
    kept = json.loads((robota.home / ".robota/settings.json").read_text())["mcpServers"]["web"]
    assert kept["headers"] == {"Authorization": "Bearer s3cret"} and kept["timeout"] == 500
    shown = robota("mcp", "get", "web")
    assert "https://mcp.example.com/mcp" in shown.stdout and "s3cret" not in shown.stdout


def test_the_file_of_the_project_keeps_its_other_bytes_and_stays_trusted(robota: Robota) -> None:
    path = robota.workspace / ".mcp.json"
    before = '{ "$schema":"x" ,\r\n "mcpServers": { "a":{"command":"true"} } }\r\n'
    path.write_bytes(b"\xef\xbb\xbf" + before.encode())
    assert robota("trust", "--yes").code == 0
    assert robota("mcp", "add", "b", "--scope", "project", "true").code == 0
    assert path.read_bytes().startswith(b"\xef\xbb\xbf" + before[:50].encode())
    assert robota("mcp", "get", "b").code == 0
    assert robota("mcp", "remove", "b").code == 0
    assert path.read_bytes() == b"\xef\xbb\xbf" + before.encode()


def test_an_entry_for_one_workspace_is_private(robota: Robota) -> None:
    robota("mcp", "add", "mine", "-s", "local", "true")
    path = robota.workspace / ".robota/settings.local.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (path.parent / ".gitignore").read_text() == "*\n"
    assert robota("mcp", "get", "mine").code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("a b", "true"), "its name may have letters"),
        (("ok",), "Give a command to start"),
        (("ok", "-e", "NOVALUE", "--", "true"), "is not NAME=VALUE"),
        (("ok", "https://h/", "-e", "A=B"), "takes no arguments and no environment"),
        (("ok", "--json", "[1]"), "needs a JSON object"),
        (("ok", "--json", '{"command": 3}'), "Expected `str"),
    ],
)
def test_what_cannot_work_is_not_written(robota: Robota, arguments: tuple[str, ...], told: str) -> None:
    refused = robota("mcp", "add", *arguments)
    assert refused.code == 3 and told in refused.stderr and "Nothing was written" in refused.stderr
    assert not (robota.home / ".robota/settings.json").exists()


def test_a_file_that_is_not_json_is_left_as_it_is(robota: Robota) -> None:
    path = robota.workspace / ".mcp.json"
    path.write_text("{ // a note\n}")
    refused = robota("mcp", "add", "b", "--scope", "project", "true")
    assert refused.code == 3 and "not changed" in refused.stderr
    assert path.read_text() == "{ // a note\n}"


def test_an_entry_is_replaced_only_on_demand(robota: Robota) -> None:
    robota("mcp", "add", "a", "one")
    assert "--replace" in robota("mcp", "add", "a", "two").stderr
    assert robota("mcp", "add", "a", "--replace", "two").code == 0
    assert json.loads(robota("mcp", "get", "a", "--json").stdout)["entry"] == {"command": "two"}
