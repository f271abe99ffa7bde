"""Programs are started in two places only: one for those outside the sandbox, one for the model's commands."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "robota"
# Outside the sandbox; the model's commands; inside the sandbox, where a command replaces its launcher; Robota itself.
ALLOWED = {
    "workspace/outside_program.py": {"subprocess", "asyncio.create_subprocess_exec"},
    "workspace/process/command_process.py": {"subprocess"},
    "workspace/sandbox/landlock_launcher.py": {"os.execvp", "os.fork"},
    "workspace/sandbox/egress/launcher.py": {"os.execvp"},
    "workspace/sandbox/machine_network/launcher.py": {"os.execvp"},
    "cli/main.py": {"os.execv"},
    "cli/run/elsewhere/detached.py": {"os.fork"},
}
# Modules that start programs, or look them up by the PATH.
MODULES = {"subprocess", "pty", "multiprocessing", "webbrowser", "popen2", "commands", "sh", "pexpect"}
# What others may take of `subprocess`: it starts nothing.
CONSTANTS = {"PIPE", "DEVNULL", "STDOUT", "TimeoutExpired", "CompletedProcess"}
STARTERS_OF_OS = ("exec", "spawn", "posix_spawn", "fork", "popen", "system", "startfile")
OTHER_STARTERS = {"which", "ProcessPoolExecutor", "subprocess_exec", "subprocess_shell"}


def starters(code: str) -> Iterator[str]:
    """What in this code starts programs, or could."""
    tree = ast.parse(code)
    for_types = {id(each) for node in ast.walk(tree) if _is_type_checking(node) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) not in for_types:
            yield from _of_node(node)


def _of_node(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (each.name for each in names if each.name.partition(".")[0] in MODULES)
        case ast.ImportFrom(module=str(module), names=names):
            taken = {each.name for each in names}
            if module.partition(".")[0] in MODULES and not (module == "subprocess" and taken <= CONSTANTS):
                yield module
            yield from (f"{module}.{name}" for name in sorted(taken) if _starts(module, name))
        case ast.Attribute(value=ast.Name(id=module), attr=name) if _starts(module, name):
            yield f"{module}.{name}"
        case ast.Attribute(attr=name) if name.startswith("create_subprocess") or name in OTHER_STARTERS:
            yield name
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _imports(node.func) and name in MODULES:
            yield name
        case _:
            pass


def _starts(module: str, name: str) -> bool:
    if module in {"os", "posix", "nt"}:
        return name.startswith(STARTERS_OF_OS)
    return name.startswith("create_subprocess") or name in OTHER_STARTERS


def _imports(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in {"import_module", "__import__"}


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def test_every_program_is_started_in_one_of_the_allowed_places() -> None:
    found = {
        (str(file.relative_to(SOURCE)), starter)
        for file in SOURCE.rglob("*.py")
        for starter in starters(file.read_text(encoding="utf-8"))
    }
    allowed = {(file, starter) for file, those in ALLOWED.items() for starter in those}
    assert found <= allowed, "start programs with robota.workspace.outside_program"


PLANTED = (
    "import subprocess",
    "import subprocess as quiet",
    "def f():\n    import subprocess\n    subprocess.run(['x'])",
    "from subprocess import Popen",
    "from subprocess import PIPE, run",
    "import asyncio\nasyncio.create_subprocess_exec('x')",
    "from asyncio import create_subprocess_shell",
    "import asyncio.subprocess as s\ns.create_subprocess_exec('x')",
    "loop.subprocess_exec(None, 'x')",
    "import os\nos.execvp('x', ['x'])",
    "import os\nos.posix_spawn('x', ['x'], {})",
    "import os\nos.spawnlp(0, 'x')",
    "import os\nos.system('x')",
    "from os import popen",
    "from posix import fork",
    "import pty",
    "import multiprocessing.pool",
    "from concurrent.futures import ProcessPoolExecutor",
    "import shutil\nshutil.which('git')",
    "from shutil import which",
    "import webbrowser",
    "from importlib import import_module\nimport_module('subprocess')",
    "__import__('pty')",
)


@pytest.mark.parametrize("code", PLANTED)
def test_a_planted_start_of_a_program_is_seen(code: str) -> None:
    assert list(starters(code))


@pytest.mark.parametrize(
    "code",
    (
        "from subprocess import DEVNULL, PIPE, TimeoutExpired",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from subprocess import Popen",
        "import asyncio\nx: asyncio.subprocess.Process",
        "import os\nos.environ",
        "from importlib import import_module\nimport_module('json')",
    ),
)
def test_what_starts_nothing_is_not_reported(code: str) -> None:
    assert not list(starters(code))


def test_each_allowed_place_still_needs_what_it_is_allowed() -> None:
    for file, those in ALLOWED.items():
        assert those <= set(starters((SOURCE / file).read_text(encoding="utf-8"))), file
