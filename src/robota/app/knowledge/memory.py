"""Builds the memory of a session from the stores of the project and the user."""

import os
from collections.abc import Callable, Mapping
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from robota.config.durable_file import make_private_directory
from robota.config.launch_options import LaunchOptions, PromptAuthor
from robota.config.paths import user_directory
from robota.config.settings.load import Settings
from robota.config.transaction import journal_for
from robota.config.trust.decision import is_trusted_by_user

if TYPE_CHECKING:
    from robota.knowledge.memory.memories import Memories
    from robota.knowledge.memory.session_memory import SessionMemory

Service = TypeVar("Service")
PROJECT_MEMORY = ".robota/memory"
USER_MEMORY = "memory"
INDEX = "MEMORY.md"


class MemoryDirectories(msgspec.Struct, frozen=True, kw_only=True):
    """The workspace of a session, and the project that holds its memory."""

    root: Path
    kept_in: Path


def is_memory_there(directories: MemoryDirectories, env: Mapping[str, str]) -> bool:
    """Whether the project or the user has a memory."""
    return os.path.lexists(directories.kept_in / PROJECT_MEMORY / INDEX) or os.path.lexists(
        user_directory(env) / USER_MEMORY / INDEX
    )


def open_memories(
    settings: Settings, directories: MemoryDirectories, env: Mapping[str, str], redact: "Callable[[bytes], bytes]"
) -> "Memories":
    """The memories of the user and the project; the home directory is not a project."""
    from robota.knowledge.memory.memories import Memories, MemoryScope
    from robota.knowledge.memory.store import MemoryStore
    from robota.log.store import fallback_directory, prepare_project_directory

    user = user_directory(env)
    project = directories.kept_in

    def store(directory: Path, name: str, title: str, prepare: "Callable[[], object]") -> MemoryStore:
        return MemoryStore(directory, name, title, journal_for(user, directory / name), prepare)

    stores = {MemoryScope.USER: store(user, USER_MEMORY, "# User Memory", partial(make_private_directory, user))}
    if settings.trust is not None:
        prepare = partial(prepare_project_directory, project, fallback_directory(user, project))
        stores[MemoryScope.PROJECT] = store(project, PROJECT_MEMORY, "# Project Memory", prepare)
    is_trusted = partial(is_trusted_by_user, settings.trust, env)
    return Memories(stores, directories.root, is_trusted, redact, lambda: date.today().isoformat())


def session_memory(
    settings: Settings,
    directories: MemoryDirectories,
    env: Mapping[str, str],
    redact: "Callable[[bytes], bytes]",
    session_id: str,
    launch: LaunchOptions,
) -> "LazyService[SessionMemory] | None":
    """The memory service; None if memory is disabled, or empty without a user who could add to it.

    Only what a user has typed is saved without asking, if the settings say so.
    """
    memory = settings.values.memory
    if not memory.enabled or not (launch.attended or is_memory_there(directories, env)):
        return None

    is_typed = launch.attended and launch.prompt_author is PromptAuthor.USER

    def make() -> "SessionMemory":
        from robota.knowledge.memory.session_memory import SessionMemory

        memories = open_memories(settings, directories, env, redact)
        return SessionMemory(memories, session_id, saves_at_once=memory.auto_save and is_typed)

    return LazyService(make)


class LazyService(Generic[Service]):
    """Stands for the service that `make` returns, which is made when it is first used: it delays no first screen."""

    def __init__(self, make: Callable[[], Service]) -> None:
        self._make = make

    @cached_property
    def service(self) -> Service:
        return self._make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.service, name)
