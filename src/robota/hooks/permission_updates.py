"""The rules that would stop a question, as Claude Code tells hooks of them."""

import re
from typing import Any, Final

from robota.contracts.verdict import Suggestion

RULE: Final = re.compile(r"([^()]+)(?:\((.*)\))?", re.DOTALL)


def permission_suggestions(suggestions: tuple[Suggestion, ...]) -> list[dict[str, Any]]:
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
