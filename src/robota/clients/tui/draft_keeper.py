"""Keeps what is being written while it changes, so that only the last second of it can be lost."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

MIN_INTERVAL_S: Final = 1.0


class DraftStore(Protocol):
    """Where the draft is kept."""

    def keep(self, text: str) -> None:
        """Replace the draft; an empty one is removed. Called in a thread."""
        ...

    def close(self) -> None:
        """Remove the draft, because it was kept elsewhere."""
        ...


class DraftKeeper:
    """Stores the draft in a thread: at most once a second, if it has changed; at once if it is empty."""

    def __init__(self, draft: Callable[[], str], store: DraftStore, kept: str) -> None:
        self._draft = draft
        self._store = store
        self._kept = kept
        self._is_empty = asyncio.Event()
        self._job: asyncio.Task[None] | None = None

    def changed(self) -> None:
        """The draft may be another one now."""
        if self._job is None:
            self._job = asyncio.get_running_loop().create_task(self._follow())
        elif not self._draft():
            self._is_empty.set()

    def close(self) -> None:
        """Keep nothing more, and remove what was kept."""
        self._store.close()

    async def _follow(self) -> None:
        try:
            while (draft := self._draft()) != self._kept:
                self._is_empty.clear()
                self._kept = draft
                await asyncio.to_thread(self._store.keep, draft)
                if draft:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._is_empty.wait(), MIN_INTERVAL_S)
        finally:
            self._job = None
