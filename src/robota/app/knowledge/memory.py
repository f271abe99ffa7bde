"""What is remembered between sessions: the memory of the project and that of the person."""

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
from robota.config.trust.decision import is_trusted_by_person

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
    """Where a session works, and the project that keeps what belongs to it."""

    root: Path
    kept_in: Path


def has_memory(place: MemoryPlace, env: Mapping[str, str]) -> bool:
    """Whether anything may be remembered here."""
    return os.path.lexists(place.kept_in / PROJECT_MEMORY / INDEX) or os.path.lexists(
        user_directory(env) / USER_MEMORY / INDEX
    )


def memories_of(
    settings: Settings, place: MemoryPlace, env: Mapping[str, str], redact: "Callable[[bytes], bytes]"
) -> "Memories":
    """The memory of the person, and that of the project; a home directory is no project."""
    from robota.knowledge.memory.memories import Memories, MemoryScope
    from robota.knowledge.memory.store import MemoryStore
    from robota.log.store import fallback_directory, prepare_project_directory

    user = user_directory(env)

    def make_user_directory() -> None:
        make_private_directory(user)

    def make_project_directory() -> None:
        prepare_project_directory(place.kept_in, fallback_directory(user, place.kept_in))

    stores = {MemoryScope.USER: MemoryStore(user, USER_MEMORY, "# User Memory", make_user_directory)}
    if settings.trust is not None:
        stores[MemoryScope.PROJECT] = MemoryStore(
            place.kept_in, PROJECT_MEMORY, "# Project Memory", make_project_directory
        )
    return Memories(
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
) -> "LateMemory | None":
    """What a session is told of it; None where nothing is remembered and nobody is there who could change that."""
    memory = settings.values.memory
    if not memory.enabled or not (attended or has_memory(place, env)):
        return None

    def make() -> "SessionMemory":
        from robota.knowledge.memory.session_memory import SessionMemory

        memories = memories_of(settings, place, env, redact)
        return SessionMemory(memories, session_id, saves_at_once=memory.auto_save)

    return LateMemory(make)


class LateMemory:
    """A `MemoryService` that is loaded with the first words of the person, not before the first screen."""

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
