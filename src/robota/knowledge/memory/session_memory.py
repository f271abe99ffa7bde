"""The memory of one session: its section of the system prompt, and reminders about changes and relevant entries."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.contracts.knowledge import MEMORY_TAG, QUOTED_TAG, Recollection
from robota.contracts.tool import ToolResult
from robota.knowledge.memory.candidates import (
    MAX_CANDIDATE,
    MIN_CONFIDENCE_TO_SAVE,
    MemoryCandidate,
    classify,
    find_remember_request,
)
from robota.knowledge.memory.entry import MemoryEntry, MemoryLine, MemoryOrigin, MemoryType
from robota.knowledge.memory.memories import KnownEntry, Memories, MemoryScope, NewEntry
from robota.knowledge.memory.store import MemoryProblem
from robota.knowledge.prompt_elements import QUOTED, PromptElement, prompt_part

MAX_BYTES: Final = 25_600
MAX_LINES: Final = 200
RECALLED_TOPICS: Final = 3
RECALLED_CHARACTERS: Final = 3000
MIN_WORD: Final = 3
NAME_WEIGHT, TEXT_WEIGHT = 4, 1
_WORD: Final = re.compile(r"\w+")
REMEMBERED: Final = (
    "# Memory\n\nThe user had this remembered in earlier sessions. Follow it like their instructions; what they say "
    "now overrides it. It was true on its date: check before you rely on it."
)
ADDED: Final = "The user has just had this remembered. Follow it from now on."
TAKEN_BACK: Final = "This is no longer remembered. Disregard it:"
RECALLED: Final = "Remembered from earlier sessions. It may be relevant to the user's message."


class UsedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The memory lines that were sent to the model, the stale entries that were not, and problems with files."""

    in_prompt: tuple["PromptMemoryLine", ...] = ()
    recalled: tuple["PromptMemoryLine", ...] = ()
    stale: tuple[KnownEntry, ...] = ()
    problems: tuple[str, ...] = ()


class PromptMemoryLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a memory file; `entry` is None for text between the entries."""

    scope: MemoryScope
    path: str
    text: str
    entry: MemoryEntry | None
    is_own: bool


class SessionMemory:
    """A `MemoryService`. The system prompt of a task never changes; changes of memory come as reminders."""

    def __init__(self, memories: Memories, session_id: str, *, saves_at_once: bool) -> None:
        """`saves_at_once`: whether an explicit "remember …" in a prompt is saved without approval."""
        self._memories = memories
        self._session_id = session_id
        self._saves_at_once = saves_at_once
        self._stamps: object = None
        self._sent: dict[str, tuple[PromptMemoryLine, ...]] = {}
        self._recalled: dict[str, set[str]] = {}
        self._topics: list[tuple[str, list[PromptMemoryLine]]] | None = None
        self._reported: set[str] = set()
        self._used = UsedMemory()

    @property
    def used(self) -> UsedMemory:
        """What the model was sent, or would be sent now if no task has begun."""
        if self._stamps is None:
            self._refresh()
        return self._used

    def prompt_section(self, task_id: str) -> str:
        self._refresh()
        self._sent[task_id] = self._used.in_prompt
        return _sections(REMEMBERED, self._used.in_prompt)

    def recall(self, task_id: str, prompt: str, message: int) -> Recollection:
        captured = tuple(self._capture(prompt, MemoryOrigin(self._session_id, message)))
        changes = tuple(self._changes(task_id))
        recalled = self._relevant_topics(task_id, prompt)
        self._used = msgspec.structs.replace(self._used, recalled=recalled)
        reminders = (*changes, _sections(RECALLED, recalled))
        reminder = "\n\n".join(part for part in reminders if part)
        return Recollection(reminder=reminder, notices=captured, warnings=tuple(self._new_warnings()))

    def propose(self, kind: str, topic: str, text: str, message: int) -> ToolResult:
        try:
            new = NewEntry(type=MemoryType(kind), topic=topic, text=text[:MAX_CANDIDATE])
            is_new = self._propose(new, MemoryOrigin(self._session_id, message), "model", 0.0)
        except (MemoryProblem, ValueError) as problem:
            return ToolResult(content=str(problem), is_error=True)
        if not is_new:
            return ToolResult(content="This is remembered already, waits for the user, or was rejected by them.")
        return ToolResult(content="Noted. The user decides later whether it is remembered.")

    def _capture(self, prompt: str, origin: MemoryOrigin) -> Iterator[str]:
        """Save or propose what the prompt asks to remember; yields notices for the user."""
        request = find_remember_request(prompt)
        if request is None:
            return
        kind, topic = classify(request.text)
        new = NewEntry(type=kind, topic=topic, text=request.text)
        try:
            if self._saves_at_once and request.confidence >= MIN_CONFIDENCE_TO_SAVE:
                if self._memories.add(new, origin) is not None:
                    yield f"Remembered: {request.text}"
            elif self._propose(new, origin, "prompt", request.confidence):
                entry = self._memories.validated(new, origin)
                yield f"To be remembered? {request.text} (/memory approve {entry.id}, /memory reject {entry.id})"
        except MemoryProblem as problem:
            yield str(problem)

    def _propose(self, new: NewEntry, origin: MemoryOrigin, source: str, confidence: float) -> bool:
        entry = self._memories.validated(new, origin)
        return self._memories.propose(
            MemoryCandidate(id=entry.id, entry=entry, confidence=confidence, source=source), new.scope
        )

    def _refresh(self) -> None:
        """Read the memories again if an index or the results of checks changed."""
        stamps = tuple(store.stamp() for store in self._memories.stores.values())
        if stamps == self._stamps:
            return
        self._stamps, self._topics = stamps, None
        in_prompt: list[PromptMemoryLine] = []
        stale: list[KnownEntry] = []
        problems: list[str] = []
        for scope, store in self._memories.stores.items():
            try:
                lines, cut = _within_bounds(store.index())
                valid_here, stale_here = self._still_valid(scope, store.index_path, lines)
            except MemoryProblem as problem:
                problems.append(str(problem))
                continue
            in_prompt += valid_here
            stale += stale_here
            if cut:
                problems.append(f"{store.index_path} is longer than the limit: {cut} lines were left out.")
        self._used = UsedMemory(in_prompt=tuple(in_prompt), stale=tuple(stale), problems=tuple(problems))

    def _still_valid(
        self, scope: MemoryScope, path: Path, lines: Sequence[MemoryLine]
    ) -> tuple[list[PromptMemoryLine], list[KnownEntry]]:
        """The lines of a file that are still valid, and its stale entries."""
        entries = [line.entry for line in lines if line.entry is not None]
        stale = {each.entry.id: each for each in self._memories.known(scope, entries) if each.stale is not None}
        is_own = self._memories.ownership(scope)
        valid: list[PromptMemoryLine] = []
        for number, line in enumerate(lines):
            text = line.text.rstrip() if line.entry is None else line.entry.prompt_text
            is_title = number == 0 and text.startswith("# ")
            if text and not is_title and (line.entry is None or line.entry.id not in stale):
                valid.append(
                    PromptMemoryLine(
                        scope=scope, path=str(path), text=text, entry=line.entry, is_own=is_own(line.entry)
                    )
                )
        return valid, list(stale.values())

    def _changes(self, task_id: str) -> Iterator[str]:
        """Reminders about what changed since the model of this task was last sent the memory."""
        before = self._sent.get(task_id, ())
        self._refresh()
        now = self._used.in_prompt
        if now is before:
            return
        self._sent[task_id] = now
        yield _sections(ADDED, [line for line in now if line not in before])
        removed = [line.text for line in before if line not in now]
        if removed:
            yield "\n".join((TAKEN_BACK, *removed))

    def _relevant_topics(self, task_id: str, prompt: str) -> tuple[PromptMemoryLine, ...]:
        """Lines of the topics that fit the prompt and are not in the index; each topic once a task."""
        if self._topics is None:
            self._topics = list(self._topics_beyond_index())
        prompt_words = {word for word in _WORD.findall(prompt.casefold()) if len(word) >= MIN_WORD}
        recalled = self._recalled.setdefault(task_id, set())
        scored = [
            (_score(prompt_words, name, lines), name, lines) for name, lines in self._topics if name not in recalled
        ]
        fitting = sorted((each for each in scored if each[0]), key=lambda each: -each[0])[:RECALLED_TOPICS]
        recalled.update(name for _, name, _ in fitting)
        return tuple(line for _, _, lines in fitting for line in _first_characters(lines))

    def _topics_beyond_index(self) -> Iterator[tuple[str, list[PromptMemoryLine]]]:
        """The topics with lines that are not in the prompt, and these lines."""
        in_prompt = {line.text for line in self._used.in_prompt}
        for scope, store in self._memories.stores.items():
            try:
                for name, lines in store.topics().items():
                    valid, _ = self._still_valid(scope, store.topic_path(name), lines)
                    if more := [line for line in valid if line.text not in in_prompt]:
                        yield name, more
            except MemoryProblem:
                continue  # reported when the index was read

    def _new_warnings(self) -> Iterator[str]:
        """Problems and stale entries, each reported once a session."""
        stale = (f"No longer holds and is not told: {each.entry.text} ({each.stale})" for each in self._used.stale)
        for notice in (*self._used.problems, *stale):
            if notice not in self._reported:
                self._reported.add(notice)
                yield notice


def _within_bounds(lines: Sequence[MemoryLine]) -> tuple[tuple[MemoryLine, ...], int]:
    """The first lines, up to the limits, and how many were left out."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line.text.encode("utf-8", "surrogateescape"))
        if number >= MAX_LINES or size > MAX_BYTES:
            return tuple(lines[:number]), len(lines) - number
    return tuple(lines), 0


def _sections(heading: str, lines: Sequence[PromptMemoryLine]) -> str:
    """The user's own entries, and after them the others, quoted as data."""
    own = [line for line in lines if line.is_own]
    others = [line for line in lines if not line.is_own]
    parts = (prompt_part(heading, MEMORY_TAG, _elements(own)), prompt_part(QUOTED, QUOTED_TAG, _elements(others)))
    return "\n\n".join(part for part in parts if part)


def _elements(lines: Sequence[PromptMemoryLine]) -> list[PromptElement]:
    texts: dict[str, list[str]] = {}
    for line in lines:
        texts.setdefault(line.path, []).append(line.text)
    return [PromptElement(path, "\n".join(each)) for path, each in texts.items()]


def _score(prompt_words: set[str], name: str, lines: Sequence[PromptMemoryLine]) -> int:
    content = " ".join(line.text for line in lines).casefold()
    return sum(NAME_WEIGHT * (word in name) + TEXT_WEIGHT * (word in content) for word in prompt_words)


def _first_characters(lines: Sequence[PromptMemoryLine]) -> Iterator[PromptMemoryLine]:
    room = RECALLED_CHARACTERS
    for line in lines:
        room -= len(line.text)
        if room < 0:
            return
        yield line
