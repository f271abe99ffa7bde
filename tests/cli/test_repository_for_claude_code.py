"""A repository that was made for Claude Code: after trust it works unchanged, before trust nothing of it has effect.

What the user has to do is what Claude Code asks for, too: trust the repository, and agree to the plugin it wants.
"""

import json
from pathlib import Path

import pytest

from tests.cli.scripts import call, script
from tests.extensions.mcp.reference_servers import installed
from tests.extensions.mcp.setup import PlainServer
from tests.extensions.plugins.sample import marketplace, write_files
from tests.harness.cli import Finished, Robota
from tests.knowledge.instructions.test_instructions_in_use import FOLLOWED, QUOTED, systems

GREETING = "Greet Ann in the style of the house."
HOOK = {"type": "command", "command": 'echo hooked >> "$CLAUDE_PROJECT_DIR/hooked.txt"'}
TURNS = (
    {"calls": [call("write_to_file", path="new.txt", content="new\n")]},
    {"calls": [call("execute_command", command="touch allowed.txt")]},
    {"calls": [call("read_file", path="private/key.txt")]},
    {"calls": [call("mcp__notes__note", text="hello")]},
    {"calls": [call("skill", skill="review")]},
    {"text": "done"},
)


@pytest.fixture
def server(tmp_path: Path) -> PlainServer:
    return PlainServer(tmp_path, name="notes")


@pytest.fixture
def repository(robota: Robota, server: PlainServer, tmp_path: Path) -> Robota:
    """The files as Claude Code has them, and a marketplace in a git repository on this machine."""
    market = marketplace(tmp_path / "market")
    settings = {
        "permissions": {"allow": ["Bash(touch *)", "mcp__notes__note"], "deny": ["Read(./private/**)"]},
        "hooks": {"PostToolUse": [{"matcher": "Write", "hooks": [HOOK]}]},
        "extraKnownMarketplaces": {"team": {"source": {"source": "git", "url": market.as_uri()}}},
        "enabledPlugins": {"lint@team": True},
        "outputStyle": "loud",
    }
    write_files(
        robota.workspace,
        {
            "CLAUDE.md": "Use tabs.\n\n@docs/style.md\n",
            "docs/style.md": "Lines end at a hundred.\n",
            ".claude/settings.json": settings,
            ".claude/rules/words.md": "Write plainly.\n",
            ".claude/output-styles/loud.md": "---\nname: loud\n---\nShout.\n",
            ".claude/skills/review/SKILL.md": "---\nname: review\ndescription: Reviews code.\n---\nLook twice.\n",
            ".claude/commands/greet.md": "---\nargument-hint: who\n---\nGreet $ARGUMENTS in the style of the house.\n",
            ".mcp.json": {"mcpServers": {"notes": server.entry()}},
            "private/key.txt": "secret\n",
        },
    )
    return robota


def play(robota: Robota) -> Finished:
    script(robota, *TURNS)
    return robota("-p", "go", "--permission-mode", "acceptEdits", "--output-format", "stream-json", "--verbose")


def results(done: Finished) -> list[str]:
    """What the tools said, in the order of their calls."""
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    parts = [part for line in lines if line["type"] == "user" for part in line["message"]["content"]]
    return [json.dumps(part["content"]) for part in parts if part["type"] == "tool_result"]


def test_before_trust_it_is_only_quoted(repository: Robota, server: PlainServer) -> None:
    done = play(repository)
    assert done.code == 0, done.stderr
    assert (repository.workspace / "new.txt").exists(), "what the user allowed works"
    for made in ("hooked.txt", "allowed.txt", "checked.txt"):
        assert not (repository.workspace / made).exists()
    assert not server.was_called and "not trusted" in done.stderr and "requests the plugin" not in done.stderr
    *_, system = systems(repository)
    assert FOLLOWED not in system and "Reviews code." not in system and "Shout." not in system
    init = json.loads(done.stdout.splitlines()[0])
    assert (init["output_style"], init["skills"], init["plugins"], init["mcp_servers"]) == ("default", [], [], [])
    assert system.index(QUOTED) < system.index("Use tabs.") and "Write plainly." in system
    assert "secret" not in done.stdout, "what only forbids holds without trust"
    assert repository("-p", "/greet Ann").code == 2


def test_after_trust_it_works_unchanged(repository: Robota, server: PlainServer) -> None:
    assert repository("trust", "--yes").code == 0
    done = play(repository)
    assert done.code == 0, done.stderr
    assert (repository.workspace / "hooked.txt").read_text() == "hooked\n"
    assert (repository.workspace / "allowed.txt").exists()
    assert server.was_called
    written, _, private, noted, skill = results(done)
    assert "new.txt" in written and "plain answer" in noted and "Look twice." in skill
    assert "secret" not in private
    *_, system = systems(repository)
    assert QUOTED not in system and "- review: Reviews code." in system and "Shout." in system
    for words in ("Use tabs.", "Lines end at a hundred.", "Write plainly."):
        assert system.index(FOLLOWED) < system.index(words)
    script(repository, {"expect": {"user": GREETING}, "text": "hello"})
    assert repository("-p", "/greet Ann").stdout == "hello\n"


def test_a_reference_server_of_npm_starts_only_after_trust(robota: Robota) -> None:
    """The same with a real server, which lists its tools and answers by itself."""
    entry = installed("mcp-server-everything", "stdio")
    settings = {"permissions": {"allow": ["mcp__everything__echo"]}}
    files = {".mcp.json": {"mcpServers": {"everything": entry}}, ".claude/settings.json": settings}
    write_files(robota.workspace, files)
    for is_trusted in (False, True):
        script(robota, {"calls": [call("mcp__everything__echo", message="from the outside")]}, {"text": "done"})
        assert not is_trusted or robota("trust", "--yes").code == 0
        done = robota("-p", "go", "--output-format", "stream-json", "--verbose")
        init = json.loads(done.stdout.splitlines()[0])
        [answer] = results(done)
        assert ("mcp__everything__get-sum" in init["tools"]) is is_trusted
        assert ("Echo: from the outside" in answer) is is_trusted


def test_the_required_plugin_works_once_the_user_agreed(repository: Robota) -> None:
    repository("trust", "--yes")
    assert "requests the plugin lint@team" in play(repository).stderr
    assert not (repository.workspace / "checked.txt").exists()
    (repository.workspace / "new.txt").unlink()
    assert repository("plugin", "install", "--yes").code == 0
    assert "requests the plugin" not in play(repository).stderr
    assert "checked by" in (repository.workspace / "checked.txt").read_text()
    assert (repository.workspace / "hooked.txt").read_text() == "hooked\n" * 2
    script(repository, {"expect": {"user": "Say hello to Ann."}, "text": "hello"})
    assert repository("-p", "/lint:greet Ann").stdout == "hello\n"
    script(repository, {"expect": {"user": GREETING}, "text": "the project's own"})
    assert repository("-p", "/greet Ann").stdout == "the project's own\n"


def test_a_change_of_the_repository_ends_the_trust(repository: Robota, server: PlainServer) -> None:
    repository("trust", "--yes")
    write_files(repository.workspace, {".claude/commands/more.md": "More."})
    done = play(repository)
    assert "changed since you trusted it" in done.stderr and not server.was_called
    assert not (repository.workspace / "hooked.txt").exists()
