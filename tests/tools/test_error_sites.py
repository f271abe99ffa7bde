"""Every error that a model can read says what to do next: all places that make one are found in the source."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from inspect import getsource
from pathlib import Path
from textwrap import dedent
from types import FunctionType, ModuleType

import msgspec
import pytest

from tests.tools.next_steps import has_next_step

SOURCE = Path(__file__).parents[2] / "src/robota"
TESTS = Path(__file__).parents[1]
BETWEEN_PIECES = re.compile(r'"\s*\n\s*[fr]{0,2}"')
# What tools, the files beneath them and the stages before a call tell a model.
ROOMS = (
    *("tools", "engine/calls", "engine/task", "contracts"),
    *("workspace/files", "workspace/search", "workspace/output", "workspace/text", "workspace/process"),
    *(f"extensions/mcp/{name}.py" for name in ("mcp_tool", "resource_tool", "deferred_tools", "server_failure")),
)
# Parts of a longer text: what catches them adds the next step, and is a place of its own.
PARTS = frozenset(
    {
        *("UnreadableDocument", "_Unusable", "_NoContext", "_Ambiguous", "UnclearIndentation", "Missing"),
        *("NotADirectory", "ForeignState", "PathTooLong", "Overtaken", "TaskGivenUp", "TaskHalted", "ChangesFailed"),
        *("ChildFailed", "NoAnswer", "UnusableTool", "IllegalTransition"),
    }
)
# Read by the user: what a slash command, a mention or the start of another program could not do.
FOR_USER = frozenset({"PromptNotSent"})
USER_MODULES = frozenset({"workspace/process/line_process.py", "engine/calls/single_call.py"})
# Their words are those of an error that they catch, or of whoever hands them a text: the user, a hook, a subtask.
PASSED_ON = {
    *(("engine/calls/admission.py", kind) for kind in ("mistake", "ToolError")),
    *((f"engine/calls/{name}.py", "CallStopped") for name in ("approval", "call_stopped")),
    *((module, "ToolResult") for module in ("engine/calls/executor.py", "engine/task/agents/task_agents.py")),
    *(("engine/task/skill_prompts.py", kind) for kind in ("PromptHalted", "ToolResult")),
    *((f"tools/command/{name}.py", "ToolError") for name in ("background_process", "read_command_output")),
    *((f"tools/editing/{name}.py", "ToolError") for name in ("change", "diff_draft", "patch_draft")),
}
# What no test can bring about: a machine on which not even one more process can be started.
UNTRIGGERED = {("workspace/process/tree.py", "CommandNotStarted")}
LEAST_WORDS = 3
# Errors of Python that our own code catches.
NOT_TOLD = (ValueError, OSError, TypeError, KeyError, StopIteration, AssertionError, RuntimeError)


# How many functions and names deep words are looked for.
DEPTH = 4


class Site(msgspec.Struct, frozen=True, order=True):
    """A call that makes an error: the module, its lines, and what it says in the source."""

    module: str
    first: int
    last: int
    kind: str
    text: str


def sites(rooms: Sequence[str]) -> list[Site]:
    places = [SOURCE / room for room in rooms]
    paths = sorted(path for place in places for path in ([place] if place.is_file() else place.rglob("*.py")))
    return [site for path in paths for site in _sites_in(path.relative_to(SOURCE).as_posix())]


def _sites_in(path: str) -> Iterator[Site]:
    module = import_module("robota." + path.removesuffix(".py").replace("/", "."))
    tree = ast.parse((SOURCE / path).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (kind := _kind(node, module)):
            # The innermost function comes last.
            around = [each for each in functions if each.lineno <= node.lineno <= (each.end_lineno or 0)]
            words = "\n".join(_words(node, module, around[-1] if around else None))
            yield Site(path, node.lineno, node.end_lineno or node.lineno, kind, words)


def _kind(node: ast.Call, module: ModuleType) -> str:
    """The name of the error that a call makes; empty if it makes none."""
    name = ast.unparse(node.func)
    if name == "ToolResult":
        failed = [word.value for word in node.keywords if word.arg == "is_error"]
        return name if failed and ast.unparse(failed[0]) == "True" else ""
    if name == "CallStopped" and len(node.args) > 2:
        return ""  # the third is what the model reads, and made by `denied`
    made = getattr(module, name, None)
    is_error = isinstance(made, type) and issubclass(made, Exception) and not issubclass(made, NOT_TOLD)
    return name if is_error or name == "mistake" else ""


def _words(node: ast.AST, module: ModuleType, function: ast.AST | None, depth: int = 0) -> Iterator[str]:
    """The words in an expression: its own, and those of the names, constants and functions that it uses."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name | ast.Attribute) and depth < DEPTH:
            value = _value(part, module)
            if isinstance(value, str):
                yield str(value)
            elif isinstance(value, Mapping):
                yield from map(str, value.values())
            elif isinstance(value, FunctionType) and value.__module__.startswith("robota."):
                yield from _returned(value, depth)
            elif value is None and isinstance(part, ast.Name) and function is not None:
                for assigned in _assigned(part.id, function):
                    yield from _words(assigned, module, function, depth + 1)


