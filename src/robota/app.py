"""The composition root: the only place that knows which concrete parts a session is made of."""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.paths import settings_path, user_directory
from robota.config.profiles import Profile
from robota.config.settings import load_settings, select_profile
from robota.contracts.verdict import Subject, Verdict
from robota.engine.options import Completion, Options, Parts, ToolFormat
from robota.engine.session import Session
from robota.log.errors import LogExists
from robota.log.store import fallback_directory, is_valid_session_id, new_session_id, prepare_project_directory
from robota.log.writer import SessionLog
from robota.policy.decide import PolicyContext, decide
from robota.policy.modes import PermissionMode
from robota.policy.rules import Rule, parse_rules, split_rules
from robota.policy.unattended import unattended
from robota.providers.chunks import ToolSpec
from robota.providers.definition import Provider
from robota.providers.registry import definition, ready
from robota.providers.retry import policy_from_options
from robota.tools.registry import builtin_tools, by_name, schema_of
from robota.workspace.files import Files
from robota.workspace.processes import Processes

SESSION_ID_BYTES: Final = 10


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asked for when starting a session; everything else has a default."""

    cwd: Path
    provider: str | None = None
    profile: Profile | None = None  # instead of one from the settings
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    permission_mode: str = "default"
    completion: str | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    max_turns: int | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    session_id: str | None = None
    name: str | None = None
    attended: bool = True


class OpenSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session and what must be closed with it."""

    session: Session
    log: SessionLog
    provider: Provider
    processes: Processes
    notices: tuple[str, ...] = ()

    async def close(self) -> None:
        await self.session.close()
        self.processes.close()
        await self.provider.close()
        self.log.close()


def open_session(wishes: Wishes, env: Mapping[str, str]) -> OpenSession:
    """Put a session together, or raise `ConfigError` or `LogError` before anything has happened."""
    root = workspace_root(wishes.cwd)
    profile = ready(wishes.profile or _profile_from_settings(wishes, env), env)
    kind = definition(profile.type)
    judge = make_judge(wishes, root)
    retry = policy_from_options(profile.options.get("retry"))
    provider = kind.create_provider(profile)
    log, session_id, notices = new_log(wishes, root, env)
    processes = Processes()
    tools = builtin_tools()
    parts = Parts(
        log=log,
        provider=provider,
        model_info=kind.model_info(profile),
        retry=retry,
        tools=tools,
        specs=[ToolSpec(name=t.name, description=t.description(), schema=schema_of(t)) for t in tools],
        judge=judge,
        files=Files(root),
        processes=processes,
        random=_random,
    )
    options = _options(wishes, profile, root, session_id)
    return OpenSession(
        session=Session(options, parts), log=log, provider=provider, processes=processes, notices=notices
    )


def workspace_root(cwd: Path) -> Path:
    try:
        root = cwd.resolve(strict=True)
    except OSError as error:
        raise ConfigError(f"The directory {cwd} cannot be used: {error.strerror}. Nothing was started.") from error
    if not root.is_dir():
        raise ConfigError(f"{cwd} is not a directory. Nothing was started.")
    return root


def _profile_from_settings(wishes: Wishes, env: Mapping[str, str]) -> Profile:
    return select_profile(load_settings(settings_path(env)), wishes.provider, wishes.model)


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


def _options(wishes: Wishes, profile: Profile, root: Path, session_id: str) -> Options:
    return Options(
        session_id=session_id,
        cwd=root,
        model=profile.model or "",
        fallback_models=wishes.fallback_models,
        provider_name=profile.name or profile.type,
        name=wishes.name,
        permission_mode=wishes.permission_mode,
        completion=Completion(wishes.completion or Completion.IMPLICIT),
        tool_format=_tool_format(profile),
        max_turns=wishes.max_turns,
        system_prompt=wishes.system_prompt,
        append_system_prompt=wishes.append_system_prompt,
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


def make_judge(wishes: Wishes, root: Path) -> Callable[[Subject, str], Verdict]:
    allow, deny = _rules(wishes.allowed_tools), _rules(wishes.disallowed_tools)

    def judge(subject: Subject, permission_mode: str) -> Verdict:
        context = PolicyContext(mode=PermissionMode(permission_mode), root=root, allow=allow, ask=(), deny=deny)
        verdict = decide(subject, context)
        return verdict if wishes.attended else unattended(verdict, subject)

    return judge


def _rules(texts: Iterable[str]) -> tuple[Rule, ...]:
    names = {name: tool.name for name, tool in by_name(builtin_tools()).items()}
    rules, invalid = parse_rules((rule for text in texts for rule in split_rules(text)), names)
    if invalid:
        raise ConfigError(" ".join([*(rule.message for rule in invalid), "Nothing was started."]))
    return rules


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _random() -> float:
    return int.from_bytes(os.urandom(4)) / 2**32
