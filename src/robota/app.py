"""The composition root: the only place that knows which concrete parts a session is made of."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.granted_rules import keep_rules
from robota.config.languages import response_sentence
from robota.config.paths import home_directory, user_directory
from robota.config.profile_choice import select_profile
from robota.config.profiles import Profile
from robota.config.redaction import Redactor, secrets_in
from robota.config.schema import SettingsFile
from robota.config.settings import Settings
from robota.config.wishes import Wishes, settings_for, workspace_root
from robota.engine.executor import Executed
from robota.engine.options import DEFAULT_MODE, Completion, Options, Parts, ToolFormat
from robota.engine.session import Session
from robota.engine.single_call import call_once
from robota.log.new_session import begin_session
from robota.log.writer import SessionLog
from robota.policy.judge import Judge
from robota.policy.modes import PermissionMode
from robota.policy.permissions import rules_of_options, rules_of_settings
from robota.policy.places import Places
from robota.policy.task_modes import TaskMode, allows, known_modes, role_of
from robota.policy.unattended import unattended
from robota.providers.chunks import ToolSpec
from robota.providers.definition import Provider
from robota.providers.registry import definition, open_provider, ready
from robota.providers.retry import policy_from_options
from robota.tools.registry import builtin_tools, by_name, schema_of
from robota.workspace.files import Files
from robota.workspace.git_settings import git_only_looks
from robota.workspace.processes import Processes
from robota.workspace.sandbox.lazy_walls import Walls
from robota.workspace.sandbox.wrapped import unwrapped

if TYPE_CHECKING:
    from robota.hooks.runner import Hooks

USER_MODES: Final = "modes.yaml"
WORKSPACE_MODES: Final = (".roomodes", ".robota/modes.yaml")
NO_MODEL: Final = Profile(type="scripted", name="none", model="none", options={"turns": []})


class OpenSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session and what must be closed with it."""

    session: Session
    log: SessionLog
    provider: Provider
    processes: Processes
    options: Options
    parts: Parts
    walls: Walls | None = None
    notices: tuple[str, ...] = ()

    async def close(self) -> None:
        await self.session.close()
        await self.processes.end_background()
        self.processes.close()
        if self.walls is not None:
            self.walls.close()
        await self.provider.close()
        self.log.close()


def open_session(wishes: Wishes, env: Mapping[str, str]) -> OpenSession:
    """Put a session together, or raise `ConfigError` or `LogError` before anything has happened."""
    root = workspace_root(wishes.cwd)
    settings = settings_for(wishes, root, env)
    profile = _profile(wishes, settings, env)
    kind = definition(profile.type)
    walls = _walls(settings, root, env)
    judge, rule_notices = _judge(wishes, settings, root, walls, env)
    modes, mode_notices = _modes(wishes, settings, root, env)
    retry = policy_from_options(profile.options.get("retry"))
    provider = open_provider(profile)
    redactor = Redactor([profile.api_key or "", *secrets_in(env)])
    new = begin_session(root, user_directory(env), _now_ms, wishes.session_id, redactor)
    options = _options(wishes, settings.values, profile, root, new.id)
    hooks, hook_notices = _hooks(settings, options, new.log.path)
    processes = Processes(wrap=walls.wrap if walls is not None else unwrapped, environment=settings.values.env)
    tools = builtin_tools()
    parts = Parts(
        log=new.log,
        provider=provider,
        model_info=kind.model_info(profile),
        api_protocol=kind.api_protocol,
        retry=retry,
        tools=tools,
        specs=[ToolSpec(name=t.name, description=t.description(), schema=schema_of(t)) for t in tools],
        judge=judge,
        decline=unattended,
        allows=lambda tool, mode, touches: allows(tool, mode, touches, modes),
        modes={slug: role_of(mode) for slug, mode in modes.items()},
        remember=lambda scope, granted: keep_rules(scope, granted, root, env),
        files=Files(root),
        processes=processes,
        random=_random,
        pre_hooks=hooks,
        post_hooks=hooks,
        lifecycle=hooks[0] if hooks else None,
        redact=redactor,
    )
    session = Session(options, parts)
    if walls is None:
        session.tell_sandbox("off", "the settings or the permission mode say so")
    else:
        walls.when_found(session.tell_sandbox)
    return OpenSession(
        session=session,
        log=new.log,
        provider=provider,
        processes=processes,
        options=options,
        parts=parts,
        walls=walls,
        notices=(*settings.notices, *rule_notices, *mode_notices, *hook_notices, *new.notices),
    )


async def run_tool(wishes: Wishes, env: Mapping[str, str], tool: str, arguments: dict[str, Any]) -> Executed:
    """One call of one tool, judged, run and logged as in a session, but without a model."""
    alone = msgspec.structs.replace(wishes, needs_model=False, attended=False, name=wishes.name or f"tool run {tool}")
    opened = open_session(alone, env)
    try:
        return await call_once(opened.options, opened.parts, tool, arguments)
    finally:
        await opened.close()


