"""Rewrites permission rules of Claude Code so that they mean here what they mean there."""

import re
from typing import Final

COMMAND_RULE: Final = re.compile(r"(Bash|execute_command)\((.*)\)", re.DOTALL)
ANY_WORDS: Final = " *"


def with_our_wildcards(rule: str) -> str:
    """The rule with `**` for `*`: in Claude Code, a star in a command also matches spaces.

    A star at the end that follows a space, or `:*`, means any further words in both.
    """
    match = COMMAND_RULE.fullmatch(rule.strip())
    if match is None or "*" not in match[2]:
        return rule
    pattern = match[2].replace('"', "")
    if pattern.endswith(":*"):
        pattern = pattern[:-2] + ANY_WORDS
    fixed = pattern.removesuffix(ANY_WORDS)
    end = ANY_WORDS if fixed != pattern else ""
    return f"{match[1]}({re.sub(r'[*]+', '**', fixed)}{end})"
