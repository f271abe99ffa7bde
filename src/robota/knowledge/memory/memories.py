"""The memory of a session as a whole: that of the project and that of the person, and which entries still hold."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar

import msgspec

from robota.knowledge.memory.candidates import MemoryCandidate
from robota.knowledge.memory.entry import (
    MemoryEntry,
    MemoryOrigin,
    MemoryType,
    can_be_check,
    can_be_file,
    normalised,
    topic_slug,
)
from robota.knowledge.memory.own_entries import OwnEntries
from robota.knowledge.memory.refusals import why_refused
from robota.knowledge.memory.store import FailedCheck, MemoryProblem, MemoryStore

LONGEST_TEXT: Final = 2000
MOST_FILES_NAMED: Final = 5
AROUND_A_PATH: Final = "`'\"()[]<>,;:!?"


class MemoryScope(StrEnum):
    """Whose memory it is."""

    PROJECT = "project"
    USER = "user"


class KnownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of one of the two memories. Before trust only what `is_own` is more than quoted data."""

    scope: MemoryScope
    entry: MemoryEntry
    is_own: bool
    stale: str | None = None  # why it no longer holds


class KnownCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate of one of the two memories."""

    scope: MemoryScope
    candidate: MemoryCandidate


class NewEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants remembered, as they wrote it."""

    type: MemoryType
    topic: str
    text: str
    scope: MemoryScope = MemoryScope.PROJECT
    check: str | None = None


Known = TypeVar("Known", KnownEntry, KnownCandidate)


