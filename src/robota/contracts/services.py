"""What the engine uses of tools, policy and modes. `app` chooses the implementations."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from robota.contracts.tool import AnyTool, Touches
from robota.contracts.verdict import Subject, Verdict
from robota.protocol.events import McpServerState, Notice
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import ToolSpec


class ToolService(Protocol):
    """The tools of a session. Those of MCP servers are known only after these were started, before the first task."""

    @property
    def all(self) -> Sequence[AnyTool]:
        """In the order in which the model is told of them."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """Their ids, which are known before the tools are loaded."""
        ...

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Name, description and schema of each, for the model."""
        ...

    @property
    def servers(self) -> Sequence[McpServerState]:
        """Who else brings tools, and how each is."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether nobody is left who would bring more tools."""
        ...

    async def gather(self, context_window: int, tell: Callable[[Notice], None]) -> Sequence[Notice]:
        """Start whoever brings more tools and add these. Returns what the person should know of them.

        The model is told of each, or how to search for them if all together would fill too much of its window.
        `tell` is called while somebody has to wait. Cancelled, it can be called again.
        """
        ...


class PolicyService(Protocol):
    """Decides whether calls may run."""

    def judge(
        self, subject: Subject, mode: PermissionMode, grants: Sequence[str], denials: Sequence[str] = ()
    ) -> Verdict:
        """What may this call do under this permission mode, given the rules that a person granted for the session?

        `denials` are rules that forbid something for now.
        """
        ...

    def decline(self, verdict: Verdict, subject: Subject) -> Verdict:
        """The denial that takes the place of a question when nobody is there to answer it."""
        ...

    def remember(self, scope: str, rules: Sequence[str]) -> str:
        """Keep rules that shall hold beyond the session; returns what went wrong, or nothing."""
        ...


class ModeService(Protocol):
    """The modes that a task can run in: code, architect, ask …"""

    @property
    def roles(self) -> Mapping[str, str]:
        """What the model is told of its role, for every mode there is."""
        ...

    @property
    def uses(self) -> Mapping[str, str]:
        """When to use each mode, in words for the model."""
        ...

    def allows(self, tool: AnyTool, mode: str, touches: Touches | None) -> str | None:
        """Why a tool may not be used like this in a mode, in words for the model; None if it may.

        Without `touches` the question is whether the mode has the tool at all.
        """
        ...

    def goes_beyond(self, mode: str, other: str) -> bool:
        """Whether tasks in a mode may do something that those in the other one may not."""
        ...
