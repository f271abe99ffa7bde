"""What a call changed, by comparing the workspace with the checkpoint before it; and undoing that."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from robota.intents.intent_files import DIRECTORY, IntentFiles
from robota.intents.trace_writer import ChangedFile
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.rewind import carry_out, plan_restore
from robota.workspace.checkpoints.store import CheckpointStore


class CheckpointedCalls:
    """The changes of the calls of one session. `before_calls` has the checkpoint before each call, by call id."""

    def __init__(
        self, files: IntentFiles, before_calls: Mapping[str, str], open_store: Callable[[], CheckpointStore]
    ) -> None:
        self._files = files
        self._before_calls = before_calls
        self._open_store = open_store

    async def changed_by(self, call_id: str) -> Sequence[ChangedFile] | None:
        """The files that a call changed; None if that is unknown."""
        before = self._before_calls.get(call_id)
        try:
            return None if before is None else await asyncio.to_thread(self._changed_since, before)
        except CheckpointError:
            return None

    async def put_back(self, call_id: str, paths: Sequence[str]) -> bool:
        """Restore files to their state before a call; whether that was possible."""
        before, start = self._before_calls.get(call_id), self._files.start
        if before is None or not all(path.startswith(start) for path in paths):
            return False
        store, inside = self._open_store(), [path.removeprefix(start) for path in paths]
        try:
            plan = await asyncio.to_thread(plan_restore, store, before, inside)
            await asyncio.to_thread(carry_out, store, plan)
        except CheckpointError:
            return False
        return True

    def _changed_since(self, checkpoint: str) -> list[ChangedFile]:
        with self._open_store().opened() as store:
            now = store.capture()
            return [
                ChangedFile(
                    path=f"{self._files.start}{change.path}",
                    before=store.content(change.before),
                    after=store.content(change.after),
                )
                for change in store.changes(store.completed(checkpoint), store.completed(now.id))
                if not change.path.startswith(f"{DIRECTORY}/")
            ]
