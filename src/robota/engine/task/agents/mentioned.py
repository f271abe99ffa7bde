"""Agents that a prompt mentions, as in `@agent-Explore where are the notes?`: the model is told to start them."""

import re
from typing import Final

from robota.engine.runtime.agent_service import AgentService

PREFIX: Final = "agent-"
MENTION: Final = re.compile(r"(?<![\w@])@agent-([\w:.-]*[\w])")
REMINDER: Final = (
    "<system-reminder>\nThe user wants the agent {} to do this. Start it with the tool agent (subagent_type: {}), and "
    "give it everything that it needs to know.\n</system-reminder>"
)


def reminder_of_agents(prompt: str, service: AgentService | None) -> str:
    """What the model is told about the agents that a prompt mentions; empty if it mentions none that there is."""
    if service is None or service.max_depth == 0:
        return ""
    found = (service.find(name) for name in MENTION.findall(prompt))
    names = dict.fromkeys(definition.name for definition in found if definition is not None)
    return "\n".join(REMINDER.format(name, name) for name in names)
