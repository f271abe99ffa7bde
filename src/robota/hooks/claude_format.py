"""Converts calls and rules to and from the JSON that Claude Code hooks use, with its names of tools and arguments."""

import os.path
import re
from pathlib import Path
from typing import Any, Final

from robota.contracts.tool import AnyTool
from robota.contracts.verdict import RuleSuggestion

RULE: Final = re.compile(r"([^()]+)(?:\((.*)\))?", re.DOTALL)


def name_for_hooks(tool: AnyTool) -> str:
    """The value of `tool_name`."""
    return tool.name if tool.name.startswith("mcp__") else tool.label


def matched_names(tool: AnyTool) -> tuple[str, ...]:
    """All names of a tool that a matcher may use."""
    return (name_for_hooks(tool), tool.name, *tool.hook_names.also_matched_as)


def arguments_for_hooks(tool: AnyTool, arguments: dict[str, Any], cwd: Path) -> dict[str, Any]:
    """Arguments under the expected names, with absolute paths and times in milliseconds."""
    names = tool.hook_names
    renamed: dict[str, Any] = {}
    for name, value in arguments.items():
        if name == names.path and isinstance(value, str):
            # Without `..`, so that a hook that checks the prefix of a path is not fooled.
            value = os.path.normpath(cwd / value)
        elif name == names.seconds and isinstance(value, int | float):
            value = round(value * 1000)
        renamed[names.arguments.get(name, name)] = value
    return renamed


def arguments_from_hooks(tool: AnyTool, arguments: dict[str, Any], cwd: Path) -> dict[str, Any]:
    """Convert the input back after a hook rewrote it. Paths below `cwd` become relative again."""
    names = tool.hook_names
    ours_by_theirs = {theirs: ours for ours, theirs in names.arguments.items()}
    read: dict[str, Any] = {}
    for theirs, value in arguments.items():
        name = ours_by_theirs.get(theirs, theirs)
        if name == names.path and isinstance(value, str):
            value = _relative(value, cwd)
        elif name == names.seconds and isinstance(value, int | float):
            value = value / 1000
        read[name] = value
    return read


def permission_suggestions(suggestions: tuple[RuleSuggestion, ...]) -> list[dict[str, Any]]:
    """The rules that would stop a question, in the format of `permission_suggestions`."""
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
    match = RULE.fullmatch(text)
    if match is None or match[2] is None:
        return {"toolName": text}
    return {"toolName": match[1], "ruleContent": match[2]}


def _relative(path: str, cwd: Path) -> str:
    plain = Path(os.path.normpath(cwd / path))
    return str(plain.relative_to(cwd)) if plain.is_relative_to(cwd) else path
