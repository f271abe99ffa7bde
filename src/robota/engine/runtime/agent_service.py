"""What the engine needs to start agents: their definitions, the limits, and a log for each."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from robota.contracts.agent import AgentDefinition
from robota.engine.record.journal import LogPort


class AgentLog(msgspec.Struct, frozen=True, kw_only=True):
    """The log of an agent: a session of its own."""

    session_id: str
    log: LogPort
    close: Callable[[], None]


class AgentService(Protocol):
    """The agents that a session can start."""

    @property
    def max_depth(self) -> int:
        """How many agents can be below each other."""
        ...

    @property
    def max_running(self) -> int:
        """How many work at the same time; the others wait for their turn."""
        ...

    @property
    def idle_s(self) -> float:
        """How long nothing may come from the model of an agent; 0 for no limit."""
        ...

    def definitions(self) -> Sequence[AgentDefinition]:
        """All agents by precedence, each name once."""
        ...

    def find(self, name: str) -> AgentDefinition | None:
        """The agent of that name. An agent of a plugin is also found without the name of the plugin."""
        ...

    def model_named(self, name: str) -> str | None:
        """The model that a definition or a call means by `name`; None for that of the session."""
        ...

    def open_log(self, agent_id: str) -> AgentLog:
        """Begin the log of another agent. Raises `LogError`."""
        ...
