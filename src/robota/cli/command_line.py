"""The command line as a frozen record. Whoever types only `robota` needs no more of it."""

from typing import Any, Final

import msgspec

from robota.protocol.permission_mode import PermissionMode

OUTPUT_FORMATS: Final = ("text", "json", "stream-json", "messages")
PERMISSION_MODES: Final = tuple(mode.value for mode in PermissionMode)
COMPLETIONS: Final = ("implicit", "explicit")


class UsageError(Exception):
    """The command line cannot be understood."""


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was given on the command line, parsed."""

    prompt: tuple[str, ...] = ()
    print: bool = False
    output_format: str = "text"
    include_partial_messages: bool = False
    plain: bool = False
    verbose: bool = False
    quiet: bool = False
    debug: bool = False
    json_schema: str | None = None
    input_file: str | None = None
    input_format: str = "text"
    model: str | None = None
    fallback_model: str | None = None
    provider: str | None = None
    mode: str | None = None
    permission_mode: PermissionMode | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    system_prompt: str | None = None
    system_prompt_file: str | None = None
    append_system_prompt: str | None = None
    append_system_prompt_file: str | None = None
    settings: str | None = None
    mcp_config: str | None = None
    language: str | None = None
    require_trust: bool = False
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    completion: str | None = None
    cwd: str | None = None
    worktree: str | None = None  # empty: one without a given name
    session_id: str | None = None
    continues: bool = False
    resume: str | None = None  # empty: which one is asked
    fork_session: bool = False
    name: str | None = None
    configure_provider: str | None = None
    type: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    api_key_env: str | None = None
    set_current: bool = False
    configure: bool = False
    reset: bool = False
    yes: bool = False
    check_update: bool = False
    disable_update_check: bool = False
    # The contents of files that options name; read by `run.file_options`.
    input_text: str = ""
    run_settings: dict[str, Any] = {}
    answer_schema: dict[str, Any] | None = None

    @property
    def names_files(self) -> bool:
        """Whether an option names a file that has to be read first."""
        files = (self.system_prompt_file, self.append_system_prompt_file, self.settings, self.mcp_config)
        return any(file is not None for file in (*files, self.input_file, self.json_schema))
