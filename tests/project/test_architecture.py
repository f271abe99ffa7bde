"""The rooms: the contracts hold, they catch what they should, and the documentation names the same rooms."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import grimp
import msgspec
import pytest

from robota.protocol.seed_calls import TITLES
from robota.tools.registry import builtin_tools

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/robota"
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


class Plant(msgspec.Struct, frozen=True, kw_only=True):
    """A forbidden line, where it goes, and the contract that must object."""

    file: str
    line: str
    contract: str


LAYERS = "Rooms import only from rooms below"
PLANTS = {
    "upwards": Plant(file="tools/planted.py", line="import robota.engine", contract=LAYERS),
    "upwards inside a function": Plant(
        file="log/planted.py", line="def f() -> None:\n    from robota import engine", contract=LAYERS
    ),
    "sideways": Plant(file="policy/planted.py", line="import robota.tools", contract=LAYERS),
    "a room nobody listed": Plant(file="stuff/__init__.py", line='"""New."""', contract=LAYERS),
    "a client that knows the engine": Plant(
        file="clients/view/planted.py",
        line="def f() -> None:\n    import robota.engine",
        contract="Clients see only the protocol and clients.view",
    ),
    "a view that knows a client": Plant(
        file="clients/view/planted.py",
        line="import robota.clients.headless",
        contract="Clients do not know one another; view knows none of them",
    ),
    "a reducer that looks at the clock": Plant(
        file="clients/tui/reducer/planted.py",
        line="import time",
        contract="The terminal UI: reducer and view are pure",
    ),
    "a process that knows the sandbox": Plant(
        file="workspace/process/planted.py",
        line="import robota.workspace.sandbox.border",
        contract="Inside workspace: processes do not know the sandbox",
    ),
    "a border that knows who runs in it": Plant(
        file="workspace/sandbox/border.py",
        line="import robota.workspace.sandbox.bubblewrap",
        contract="Inside sandbox: a backend does not know its session",
    ),
    "a protocol that waits": Plant(
        file="protocol/planted.py", line="import asyncio", contract="The protocol is a leaf and does no I/O"
    ),
    "a tool on the network": Plant(
        file="tools/planted.py", line="import httpx2", contract="Only providers talk to the network"
    ),
    "a command that starts a prompt": Plant(
        file="cli/configure/planted.py",
        line="import robota.cli.run.prompt",
        contract="The command line is parsed, configured and run in this order",
    ),
    "trust that reads settings": Plant(
        file="config/trust/planted.py",
        line="import robota.config.settings.load",
        contract="Config: launch options over profiles and keys over settings over trust",
    ),
    "a hook result that knows its runner": Plant(
        file="hooks/results.py",
        line="import robota.hooks.runner",
        contract="Hooks: the runner knows handlers, handlers know results",
    ),
    "an MCP connection that knows all servers": Plant(
        file="extensions/mcp/connection.py",
        line="import robota.extensions.mcp.servers",
        contract="MCP: servers know connections, connections know what a server is",
    ),
    "a manifest that installs": Plant(
        file="extensions/plugins/manifest.py",
        line="import robota.extensions.plugins.installer",
        contract="Plugins: installing knows fetching, fetching knows what files say",
    ),
    "a rule that decides": Plant(
        file="policy/rules/planted.py",
        line="def f() -> None:\n    import robota.policy.decide",
        contract="Policy decides on top of stages, rules and paths",
    ),
    "shell data that reads": Plant(
        file="workspace/shell/script.py",
        line="import robota.workspace.shell.reading",
        contract="Reading shell commands ends in plain data",
    ),
    "a kind of record that reads the chain": Plant(
        file="log/kinds/planted.py",
        line="import robota.log.chain.reader",
        contract="Log: replay over the chain, the chain over kinds of records",
    ),
    "a wire format that knows a vendor": Plant(
        file="providers/wire/planted.py",
        line="import robota.providers.kinds.openai",
        contract="Providers: kinds over wire formats, wire formats over HTTP",
    ),
    "a request that knows its task": Plant(
        file="engine/model/planted.py",
        line="def f() -> None:\n    import robota.engine.task.task",
        contract="Engine: session over tasks, tasks over calls, all over the record",
    ),
    "an engine that draws": Plant(
        file="engine/planted.py", line="from rich import print", contract="No UI library outside the TUI"
    ),
}


def test_the_contracts_hold() -> None:
    report = lint_imports(ROOT)
    assert report.returncode == 0, report.stdout


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_violation_is_caught(name: str, tmp_path: Path) -> None:
    plant = PLANTS[name]
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    target = tmp_path / "src/robota" / plant.file
    target.parent.mkdir(exist_ok=True)
    target.write_text(plant.line + "\n")
    report = lint_imports(tmp_path)
    assert report.returncode == 1, report.stdout
    assert re.search(re.escape(plant.contract) + r".*BROKEN", report.stdout), report.stdout


def test_no_module_needs_itself_to_be_loaded() -> None:
    """No cycles between modules, imports inside functions included; those for type checkers alone do not count."""
    graph = grimp.build_graph("robota", cache_dir=None, exclude_type_checking_imports=True)
    needed = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(needed) > 500
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as cycle:
        pytest.fail(" needs ".join(cycle.args[1]))


def test_only_tools_and_the_language_of_rules_know_a_tool_by_its_id() -> None:
    ids = {tool.name for tool in builtin_tools()}
    naming = {
        path.relative_to(SOURCE).as_posix(): found
        for path in SOURCE.rglob("*.py")
        if "tools" not in path.relative_to(SOURCE).parts[:1]
        if (found := ids & _string_constants(path))
    }
    words = {"glob", "agent", "switch_mode", "code", "symbols"}  # which mean other things, too
    assert {path: found - words for path, found in naming.items() if found - words} == {
        "policy/rules/rule.py": {"background_process", "execute_command"},
        "contracts/rest_of_result.py": {"read_command_output"},  # what hooks and the engine cut is read with it, too
    }


def test_clients_know_no_action_of_a_call_by_its_name() -> None:
    """The seed's rows name what a call does (`readFile`); clients are told a title and a view of it."""
    said = {word for path in (SOURCE / "tools").rglob("*.py") for word in _actions_said_in(path)}
    assert {"readFile", "newFileCreated", "updateTodoList"} <= said
    fields = {field.name for tool in builtin_tools() for field in msgspec.structs.fields(tool.params)}
    parameters = {name for name in fields if "_" in name} - {"max_turns"}  # words of other things, too
    naming = {
        path.relative_to(SOURCE).as_posix(): found
        for path in (SOURCE / "clients").rglob("*.py")
        if (found := (said | TITLES.keys() | parameters) & _string_constants(path))
    }
    assert naming == {}


