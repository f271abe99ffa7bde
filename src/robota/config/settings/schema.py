"""What a settings file may say: the types, and the JSON Schema made from them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from robota.config.profiles.profile import Profile
from robota.protocol.appearance import ThemeName
from robota.protocol.permission_mode import PermissionMode

CompletionName = Literal["implicit", "explicit"]
IntentOverlap = Literal["split", "wait", "refuse"]
Rules = tuple[str, ...]


class Permissions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Rules such as `Read`, `Bash(git diff *)` or `Edit(src/**)`. Deny wins over ask, ask over allow."""

    allow: Annotated[Rules, Meta(description="Calls that run without asking.")] = ()
    ask: Annotated[Rules, Meta(description="Calls that are asked about whatever else allows them.")] = ()
    deny: Annotated[Rules, Meta(description="Calls that never run.")] = ()
    default_mode: Annotated[PermissionMode | None, Meta(description="The permission mode to start in.")] = None
    disable_bypass_permissions_mode: Annotated[
        Literal["disable"] | None, Meta(description="Forbids the mode bypassPermissions.")
    ] = None


class SandboxSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How commands are confined."""

    enabled: Annotated[bool, Meta(description="Whether commands run in a sandbox.")] = True
    network: Annotated[bool, Meta(description="Whether commands in the sandbox reach the network.")] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        Meta(description="The only hosts that sandboxed commands reach: python.org, *.github.com, example.com:8443."),
    ] = ()
    pass_env: Annotated[
        tuple[str, ...],
        Meta(description="Variables that commands, hooks and MCP servers get although they look like secrets."),
    ] = ()


class CheckpointSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Saving the workspace before changes, so that they can be taken back."""

    enabled: Annotated[bool, Meta(description="Whether the workspace is saved before calls that change it.")] = True
    max_file_bytes: Annotated[Annotated[int, Meta(ge=0)], Meta(description="Bigger files are not saved.")] = 20_971_520
    keep_days: Annotated[Annotated[int, Meta(ge=1)], Meta(description="How long checkpoints are kept.")] = 30
    max_bytes: Annotated[
        Annotated[int, Meta(ge=0)], Meta(description="If the checkpoints of a workspace take more, the oldest go.")
    ] = 2_147_483_648


class MemorySettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What is remembered between sessions."""

    enabled: Annotated[bool, Meta(description="Whether the model is told what is remembered.")] = True
    auto_save: Annotated[
        bool, Meta(description="Whether what you clearly ask to be remembered is kept without your approval.")
    ] = False


class EnvironmentSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What the model is told of the surroundings of a task: once, and then what changed."""

    enabled: Annotated[bool, Meta(description="Whether it is told anything of them.")] = True
    workspace_files: Annotated[
        Annotated[int, Meta(ge=0, le=2000)], Meta(description="How many names of files it is told at the start.")
    ] = 200
    git_status_files: Annotated[
        Annotated[int, Meta(ge=0, le=2000)],
        Meta(description="How many files it is told that git sees as changed; 0 does not ask git."),
    ] = 0
    time: Annotated[bool, Meta(description="Whether it is told the time.")] = True
    cost: Annotated[bool, Meta(description="Whether it is told what the task has cost.")] = True


class StatusLineSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The status line of the terminal UI."""

    enabled: Annotated[bool, Meta(description="Whether there is one.")] = True
    git_branch: Annotated[bool, Meta(description="Whether it shows the branch of the repository.")] = True


class StatusCommand(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command whose output is shown above the status line; it is told of the session on stdin, as JSON."""

    command: Annotated[str, Meta(min_length=1, description="Run by sh with the person's rights, outside the sandbox.")]
    type: Annotated[Literal["command"], Meta(description="There is no other.")] = "command"
    padding: Annotated[int, Meta(description="Accepted for the sake of Claude Code; has no effect.")] = 0


class UpdateCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether an interactive start looks for a newer version, once a day."""

    enabled: bool = True
    index: Annotated[
        str | None, Meta(description="Package index to ask; without it, the one that pip or uv is set up with.")
    ] = None


def _name_in_json(name: str) -> str:
    """Camel case; needed by the class below, so it stands before it."""
    first, *rest = name.split("_")
    return "$schema" if name == "json_schema" else first + "".join(word.capitalize() for word in rest)


class SettingsFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=_name_in_json):
    """One settings file of Robota."""

    json_schema: str | None = None
    current_provider: Annotated[str | None, Meta(description="Name of the provider profile to use.")] = None
    providers: Annotated[dict[str, Profile], Meta(description="Provider profiles by name.")] = {}
    model: Annotated[str | None, Meta(description="Model to use instead of the profile's own.")] = None
    fallback_models: Annotated[
        tuple[str, ...], Meta(description="Models to go on with when the first does not answer.")
    ] = ()
    models: Annotated[
        dict[str, dict[str, Any]], Meta(description="What is known of a model (window, price), by its id.")
    ] = {}
    language: Annotated[str | None, Meta(description="Language of the answers: a code such as ko, or a name.")] = None
    auto_compact_threshold: Annotated[
        Annotated[float, Meta(gt=0, le=1)] | bool | None,
        Meta(description="Share of the context window at which a conversation is condensed; false: never by itself."),
    ] = None
    completion: Annotated[CompletionName | None, Meta(description="How a reply without tool calls is read.")] = None
    permissions: Permissions = Permissions()
    hooks: Annotated[
        dict[str, list[dict[str, Any]]], Meta(description="Commands to run at an event, by the event's name.")
    ] = {}
    env: Annotated[dict[str, str], Meta(description="Environment variables for commands.")] = {}
    mcp_servers: Annotated[dict[str, dict[str, Any]], Meta(description="MCP servers by name.")] = {}
    enabled_plugins: Annotated[
        dict[str, bool], Meta(description="Plugins (name@marketplace) that are wanted, or switched off.")
    ] = {}
    extra_known_marketplaces: Annotated[
        dict[str, dict[str, Any]], Meta(description="Marketplaces for plugins by name, each with its source.")
    ] = {}
    sandbox: SandboxSettings = SandboxSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    title_by_model: Annotated[
        bool, Meta(description="Whether the model is asked for a title of each new session, in a request of its own.")
    ] = False
    checks: Annotated[
        tuple[str, ...], Meta(description="Commands that tell what is wrong with the project, for @problems.")
    ] = ()
    output_style: Annotated[
        str | None, Meta(description="Name of the output style: a file that says how the model answers.")
    ] = None
    environment: EnvironmentSettings = EnvironmentSettings()
    memory: MemorySettings = MemorySettings()
    kept_output_bytes: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="How many bytes of long outputs of commands a session keeps; the oldest go first."),
    ] = None
    require_intent: Annotated[
        bool, Meta(description="Whether nothing may be changed without an intent, also where a workspace has none.")
    ] = False
    intent_overlap: Annotated[
        IntentOverlap,
        Meta(description="What becomes of an intent whose files another session works on: split, wait or refuse."),
    ] = "split"
    theme: Annotated[ThemeName | None, Meta(description="Colours of the terminal UI.")] = None
    prefers_reduced_motion: Annotated[
        bool, Meta(description="Whether the terminal UI counts no seconds and shows answers block by block.")
    ] = False
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
    """The values that a setting can have, if they can be counted."""
    schema = settings_schema()
    node: dict[str, Any] = schema
    for part in key:
        node = _below(_resolved(node, schema), part)
    return tuple(value for option in _options(node, schema) for value in option.get("enum", ()))


def _below(node: dict[str, Any], part: str | int) -> dict[str, Any]:
    if isinstance(part, int):
        found = node.get("items", {})
    else:
        found = node.get("properties", {}).get(part) or node.get("additionalProperties")
    return found if isinstance(found, dict) else {}


def _options(node: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    node = _resolved(node, schema)
    return [node, *(_resolved(option, schema) for option in node.get("anyOf", ()))]


def _resolved(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref")
    if reference is None:
        return node
    found: dict[str, Any] = schema["$defs"][reference.rpartition("/")[2]]
    return found
