"""The types of a settings file, and the JSON Schema made from them."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from robota.config.profiles.profile import Profile
from robota.protocol.appearance import NotifyBy, ThemeName
from robota.protocol.permission_mode import PermissionMode

IntentOverlap = Literal["split", "wait", "refuse"]
Rules = tuple[str, ...]


class Completion(StrEnum):
    """How a reply without tool calls is read: as the answer, or as a mistake."""

    IMPLICIT = "implicit"
    EXPLICIT = "explicit"

    @classmethod
    def recorded(cls, name: str) -> "Completion | None":
        """The completion that a log names, if this version knows it."""
        return cls(name) if name in set(cls) else None


class OnHangup(StrEnum):
    """What happens to a conversation when its terminal is closed."""

    PAUSE = "pause"
    DETACH = "detach"


class Effort(StrEnum):
    """How much a model that can think does so before it answers. `default` is what its profile or its server says."""

    DEFAULT = "default"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Permissions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Rules such as `Read`, `Bash(git diff *)` or `Edit(src/**)`. Deny wins over ask, ask over allow."""

    allow: Annotated[Rules, Meta(description="Calls allowed without asking.")] = ()
    ask: Annotated[
        Rules, Meta(description="Calls that always require approval, even if another rule allows them.")
    ] = ()
    deny: Annotated[Rules, Meta(description="Calls that never run.")] = ()
    default_mode: Annotated[PermissionMode | None, Meta(description="The permission mode to start in.")] = None
    additional_directories: Annotated[
        Rules, Meta(description="Directories outside the workspace that every session may read: ~/shared, /srv/docs.")
    ] = ()
    disable_bypass_permissions_mode: Annotated[
        Literal["disable"] | None, Meta(description="Disables the bypassPermissions mode.")
    ] = None


class SandboxSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The sandbox that commands run in."""

    enabled: Annotated[bool, Meta(description="Whether commands run in a sandbox.")] = True
    network: Annotated[bool, Meta(description="Whether sandboxed commands have network access.")] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        Meta(description="The only hosts sandboxed commands may reach: python.org, *.github.com, example.com:8443."),
    ] = ()
    pass_env: Annotated[
        tuple[str, ...],
        Meta(description="Variables passed to commands, hooks and MCP servers although they look like secrets."),
    ] = ()
    readable: Annotated[
        tuple[str, ...],
        Meta(description="Further places in the home directory that sandboxed commands may read: ~/.tool, ~/datasets."),
    ] = ()
    auto_allow_bash_if_sandboxed: Annotated[
        bool | None,
        Meta(description="As in Claude Code: true starts in the permission mode confined, unless another one is set."),
    ] = None
    max_growth_bytes: Annotated[
        Annotated[int, Meta(gt=0)],
        Meta(description="How much a command that nobody approved may write to the workspace and /tmp."),
    ] = 2_147_483_648
    home_as_workspace: Annotated[
        bool, Meta(description="Whether commands may run where the workspace is the home directory or contains it.")
    ] = False


class CheckpointSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Checkpoints of the workspace, taken before changes so that they can be undone."""

    enabled: Annotated[
        bool, Meta(description="Whether a checkpoint is taken before calls that change the workspace.")
    ] = True
    max_file_bytes: Annotated[Annotated[int, Meta(ge=0)], Meta(description="Larger files are not saved.")] = 20_971_520
    keep_days: Annotated[Annotated[int, Meta(ge=1)], Meta(description="Number of days to keep checkpoints.")] = 30
    max_bytes: Annotated[
        Annotated[int, Meta(ge=0)],
        Meta(description="Size limit for the checkpoints of a workspace; the oldest are removed first."),
    ] = 2_147_483_648


class MemorySettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Memory between sessions."""

    enabled: Annotated[bool, Meta(description="Whether memory is given to the model.")] = True
    auto_save: Annotated[
        bool, Meta(description="Whether entries you explicitly ask for are saved without approval.")
    ] = False


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Agents that the model starts."""

    max_depth: Annotated[
        Annotated[int, Meta(ge=0, le=10)],
        Meta(description="How many agents can be below each other; 0: the model cannot start any."),
    ] = 2
    max_running: Annotated[
        Annotated[int, Meta(ge=1, le=100)], Meta(description="How many agents work at once; the others wait.")
    ] = 8
    idle_seconds: Annotated[
        Annotated[float, Meta(ge=0)],
        Meta(description="How long nothing may come from the model of an agent before it is stopped; 0: no limit."),
    ] = 240.0
    own_processes: Annotated[
        bool, Meta(description="Whether every agent works in a process of its own, not only those in a worktree.")
    ] = False