def _actions_said_in(path: Path) -> set[str]:
    """The names of actions in the rows of calls."""
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    said = (each.value for node in calls for each in node.keywords if each.arg == "tool" and _is_row(node))
    leaves = (leaf.value for value in said for leaf in ast.walk(value) if isinstance(leaf, ast.Constant))
    return {leaf for leaf in leaves if isinstance(leaf, str)}


def _is_row(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "SayTool"


def _string_constants(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_the_documentation_names_the_same_rooms_in_the_same_order() -> None:
    assert documented_layers() == enforced_layers()


def test_every_contract_is_explained() -> None:
    named = {contract["name"] for contract in contracts()}
    assert set(re.findall(r"^\| (.+?) \| ", section("What is enforced"), re.MULTILINE)) - {"contract"} == named


def test_every_room_says_what_it_owns() -> None:
    text = architecture()
    rooms = {room for layer in enforced_layers() for room in layer if not room.startswith("_")}
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == rooms


def test_the_tree_names_every_package() -> None:
    drawn = set(packages_drawn())
    assert drawn == {str(path.parent.relative_to(SOURCE)) for path in SOURCE.glob("*/**/__init__.py")}


def test_every_path_that_the_page_names_exists() -> None:
    rooms = "|".join(path.name for path in SOURCE.iterdir() if path.is_dir())
    named = set(re.findall(rf"`((?:{rooms})/[\w/.]*)`", architecture()))
    assert len(named) > 40
    assert sorted(path for path in named if not (SOURCE / path).exists()) == []
    modules = {path.name for place in (SOURCE, ROOT / "tests") for path in place.rglob("*.py")}
    assert sorted(set(re.findall(r"\b(\w+\.py)\b", architecture())) - modules) == []


def test_the_page_places_twenty_typical_changes() -> None:
    assert len(re.findall(r"^\| (?!to …|---)", section("Where does it go?"), re.MULTILINE)) >= 20


def packages_drawn() -> Iterator[str]:
    """The packages of the tree: a line each, two spaces deeper than the package around it."""
    tree = section("The tree").split("```", 2)[1]
    around: list[str] = []
    for line in tree.splitlines()[1:]:
        found = re.match(r"( *)(\w+)/", line)
        assert found is not None, line
        around = [*around[: len(found[1]) // 2], found[2]]
        yield "/".join(around)


def lint_imports(directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the checker as `make check` does, on the source of `directory`."""
    return subprocess.run(
        [LINT_IMPORTS, "--no-cache", "--config", "pyproject.toml"],
        cwd=directory,
        env={"PYTHONPATH": str(directory / "src"), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def enforced_layers() -> list[frozenset[str]]:
    layers = next(contract["layers"] for contract in contracts() if contract["name"] == LAYERS)
    return [frozenset(re.split(r"\s*\|\s*", layer)) for layer in layers]


def contracts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    return found


def documented_layers() -> list[frozenset[str]]:
    """The diagram: one line a layer, room names first, two spaces before what the line says of them."""
    diagram = section("The rooms").split("```", 2)[1]
    lines = [line for line in diagram.splitlines()[1:] if line.strip()]
    return [frozenset(re.split(r"\s*\|\s*", re.split(r"\s{2,}", line)[0])) for line in lines]


def architecture() -> str:
    return (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    """The text below a heading of the page, up to the next one."""
    return architecture().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
