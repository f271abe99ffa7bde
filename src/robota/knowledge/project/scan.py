"""Scans a project: how it is built and tested, its directories, and instruction files of other agents."""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.knowledge.instructions.reading import FileNotRead, decoded_text, read_in_project

# Instruction files of other agents. Directories hold one rule per file.
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
MAX_FILES_LISTED: Final = 10_000
MAX_COMMANDS: Final = 12
MAX_DIRECTORIES: Final = 30
NOT_SOURCE: Final = frozenset(
    ("node_modules", "target", "build", "dist", "venv", "env", "vendor", "__pycache__", "out", "coverage")
)
_NAME: Final = re.compile(r"[A-Za-z][\w:.-]{0,40}")
_MAKE_TARGET: Final = re.compile(r"^(?P<name>[a-z][\w-]{0,40})\s*:(?!=)", re.MULTILINE)
# The usual names of commands that an agent has to know, in the order of the list.
_COMMAND_NAMES: Final = (
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
    """A command to build, test or check the project."""

    purpose: str
    command: str


class ProjectScan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a scan. `other_agents` are paths relative to the project.

    `not_listed` says what is left out of them, and why.
    """

    name: str
    built_with: tuple[str, ...] = ()
    commands: tuple[ProjectCommand, ...] = ()
    directories: tuple[str, ...] = ()
    other_agents: tuple[str, ...] = ()
    not_listed: tuple[str, ...] = ()


class _Part(msgspec.Struct, frozen=True):
    built_with: str
    commands: tuple[ProjectCommand, ...] = ()


def scan_project(root: Path) -> ProjectScan:
    """Scan the top of a project. Files that cannot be read or parsed are ignored."""
    parts = [part for name, read in _READERS.items() if (part := _parsed_file(root, name, read)) is not None]
    commands = {command.command: command for part in parts for command in part.commands}
    return ProjectScan(
        name=root.name,
        built_with=tuple(part.built_with for part in parts),
        commands=tuple(commands.values())[:MAX_COMMANDS],
        directories=tuple(islice(_directories(root), MAX_DIRECTORIES)),
        other_agents=tuple(_other_agents(root)),
        not_listed=tuple(_not_listed(root)),
    )


def _parsed_file(root: Path, name: str, read: Callable[[str, Path], _Part]) -> _Part | None:
    text = _read_text(root, name)
    return None if text is None else read(text, root)


def _read_text(root: Path, name: str) -> str | None:
    try:
        return decoded_text(read_in_project(root / name, root))
    except FileNotRead:
        return None


def _makefile(text: str, root: Path) -> _Part:
    targets = {match["name"] for match in _MAKE_TARGET.finditer(text)}
    return _Part("make", tuple(ProjectCommand(name, f"make {name}") for name in _COMMAND_NAMES if name in targets))


def _python(text: str, root: Path) -> _Part:
    try:
        tools = _table(tomllib.loads(text), "tool")
    except (tomllib.TOMLDecodeError, RecursionError):
        tools = {}
    runner = "uv run " if "uv" in tools or (root / "uv.lock").is_file() else "poetry run " if "poetry" in tools else ""
    candidates = (("pytest", "test", "pytest"), ("ruff", "lint", "ruff check"), ("mypy", "types", "mypy"))
    commands = [ProjectCommand(purpose, f"{runner}{command}") for tool, purpose, command in candidates if tool in tools]
    return _Part("Python (pyproject.toml)", tuple(commands))


def _node(text: str, root: Path) -> _Part:
    try:
        scripts = _table(msgspec.json.decode(text), "scripts")
    except (msgspec.DecodeError, RecursionError):
        scripts = {}
    manager = next((name for lock, name in _LOCK_FILES.items() if (root / lock).is_file()), "npm")
    named = [name for name in _COMMAND_NAMES if name in scripts]
    return _Part(f"Node.js ({manager})", tuple(ProjectCommand(name, f"{manager} run {name}") for name in named))


def _fixed(built_with: str, **commands: str) -> Callable[[str, Path], _Part]:
    known_commands = tuple(ProjectCommand(purpose, command) for purpose, command in commands.items())
    return lambda text, root: _Part(built_with, known_commands)


_READERS: Final[Mapping[str, Callable[[str, Path], _Part]]] = {
    "Makefile": _makefile,
    "pyproject.toml": _python,
    "package.json": _node,
    "Cargo.toml": _fixed("Rust (cargo)", build="cargo build", test="cargo test", lint="cargo clippy"),
    "go.mod": _fixed("Go", build="go build ./...", test="go test ./...", lint="go vet ./..."),
    "pom.xml": _fixed("Java (Maven)", build="mvn package", test="mvn test"),
    "build.gradle": _fixed("Gradle", build="gradle build", test="gradle test"),
    "build.gradle.kts": _fixed("Gradle", build="gradle build", test="gradle test"),
    "CMakeLists.txt": _fixed("CMake", build="cmake -B build && cmake --build build", test="ctest --test-dir build"),
    "Gemfile": _fixed("Ruby (bundler)", test="bundle exec rake test"),
    "composer.json": _fixed("PHP (composer)"),
    "mix.exs": _fixed("Elixir (mix)", build="mix compile", test="mix test"),
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
            files = (file for file in islice(path.rglob("*"), MAX_FILES_LISTED) if file.suffix in RULE_SUFFIXES)
            names = sorted(file.relative_to(root).as_posix() for file in files if file.is_file())
            # A name with a newline in it would add lines to AGENTS.md.
            yield from (name for name in names if name.isprintable())
        elif path.is_file():
            yield name


def _not_listed(root: Path) -> Iterator[str]:
    """What instructions of other agents `_other_agents` leaves out, and why."""
    for name in OTHER_AGENTS:
        path = root / name
        if path.is_symlink():
            yield f"{name} (a link)"
        elif path.is_dir():
            entries = list(islice(path.rglob("*"), MAX_FILES_LISTED + 1))
            if len(entries) > MAX_FILES_LISTED:
                yield f"{name} (only its first {MAX_FILES_LISTED:,} files were looked at)"
            rules = [file for file in entries if file.suffix in RULE_SUFFIXES]
            yield from (repr(file.relative_to(root).as_posix()) for file in rules if not file.name.isprintable())
            yield from (f"{file.relative_to(root).as_posix()} (a link)" for file in rules if not file.is_file())


def _table(document: Any, name: str) -> Mapping[str, Any]:
    table = document.get(name) if isinstance(document, dict) else None
    return table if isinstance(table, dict) else {}
