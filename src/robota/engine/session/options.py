"""What is fixed for a session when it starts, and the services it uses."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from robota.contracts.hook import Checkpoint, LifecycleHooks, PostToolHook, PreToolHook
from robota.contracts.tool import AnyTool, Touches
from robota.contracts.verdict import Subject, Verdict
from robota.engine.record.journal import LogPort
from robota.protocol.events import Notice
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import ToolSpec
from robota.providers.definition import ModelInfo, Provider
from robota.providers.retry import RetryPolicy
from robota.secrets.redaction import Redactor
from robota.workspace.files.files import Files
from robota.workspace.process.processes import Processes

MISTAKE_LIMIT: Final = 3
DEFAULT_MODE: Final = "code"
AUTO_COMPACT_THRESHOLD: Final = 0.835


class Completion(StrEnum):
    """How a reply without tool calls is read: as the answer, or as a mistake."""

    IMPLICIT = "implicit"
    EXPLICIT = "explicit"


class ToolFormat(StrEnum):
    NATIVE = "native"
    XML = "xml"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Choices of the person who starts the session."""

    session_id: str
    cwd: Path
    model: str
    fallback_models: tuple[str, ...] = ()
    provider_name: str = ""
    name: str | None = None
    mode: str = DEFAULT_MODE
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    may_bypass: bool = True  # whether the mode bypassPermissions can be chosen at all
    completion: Completion = Completion.IMPLICIT
    tool_format: ToolFormat = ToolFormat.NATIVE
    max_turns: int | None = None
    max_cost: float | None = None  # US dollars
    mistake_limit: int = MISTAKE_LIMIT
    auto_compact_threshold: float | None = AUTO_COMPACT_THRESHOLD  # share of the window; None: never
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    attended: bool = True  # whether somebody can answer an ask


class ForeignTools(msgspec.Struct, frozen=True, kw_only=True):
    """Tools that others bring, such as MCP servers, and what a person should know of them."""

    tools: Sequence[AnyTool] = ()
    specs: Sequence[ToolSpec] = ()
    notices: Sequence[Notice] = ()


class SessionServices(msgspec.Struct, frozen=True, kw_only=True):
    """The concrete things a session works with; `app` puts them together.

    `judge` is policy: what may this call do under this permission mode, given the rules that a person granted for the
    session; `decline` makes a denial of what would have to be asked when nobody is there to answer. `allows` is the
    first look: may this tool be used in this mode at all; it answers with a reason if not. `goes_beyond` says whether
    one mode may do more than another. `modes` has for every mode what the model is told of its role in it.
    `remember` writes rules that a person wants to hold beyond the session. `redactor` covers secrets in what clients
    see. `foreign` starts whoever brings more tools, and tells if that takes long; it is awaited before the first task.
    """

    log: LogPort
    provider: Provider
    model_info: ModelInfo
    retry: RetryPolicy
    tools: Sequence[AnyTool]
    specs: Sequence[ToolSpec]
    judge: Callable[[Subject, PermissionMode, Sequence[str]], Verdict]
    files: Files
    processes: Processes
    random: Callable[[], float]
    api_protocol: str = "openai"
    modes: Mapping[str, str] = msgspec.field(default_factory=lambda: {DEFAULT_MODE: ""})
    allows: Callable[[AnyTool, str, Touches], str | None] = lambda tool, mode, touches: None
    goes_beyond: Callable[[str, str], bool] = lambda mode, other: mode != other
    remember: Callable[[str, Sequence[str]], str] = lambda scope, rules: "Rules cannot be kept here."
    pre_hooks: Sequence[PreToolHook] = ()
    post_hooks: Sequence[PostToolHook] = ()
    checkpoint: Checkpoint | None = None
    lifecycle: LifecycleHooks | None = None
    decline: Callable[[Verdict, Subject], Verdict] = lambda verdict, subject: verdict
    redactor: Redactor = msgspec.field(default_factory=Redactor)
    foreign: Callable[[Callable[[Notice], None]], Awaitable[ForeignTools]] | None = None
