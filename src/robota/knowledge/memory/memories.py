"""The project memory and the user memory together: adding, finding and forgetting entries, and which are stale."""

import os
import re
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
    is_valid_check,
    is_valid_file,
    normalised,
    topic_slug,
)
from robota.knowledge.memory.own_entries import OwnEntries
from robota.knowledge.memory.store import FailedCheck, MemoryProblem, MemoryStore

MAX_TEXT: Final = 2000
MAX_FILES: Final = 5
AROUND_PATHS: Final = "`'\"()[]<>,;:!?"

# The name of a secret together with a value. Only mentioning tokens or passwords is fine.
_NAMED_VALUE: Final = re.compile(
    r"(?:api[ _-]?key|access[ _-]?key|secret|token|passw(?:or)?d|passphrase|credentials?|private[ _-]?key|pwd)s?"
    r"[\"'`]?\s*(?:=|:|\bis\b)\s*[\"'`]?(?P<value>[^\s\"'`]{4,})",
    re.IGNORECASE,
)
_NAMED_VALUE_KOREAN: Final = re.compile(r"(?:비밀번호|암호|토큰|인증키)(?:은|는|이|가)?\s*[:=]?\s*[\"'`]?[!-~]{4,}")
_IDENTITY_NUMBER: Final = re.compile(r"(?<![\d-])(?:\d{3}-\d{2}-\d{4}|\d{6}-[1-4]\d{6})(?![\d-])")
_CARD_NUMBER: Final = re.compile(r"(?<![\d-])\d{4}(?:[ -]?\d{4}){3}(?![\d-])")
# A word or a placeholder rather than a secret: "the token is read from the environment".
_NO_VALUE: Final = re.compile(r"[a-z]{2,}[.,;!?]?|\$\w+|<.*|\{.*", re.ASCII)


class MemoryScope(StrEnum):
    """Which of the two memories."""

    PROJECT = "project"
    USER = "user"


class KnownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with its memory. Without trust in the workspace, an entry that is not `is_own` is quoted as data."""

    scope: MemoryScope
    entry: MemoryEntry
    is_own: bool
    stale: str | None = None  # the reason, if it is stale


class KnownCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate with its memory."""

    scope: MemoryScope
    candidate: MemoryCandidate


class NewEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as requested, not validated yet."""

    type: MemoryType
    topic: str
    text: str
    scope: MemoryScope = MemoryScope.PROJECT
    check: str | None = None


Known = TypeVar("Known", KnownEntry, KnownCandidate)


class Memories:
    """Both memories. Methods raise `MemoryProblem` with a message for the user."""

    def __init__(
        self,
        stores: Mapping[MemoryScope, MemoryStore],
        workspace: Path,
        is_trusted: Callable[[], bool],
        redact: Callable[[bytes], bytes],
        today: Callable[[], str],
    ) -> None:
        """`stores` may lack the project memory. `is_trusted` tells whether the user trusts the workspace."""
        self.stores = stores
        self._workspace = workspace
        self._is_trusted = is_trusted
        self._redact = redact
        self._today = today

    def entries(self) -> tuple[KnownEntry, ...]:
        """All entries of both memories."""
        entries: list[KnownEntry] = []
        for scope, store in self.stores.items():
            entries.extend(self.known(scope, store.read().entries))
        return tuple(entries)

    def known(self, scope: MemoryScope, entries: Iterable[MemoryEntry]) -> Iterator[KnownEntry]:
        """Entries of one memory, with whether they are the user's own and why they are stale."""
        failed = self.stores[scope].failed_checks()
        is_own = self.ownership(scope)
        for entry in entries:
            yield KnownEntry(scope=scope, entry=entry, is_own=is_own(entry), stale=self._stale(entry, failed))

    def ownership(self, scope: MemoryScope) -> Callable[[MemoryEntry | None], bool]:
        """A predicate that tells whether an entry is the user's own; None stands for text between entries."""
        if scope is MemoryScope.USER or self._is_trusted():
            return lambda entry: True
        is_known = self._own(scope).predicate()
        return lambda entry: entry is not None and is_known(entry)

    def find(self, words: str) -> KnownEntry:
        """The entry with this id or unique prefix of an id. Raises `MemoryProblem`."""
        matching = [each for each in self.entries() if each.entry.id.startswith(_id_prefix(words))]
        return _only(matching, words, "entry", "/memory list")

    def add(self, new: NewEntry, origin: MemoryOrigin | None) -> KnownEntry | None:
        """Add an entry; None if the memory has its text already."""
        entry = self.validated(new, origin)
        store = self._store(new.scope)
        # The note first: without its entry it means nothing, and an entry without it would not be the user's own.
        self._note_own(new.scope, entry)
        if not store.add(entry):
            return None
        return KnownEntry(scope=new.scope, entry=entry, is_own=True)

    def validated(self, new: NewEntry, origin: MemoryOrigin | None) -> MemoryEntry:
        """The entry that would be written. Raises `MemoryProblem` if it is invalid or looks like a secret."""
        text = normalised(new.text)
        if not text:
            raise MemoryProblem("There is nothing to remember. Nothing was written.")
        if len(text) > MAX_TEXT:
            problem = f"It has {len(text):,} characters; an entry has at most {MAX_TEXT:,}. Nothing was written."
            raise MemoryProblem(f"{problem} Put long texts into a file of the project and remember its name.")
        check = None if new.check is None else new.check.strip()
        if check is not None and not is_valid_check(check):
            raise MemoryProblem("A check is one command on one line, without <!-- and -->. Nothing was written.")
        for written in (text, check or "", new.topic):
            if (why := why_refused(written, self._redact)) is not None:
                raise MemoryProblem(f"This was not saved, because {why}. Nothing was written.")
        return MemoryEntry(
            date=self._today(),
            type=new.type,
            topic=topic_slug(new.topic),
            text=text,
            origin=origin,
            files=tuple(self._files_named(text))[:MAX_FILES],
            check=check,
        )

    def forget(self, words: str) -> KnownEntry:
        """Remove the entry with this id or unique prefix of an id."""
        entry = self.find(words)
        self._store(entry.scope).forget(entry.entry.id)
        return entry

    def candidates(self) -> tuple[KnownCandidate, ...]:
        """The candidates that wait for approval."""
        return tuple(
            KnownCandidate(scope=scope, candidate=candidate)
            for scope, store in self.stores.items()
            for candidate in store.candidates()
        )

    def propose(self, candidate: MemoryCandidate, scope: MemoryScope) -> bool:
        """Keep a candidate until the user decides; False if its text is known, waiting or was rejected."""
        return self._store(scope).propose(candidate)

    def decide(self, words: str, *, is_approved: bool) -> KnownCandidate:
        """Approve or reject the candidate with this id or unique prefix of an id."""
        waiting = [each for each in self.candidates() if each.candidate.id.startswith(_id_prefix(words))]
        candidate = _only(waiting, words, "candidate", "/memory pending")
        entry = candidate.candidate.entry
        if is_approved and (why := why_refused(entry.text, self._redact)) is not None:
            raise MemoryProblem(f"This was not saved, because {why}. The proposed entry was not changed.")
        if is_approved:
            self._note_own(candidate.scope, entry)
        decided = self._store(candidate.scope).decide(candidate.candidate.id, is_approved=is_approved)
        if decided is None:
            raise MemoryProblem(f"{candidate.candidate.id} was already decided elsewhere. Nothing was changed.")
        return KnownCandidate(scope=candidate.scope, candidate=decided)

    def record_checks(self, scope: MemoryScope, failed: Mapping[str, str], passed: Sequence[str]) -> None:
        """Record failed checks with their reasons, and the ids of entries whose checks passed."""
        today = self._today()
        noted = {entry_id: FailedCheck(date=today, why=why) for entry_id, why in failed.items()}
        self._store(scope).record_checks(noted, passed)

    def _stale(self, entry: MemoryEntry, failed: Mapping[str, FailedCheck]) -> str | None:
        gone = [path for path in entry.files if _is_inside(path) and not os.path.lexists(self._workspace / path)]
        if gone:
            return f"{', '.join(gone)} is gone"
        check = failed.get(entry.id)
        return None if check is None or entry.check is None else f"its check failed on {check.date}: {check.why}"

    def _files_named(self, text: str) -> Iterator[str]:
        """The files and directories of the workspace that a text names."""
        for word in dict.fromkeys(part.strip(AROUND_PATHS).rstrip(".") for part in text.split()):
            looks_like_a_path = "/" in word.strip("/") or "." in word.strip(".")
            if looks_like_a_path and is_valid_file(word) and _is_inside(word) and (self._workspace / word).exists():
                yield word

    def _note_own(self, scope: MemoryScope, entry: MemoryEntry) -> None:
        try:
            self._own(scope).note(entry)
        except OSError as error:
            raise MemoryProblem(
                f"That you wrote this cannot be noted in {self.stores[MemoryScope.USER].directory} "
                f"({error.strerror}). Nothing was saved."
            ) from error

    def _own(self, scope: MemoryScope) -> OwnEntries:
        return OwnEntries(self.stores[MemoryScope.USER].directory, self._store(scope).directory)

    def _store(self, scope: MemoryScope) -> MemoryStore:
        if scope not in self.stores:
            raise MemoryProblem("Your home directory is not a project and has no memory of its own: use --user.")
        return self.stores[scope]


def _only(matching: Sequence[Known], words: str, what: str, listing: str) -> Known:
    if len(matching) == 1:
        return matching[0]
    how_many = "There is no" if not matching else "There is more than one"
    raise MemoryProblem(f"{how_many} {what} {words!r}. {listing} shows them. Nothing was changed.")


def _id_prefix(words: str) -> str:
    name = words.strip()
    return name if name.startswith("mem_") else f"mem_{name}"


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return not parts.is_absolute() and ".." not in parts.parts


def why_refused(text: str, redact: Callable[[bytes], bytes]) -> str | None:
    """The reason why a text must not be remembered; None if it may be. `redact` covers keys of known formats."""
    data = text.encode("utf-8", "surrogateescape")
    if redact(data) != data:
        return "it contains a key or a password"
    named = _NAMED_VALUE.search(text)
    if (named is not None and not _NO_VALUE.fullmatch(named["value"])) or _NAMED_VALUE_KOREAN.search(text):
        return "it seems to contain a key or a password"
    if _IDENTITY_NUMBER.search(text):
        return "it seems to contain a personal identification number"
    if _CARD_NUMBER.search(text):
        return "it seems to contain a card number"
    return None
