"""Calls and rules in the JSON of Claude Code, which hooks are written for: its names for tools and arguments."""

import os.path
import re
from pathlib import Path
from typing import Any, Final

from robota.contracts.tool import AnyTool
from robota.contracts.verdict import RuleSuggestion

# Label → our argument → the name hooks expect.
RENAMED: Final[dict[str, dict[str, str]]] = {
    "Read": {"path": "file_path"},
    "Write": {"path": "file_path"},
    "Edit": {"path": "file_path"},
    "Diff": {"path": "file_path"},
    "Grep": {"regex": "pattern", "file_pattern": "glob", "file_type": "type", "max_results": "head_limit"},
    "new_task": {"message": "prompt", "mode": "subagent_type"},
}
# Label → which argument is a path. Tools of others may call something else by such a name.
PATHS: Final = {
    **dict.fromkeys(("Read", "Write", "Edit", "Diff", "List", "Glob", "Grep"), "path"),
    **dict.fromkeys(("Bash", "BackgroundProcess"), "cwd"),
}
SECONDS_AS_MILLISECONDS: Final = {"Bash": "timeout"}
# A hook that looks after edits must not miss one because the model used another tool for it.
ALSO_MATCHED_AS: Final[dict[str, tuple[str, ...]]] = {"Diff": ("Edit", "MultiEdit"), "Patch": ("Edit", "MultiEdit")}

RULE: Final = re.compile(r"([^()]+)(?:\((.*)\))?", re.DOTALL)


def name_for_hooks(tool: AnyTool) -> str:
    """What `tool_name` says."""
    return tool.name if tool.name.startswith("mcp__") else tool.label


def matched_names(tool: AnyTool) -> tuple[str, ...]:
    """Everything a matcher may call a tool."""
    return (name_for_hooks(tool), tool.name, *ALSO_MATCHED_AS.get(tool.label, ()))


def arguments_for_hooks(label: str, arguments: dict[str, Any], cwd: Path) -> dict[str, Any]:
    """Arguments under the expected names, with absolute paths and times in milliseconds."""
    names = RENAMED.get(label, {})
    renamed: dict[str, Any] = {}
    for name, value in arguments.items():
        if name == PATHS.get(label) and isinstance(value, str):
            # Without `..`, so that a hook which looks at how a path begins is not fooled.
            value = os.path.normpath(cwd / value)
        elif name == SECONDS_AS_MILLISECONDS.get(label) and isinstance(value, int | float):
            value = round(value * 1000)
        renamed[names.get(name, name)] = value
    return renamed


def arguments_from_hooks(label: str, arguments: dict[str, Any], cwd: Path) -> dict[str, Any]:
    """The way back, for a hook that rewrote the input. Paths below `cwd` become relative to it again."""
    names = {theirs: ours for ours, theirs in RENAMED.get(label, {}).items()}
    read: dict[str, Any] = {}
    for theirs, value in arguments.items():
        name = names.get(theirs, theirs)
        if name == PATHS.get(label) and isinstance(value, str):
            value = _relative(value, cwd)
        elif name == SECONDS_AS_MILLISECONDS.get(label) and isinstance(value, int | float):
            value = value / 1000
        read[name] = value
    return read


def permission_suggestions(suggestions: tuple[RuleSuggestion, ...]) -> list[dict[str, Any]]:
    """The rules that would stop a question, as `permission_suggestions` says them."""
    return [
        {
            "type": "addRules",
            "rules": [_rule(text) for text in suggestion.rules],
            "behavior": "allow",
            "destination": "session",
        }
        for suggestion in suggestions
    ]


def _rule(text: str) -> dict[str, str]:
    found = RULE.fullmatch(text)
    if found is None or found[2] is None:
        return {"toolName": text}
    return {"toolName": found[1], "ruleContent": found[2]}


def _relative(path: str, cwd: Path) -> str:
    plain = Path(os.path.normpath(cwd / path))
    return str(plain.relative_to(cwd)) if plain.is_relative_to(cwd) else path