class Memories:
    """Both memories. Everything raises `MemoryProblem` with words for a person, and has then changed nothing."""

    def __init__(
        self,
        stores: Mapping[MemoryScope, MemoryStore],
        workspace: Path,
        is_trusted: Callable[[], bool],
        redact: Callable[[bytes], bytes],
        today: Callable[[], str],
    ) -> None:
        """`is_trusted` says whether the person trusts what the project says; a workspace may have no project memory."""
        self.stores = stores
        self._workspace = workspace
        self._is_trusted = is_trusted
        self._redact = redact
        self._today = today

    def entries(self) -> tuple[KnownEntry, ...]:
        """Everything that is remembered, that of the person first."""
        found: list[KnownEntry] = []
        for scope, store in self.stores.items():
            found.extend(self.known(scope, store.read().entries))
        return tuple(found)

    def known(self, scope: MemoryScope, entries: Iterable[MemoryEntry]) -> Iterator[KnownEntry]:
        """Entries of one memory with what is known of them."""
        failed = self.stores[scope].failed_checks()
        is_own = self.ownership(scope)
        for entry in entries:
            yield KnownEntry(scope=scope, entry=entry, is_own=is_own(entry), stale=self._stale(entry, failed))

    def ownership(self, scope: MemoryScope) -> Callable[[MemoryEntry | None], bool]:
        """Tells what is the person's own in a memory; None stands for text between the entries."""
        if scope is MemoryScope.USER or self._is_trusted():
            return lambda entry: True
        is_known = self._own(scope).known()
        return lambda entry: entry is not None and is_known(entry)

    def find(self, words: str) -> KnownEntry:
        """The entry of this id, or of the only one that begins so."""
        found = [each for each in self.entries() if each.entry.id.startswith(_id_begin(words))]
        return _only(found, words, "entry", "/memory list")

    def add(self, new: NewEntry, origin: MemoryOrigin | None) -> KnownEntry | None:
        """Remember something; None if it is remembered already."""
        entry = self.checked(new, origin)
        store = self._store(new.scope)
        if not store.add(entry):
            return None
        self._note_own(new.scope, entry)
        return KnownEntry(scope=new.scope, entry=entry, is_own=True)

    def checked(self, new: NewEntry, origin: MemoryOrigin | None) -> MemoryEntry:
        """What would be written. Raises for what must not be kept."""
        text = normalised(new.text)
        if not text:
            raise MemoryProblem("There is nothing to remember. Nothing was written.")
        if len(text) > LONGEST_TEXT:
            problem = f"It has {len(text):,} characters; an entry has at most {LONGEST_TEXT:,}. Nothing was written."
            raise MemoryProblem(f"{problem} Put long texts into a file of the project and remember its name.")
        check = None if new.check is None else new.check.strip()
        if check is not None and not can_be_check(check):
            raise MemoryProblem("A check is one command on one line, without <!-- and -->. Nothing was written.")
        for written in (text, check or "", new.topic):
            if (why := why_refused(written, self._redact)) is not None:
                raise MemoryProblem(f"This is not remembered, because {why}. Nothing was written.")
        return MemoryEntry(
            date=self._today(),
            type=new.type,
            topic=topic_slug(new.topic),
            text=text,
            origin=origin,
            files=tuple(self._files_named(text))[:MOST_FILES_NAMED],
            check=check,
        )

    def forget(self, words: str) -> KnownEntry:
        """Take an entry out of its memory."""
        known = self.find(words)
        self._store(known.scope).forget(known.entry.id)
        return known

    def candidates(self) -> tuple[KnownCandidate, ...]:
        """What waits for the person."""
        return tuple(
            KnownCandidate(scope=scope, candidate=candidate)
            for scope, store in self.stores.items()
            for candidate in store.candidates()
        )

    def propose(self, candidate: MemoryCandidate, scope: MemoryScope) -> bool:
        """Keep a candidate until the person decides; False if they did already, or know it."""
        return self._store(scope).propose(candidate)

    def decide(self, words: str, *, is_approved: bool) -> KnownCandidate:
        """Approve or reject a candidate."""
        waiting = [each for each in self.candidates() if each.candidate.id.startswith(_id_begin(words))]
        found = _only(waiting, words, "candidate", "/memory pending")
        entry = found.candidate.entry
        if is_approved and (why := why_refused(entry.text, self._redact)) is not None:
            raise MemoryProblem(f"This is not remembered, because {why}. The candidate was left as it is.")
        decided = self._store(found.scope).decide(found.candidate.id, is_approved=is_approved)
        if decided is None:
            raise MemoryProblem(f"{found.candidate.id} was decided about by somebody else. Nothing was changed.")
        if is_approved:
            self._note_own(found.scope, entry)
        return KnownCandidate(scope=found.scope, candidate=decided)

    def note_checks(self, scope: MemoryScope, failed: Mapping[str, str], passed: Sequence[str]) -> None:
        """Keep what checks gave: why those failed that did, and which did not."""
        today = self._today()
        noted = {entry_id: FailedCheck(date=today, why=why) for entry_id, why in failed.items()}
        self._store(scope).note_checks(noted, passed)

    def _stale(self, entry: MemoryEntry, failed: Mapping[str, FailedCheck]) -> str | None:
        gone = [path for path in entry.files if _is_inside(path) and not os.path.lexists(self._workspace / path)]
        if gone:
            return f"{', '.join(gone)} is gone"
        check = failed.get(entry.id)
        return None if check is None or entry.check is None else f"its check failed on {check.date}: {check.why}"

    def _files_named(self, text: str) -> Iterator[str]:
        """The files and directories of the workspace that a text names now."""
        for word in dict.fromkeys(each.strip(AROUND_A_PATH).rstrip(".") for each in text.split()):
            looks_like_a_path = "/" in word.strip("/") or "." in word.strip(".")
            if looks_like_a_path and can_be_file(word) and _is_inside(word) and (self._workspace / word).exists():
                yield word

    def _note_own(self, scope: MemoryScope, entry: MemoryEntry) -> None:
        try:
            self._own(scope).note(entry)
        except OSError as error:
            problem = f"It was remembered, but not that you wrote it ({error.strerror})."
            raise MemoryProblem(
                f"{problem} Until you trust this workspace the model gets it as quoted data."
            ) from error

    def _own(self, scope: MemoryScope) -> OwnEntries:
        return OwnEntries(self.stores[MemoryScope.USER].directory, self._store(scope).directory)

    def _store(self, scope: MemoryScope) -> MemoryStore:
        if scope not in self.stores:
            raise MemoryProblem("Your home directory is no project and has no memory of its own: use --user.")
        return self.stores[scope]


def _only(found: Sequence[Known], words: str, what: str, listing: str) -> Known:
    if len(found) == 1:
        return found[0]
    how_many = "There is no" if not found else "There is more than one"
    raise MemoryProblem(f"{how_many} {what} {words!r}. {listing} shows them. Nothing was changed.")


def _id_begin(words: str) -> str:
    name = words.strip()
    return name if name.startswith("mem_") else f"mem_{name}"


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return not parts.is_absolute() and ".." not in parts.parts
