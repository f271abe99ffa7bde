"""Agents: their definitions, who a running one is, and what tools ask of the engine about them."""

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from robota.protocol.permission_mode import PermissionMode

if TYPE_CHECKING:
    from robota.contracts.budget import Limit

GENERAL_PURPOSE = "general-purpose"


class Isolation(StrEnum):
    """Where an agent works: in the directory of the session, or in a git worktree of its own."""

    NONE = "none"
    WORKTREE = "worktree"


class AgentDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that can be started, as its file or Robota itself describes it.

    `tools` are the only ones that it may use (None: those of whoever starts it), without `disallowed_tools`; they are
    names or ids. `permission_mode` can only narrow that of the session. `prompt` is its part of the system prompt,
    `initial_prompt` comes before its first task. `skills` are those whose instructions it gets with its first task.
    `source` is the path of its file, or empty. `ignored` names the fields without effect, each with the reason.
    """

    name: str
    description: str = ""
    prompt: str = ""
    source: str = ""
    tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    model: str | None = None
    permission_mode: PermissionMode | None = None
    max_turns: int | None = None
    background: bool = False
    initial_prompt: str = ""
    isolation: Isolation = Isolation.NONE
    skills: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class AgentIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Who a running agent is. `depth` is 1 for those that the task of the user started."""

    id: str
    name: str
    definition: AgentDefinition
    depth: int

    @property
    def shown_name(self) -> str:
        """How asks and lists call it."""
        return self.name or f"{self.definition.name} {self.id}"


class AgentPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Which agent a session in a process of its own is, and what limits it from above.

    `session_id` is the session that started it; `above` are the definitions of the agents above it, `modes` the task
    modes of the tasks above, and `denied` their temporary deny rules. `max_turns` is how many requests it may make,
    `budget` what each turn of it may use, by measure: it is held in the session above.
    """

    identity: AgentIdentity
    session_id: str
    above: tuple[AgentDefinition, ...] = ()
    modes: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    max_turns: int | None = None
    budget: dict[str, int] | None = None


class AgentControl(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool asks of the engine about agents."""


class StartAgent(AgentControl, frozen=True, kw_only=True):
    """The model starts an agent."""

    description: str
    prompt: str
    type: str = GENERAL_PURPOSE
    model: str | None = None
    name: str = ""
    in_background: bool = False
    isolation: Isolation = Isolation.NONE
    max_turns: int | None = None
    budget: "Limit | None" = None
    is_of_user: bool = False  # the user started it, not a model


class SendToAgent(AgentControl, frozen=True, kw_only=True):
    """The model has another message for an agent: while it runs, or for another turn of it."""

    to: str
    message: str


class WaitForAgents(AgentControl, frozen=True, kw_only=True):
    """The model waits for the results of agents in the background; without ids, for the next one."""

    ids: tuple[str, ...] = ()
    timeout_s: float = 600.0


class StopAgent(AgentControl, frozen=True, kw_only=True):
    """The model stops an agent."""

    id: str
