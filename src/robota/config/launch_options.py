"""The options of a session start, and the settings that result from them."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec

from robota.config.arguments import Count, Money, Option
from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.config.settings.environment_layer import switched
from robota.config.settings.load import Settings, load_settings, refuse_errors, refuse_untrusted
from robota.config.settings.schema import Completion, Effort, SettingsFile
from robota.protocol.permission_mode import PermissionMode


class TaskOption(Option, frozen=True):
    """An option of `robota`, listed in its help among those of a task."""


class SessionOption(Option, frozen=True):
    """An option of `robota`, listed in its help among those of sessions."""


class Additions(msgspec.Struct, frozen=True, kw_only=True):
    """What a program that embeds Robota adds to a session. `Embedding` has the types, which are not known here."""

    provider_definitions: tuple[Any, ...] = ()
    tools: tuple[Any, ...] = ()
    commands: tuple[Any, ...] = ()
    hook_rules: tuple[Any, ...] = ()
    prompt_parts: tuple[str, ...] = ()
    agents: tuple[Any, ...] = ()
    editor: Any = None  # the files of the user's editor

    @property
    def are_needed_everywhere(self) -> bool:
        """Whether an agent in another process would lack something. Its own definition it gets with its orders."""
        return msgspec.structs.replace(self, agents=()) != Additions()


class PromptAuthor(StrEnum):
    """Who wrote the prompts of a session, as far as is known."""

    USER = "user"
    # A text that was piped in or that a program sends, such as an issue. It grants nothing, and nothing of it is taken
    # for a wish of the user.
    ANYBODY = "anybody"


class LaunchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a session start. Those with an `Option` are options of the command line, too."""

    cwd: Annotated[Path, TaskOption("directory to work in", "DIR")] = Path()
    add_dir: Annotated[
        tuple[Path, ...], TaskOption("a further directory that the agent may read, and not change; repeatable", "DIR")
    ] = ()
    kept_in: Path | None = None  # the project whose directory holds the session, if it works elsewhere
    provider: Annotated[str | None, TaskOption("provider profile to use", "NAME")] = None
    profile: Profile | None = None  # replaces the profiles of the settings completely
    model: Annotated[str | None, TaskOption("model to use instead of the profile's", "MODEL")] = None
    fallback_models: Annotated[
        tuple[str, ...], TaskOption("models to try when the first one fails", "A,B", name="--fallback-model")
    ] = ()
    effort: Annotated[
        Effort | None, TaskOption("how much the model thinks before it answers: low, medium or high", "HOW")
    ] = None
    permission_mode: Annotated[
        PermissionMode | None,
        TaskOption(
            "plan (read-only), default (ask), acceptEdits (edit without asking), "
            "confined (also run what the sandbox confines) or bypassPermissions (never ask)",
            "MODE",
        ),
    ] = None
    allowed_tools: Annotated[
        tuple[str, ...],
        TaskOption(
            "calls that may run without asking, for example 'Bash(pytest *)'",
            "RULES",
            ("--allowedTools",),
        ),
    ] = ()
    disallowed_tools: Annotated[
        tuple[str, ...],
        TaskOption("calls that never run", "RULES", ("--disallowedTools",)),
    ] = ()
    agent: Annotated[
        str | None, TaskOption("work as this agent: with its instructions, tools, model and limits", "NAME")
    ] = None
    mode: Annotated[str | None, TaskOption("start in this mode: code, architect, ask, debug, orchestrator", "SLUG")] = (
        None
    )
    max_turns: Annotated[Count | None, TaskOption("stop after N requests to the model", "N")] = None
    max_cost: Annotated[
        Money | None, TaskOption("stop before the session costs more than this", "USD", name="--max-budget-usd")
    ] = None
    max_tokens_total: Annotated[
        Count | None, TaskOption("stop before the session uses more than N tokens, input and output", "N")
    ] = None
    completion: Annotated[
        Completion | None,
        TaskOption(
            "implicit (a reply without tool calls is the answer) or explicit (the model must call attempt_completion)",
            "HOW",
        ),
    ] = None
    system_prompt: Annotated[str | None, TaskOption("replace the system prompt", "TEXT")] = None
    append_system_prompt: Annotated[
        str | None,
        TaskOption("append to the system prompt; @NAME appends .robota/prompts/NAME.md, @PATH a file", "TEXT"),
    ] = None
    settings: dict[str, Any] = {}  # from the command line; they override those of files
    language: Annotated[
        str | None, TaskOption("language of the answers; without a prompt, saved as the default", "LANGUAGE")
    ] = None
    plugin_dir: Annotated[
        tuple[Path, ...], TaskOption("use the plugin in this directory, in this session only; repeatable", "DIR")
    ] = ()
    strict_mcp_config: Annotated[
        bool, TaskOption("use no other MCP servers than those of --mcp-config and --settings")
    ] = False
    only_tools: tuple[str, ...] | None = None  # the built-in tools that are offered; None for all
    reads_project: bool = True  # without it, the configuration of the workspace counts as not trusted
    require_trust: Annotated[bool, TaskOption("refuse to start in an untrusted workspace")] = False
    resumes: Path | None = None  # the directory of the session to resume
    session_id: Annotated[str | None, SessionOption("id of the new session", "ID")] = None
    name: Annotated[str | None, SessionOption("name of the session", "NAME", ("-n",))] = None
    attended: bool = True
    prompt_author: Annotated[
        PromptAuthor,
        TaskOption("who wrote the prompts: user, or anybody, whose text grants nothing (as that of a pipe)", "WHO"),
    ] = PromptAuthor.USER
    needs_model: bool = True  # not needed for a single tool call
    additions: Additions = Additions()
    # The `AgentPlace` of a session that is an agent of another one; its type is not known here.
    place: Any = None


def workspace_root(cwd: Path) -> Path:
    """The real path of the directory to work in."""
    try:
        root = cwd.resolve(strict=True)
    except OSError as error:
        raise ConfigError(f"The directory {cwd} cannot be used: {error.strerror}. Nothing was started.") from error
    if not root.is_dir():
        raise ConfigError(f"{cwd} is not a directory. Nothing was started.")
    return root


def settings_for(launch: LaunchOptions, root: Path, env: Mapping[str, str]) -> Settings:
    """All settings, the command line included. Raises `ConfigError` if starting with them would be unsafe."""
    if launch.profile is not None:
        return Settings(values=msgspec.convert({**_flags(launch), **switched(env)}, SettingsFile))
    settings = load_settings(root, env, flags=_flags(launch), reads_project=launch.reads_project)
    refuse_errors(settings)
    if launch.require_trust:
        refuse_untrusted(settings)
    return settings


def _flags(launch: LaunchOptions) -> dict[str, Any]:
    """The options as a layer of settings, which a managed file can still override."""
    flags = {
        "currentProvider": launch.provider,
        "model": launch.model,
        "fallbackModels": list(launch.fallback_models) or None,
        "effort": launch.effort,
        "language": launch.language,
        "completion": launch.completion,
        "permissions": {"defaultMode": launch.permission_mode} if launch.permission_mode else None,
    }
    return _over(launch.settings, {name: value for name, value in flags.items() if value is not None})


def _over(settings: dict[str, Any], flags: dict[str, Any]) -> dict[str, Any]:
    """Merge options over `--settings`: an option wins, objects are merged."""
    both = {
        name: {**value, **flags[name]}
        for name, value in settings.items()
        if isinstance(value, dict) and isinstance(flags.get(name), dict)
    }
    return {**settings, **flags, **both}
