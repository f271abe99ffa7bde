"""`robota mcp import`: the servers of other agents, in their own formats."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.config.errors import ConfigError
from robota.extensions.mcp.foreign_entries import AGENTS, ForeignEntry, read_foreign_entries
from tests.harness.cli import Robota

CODEX = """
model = "x"
[mcp_servers.docs]
url = "https://docs.example/mcp"
bearer_token_env_var = "DOCS_TOKEN"
tool_timeout_sec = 7
[mcp_servers."my.tools"]
command = "tools"
args = ["-v"]
env_vars = ["HOME"]
startup_timeout_sec = 3
enabled = false
"""
OPENCODE = """{
  // what we use
  "mcp": {
    "local": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"KEY": "{env:X_KEY}"}, "enabled": true},
    "far": {"type": "remote", "url": "https://far.example/mcp // no comment", "headers": {"A": "b"}},
  },
}"""


def written(robota: Robota) -> dict[str, Any]:
    servers: dict[str, Any] = json.loads((robota.home / ".robota/settings.json").read_text())["mcpServers"]
    return servers


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_servers_of_claude_come_from_everywhere_and_from_this_project(robota: Robota) -> None:
    here = {"mcpServers": {"both": {"type": "http", "url": "https://here/mcp"}}}
    everywhere = {"both": {"command": "old"}, "one": {"type": "stdio", "command": "npx", "args": ["-y", "x"]}}
    projects = {str(robota.workspace): here, "/elsewhere": {"mcpServers": {"no": {"command": "no"}}}}
    put(robota.home / ".claude.json", json.dumps({"mcpServers": everywhere, "projects": projects}))
    assert robota("mcp", "import", "claude").code == 0
    assert written(robota) == {**everywhere, **here["mcpServers"]}


def test_servers_of_codex(robota: Robota) -> None:
    put(robota.home / ".codex/config.toml", CODEX)
    imported = robota("mcp", "import", "codex")
    assert imported.code == 0 and "without startup_timeout_sec" in imported.stdout and "as my-tools" in imported.stdout
    assert written(robota) == {
        "docs": {
            "type": "http",
            "url": "https://docs.example/mcp",
            "headers": {"Authorization": "Bearer ${DOCS_TOKEN}"},
            "timeout": 7000,
        },
        "my-tools": {"command": "tools", "args": ["-v"], "env": {"HOME": "${HOME}"}, "disabled": True},
    }


def test_servers_of_gemini(robota: Robota) -> None:
    servers = {
        "web": {"httpUrl": "https://web/mcp", "headers": {"K": "$KEY"}, "timeout": 5},
        "run": {"command": "x", "trust": True},
    }
    put(robota.home / ".gemini/settings.json", json.dumps({"mcpServers": servers}))
    assert "without trust" in robota("mcp", "import", "gemini").stdout
    assert written(robota) == {
        "web": {"type": "http", "url": "https://web/mcp", "headers": {"K": "${KEY}"}, "timeout": 5},
        "run": {"command": "x"},
    }


def test_servers_of_opencode_whose_files_have_comments(robota: Robota) -> None:
    put(robota.workspace / "opencode.jsonc", OPENCODE)
    assert robota("mcp", "import", "opencode").code == 0
    assert written(robota) == {
        "local": {"command": "npx", "args": ["-y", "x"], "env": {"KEY": "${X_KEY}"}},
        "far": {"type": "http", "url": "https://far.example/mcp // no comment", "headers": {"A": "b"}},
    }


def test_existing_entries_stay_unless_they_are_to_be_replaced(robota: Robota) -> None:
    robota("mcp", "add", "one", "mine")
    put(
        robota.home / ".claude.json",
        json.dumps(
            {"mcpServers": {"one": {"command": "theirs"}, "two": {"url": "x"}, "3": {"type": "ws", "url": "ws://x"}}}
        ),
    )
    kept = robota("mcp", "import", "claude")
    assert kept.code == 1 and "one was skipped: there is already a server one" in kept.stderr
    assert "two was skipped: its url must start with https://" in kept.stderr
    assert "3 was skipped: the type 'ws' is not supported" in kept.stderr
    assert written(robota) == {"one": {"command": "mine"}}
    assert robota("mcp", "import", "claude", "one", "--replace", "--dry-run").code == 0
    assert written(robota) == {"one": {"command": "mine"}}
    assert robota("mcp", "import", "claude", "one", "--replace").code == 0
    assert written(robota) == {"one": {"command": "theirs"}}


def test_a_file_that_cannot_be_read_is_said(robota: Robota) -> None:
    put(robota.home / ".codex/config.toml", "[[[")
    refused = robota("mcp", "import", "codex")
    assert refused.code == 3 and "config.toml cannot be read" in refused.stderr


KNOWN_KEYS = st.sampled_from(["mcpServers", "mcp", "projects", "command", "url", "headers", "env"])


@pytest.mark.parametrize("agent", AGENTS)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KNOWN_KEYS, inner, max_size=4),
        max_leaves=12,
    )
)
def test_reading_any_file_gives_entries_or_a_plain_refusal(
    tmp_path_factory: pytest.TempPathFactory, agent: str, data: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / f"foreign-{agent}.json"
    path.write_text(json.dumps(data))
    with suppress(ConfigError):
        assert all(isinstance(each, ForeignEntry) for each in read_foreign_entries(agent, Path("/w"), Path("/h"), path))
