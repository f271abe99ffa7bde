"""Sessions and their agents share a process, so engine, tools and providers keep nothing that belongs to all of it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "robota"
ROOMS = ("engine", "tools", "providers")
# The working directory, the environment, signal handlers and limits are those of the whole process.
OF_THE_PROCESS = frozenset(
    {
        *("os.chdir", "os.fchdir", "os.putenv", "os.unsetenv", "os.umask", "os.environ.update", "os.environ.pop"),
        *("os.environ.setdefault", "os.setpriority", "os.nice", "signal.signal", "locale.setlocale", "time.tzset"),
        *("resource.setrlimit", "sys.setrecursionlimit", "asyncio.set_event_loop_policy", "socket.setdefaulttimeout"),
    }
)
CHANGING = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "clear", "remove"})


def state_of_the_process(source: str) -> Iterator[str]:
    """What a module keeps or changes for the whole process."""
    tree = ast.parse(source)
    of_module = {
        target.id
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name)
    }
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        kept = of_module - own - {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
        for node in ast.walk(function):
            match node:
                case ast.Global(names=names):
                    yield f"global {', '.join(names)}"
                case ast.Call(func=ast.Attribute() as called) if ast.unparse(called) in OF_THE_PROCESS:
                    yield ast.unparse(called)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in CHANGING:
                    if name in kept:
                        yield f"{name}.{attr}"
                case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                    if ast.unparse(value) == "os.environ" or (isinstance(value, ast.Name) and value.id in kept):
                        yield f"{ast.unparse(value)}[…] ="


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_is_kept_or_changed_for_the_whole_process(room: str) -> None:
    found = {
        f"{path.relative_to(SOURCE)}: {what}"
        for path in (SOURCE / room).rglob("*.py")
        for what in state_of_the_process(path.read_text())
    }
    assert found == set()


@pytest.mark.parametrize(
    "source",
    [
        "N = 0\ndef f():\n    global N\n    N += 1",
        "import os\ndef f():\n    os.chdir('/')",
        "import os\ndef f():\n    os.environ['A'] = 'b'",
        "SEEN = []\ndef f(x):\n    SEEN.append(x)",
        "SEEN = {}\ndef f(x):\n    SEEN[x] = 1",
    ],
)
def test_a_module_that_does_is_found(source: str) -> None:
    assert list(state_of_the_process(source))
