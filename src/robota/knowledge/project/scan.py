"""A look at a project without a model: how it is built and tested, its directories, what other agents are told."""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.knowledge.instructions.reading import FileNotRead, read_in_project, text_of

# Instruction files of other agents, as they are found in repositories. Directories hold one rule a file.
OTHER_AGENTS: Final = (
    "GEMINI.md",
    "QWEN.md",
    "CRUSH.md",
    ".goosehints",
    ".clinerules",
    ".cursorrules",
    ".cursor/rules",
    ".windsurfrules",
    ".roorules",
    ".github/copilot-instructions.md",
)
RULE_SUFFIXES: Final = (".md", ".mdc", ".txt")
MOST_RULES: Final = 50
MOST_LOOKED_AT: Final = 2000
MOST_COMMANDS: Final = 12
MOST_DIRECTORIES: Final = 30
NOT_SOURCE: Final = frozenset(
    ("node_modules", "target", "build", "dist", "venv", "env", "vendor", "__pycache__", "out", "coverage")
)
_NAME: Final = re.compile(r"[A-Za-z][\w:.-]{0,40}")
_MAKE_TARGET: Final = re.compile(r"^(?P<name>[a-z][\w-]{0,40})\s*:(?!=)", re.MULTILINE)
# What people call the commands that an agent has to know, in the order in which they are told.
_WANTED: Final = (
    "build",
    "test",
    "unit",
    "check",
    "lint",
    "format",
    "fmt",
    "typecheck",
    "types",
    "run",
    "start",
    "dev",
)
_LOCK_FILES: Final = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}


class ProjectCommand(msgspec.Struct, frozen=True):
    """A command that somebody who works on the project runs."""

    purpose: str
    command: str


class ProjectScan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was found. `other_agents` are paths of files, relative to the project."""

    name: str
    built_with: tuple[str, ...] = ()
    commands: tuple[ProjectCommand, ...] = ()
    directories: tuple[str, ...] = ()
    other_agents: tuple[str, ...] = ()


class _Part(msgspec.Struct, frozen=True):
    built_with: str
    commands: tuple[ProjectCommand, ...] = ()


def scan_project(root: Path) -> ProjectScan:
    """Look at the files at the top of a project. Never raises for what stands in them."""
    parts = [part for name, read in _READERS.items() if (part := _part(root, name, read)) is not None]
    commands = {each.command: each for part in parts for each in part.commands}
    return ProjectScan(
        name=root.name,
        built_with=tuple(part.built_with for part in parts),
        commands=tuple(commands.values())[:MOST_COMMANDS],
        directories=tuple(islice(_directories(root), MOST_DIRECTORIES)),
        other_agents=tuple(_other_agents(root)),
    )


def _part(root: Path, name: str, read: Callable[[str, Path], _Part]) -> _Part | None:
    text = _text(root, name)
    return None if text is None else read(text, root)


def _text(root: Path, name: str) -> str | None:
    try:
        return text_of(read_in_project(root / name, root))
    except FileNotRead:
        return None


def _make(text: str, root: Path) -> _Part:
    targets = {found["name"] for found in _MAKE_TARGET.finditer(text)}
    return _Part("make", tuple(ProjectCommand(each, f"make {each}") for each in _WANTED if each in targets))


def _python(text: str, root: Path) -> _Part:
    try:
        tools = _table(tomllib.loads(text), "tool")
    except (tomllib.TOMLDecodeError, RecursionError):
        tools = {}
    runner = "uv run " if "uv" in tools or (root / "uv.lock").is_file() else "poetry run " if "poetry" in tools else ""
    known = (("pytest", "test", "pytest"), ("ruff", "lint", "ruff check"), ("mypy", "types", "mypy"))
    found = [ProjectCommand(purpose, f"{runner}{command}") for tool, purpose, command in known if tool in tools]
    return _Part("Python (pyproject.toml)", tuple(found))


def _node(text: str, root: Path) -> _Part:
    try:
        scripts = _table(msgspec.json.decode(text), "scripts")
    except (msgspec.DecodeError, RecursionError):
        scripts = {}
    manager = next((each for lock, each in _LOCK_FILES.items() if (root / lock).is_file()), "npm")
    named = [each for each in _WANTED if each in scripts]
    return _Part(f"Node.js ({manager})", tuple(ProjectCommand(each, f"{manager} run {each}") for each in named))


def _always(built_with: str, **commands: str) -> Callable[[str, Path], _Part]:
    found = tuple(ProjectCommand(purpose, command) for purpose, command in commands.items())
    return lambda text, root: _Part(built_with, found)


_READERS: Final[Mapping[str, Callable[[str, Path], _Part]]] = {
    "Makefile": _make,
    "pyproject.toml": _python,
    "package.json": _node,
    "Cargo.toml": _always("Rust (cargo)", build="cargo build", test="cargo test", lint="cargo clippy"),
    "go.mod": _always("Go", build="go build ./...", test="go test ./...", lint="go vet ./..."),
    "pom.xml": _always("Java (Maven)", build="mvn package", test="mvn test"),
    "build.gradle": _always("Gradle", build="gradle build", test="gradle test"),
    "build.gradle.kts": _always("Gradle", build="gradle build", test="gradle test"),
    "CMakeLists.txt": _always("CMake", build="cmake -B build && cmake --build build", test="ctest --test-dir build"),
    "Gemfile": _always("Ruby (bundler)", test="bundle exec rake test"),
    "composer.json": _always("PHP (composer)"),
    "mix.exs": _always("Elixir (mix)", build="mix compile", test="mix test"),
}


def _directories(root: Path) -> Iterator[str]:
    try:
        names = sorted(entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    yield from (name for name in names if _NAME.fullmatch(name) and name not in NOT_SOURCE)


def _other_agents(root: Path) -> Iterator[str]:
    for name in OTHER_AGENTS:
        path = root / name
        if path.is_symlink():
            continue
        if path.is_dir():
            files = (each for each in islice(path.rglob("*"), MOST_LOOKED_AT) if each.suffix in RULE_SUFFIXES)
            names = sorted(each.relative_to(root).as_posix() for each in files if each.is_file())
            # A name with a line end in it would write lines of its own.
            yield from (name for name in names[:MOST_RULES] if name.isprintable())
        elif path.is_file():
            yield name


def _table(document: Any, name: str) -> Mapping[str, Any]:
    found = document.get(name) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}
