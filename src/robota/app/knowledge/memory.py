"""Builds the memory of a session from the stores of the project and the user."""

import os
from collections.abc import Mapping
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.config.durable_file import make_private_directory
from robota.config.paths import user_directory
from robota.config.settings.load import Settings
from robota.config.transaction import journal_for
from robota.config.trust.decision import is_trusted_by_user

if TYPE_CHECKING:
    from collections.abc import Callable

    from robota.contracts.knowledge import Recollection
    from robota.contracts.tool import ToolResult
    from robota.knowledge.memory.memories import Memories
    from robota.knowledge.memory.session_memory import SessionMemory

PROJECT_MEMORY = ".robota/memory"
USER_MEMORY = "memory"
INDEX = "MEMORY.md"


class MemoryPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The workspace of a session, and the project that holds its memory."""

    root: Path
    kept_in: Path


def is_memory_there(place: MemoryPlace, env: Mapping[str, str]) -> bool:
    """Whether the project or the user has a memory."""
    return os.path.lexists(place.kept_in / PROJECT_MEMORY / INDEX) or os.path.lexists(
        user_directory(env) / USER_MEMORY / INDEX
    )


def open_memories(
    settings: Settings, place: MemoryPlace, env: Mapping[str, str], redact: "Callable[[bytes], bytes]"
) -> "Memories":
    """The memories of the user and the project; the home directory is not a project."""
    from robota.knowledge.memory.memories import Memories, MemoryScope
    from robota.knowledge.memory.store import MemoryStore
    from robota.log.store import fallback_directory, prepare_project_directory

    user = user_directory(env)

    def make_user_directory() -> None:
        make_private_directory(user)

    def make_project_directory() -> None:
        prepare_project_directory(place.kept_in, fallback_directory(user, place.kept_in))

    own_journal = journal_for(user, user / USER_MEMORY)
    stores = {MemoryScope.USER: MemoryStore(user, USER_MEMORY, "# User Memory", own_journal, make_user_directory)}
    if settings.trust is not None:
        journal = journal_for(user, place.kept_in / PROJECT_MEMORY)
        stores[MemoryScope.PROJECT] = MemoryStore(
            place.kept_in, PROJECT_MEMORY, "# Project Memory", journal, make_project_directory
        )
    return Memories(
        stores,
        place.root,
        lambda: is_trusted_by_user(settings.trust, env),
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
) -> "LazyMemory | None":
    """The memory service; None if memory is disabled, or there is none and no user who could add to it."""
    memory = settings.values.memory
    if not memory.enabled or not (attended or is_memory_there(place, env)):
        return None

    def make() -> "SessionMemory":
        from robota.knowledge.memory.session_memory import SessionMemory

        memories = open_memories(settings, place, env, redact)
        return SessionMemory(memories, session_id, saves_at_once=memory.auto_save)

    return LazyMemory(make)


class LazyMemory:
    """A `MemoryService` that is loaded with the first prompt, so that it does not delay the first screen."""

    def __init__(self, make: "Callable[[], SessionMemory]") -> None:
        self._make = make

    @cached_property
    def memory(self) -> "SessionMemory":
        return self._make()

    def prompt_section(self, task_id: str) -> str:
        return self.memory.prompt_section(task_id)

    def recall(self, task_id: str, prompt: str, message: int) -> "Recollection":
        return self.memory.recall(task_id, prompt, message)

    def propose(self, kind: str, topic: str, text: str, message: int) -> "ToolResult":
        return self.memory.propose(kind, topic, text, message)
