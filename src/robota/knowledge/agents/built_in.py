"""The agents that need no file."""

from typing import Final

from robota.contracts.agent import GENERAL_PURPOSE, AgentDefinition
from robota.protocol.permission_mode import PermissionMode

BUILT_IN_AGENTS: Final = (
    AgentDefinition(
        name=GENERAL_PURPOSE,
        description="Any task of several steps: research, changes, checks. It has your tools.",
    ),
    AgentDefinition(
        name="Explore",
        description="Finds out where and how something is done in this project. It cannot change anything.",
        prompt=(
            "You explore a code base for somebody else. Search broadly first, then read what matters. "
            "Report facts with their places (`path:line`), and say what you looked for without success."
        ),
        permission_mode=PermissionMode.PLAN,
    ),
    AgentDefinition(
        name="Plan",
        description="Works out how a change could be made, step by step. It cannot change anything.",
        prompt=(
            "You plan a change for somebody else, who will make it. Read the code that it concerns. "
            "Report the steps in order, the files and functions of each, the risks, and how to check the result."
        ),
        permission_mode=PermissionMode.PLAN,
    ),
)
