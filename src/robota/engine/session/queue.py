"""What people typed while the agent was busy, in order. Survives a crash, because every change is logged."""

from collections.abc import Callable, Sequence

from robota.engine.record.journal import Journal
from robota.log.kinds.session import QueueRecord
from robota.protocol.commands import Accepted, Receipt, Refused
from robota.protocol.message import QueuedMessage


class MessageQueue:
    """First in, first out; entries can be edited and removed until they are taken."""

    def __init__(
        self,
        journal: Journal,
        changed: Callable[[tuple[QueuedMessage, ...]], None],
        waiting: Sequence[QueuedMessage] = (),
    ) -> None:
        self._journal = journal
        self._changed = changed
        self._entries: tuple[QueuedMessage, ...] = tuple(waiting)

    @property
    def entries(self) -> tuple[QueuedMessage, ...]:
        return self._entries

    def add(self, text: str, images: tuple[str, ...]) -> Receipt:
        if not text.strip() and not images:
            return Refused(code="empty_message", message="There is nothing to queue: no text and no image.")
        ts = self._journal.next_ts()
        entry = QueuedMessage(id=f"q{ts}", timestamp=ts, text=text, images=images)
        self._set((*self._entries, entry))
        return Accepted(id=entry.id)

    def edit(self, id: str, text: str, images: tuple[str, ...]) -> Receipt:
        if all(entry.id != id for entry in self._entries):
            return _not_waiting(id)
        changed = QueuedMessage(id=id, timestamp=self._journal.next_ts(), text=text, images=images)
        self._set(tuple(changed if entry.id == id else entry for entry in self._entries))
        return Accepted(id=id)

    def remove(self, id: str) -> Receipt:
        if all(entry.id != id for entry in self._entries):
            return _not_waiting(id)
        self._set(tuple(entry for entry in self._entries if entry.id != id))
        return Accepted(id=id)

    def take(self) -> QueuedMessage | None:
        """The oldest entry, now no longer waiting."""
        if not self._entries:
            return None
        first, *rest = self._entries
        self._set(tuple(rest))
        return first

    def _set(self, entries: tuple[QueuedMessage, ...]) -> None:
        self._entries = entries
        self._journal.write(QueueRecord(queue=entries))
        self._changed(entries)


def _not_waiting(id: str) -> Refused:
    return Refused(code="not_queued", message=f"No queued message {id}: it was sent or removed already.")
