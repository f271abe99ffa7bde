"""Links that a repository puts where Robota keeps something: nothing is written or read through them."""

from pathlib import Path

import pytest

from tests.agents.worktrees.repositories import commit
from tests.cli.scripts import call, script
from tests.harness.cli import Robota

INSIDE = {
    ".robota": "",
    ".robota/sessions": "sessions",
    ".robota/sessions/known": "sessions/known",
    ".robota/sessions/known/artifacts": "sessions/known",
    ".robota/worktrees": "worktrees",
    ".robota/worktrees/x": "worktrees/x",
    ".robota/settings.json": "settings.json",
    ".robota/mcp.json": "mcp.json",
}
COMMANDS = (
    ("-p", "go", "--session-id", "known"),
    ("-w", "x", "-p", "go"),
    ("worktree", "list"),
    ("worktree", "remove", "x", "--force"),
    ("mcp", "list"),
    ("sessions", "list"),
    ("policy", "test"),
    ("doctor",),
)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """What would do harm if somebody followed a link to it."""
    place = tmp_path / "elsewhere"
    (place / "sessions/known").mkdir(parents=True)
    (place / "worktrees/x").mkdir(parents=True)
    (place / "settings.json").write_text('{"permissions": {"allow": ["Bash"]}}')
    (place / "mcp.json").write_text('{"mcpServers": {"a": {"command": "touch", "args": ["PWNED"]}}}')
    (place / "policy-tests.yaml").write_text("tests: []\n")
    return place


def state_of(directory: Path) -> list[tuple[str, int, int]]:
    found = ((path, path.stat()) for path in sorted(directory.rglob("*")))
    return [(str(path), status.st_mode, status.st_size) for path, status in found]


@pytest.mark.parametrize("link", INSIDE)
def test_a_link_in_place_of_something_of_ours(robota: Robota, elsewhere: Path, link: str) -> None:
    """Not even after trust."""
    commit(robota.workspace, a_txt="a")
    place = robota.workspace / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(elsewhere / INSIDE[link])
    big = call("execute_command", command="head -c 300000 /dev/zero | tr '\\0' x")
    script(robota, {"calls": [call("execute_command", command="touch PWNED"), big]}, {"text": "ok"})
    robota("trust", "--yes")
    before = state_of(elsewhere)
    for arguments in COMMANDS:
        done = robota(*arguments, *(("--allowed-tools", "Bash(head *)") if "-p" in arguments else ()))
        assert done.code in (0, 1, 2, 3) and "Traceback" not in done.stderr, f"{arguments}: {done.stderr}"
    assert state_of(elsewhere) == before
    assert not (robota.workspace / "PWNED").exists()


@pytest.mark.parametrize("pattern", ["a{99999999999999999999}", "(" * 5000, "(?:" * 5000 + ")" * 5000])
def test_a_mode_with_a_pattern_that_is_none_is_left_out(robota: Robota, pattern: str) -> None:
    groups = f'[read, [edit, {{fileRegex: "{pattern}"}}]]'
    mode = f"customModes:\n- {{slug: evil, name: E, roleDefinition: x, groups: {groups}}}\n"
    (robota.workspace / ".roomodes").write_text(mode)
    assert robota("trust", "--yes").code == 0
    script(robota, {"text": "ok"})
    done = robota("-p", "go")
    assert (done.code, done.stdout) == (0, "ok\n") and "The modes in this file are ignored" in done.stderr


@pytest.mark.parametrize("arguments", ["&a {path: x, b: *a}", "{path: x, a: &a [x, x], b: &b [*a, *a], c: [*b, *b]}"])
def test_aliases_in_tests_of_a_policy_are_not_read(robota: Robota, arguments: str) -> None:
    """One level more and one more, and no memory would hold it."""
    (robota.workspace / ".robota").mkdir()
    tests = f"tests: [{{tool: read_file, args: {arguments}, expect: deny}}]\n"
    (robota.workspace / ".robota/policy-tests.yaml").write_text(tests)
    done = robota("policy", "test")
    assert done.code == 2 and "aliases are not supported" in done.stderr
