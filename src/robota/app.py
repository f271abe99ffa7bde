"""The composition root: the only place that knows which concrete parts a session is made of."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.granted_rules import keep_rules
from robota.config.languages import response_sentence
from robota.config.layers import WORKSPACE_LAYERS
from robota.config.paths import home_directory, user_directory
from robota.config.profile_choice import select_profile
from robota.config.profiles import Profile
from robota.config.schema import SettingsFile
from robota.config.settings import Settings, load_settings, refuse_errors, refuse_untrusted
from robota.contracts.tool import Effect
from robota.contracts.verdict import Subject, Verdict
from robota.engine.executor import Executed
from robota.engine.options import DEFAULT_MODE, Completion, Options, Parts, ToolFormat
from robota.engine.session import Session
from robota.engine.single_call import call_once
from robota.log.errors import LogExists
from robota.log.store import fallback_directory, is_valid_session_id, new_session_id, prepare_project_directory
from robota.log.writer import SessionLog
from robota.policy.context import PolicyContext
from robota.policy.decide import decide
from robota.policy.modes import PermissionMode
from robota.policy.permissions import granted
from robota.policy.places import Places
from robota.policy.rules import InvalidRule, Rule, parse_rule, parse_rules, split_rules
from robota.policy.task_modes import TaskMode, allows, known_modes, role_of
from robota.policy.unattended import unattended
from robota.policy.without_walls import with_regard_to_walls
from robota.providers.chunks import ToolSpec
from robota.providers.definition import Provider
from robota.providers.registry import definition, open_provider, ready
from robota.providers.retry import policy_from_options
from robota.tools.registry import builtin_tools, by_name, schema_of
from robota.workspace.files import Files
from robota.workspace.processes import Processes
from robota.workspace.sandbox.lazy_walls import Walls
from robota.workspace.sandbox.wrapped import unwrapped

if TYPE_CHECKING:
    from robota.hooks.runner import Hooks

SESSION_ID_BYTES: Final = 10
NO_MODEL: Final = Profile(type="scripted", name="none", model="none", options={"turns": []})


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asked for when starting a session; everything else has a default."""

    cwd: Path
    provider: str | None = None
    profile: Profile | None = None  # instead of the settings: who brings a profile brings everything
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    permission_mode: str | None = None
    mode: str | None = None
    completion: str | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    max_turns: int | None = None
    max_cost: float | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    language: str | None = None
    require_trust: bool = False
    session_id: str | None = None
    name: str | None = None
    attended: bool = True
    needs_model: bool = True  # a single tool call does without


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
    rules, rule_notices = settings_rules(settings)
    walls = _walls(settings, root, env)
    judge = make_judge(wishes, settings, root, rules, walls)
    modes, mode_notices = task_modes_of(settings, root, env)
    if wishes.mode is not None and wishes.mode not in modes:
        raise ConfigError(f"There is no mode {wishes.mode!r}; modes are {', '.join(modes)}. Nothing was started.")
    retry = policy_from_options(profile.options.get("retry"))
    provider = open_provider(profile)
    log, session_id, log_notices = new_log(wishes, root, env)
    options = _options(wishes, settings.values, profile, root, session_id)
    hooks, hook_notices = hooks_of(settings, options, log.path)
    processes = Processes(
        wrap=walls.wrap if walls is not None else unwrapped, environment=settings.values.env
    )
    tools = builtin_tools()
    parts = Parts(
        log=log,
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
    )
    return OpenSession(
        session=Session(options, parts),
        log=log,
        provider=provider,
        processes=processes,
        options=options,
        parts=parts,
        walls=walls,
        notices=(*settings.notices, *rule_notices, *mode_notices, *hook_notices, *log_notices),
    )


async def run_tool(wishes: Wishes, env: Mapping[str, str], tool: str, arguments: dict[str, Any]) -> Executed:
    """One call of one tool, judged, run and logged as in a session, but without a model."""
    alone = msgspec.structs.replace(wishes, needs_model=False, attended=False, name=wishes.name or f"tool run {tool}")
    opened = open_session(alone, env)
    try:
        return await call_once(opened.options, opened.parts, tool, arguments)
    finally:
        await opened.close()


def workspace_root(cwd: Path) -> Path:
    try:
        root = cwd.resolve(strict=True)
    except OSError as error:
        raise ConfigError(f"The directory {cwd} cannot be used: {error.strerror}. Nothing was started.") from error
    if not root.is_dir():
        raise ConfigError(f"{cwd} is not a directory. Nothing was started.")
    return root


def settings_for(wishes: Wishes, root: Path, env: Mapping[str, str]) -> Settings:
    """Everything that was set, the command line included, or `ConfigError` if going on with it would be unsafe."""
    if wishes.profile is not None:
        return Settings(values=msgspec.convert(_flags(wishes), SettingsFile))
    settings = load_settings(root, env, flags=_flags(wishes))
    refuse_errors(settings)
    if wishes.require_trust:
        refuse_untrusted(settings)
    return settings


def _profile(wishes: Wishes, settings: Settings, env: Mapping[str, str]) -> Profile:
    if not wishes.needs_model:
        return NO_MODEL
    return ready(wishes.profile or select_profile(settings), env, settings.values.models)


