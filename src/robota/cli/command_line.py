"""The command line as one frozen record: every option, with how it is spelled and what its help says.

A new option is a field here, or in `LaunchOptions` if a session is started with it, and the code that uses it.
"""

from typing import Annotated, Any, Final, Literal, get_args

from robota.config.launch_options import Flag, FlagWithOptionalValue, LaunchOptions
from robota.protocol.permission_mode import PermissionMode

OutputFormatName = Literal["text", "json", "stream-json", "messages"]
OUTPUT_FORMATS: Final = get_args(OutputFormatName)
PERMISSION_MODES: Final = tuple(mode.value for mode in PermissionMode)
# The headings of the help, in their order.
SECTIONS: Final = (
    "output",
    "task",
    "sessions",
    "set up a provider",
    "maintenance",
    "compatibility with other agents",
)


class UsageError(Exception):
    """The command line cannot be understood."""


class CommandLine(LaunchOptions, frozen=True, kw_only=True):
    """Everything that was given on the command line, parsed."""

    prompt: tuple[str, ...] = ()
    print: Annotated[bool, Flag("output", "run the prompt, print the answer, exit", spelling=("-p", "--print"))] = False
    output_format: Annotated[
        OutputFormatName,
        Flag("output", "text, json (one object), stream-json (one object per line) or messages", "FORMAT"),
    ] = "text"
    include_partial_messages: Annotated[bool, Flag("output", "also stream incomplete messages")] = False
    plain: Annotated[bool, Flag("output", "plain line-by-line interface, for screen readers and slow connections")] = (
        False
    )
    verbose: Annotated[bool, Flag("output", "print everything that happens to stderr")] = False
    debug: Annotated[
        bool, Flag("output", "log each event and state to ~/.robota/debug.log", spelling=("-d", "--debug"))
    ] = False
    quiet: Annotated[bool, Flag("output", "print only the answer and errors")] = False
    json_schema: Annotated[
        str | None,
        Flag("output", "require an answer that matches this JSON Schema; the model gets one retry", "FILE|JSON"),
    ] = None
    input_file: Annotated[
        str | None, Flag("output", "read the prompt, or text to put before it, from a file", "FILE")
    ] = None
    system_prompt_file: Annotated[str | None, Flag("task", "the same as --system-prompt, from a file", "FILE")] = None
    append_system_prompt_file: Annotated[
        str | None, Flag("task", "the same as --append-system-prompt, from a file", "FILE")
    ] = None
    settings_source: Annotated[
        str | None,
        Flag("task", "settings for this run; they override the settings files", "FILE|JSON", ("--settings",)),
    ] = None
    mcp_config: Annotated[str | None, Flag("task", "MCP servers for this run, as in .mcp.json", "FILE|JSON")] = None
    worktree: Annotated[
        str | None,
        FlagWithOptionalValue(
            "task", "work in a new git worktree, kept if it has changes", "NAME", ("-w", "--worktree")
        ),
    ] = None
    continues: Annotated[
        bool,
        Flag("sessions", "continue the most recent session in this directory", spelling=("-c", "--continue")),
    ] = False
    resume: Annotated[
        str | None,
        FlagWithOptionalValue(
            "sessions",
            "resume a session by id, id prefix, name or words from it; without one, choose from a list",
            "SESSION",
            ("-r", "--resume"),
        ),
    ] = None
    fork_session: Annotated[bool, Flag("sessions", "with -c or -r: continue in a copy of the session")] = False
    configure: Annotated[bool, Flag("set up a provider", "set up a provider by answering a few questions")] = False
    configure_provider: Annotated[
        str | None, Flag("set up a provider", "write a provider profile to the settings", "NAME")
    ] = None
    type: Annotated[
        str | None, Flag("set up a provider", "provider type; with --configure, set up only this one", "TYPE")
    ] = None
    base_url: Annotated[
        str | None, Flag("set up a provider", "base URL of the API, up to and including /v1", "URL")
    ] = None
    api_key: Annotated[
        str | None, Flag("set up a provider", "API key, stored in plain text; prefer --api-key-env", "KEY")
    ] = None
    api_key_env: Annotated[
        str | None, Flag("set up a provider", "environment variable that holds the key", "VARIABLE")
    ] = None
    set_current: Annotated[bool, Flag("set up a provider", "make the profile (or --provider) the default")] = False
    reset: Annotated[bool, Flag("maintenance", "remove your settings after asking; a copy is kept")] = False
    yes: Annotated[
        bool,
        Flag(
            "maintenance",
            "do not ask for confirmation (with --reset, or -r of an imported session)",
            spelling=("-y", "--yes"),
        ),
    ] = False
    check_update: Annotated[bool, Flag("maintenance", "check for a newer version now")] = False
    disable_update_check: Annotated[bool, Flag("maintenance", "do not check for a newer version this time")] = False
    input_format: Annotated[
        Literal["text"], Flag("compatibility with other agents", "only text is supported", "FORMAT")
    ] = "text"
    # The contents of files that options name; read by `run.file_options`.
    input_text: str = ""
    answer_schema: dict[str, Any] | None = None

    @property
    def names_files(self) -> bool:
        """Whether an option names a file that has to be read first."""
        files = (self.system_prompt_file, self.append_system_prompt_file, self.settings_source, self.mcp_config)
        return any(file is not None for file in (*files, self.input_file, self.json_schema))
