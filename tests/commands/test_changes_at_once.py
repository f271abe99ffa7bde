"""Several processes change the same file at once: nothing that one of them reported as done is lost."""

import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from tests.harness.cli import Finished, Robota

PROCESSES = 8


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of shared file: the command of each process, and what the file contains afterwards."""

    command: Callable[[int, Path], Sequence[str]]
    stored: Callable[[Robota], set[str]]
    expected: Callable[[int], str]
    prepare: Callable[[int, Path], None] = lambda number, root: None


def _setting(robota: Robota, *key: str, path: str = "") -> set[str]:
    file = robota.workspace / path if path else robota.home / ".robota/settings.json"
    value = json.loads(file.read_text())
    for name in key:
        value = value[name]
    return set(value)


def _listed(robota: Robota, pattern: str, *command: str) -> set[str]:
    shown = robota(*command)
    assert shown.code == 0, shown.stderr
    return set(re.findall(pattern, shown.stdout))


def _make_plugin(number: int, root: Path) -> None:
    directory = root / f"plugin-{number}"
    (directory / ".claude-plugin").mkdir(parents=True)
    (directory / ".claude-plugin/plugin.json").write_text(json.dumps({"name": f"plug{number}", "version": "1.0.0"}))
    (directory / "commands").mkdir()
    (directory / f"commands/greet{number}.md").write_text("Say hello.\n")


def _make_workspace(number: int, root: Path) -> None:
    (root / f"project-{number}/.robota").mkdir(parents=True)
    (root / f"project-{number}/.robota/settings.json").write_text('{"permissions": {"allow": ["Bash(ls)"]}}')


def _trusted(robota: Robota) -> set[str]:
    lock = json.loads((robota.home / ".robota/robota.lock").read_text())
    return {Path(path).name for path in lock["workspaces"]}


def _rules_that_apply(robota: Robota) -> set[str]:
    """The rules of the project that have an effect, so the workspace is still trusted after all changes."""
    return _listed(robota, r"Bash\(tool\d+\)", "config", "get", "permissions.allow")


KINDS = {
    "deny rules of the user": Kind(
        command=lambda number, root: ("config", "set", "permissions.deny", f"Bash(tool{number})", "--add"),
        stored=lambda robota: _setting(robota, "permissions", "deny"),
        expected=lambda number: f"Bash(tool{number})",
    ),
    "allow rules of a trusted project": Kind(
        command=lambda number, root: (
            *("config", "set", "permissions.allow", f"Bash(tool{number})"),
            *("--add", "--scope", "local"),
        ),
        stored=_rules_that_apply,
        expected=lambda number: f"Bash(tool{number})",
    ),
    "MCP servers": Kind(
        command=lambda number, root: ("mcp", "add", f"server{number}", "true", "--scope", "user"),
        stored=lambda robota: _setting(robota, "mcpServers"),
        expected=lambda number: f"server{number}",
    ),
    "memory of the project": Kind(
        command=lambda number, root: ("memory", "add", "project", f"topic {number % 2}", f"fact{number} is true"),
        stored=lambda robota: _listed(robota, r"fact\d+", "memory", "list"),
        expected=lambda number: f"fact{number}",
    ),
    "memory of the user": Kind(
        command=lambda number, root: ("memory", "add", "--user", "user", "taste", f"fact{number} is true"),
        stored=lambda robota: _listed(robota, r"fact\d+", "memory", "list"),
        expected=lambda number: f"fact{number}",
    ),
    "plugins": Kind(
        prepare=_make_plugin,
        command=lambda number, root: ("plugin", "install", str(root / f"plugin-{number}"), "--yes"),
        stored=lambda robota: _listed(robota, r"plug\d+(?=@)", "plugin", "list"),
        expected=lambda number: f"plug{number}",
    ),
    "trust": Kind(
        prepare=_make_workspace,
        command=lambda number, root: ("trust", "--yes", "--cwd", str(root / f"project-{number}")),
        stored=_trusted,
        expected=lambda number: f"project-{number}",
    ),
    "intents": Kind(
        command=lambda number, root: ("intents", "new", f"goal{number}", "--owns", f"src/{number}/**"),
        stored=lambda robota: _listed(robota, r"goal\d+", "intents", "list"),
        expected=lambda number: f"goal{number}",
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_nothing_that_was_reported_as_done_is_lost(name: str, robota: Robota, tmp_path: Path) -> None:
    kind = KINDS[name]
    for number in range(PROCESSES):
        kind.prepare(number, tmp_path)

    def change(number: int) -> Finished:
        return robota(*kind.command(number, tmp_path))

    with ThreadPoolExecutor(PROCESSES) as processes:
        ended = list(processes.map(change, range(PROCESSES)))
    assert [each.stderr for each in ended if each.code != 0] == []
    assert kind.stored(robota) == {kind.expected(number) for number in range(PROCESSES)}


def test_two_processes_do_not_both_report_a_new_server_of_the_same_name(robota: Robota) -> None:
    with ThreadPoolExecutor(PROCESSES) as processes:
        ended = list(processes.map(lambda number: robota("mcp", "add", "same", f"/bin/{number}"), range(PROCESSES)))
    assert sorted(each.code for each in ended)[0] == 0
    assert [each.code for each in ended].count(0) == 1