def _profile(wishes: Wishes, settings: Settings, env: Mapping[str, str]) -> Profile:
    if not wishes.needs_model:
        return NO_MODEL
    return ready(wishes.profile or select_profile(settings), env, settings.values.models)


def _options(wishes: Wishes, settings: SettingsFile, profile: Profile, root: Path, session_id: str) -> Options:
    appended = (wishes.append_system_prompt, response_sentence(settings.language))
    return Options(
        session_id=session_id,
        cwd=root,
        model=profile.model or "",
        fallback_models=settings.fallback_models,
        provider_name=profile.name or profile.type,
        name=wishes.name,
        mode=wishes.mode or DEFAULT_MODE,
        permission_mode=settings.permissions.default_mode or PermissionMode.DEFAULT,
        completion=Completion(settings.completion or Completion.IMPLICIT),
        tool_format=_tool_format(profile),
        max_turns=wishes.max_turns,
        max_cost=wishes.max_cost,
        system_prompt=wishes.system_prompt,
        append_system_prompt="\n\n".join(text for text in appended if text) or None,
        attended=wishes.attended,
    )


def _tool_format(profile: Profile) -> ToolFormat:
    wanted = profile.options.get("toolFormat")
    if wanted is None:
        native = definition(profile.type).model_info(profile).native_tools
        return ToolFormat.NATIVE if native else ToolFormat.XML
    try:
        return ToolFormat(wanted)
    except ValueError as error:
        known = ", ".join(ToolFormat)
        problem = f"options.toolFormat of profile {profile.name!r} is {wanted!r}; it can be {known}."
        raise ConfigError(f"{problem} Nothing was started.") from error


def _walls(settings: Settings, root: Path, env: Mapping[str, str]) -> Walls | None:
    """The sandbox for commands; none where a person switched it off or lets everything run anyway."""
    values = settings.values
    if not values.sandbox.enabled or values.permissions.default_mode == PermissionMode.BYPASS.value:
        return None
    home = home_directory(env)
    return Walls(root, home=home, secrets=(user_directory(env),), network=values.sandbox.network)


def _judge(
    wishes: Wishes, settings: Settings, root: Path, walls: Walls | None, env: Mapping[str, str]
) -> tuple[Judge, tuple[str, ...]]:
    names = {name: tool.name for name, tool in by_name(builtin_tools()).items()}
    rules, notices = rules_of_settings(settings.entries, names)
    judge = Judge(
        rules=rules_of_options(wishes.allowed_tools, wishes.disallowed_tools, names) + rules,
        places=Places(root=root, home=home_directory(env), real=os.path.realpath),
        names=names,
        trusted=settings.is_trusted,
        git_only_looks=lambda: git_only_looks(root),
        sandbox_works=None if walls is None else lambda: walls.stand,
    )
    return judge, notices


def _modes(
    wishes: Wishes, settings: Settings, root: Path, env: Mapping[str, str]
) -> tuple[dict[str, TaskMode], tuple[str, ...]]:
    """The modes a task can run in: the built-in ones, a person's own, and after trust those of the workspace."""
    modes = known_modes()
    notices: tuple[str, ...] = ()
    files = [user_directory(env) / USER_MODES]
    if settings.trust is not None and settings.is_trusted:
        # Only plain files that were looked at when trust was asked for: never through a link.
        files += [root / path for path in WORKSPACE_MODES if settings.trust.snapshot.data_of(path) is not None]
    if present := [file for file in files if file.is_file()]:
        from robota.policy.mode_file import read_modes

        modes, notices = read_modes(present)
    if wishes.mode is not None and wishes.mode not in modes:
        raise ConfigError(f"There is no mode {wishes.mode!r}; modes are {', '.join(modes)}. Nothing was started.")
    return modes, notices


def _hooks(settings: Settings, options: Options, log: Path) -> "tuple[tuple[Hooks, ...], tuple[str, ...]]":
    """The hooks of the settings, if there are any, and what of them cannot be used."""
    if not settings.values.hooks:
        return (), ()
    from robota.hooks.definitions import parse_hooks
    from robota.hooks.runner import Hooks, SessionFacts

    found = parse_hooks(settings.values.hooks)
    facts = SessionFacts(
        session_id=options.session_id,
        transcript_path=str(log),
        cwd=options.cwd,
        permission_mode=options.permission_mode,
    )
    hooks = (Hooks(found, facts),) if found.rules else ()
    return hooks, tuple(problem.message for problem in found.problems)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _random() -> float:
    return int.from_bytes(os.urandom(4)) / 2**32
