"""What is remembered between sessions: the memory of the project and that of the person, and how checks of it run."""

import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.config.paths import user_directory
from robota.config.settings.load import Settings
from robota.config.trust.decision import is_trusted_by_person

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from robota.app.session import OpenSession
    from robota.commands.memory_desk import MemoryDesk
    from robota.engine.calls.executor import Executed
    from robota.knowledge.memory.book import MemoryBook
    from robota.knowledge.memory.checks import CheckResult
    from robota.knowledge.memory.entry import MemoryOrigin
    from robota.knowledge.memory.session_memory import SessionMemory, UsedMemory

PROJECT_MEMORY = ".robota/memory"
USER_MEMORY = "memory"
INDEX = "MEMORY.md"


class MemoryPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session works, and the project that keeps what belongs to it."""

    root: Path
    kept_in: Path


def has_memory(place: MemoryPlace, env: Mapping[str, str]) -> bool:
    """Whether anything may be remembered here."""
    return os.path.lexists(place.kept_in / PROJECT_MEMORY / INDEX) or os.path.lexists(
        user_directory(env) / USER_MEMORY / INDEX
    )


def memory_book(
    settings: Settings, place: MemoryPlace, env: Mapping[str, str], redact: "Callable[[bytes], bytes]"
) -> "MemoryBook":
    """The memory of the person, and that of the project; a home directory is no project."""
    from robota.knowledge.memory.book import MemoryBook, MemoryScope
    from robota.knowledge.memory.store import MemoryStore
    from robota.log.store import fallback_directory, prepare_project_directory

    user = user_directory(env)

    def make_user_directory() -> None:
        user.mkdir(parents=True, exist_ok=True, mode=0o700)

    def make_project_directory() -> None:
        prepare_project_directory(place.kept_in, fallback_directory(user, place.kept_in))

    stores = {MemoryScope.USER: MemoryStore(user, USER_MEMORY, "# User Memory", make_user_directory)}
    if settings.trust is not None:
        stores[MemoryScope.PROJECT] = MemoryStore(
            place.kept_in, PROJECT_MEMORY, "# Project Memory", make_project_directory
        )
    return MemoryBook(
        stores,
        place.root,
        lambda: is_trusted_by_person(settings.trust, env),
        redact,
        lambda: date.today().isoformat(),
    )


def session_memory(
    settings: Settings,
    place: MemoryPlace,
    env: Mapping[str, str],
    redact: "Callable[[bytes], bytes]",
    session_id: str,
    *,
    attended: bool,
) -> "SessionMemory | None":
    """What a session is told of it; None where nothing is remembered and nobody is there who could change that."""
    memory = settings.values.memory
    if not memory.enabled or not (attended or has_memory(place, env)):
        return None
    from robota.knowledge.memory.session_memory import SessionMemory

    book = memory_book(settings, place, env, redact)
    return SessionMemory(book, session_id, saves_at_once=memory.auto_save)


def desk_of_session(opened: "OpenSession", env: Mapping[str, str]) -> "MemoryDesk":
    """What `/memory` works with in a session."""
    from robota.knowledge.memory.entry import MemoryOrigin
    from robota.knowledge.memory.session_memory import SessionMemory, UsedMemory

    options, memory = opened.options, opened.services.memory

    def origin() -> MemoryOrigin:
        rows = opened.session.state().cline_messages
        return MemoryOrigin(options.session_id, rows[-1].ts if rows else 0)

    def used() -> UsedMemory:
        return memory.used if isinstance(memory, SessionMemory) else UsedMemory()

    launch = LaunchOptions(cwd=options.cwd, kept_in=opened.kept_in, permission_mode=options.permission_mode)
    book = memory_book(
        opened.settings, MemoryPlace(root=options.cwd, kept_in=opened.kept_in), env, opened.services.redactor
    )
    return _desk(book, used, launch, env, origin)


def desk_of_workspace(launch: LaunchOptions, env: Mapping[str, str]) -> "MemoryDesk":
    """What `robota memory` works with. Raises `ConfigError`."""
    from robota.knowledge.memory.session_memory import SessionMemory
    from robota.secrets.named_values import secret_variables
    from robota.secrets.redaction import Redactor

    root = workspace_root(launch.cwd)
    settings = settings_for(launch, root, env)
    book = memory_book(settings, MemoryPlace(root=root, kept_in=root), env, Redactor(secret_variables(env)))
    memory = SessionMemory(book, "", saves_at_once=False)
    return _desk(book, lambda: memory.used, launch, env, lambda: None)


def _desk(
    book: "MemoryBook",
    used: "Callable[[], UsedMemory]",
    launch: LaunchOptions,
    env: Mapping[str, str],
    origin: "Callable[[], MemoryOrigin | None]",
) -> "MemoryDesk":
    from robota.commands.memory_desk import MemoryDesk

    async def run(commands: "Sequence[str]") -> "Sequence[CheckResult]":
        return await _run_checks(launch, env, commands)

    return MemoryDesk(book=book, used=used, run=run, origin=origin)


async def _run_checks(launch: LaunchOptions, env: Mapping[str, str], commands: "Sequence[str]") -> "list[CheckResult]":
    """Run commands one after the other, judged, confined and logged as in a session of their own."""
    from robota.app.session import open_session
    from robota.engine.calls.single_call import call_once
    from robota.tools.registry import SHELL_TOOL

    alone = msgspec.structs.replace(launch, needs_model=False, attended=False, name="memory check")
    opened = open_session(alone, env)
    try:
        return [
            _result(await call_once(opened.options, opened.services, SHELL_TOOL, {"command": command}))
            for command in commands
        ]
    finally:
        await opened.close()


def _result(executed: "Executed") -> "CheckResult":
    from robota.knowledge.memory.checks import CheckFailed, CheckNotRun, CheckPassed
    from robota.protocol.views import TerminalView

    view = executed.result.view
    if executed.status == "denied":
        return CheckNotRun(executed.reason or "it is not allowed")
    if isinstance(view, TerminalView) and view.exit_code == 0 and not executed.result.is_error:
        return CheckPassed()
    return CheckFailed(" ".join(executed.result.content.split()))
