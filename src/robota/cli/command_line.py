"""The command line as one frozen record: every option, with how it is spelled and what its help says.

A new option is a field here, or in `LaunchOptions` if a session is started with it, and the code that uses it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_args

from robota.config.arguments import Option
from robota.config.launch_options import LaunchOptions, SessionOption, TaskOption
from robota.protocol.permission_mode import PermissionMode

OutputFormatName = Literal["text", "json", "stream-json", "messages", "codex"]
ToolNames = Literal["claude", "robota"]
OUTPUT_FORMATS: Final = get_args(OutputFormatName)
PERMISSION_MODES: Final = tuple(mode.value for mode in PermissionMode)


class OutputOption(Option, frozen=True):
    """An option about what is printed."""


class SetUpOption(Option, frozen=True):
    """An option that writes a provider profile."""


class MaintenanceOption(Option, frozen=True):
    """An option about settings and updates."""


class CompatibilityOption(Option, frozen=True):
    """An option that other agents have."""


# The headings of the help, in their order.
HEADINGS: Final[Mapping[type[Option], str]] = {
    OutputOption: "output",
    TaskOption: "task",
    SessionOption: "sessions",
    SetUpOption: "set up a provider",
    MaintenanceOption: "maintenance",
    CompatibilityOption: "compatibility with other agents",
}


class UsageError(Exception):
    """The command line cannot be understood."""


class CommandLine(LaunchOptions, frozen=True, kw_only=True):
    """Everything that was given on the command line, parsed."""

    prompt: tuple[str, ...] = ()
    print: Annotated[bool, OutputOption("run the prompt, print the answer, exit", also=("-p",))] = False
    output_format: Annotated[
        OutputFormatName,
        OutputOption(
            "text, json (one object), stream-json (one object per line), messages, or codex (the lines of codex)",
            "FORMAT",
        ),
    ] = "text"
    include_partial_messages: Annotated[bool, OutputOption("also stream incomplete messages")] = False
    tool_names: Annotated[
        ToolNames, OutputOption("names of tools and arguments in json and stream-json: claude or robota", "NAMES")
    ] = "claude"
    plain: Annotated[bool, OutputOption("plain line-by-line interface, for screen readers and slow connections")] = (
        False
    )
    verbose: Annotated[bool, OutputOption("print everything that happens to stderr")] = False
    debug: Annotated[bool, OutputOption("log each event and state to ~/.robota/debug.log", also=("-d",))] = False
    quiet: Annotated[bool, OutputOption("print only the answer and errors")] = False
    json_schema: Annotated[
        str | None,
        OutputOption("require an answer that matches this JSON Schema; the model gets one retry", "FILE|JSON"),
    ] = None
    input_file: Annotated[
        str | None, OutputOption("read the prompt, or text to put before it, from a file", "FILE")
    ] = None
    system_prompt_file: Annotated[str | None, TaskOption("the same as --system-prompt, from a file", "FILE")] = None
    append_system_prompt_file: Annotated[
        str | None, TaskOption("the same as --append-system-prompt, from a file", "FILE")
    ] = None
    settings_source: Annotated[
        str | None,
        TaskOption("settings for this run; they override the settings files", "FILE|JSON", name="--settings"),
    ] = None
    mcp_config: Annotated[str | None, TaskOption("MCP servers for this run, as in .mcp.json", "FILE|JSON")] = None
    worktree: Annotated[
        str | None,
        TaskOption("work in a new git worktree, kept if it has changes", "[NAME]", ("-w",)),
    ] = None
    continues: Annotated[
        bool,
        SessionOption("continue the most recent session in this directory", also=("-c",), name="--continue"),
    ] = False
    resume: Annotated[
        str | None,
        SessionOption(
            "resume a session by id, id prefix, name or words from it; without one, choose from a list",
            "[SESSION]",
            ("-r",),
        ),
    ] = None
    detach: Annotated[
        bool, SessionOption("start the task without a terminal, print the id of the session and return")
    ] = False
    fork_session: Annotated[bool, SessionOption("with -c or -r: continue in a copy of the session")] = False
    configure: Annotated[bool, SetUpOption("set up a provider by answering a few questions")] = False
    configure_provider: Annotated[str | None, SetUpOption("write a provider profile to the settings", "NAME")] = None
    type: Annotated[str | None, SetUpOption("provider type; with --configure, set up only this one", "TYPE")] = None
    base_url: Annotated[str | None, SetUpOption("base URL of the API, up to and including /v1", "URL")] = None
    api_key: Annotated[str | None, SetUpOption("API key, stored in plain text; prefer --api-key-env", "KEY")] = None
    api_key_env: Annotated[str | None, SetUpOption("environment variable that holds the key", "VARIABLE")] = None
    set_current: Annotated[bool, SetUpOption("make the profile (or --provider) the default")] = False
    reset: Annotated[bool, MaintenanceOption("remove your settings after asking; a copy is kept")] = False
    yes: Annotated[
        bool,
        MaintenanceOption(
            "do not ask for confirmation (with --reset, or -r of an imported session)",
            also=("-y",),
        ),
    ] = False
    check_update: Annotated[bool, MaintenanceOption("check for a newer version now")] = False
    disable_update_check: Annotated[bool, MaintenanceOption("do not check for a newer version this time")] = False
    # With stream-json the command line is one of Claude's SDKs, and `run.control.flags` reads it.
    input_format: Annotated[
        Literal["text", "stream-json"],
        CompatibilityOption("text, or stream-json: a program drives the session as it drives Claude Code", "FORMAT"),
    ] = "text"
    # The contents of files that options name; read by `run.file_options`.
    input_text: str = ""
    answer_schema: dict[str, Any] | None = None

    @property
    def names_files(self) -> bool:
        """Whether an option names a file that has to be read first."""
        files = (self.system_prompt_file, self.append_system_prompt_file, self.settings_source, self.mcp_config)
        return any(file is not None for file in (*files, self.input_file, self.json_schema))
