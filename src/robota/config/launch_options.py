"""The options of a session start, and the settings that result from them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.config.settings.environment_layer import switched
from robota.config.settings.load import Settings, load_settings, refuse_errors, refuse_untrusted
from robota.config.settings.schema import Completion, SettingsFile
from robota.protocol.permission_mode import PermissionMode


class Flag(msgspec.Struct, frozen=True):
    """How a field of the options is given on the command line: under its own name, or as `spelling`.

    A `bool` takes no value; a tuple is repeatable, unless `read` makes it from one value. `section` is a heading of the
    help.
    """

    section: str
    help: str
    metavar: str | None = None
    spelling: tuple[str, ...] = ()
    read: Callable[[str], Any] | None = None


class FlagWithOptionalValue(Flag, frozen=True):
    """A flag that can be given without its value, which is empty then."""


def _positive(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise ValueError(f"{text!r} is not a positive whole number")
    return number


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise ValueError(f"{text!r} is not an amount of money")
    return amount


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


class LaunchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a session start. Those with a `Flag` are options of the command line, too."""

    cwd: Annotated[Path, Flag("task", "directory to work in", "DIR", read=Path)] = Path()
    kept_in: Path | None = None  # the project whose directory holds the session, if it works elsewhere
    provider: Annotated[str | None, Flag("task", "provider profile to use", "NAME")] = None
    profile: Profile | None = None  # replaces the profiles of the settings completely
    model: Annotated[str | None, Flag("task", "model to use instead of the profile's", "MODEL")] = None
    fallback_models: Annotated[
        tuple[str, ...], Flag("task", "models to try when the first one fails", "A,B", ("--fallback-model",), _names)
    ] = ()
    permission_mode: Annotated[
        PermissionMode | None,
        Flag(
            "task",
            "plan (read-only), default (ask), acceptEdits (edit without asking) or bypassPermissions (never ask)",
            "MODE",
        ),
    ] = None
    allowed_tools: Annotated[
        tuple[str, ...],
        Flag(
            "task",
            "calls that may run without asking, for example 'Bash(pytest *)'",
            "RULES",
            ("--allowed-tools", "--allowedTools"),
        ),
    ] = ()
    disallowed_tools: Annotated[
        tuple[str, ...],
        Flag("task", "calls that never run", "RULES", ("--disallowed-tools", "--disallowedTools")),
    ] = ()
    mode: Annotated[
        str | None, Flag("task", "start in this mode: code, architect, ask, debug, orchestrator", "SLUG")
    ] = None
    max_turns: Annotated[int | None, Flag("task", "stop after N requests to the model", "N", read=_positive)] = None
    max_cost: Annotated[
        float | None, Flag("task", "stop once the task has cost this much", "USD", ("--max-budget-usd",), _amount)
    ] = None
    completion: Annotated[
        Completion | None,
        Flag(
            "task",
            "implicit (a reply without tool calls is the answer) or explicit (the model must call attempt_completion)",
            "HOW",
        ),
    ] = None
    system_prompt: Annotated[str | None, Flag("task", "replace the system prompt", "TEXT")] = None
    append_system_prompt: Annotated[
        str | None,
        Flag("task", "append to the system prompt; @NAME appends .robota/prompts/NAME.md, @PATH a file", "TEXT"),
    ] = None
    settings: dict[str, Any] = {}  # from the command line; they override those of files
    language: Annotated[
        str | None, Flag("task", "language of the answers; without a prompt, saved as the default", "LANGUAGE")
    ] = None
    require_trust: Annotated[bool, Flag("task", "refuse to start in an untrusted workspace")] = False
    resumes: Path | None = None  # the directory of the session to resume
    session_id: Annotated[str | None, Flag("sessions", "id of the new session", "ID")] = None
    name: Annotated[str | None, Flag("sessions", "name of the session", "NAME", ("-n", "--name"))] = None
    attended: bool = True
    needs_model: bool = True  # not needed for a single tool call


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
    settings = load_settings(root, env, flags=_flags(launch))
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