def _flags(wishes: Wishes) -> dict[str, Any]:
    """What was asked for, as a layer of the settings: a managed file can still overrule it."""
    flags = {
        "currentProvider": wishes.provider,
        "model": wishes.model,
        "fallbackModels": list(wishes.fallback_models) or None,
        "language": wishes.language,
        "completion": wishes.completion,
        "permissions": {"defaultMode": wishes.permission_mode} if wishes.permission_mode else None,
    }
    return {name: value for name, value in flags.items() if value is not None}


def new_log(wishes: Wishes, root: Path, env: Mapping[str, str]) -> tuple[SessionLog, str, tuple[str, ...]]:
    if wishes.session_id is not None and not is_valid_session_id(wishes.session_id):
        raise ConfigError(
            f"{wishes.session_id!r} cannot be a session id: use letters, digits, dots, dashes and underscores."
        )
    session_id = wishes.session_id or new_session_id(_now_ms(), os.urandom(SESSION_ID_BYTES))
    place = prepare_project_directory(root, fallback_directory(user_directory(env), root))
    notices = (f"The session is kept in {place.directory}: {place.reason}.",) if place.reason else ()
    try:
        return SessionLog.create(place.session(session_id), _now_ms), session_id, notices
    except LogExists as error:
        raise ConfigError(f"There is a session {session_id} already. Choose another --session-id.") from error


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


class RuleSet(msgspec.Struct, frozen=True, kw_only=True):
    """Permission rules by what they say."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()


def settings_rules(settings: Settings) -> tuple[RuleSet, tuple[str, ...]]:
    """The rules of all layers, and notices about those that can have no effect.

    A rule that cannot be read stops the start, unless it comes from the workspace: that must not be able to.
    """
    rules: dict[str, list[Rule]] = {"allow": [], "ask": [], "deny": []}
    notices: list[str] = []
    for entry in settings.entries:
        if entry.key[0] != "permissions" or entry.key[-1] not in rules:
            continue
        valid, invalid = parse_rules(entry.value, _tool_names())
        rules[entry.key[-1]] += valid
        problems = [f"{entry.origin.where}: {rule.message}" for rule in invalid]
        unreadable = any(isinstance(parse_rule(rule.text), InvalidRule) for rule in invalid)
        if unreadable and entry.origin.layer not in WORKSPACE_LAYERS:
            raise ConfigError(" ".join([*problems, "Nothing was started."]))
        notices += [f"{problem} It has no effect." for problem in problems]
    return RuleSet(**{name: tuple(found) for name, found in rules.items()}), tuple(notices)


def make_judge(
    wishes: Wishes, settings: Settings, root: Path, rules: RuleSet, walls: Walls | None
) -> Callable[[Subject, str, Sequence[str]], Verdict]:
    allow = (*_rules(wishes.allowed_tools), *rules.allow)
    deny = (*_rules(wishes.disallowed_tools), *rules.deny)
    places = Places(root=root, home=Path.home(), real=os.path.realpath)
    trusted = settings.trust is None or settings.trust.is_given

    def judge(subject: Subject, permission_mode: str, grants: Sequence[str]) -> Verdict:
        mode = PermissionMode(permission_mode)
        context = PolicyContext(
            mode=mode,
            places=places,
            allow=allow,
            ask=rules.ask,
            deny=deny,
            grants=granted(grants, _tool_names()) if grants else (),
            trusted=trusted,
            sandboxed=walls is not None and not subject.touches.outside_sandbox,
        )
        verdict = decide(subject, context)
        if Effect.EXECUTE not in subject.effects or walls is None:
            return verdict
        return with_regard_to_walls(verdict, subject, mode, has_sandbox=walls.stand)

    return judge


def _walls(settings: Settings, root: Path, env: Mapping[str, str]) -> Walls | None:
    """The sandbox for commands; none where a person switched it off or lets everything run anyway."""
    values = settings.values
    if not values.sandbox.enabled or values.permissions.default_mode == PermissionMode.BYPASS.value:
        return None
    home = home_directory(env)
    return Walls(root, home=home, secrets=(user_directory(env),), network=values.sandbox.network)


def hooks_of(settings: Settings, options: Options, log: Path) -> "tuple[tuple[Hooks, ...], tuple[str, ...]]":
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


def task_modes_of(
    settings: Settings, root: Path, env: Mapping[str, str]
) -> tuple[dict[str, TaskMode], tuple[str, ...]]:
    """The modes a task can run in: the built-in ones, a person's own, and after trust those of the workspace."""
    files = [user_directory(env) / "modes.yaml"]
    if settings.trust is None or settings.trust.is_given:
        files += [root / ".roomodes", root / ".robota" / "modes.yaml"]
    layers: list[tuple[TaskMode, ...]] = []
    notices: list[str] = []
    for file in files:
        if not file.is_file():
            continue
        from robota.policy.mode_file import ModeProblem, parse_modes

        try:
            layers.append(parse_modes(file.read_text(encoding="utf-8", errors="replace"), str(file)))
        except (ModeProblem, OSError) as problem:
            notices.append(f"{problem} The modes of this file are left out.")
    return known_modes(*layers), tuple(notices)


def _rules(texts: Iterable[str]) -> tuple[Rule, ...]:
    rules, invalid = parse_rules((rule for text in texts for rule in split_rules(text)), _tool_names())
    if invalid:
        raise ConfigError(" ".join([*(rule.message for rule in invalid), "Nothing was started."]))
    return rules


def _tool_names() -> dict[str, str]:
    return {name: tool.name for name, tool in by_name(builtin_tools()).items()}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _random() -> float:
    return int.from_bytes(os.urandom(4)) / 2**32
