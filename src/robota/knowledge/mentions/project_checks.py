"""Finds the linters that a project has configured, for `@problems`."""

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

# A `[tool.…]` section of pyproject.toml, and the command that uses it.
PYTHON_TOOLS: Final = {"ruff": "ruff check .", "mypy": "mypy .", "pyright": "pyright"}
SCRIPTS: Final = ("lint", "typecheck", "type-check")
OTHER_FILES: Final = {"Cargo.toml": "cargo check", "go.mod": "go vet ./..."}


class _Package(msgspec.Struct):
    scripts: dict[str, str] = {}


def project_checks(read: Callable[[str], str | None]) -> Iterator[str]:
    """The commands of the linters that a project has configured. Tests are run only if the settings name them.

    `read` returns the text of a file in the root of the project, or None if it does not exist.
    """
    pyproject = read("pyproject.toml") or ""
    for tool, command in PYTHON_TOOLS.items():
        if re.search(rf"^\[tool\.{tool}\b", pyproject, re.MULTILINE):
            yield command
    scripts = _scripts(read("package.json"))
    yield from (f"npm run --silent {name}" for name in SCRIPTS if name in scripts)
    yield from (command for name, command in OTHER_FILES.items() if read(name) is not None)


def _scripts(package: str | None) -> dict[str, str]:
    try:
        return msgspec.json.decode(package or "{}", type=_Package).scripts
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}
