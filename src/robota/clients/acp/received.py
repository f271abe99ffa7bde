"""What an editor sends: the parameters of each method."""

from typing import Any

from robota.clients.acp.content import AcpValue, ContentBlock


class FileAccess(AcpValue, frozen=True, kw_only=True):
    """Whether the editor reads and writes files for the agent, with what is not saved yet."""

    read_text_file: bool = False
    write_text_file: bool = False


class AuthAccess(AcpValue, frozen=True, kw_only=True):
    """Whether the editor runs a program in a terminal to sign in."""

    terminal: bool = False


class ElicitationAccess(AcpValue, frozen=True, kw_only=True):
    """Which questions the editor can ask: forms, pages."""

    form: dict[str, Any] | None = None
    url: dict[str, Any] | None = None


class EditorCapabilities(AcpValue, frozen=True, kw_only=True):
    """What the editor can do."""

    fs: FileAccess = FileAccess()
    terminal: bool = False
    auth: AuthAccess | None = None
    elicitation: ElicitationAccess | None = None

    @property
    def edits_files(self) -> bool:
        """Whether the editor reads and writes files for the agent."""
        return self.fs.read_text_file and self.fs.write_text_file

    @property
    def asks_forms(self) -> bool:
        """Whether the editor shows forms."""
        return self.elicitation is not None and self.elicitation.form is not None

    @property
    def signs_in_at_terminals(self) -> bool:
        """Whether the editor can open a terminal to sign in."""
        return self.auth is not None and self.auth.terminal


class InitializeParams(AcpValue, frozen=True, kw_only=True):
    """`initialize`."""

    protocol_version: int
    client_capabilities: EditorCapabilities = EditorCapabilities()


class AuthenticateParams(AcpValue, frozen=True, kw_only=True):
    """`authenticate`."""

    method_id: str


class NameAndValue(AcpValue, frozen=True, kw_only=True):
    """A variable or a header."""

    name: str
    value: str


class EditorServer(AcpValue, frozen=True, kw_only=True):
    """An MCP server of the editor: one to start (without a type), or an address."""

    name: str
    type: str = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[NameAndValue, ...] = ()
    url: str = ""
    headers: tuple[NameAndValue, ...] = ()

    @property
    def as_setting(self) -> dict[str, Any]:
        """The entry of the server under `mcpServers`."""
        if self.type in ("http", "sse"):
            return {"type": self.type, "url": self.url, "headers": {each.name: each.value for each in self.headers}}
        return {"command": self.command, "args": list(self.args), "env": {each.name: each.value for each in self.env}}


class NewSessionParams(AcpValue, frozen=True, kw_only=True):
    """`session/new`."""

    cwd: str
    mcp_servers: tuple[EditorServer, ...] = ()
    additional_directories: tuple[str, ...] = ()


class LoadSessionParams(NewSessionParams, frozen=True, kw_only=True):
    """`session/load` and `session/resume`."""

    session_id: str


class ListSessionsParams(AcpValue, frozen=True, kw_only=True):
    """`session/list`."""

    cwd: str | None = None
    cursor: str | None = None


class SessionParams(AcpValue, frozen=True, kw_only=True):
    """`session/close` and `session/cancel`."""

    session_id: str


class SetModeParams(SessionParams, frozen=True, kw_only=True):
    """`session/set_mode`."""

    mode_id: str


class SetOptionParams(SessionParams, frozen=True, kw_only=True):
    """`session/set_config_option`."""

    config_id: str
    value: str


class PromptParams(SessionParams, frozen=True, kw_only=True):
    """`session/prompt`."""

    prompt: tuple[ContentBlock, ...]


class PermissionOutcome(AcpValue, frozen=True, kw_only=True):
    """What the user chose."""

    outcome: str
    option_id: str = ""


class PermissionResult(AcpValue, frozen=True, kw_only=True):
    """The result of `session/request_permission`."""

    outcome: PermissionOutcome


class FormResult(AcpValue, frozen=True, kw_only=True):
    """The result of `elicitation/create`."""

    action: str
    content: dict[str, Any] | None = None


class ReadResult(AcpValue, frozen=True, kw_only=True):
    """The result of `fs/read_text_file`."""

    content: str


class CreatedTerminal(AcpValue, frozen=True, kw_only=True):
    """The result of `terminal/create`."""

    terminal_id: str