def _value(part: ast.Name | ast.Attribute, module: ModuleType) -> object:
    if isinstance(part, ast.Name):
        return getattr(module, part.id, None)
    if isinstance(part.value, ast.Name):
        return getattr(getattr(module, part.value.id, None), part.attr, None)
    return None


def _assigned(name: str, function: ast.AST) -> Iterator[ast.AST]:
    """What a function assigns to a name of its own."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
            if name in names:
                yield node.value
        elif isinstance(node, ast.ImportFrom) and name in {each.name for each in node.names}:
            value = getattr(import_module(node.module or ""), name)
            yield from _returns_of(value) if isinstance(value, FunctionType) else [ast.Constant(value)]


def _returned(called: FunctionType, depth: int) -> Iterator[str]:
    """The words that a function returns."""
    module = import_module(called.__module__)
    tree = ast.parse(dedent(getsource(called)))
    for value in _returns_of(called):
        yield from _words(value, module, tree, depth + 1)


def _returns_of(called: FunctionType) -> list[ast.AST]:
    tree = ast.parse(dedent(getsource(called)))
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value is not None]


SITES = [site for site in sites(ROOMS) if site.kind not in FOR_USER and site.module not in USER_MODULES]
WHOLE = [site for site in SITES if site.kind not in PARTS]
OWN_WORDS = [site for site in WHOLE if len(site.text.split()) > LEAST_WORDS]


def test_the_places_are_found() -> None:
    assert len(SITES) > 170 and len(OWN_WORDS) > 115


@pytest.mark.parametrize("site", OWN_WORDS, ids=lambda site: f"{site.module}:{site.kind}:{site.text[:40]}")
def test_an_error_says_what_to_do_next(site: Site) -> None:
    assert has_next_step(site.text), site.text


def test_other_places_pass_on_what_another_place_said() -> None:
    assert {(site.module, site.kind) for site in WHOLE if site not in OWN_WORDS} == PASSED_ON


@pytest.mark.parametrize("site", OWN_WORDS, ids=lambda site: f"{site.module}:{site.kind}:{site.text[:40]}")
def test_an_error_is_triggered_by_a_test(site: Site, quoted: str) -> None:
    """The table of triggered errors, or the test of what fails, has some of its words."""
    words = [part.split() for part in site.text.split("\n")]
    runs = {" ".join(part[first : first + 3]) for part in words for first in range(len(part) - 2)}
    assert any(run in quoted for run in runs) or (site.module, site.kind) in UNTRIGGERED, site.text


@pytest.fixture(scope="module")
def quoted() -> str:
    """All texts of tests but this one; a text that is written in several pieces is joined."""
    files = (path for path in TESTS.rglob("*") if path.suffix in {".py", ".txt"} and path != Path(__file__))
    return "\n".join(BETWEEN_PIECES.sub("", path.read_text()) for path in files)
