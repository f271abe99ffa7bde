"""What the engine needs to start agents: their definitions, the limits, a log for each, or a process for it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from robota.config.launch_options import LaunchOptions
from robota.contracts.agent import AgentDefinition, AgentPlace
from robota.engine.record.journal import LogPort
from robota.log.kinds.agents import AgentWorktree
from robota.protocol.port import SessionPort


class AgentLog(msgspec.Struct, frozen=True, kw_only=True):
    """The log of an agent: a session of its own."""

    session_id: str
    log: LogPort
    close: Callable[[], None]


class AgentAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The session of an agent in a process of its own, and where that process writes its log."""

    session_id: str
    log_path: Path


class ProcessWanted(msgspec.Struct, frozen=True, kw_only=True):
    """A process for one turn of an agent. It goes on with its session if `is_resumed`.

    `worktree` is that of an earlier turn, or None if it has none yet, and gets one if it `wants_worktree`.
    """

    launch: LaunchOptions
    place: AgentPlace
    address: AgentAddress
    is_resumed: bool = False
    wants_worktree: bool = False
    worktree: AgentWorktree | None = None


class AgentProcess:
    """A running process with the session of an agent. `left` says, after its end, what became of its worktree."""

    def __init__(self, port: SessionPort, pid: int, worktree: AgentWorktree | None) -> None:
        self.port = port
        self.pid = pid
        self.worktree = worktree
        self.left = ""


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

    @property
    def own_processes(self) -> bool:
        """Whether every agent works in a process of its own."""
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

    def address(self, agent_id: str) -> AgentAddress:
        """Where the log of another agent will be, which a process of its own begins."""
        ...

    def known_address(self, session_id: str) -> AgentAddress:
        """Where the log of an earlier agent is."""
        ...

    def process(self, wanted: ProcessWanted) -> AbstractAsyncContextManager[AgentProcess]:
        """Run a process for a turn of an agent, and end it with the turn. Raises `ConfigError`."""
        ...
