"""The services for tools, policy and modes, as the engine uses them. `app` chooses the implementations."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from robota.contracts.tool import AnyTool, Touches
from robota.contracts.verdict import Subject, Verdict
from robota.protocol.events import McpServerState, Notice
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import ToolSpec

if TYPE_CHECKING:
    from robota.workspace.confinement import Confinement


class ToolService(Protocol):
    """The tools of a session. Those of MCP servers are known only after the servers have started."""

    @property
    def all(self) -> Sequence[AnyTool]:
        """All tools, in the order in which the model gets them."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """The ids of the tools, known before the tools are imported."""
        ...

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Name, description and schema of each, for the model."""
        ...

    @property
    def servers(self) -> Sequence[McpServerState]:
        """The MCP servers and their states."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether all MCP servers have been started."""
        ...

    async def gather(self, context_window: int, tell: Callable[[Notice], None]) -> Sequence[Notice]:
        """Start the MCP servers and add their tools. Returns notices for the user.

        If the tools would fill too much of the context window, the model gets a search tool instead of their specs.
        `tell` is called while the start takes long. After a cancellation it can be called again.
        """
        ...


class PolicyService(Protocol):
    """Decides whether calls may run."""

    def judge(
        self,
        subject: Subject,
        mode: PermissionMode,
        grants: Sequence[str],
        denials: Sequence[str] = (),
        confinement: "Confinement | None" = None,
    ) -> Verdict:
        """Decide about a call, given the permission mode and the rules granted for the session.

        `denials` are temporary deny rules, such as those of a skill. `confinement` is the proof that a command is
        confined and can be undone, or what is missing for it.
        """
        ...

    def decline(self, verdict: Verdict, subject: Subject) -> Verdict:
        """The denial that replaces an ask in an unattended session."""
        ...

    def remember(self, scope: str, rules: Sequence[str]) -> str:
        """Note granted rules for the session, or save them beyond it; returns what went wrong, or an empty text."""
        ...


class ModeService(Protocol):
    """The modes that a task can run in: code, architect, ask …"""

    @property
    def roles(self) -> Mapping[str, str]:
        """The role text of every mode, by mode."""
        ...

    @property
    def uses(self) -> Mapping[str, str]:
        """When to use each mode, as a text for the model."""
        ...

    def allows(self, tool: AnyTool, mode: str, touches: Touches | None) -> str | None:
        """Why a mode forbids a tool, as a text for the model; None if it allows it.

        Without `touches` only whether the mode has the tool at all is checked.
        """
        ...

    def goes_beyond(self, mode: str, other: str) -> bool:
        """Whether `mode` allows something that `other` forbids."""
        ...
