"""Calls as hooks written for Claude Code know them: its names for tools and for their arguments."""

from pathlib import Path
from typing import Any, Final

# Label → our argument → the name hooks expect.
RENAMED: Final[dict[str, dict[str, str]]] = {
    "Read": {"path": "file_path"},
    "Write": {"path": "file_path"},
    "Edit": {"path": "file_path"},
    "Diff": {"path": "file_path"},
    "Grep": {"regex": "pattern", "file_pattern": "glob"},
}
PATHS: Final = frozenset({"path", "file_path"})
SECONDS_AS_MILLISECONDS: Final = {"Bash": "timeout"}


def for_hooks(label: str, arguments: dict[str, Any], cwd: Path) -> dict[str, Any]:
    """Arguments under the expected names, with absolute paths and times in milliseconds."""
    names = RENAMED.get(label, {})
    told: dict[str, Any] = {}
    for name, value in arguments.items():
        if name in PATHS and isinstance(value, str):
            value = str(cwd / value)
        elif name == SECONDS_AS_MILLISECONDS.get(label) and isinstance(value, int | float):
            value = round(value * 1000)
        told[names.get(name, name)] = value
    return told


def from_hooks(label: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The way back, for a hook that rewrote the input."""
    names = {theirs: ours for ours, theirs in RENAMED.get(label, {}).items()}
    read: dict[str, Any] = {}
    for name, value in arguments.items():
        if name == SECONDS_AS_MILLISECONDS.get(label) and isinstance(value, int | float):
            value = value / 1000
        read[names.get(name, name)] = value
    return read