class BudgetLimit(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """How much may be used: 0 is nothing, and what is not set is not limited."""

    usd: Annotated[Annotated[float, Meta(ge=0)] | None, Meta(description="US dollars.")] = None
    tokens: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="Tokens, input and output.")] = None
    requests: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="Requests to the model.")] = None
    minutes: Annotated[Annotated[float, Meta(ge=0)] | None, Meta(description="Minutes in requests to the model.")] = (
        None
    )


class PeriodBudgets(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """Limits of an account that several sessions share."""

    day: Annotated[BudgetLimit, Meta(description="On one day, of the local time.")] = BudgetLimit()
    month: Annotated[BudgetLimit, Meta(description="In one month.")] = BudgetLimit()
    total: Annotated[BudgetLimit, Meta(description="Altogether, since there is a limit.")] = BudgetLimit()


class BudgetSettings(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """Limits of what may be spent. Where several files set one, the smallest applies."""

    session: Annotated[BudgetLimit, Meta(description="Of each session.")] = BudgetLimit()
    agent: Annotated[BudgetLimit, Meta(description="Of each agent that the model starts.")] = BudgetLimit()
    project: Annotated[PeriodBudgets, Meta(description="Of all sessions of a project together.")] = PeriodBudgets()
    organisation: Annotated[
        PeriodBudgets, Meta(description="Of all your sessions together; a workspace cannot set it.")
    ] = PeriodBudgets()


class CodeSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What is known of the code of the workspace."""

    language_servers: Annotated[
        Literal["off", "on"],
        Meta(description="Whether language servers that are installed answer questions about code, in the sandbox."),
    ] = "on"


class ReviewerSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A second model that answers, in the mode confined, some of what you would be asked."""

    enabled: Annotated[bool, Meta(description="Whether a second model decides before you are asked.")] = False
    model: Annotated[str | None, Meta(description="A model of the same provider (default: that of the session).")] = (
        None
    )


class EnvironmentSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Environment details for the model: in full once, then only what changed."""

    enabled: Annotated[bool, Meta(description="Whether environment details are given to the model.")] = True
    workspace_files: Annotated[
        Annotated[int, Meta(ge=0, le=2000)], Meta(description="Number of file names listed at the start.")
    ] = 200
    git_status_files: Annotated[
        Annotated[int, Meta(ge=0, le=2000)],
        Meta(description="Number of files listed from git status; 0 leaves it out."),
    ] = 0
    time: Annotated[bool, Meta(description="Whether to include the current time.")] = True
    cost: Annotated[bool, Meta(description="Whether to include the cost of the task so far.")] = True


class StatusLineSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The status line of the terminal UI."""

    enabled: Annotated[bool, Meta(description="Whether the status line is shown.")] = True
    git_branch: Annotated[bool, Meta(description="Whether to show the git branch.")] = True


class StatusCommand(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command whose output is shown above the status line; it gets the session as JSON on stdin."""

    command: Annotated[str, Meta(min_length=1, description="Run by sh with your rights, outside the sandbox.")]
    type: Annotated[Literal["command"], Meta(description="The only supported type.")] = "command"
    padding: Annotated[int, Meta(description="Accepted for compatibility with Claude Code; has no effect.")] = 0


class UpdateCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The daily check for a newer version at an interactive start."""

    enabled: bool = True
    index: Annotated[
        str | None, Meta(description="Package index to query (default: the one pip or uv is configured with).")
    ] = None


def _name_in_json(name: str) -> str:
    """Camel case; defined here because the class below uses it."""
    first, *rest = name.split("_")
    return "$schema" if name == "json_schema" else first + "".join(word.capitalize() for word in rest)


class SettingsFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=_name_in_json):
    """One settings file of Robota."""

    json_schema: str | None = None
    current_provider: Annotated[str | None, Meta(description="Name of the provider profile to use.")] = None
    providers: Annotated[dict[str, Profile], Meta(description="Provider profiles by name.")] = {}
    model: Annotated[str | None, Meta(description="Model to use instead of the profile's own.")] = None
    fallback_models: Annotated[tuple[str, ...], Meta(description="Models to try when the first one fails.")] = ()
    models: Annotated[
        dict[str, dict[str, Any]], Meta(description="Model facts (context window, price), by model id.")
    ] = {}
    effort: Annotated[Effort, Meta(description="How much the model thinks before it answers, if it can think.")] = (
        Effort.DEFAULT
    )
    language: Annotated[str | None, Meta(description="Language of the answers: a code such as ko, or a name.")] = None
    auto_compact_threshold: Annotated[
        Annotated[float, Meta(gt=0, le=1)] | bool | None,
        Meta(description="Fraction of the context window at which to condense; false: never automatically."),
    ] = None
    completion: Annotated[Completion | None, Meta(description="How a reply without tool calls is interpreted.")] = None
    mistake_limit: Annotated[
        Annotated[int, Meta(ge=0)],
        Meta(description="After how many mistakes of the model in a row you are asked how to continue; 0: never."),
    ] = 3
    question_timeout_seconds: Annotated[
        Annotated[float, Meta(ge=0)],
        Meta(description="After how many seconds a question of the model takes its first suggestion; 0: never."),
    ] = 0.0
    permissions: Permissions = Permissions()
    agents: Annotated[AgentSettings, Meta(description="Agents that the model starts.")] = AgentSettings()
    budgets: Annotated[BudgetSettings, Meta(description="Limits of what may be spent.")] = BudgetSettings()
    hooks: Annotated[
        dict[str, list[dict[str, Any]]], Meta(description="Commands to run at an event, by the event's name.")
    ] = {}
    env: Annotated[dict[str, str], Meta(description="Environment variables for commands.")] = {}
    mcp_servers: Annotated[dict[str, dict[str, Any]], Meta(description="MCP servers by name.")] = {}
    disabled_mcpjson_servers: Annotated[
        tuple[str, ...], Meta(description="Servers of .mcp.json that do not start.")
    ] = ()
    enabled_plugins: Annotated[
        dict[str, bool], Meta(description="Plugins (name@marketplace) to enable or disable.")
    ] = {}
    extra_known_marketplaces: Annotated[
        dict[str, dict[str, Any]], Meta(description="Plugin marketplaces by name, each with its source.")
    ] = {}
    sandbox: SandboxSettings = SandboxSettings()
    reviewer: ReviewerSettings = ReviewerSettings()
    code: CodeSettings = CodeSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    title_by_model: Annotated[
        bool, Meta(description="Whether to ask the model for a session title, in a separate request.")
    ] = False
    checks: Annotated[
        tuple[str, ...], Meta(description="Commands that report problems of the project, for @problems.")
    ] = ()
    output_style: Annotated[str | None, Meta(description="Name of the output style.")] = None
    environment: EnvironmentSettings = EnvironmentSettings()
    memory: MemorySettings = MemorySettings()
    kept_output_bytes: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Bytes of long command output that a session keeps; the oldest are removed first."),
    ] = None
    require_intent: Annotated[
        bool, Meta(description="Whether every change needs an active intent, even in a workspace without intents.")
    ] = False
    intent_overlap: Annotated[
        IntentOverlap,
        Meta(description="What to do when another session works on files of the same intent: split, wait or refuse."),
    ] = "split"
    theme: Annotated[
        str | None,
        Meta(description=f"Colours of the terminal UI: {', '.join(ThemeName)}, or a file of ~/.robota/themes."),
    ] = None
    prefers_reduced_motion: Annotated[
        bool, Meta(description="Whether the terminal UI avoids animation: no counting seconds, answers block by block.")
    ] = False
    notifications: Annotated[
        NotifyBy,
        Meta(
            description="How the terminal UI calls you to a question or an answer while you look elsewhere: desktop (a "
            "notification where the terminal can show one, otherwise the bell), bell, or off."
        ),
    ] = NotifyBy.DESKTOP
    on_hangup: Annotated[
        OnHangup,
        Meta(
            description="What a conversation does when its terminal is closed: pause, or continue without one (detach)."
        ),
    ] = OnHangup.PAUSE
    detached_idle_minutes: Annotated[
        float,
        Meta(
            ge=0.01,
            description="After how many minutes without work, question and window a session without a terminal ends.",
        ),
    ] = 30.0
    statusline: StatusLineSettings = StatusLineSettings()
    status_line: StatusCommand | None = None
    update_check: UpdateCheck = UpdateCheck()


def settings_schema() -> dict[str, Any]:
    """The JSON Schema of a settings file."""
    schema = msgspec.json.schema(SettingsFile)
    definitions = schema["$defs"]
    top = definitions.pop("SettingsFile")
    top.pop("title", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Robota settings",
        **top,
        "additionalProperties": False,
        "$defs": definitions,
    }


def allowed_values(key: Sequence[str | int]) -> tuple[str, ...]:
    """The possible values of a setting, if it is an enumeration."""
    schema = settings_schema()
    node: dict[str, Any] = schema
    for part in key:
        node = _below(_resolved(node, schema), part)
    return tuple(value for option in _options(node, schema) for value in option.get("enum", ()))


def _below(node: dict[str, Any], part: str | int) -> dict[str, Any]:
    if isinstance(part, int):
        below = node.get("items", {})
    else:
        below = node.get("properties", {}).get(part) or node.get("additionalProperties")
    return below if isinstance(below, dict) else {}


def _options(node: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    node = _resolved(node, schema)
    return [node, *(_resolved(option, schema) for option in node.get("anyOf", ()))]


def _resolved(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref")
    if reference is None:
        return node
    definition: dict[str, Any] = schema["$defs"][reference.rpartition("/")[2]]
    return definition
