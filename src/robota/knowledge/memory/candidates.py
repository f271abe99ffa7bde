"""What may be worth remembering and waits for approval: found in words of the person, or proposed by the model."""

import re
from enum import StrEnum
from typing import Final

import msgspec

from robota.knowledge.memory.entry import MemoryEntry, MemoryType, normalised, topic_slug

LONGEST_CANDIDATE: Final = 240
# Only such a confidence is enough to be saved without being asked about, where the settings want that at all.
SURE_ENOUGH: Final = 0.85
_CUES: Final = (
    (re.compile(r"\bremember(?:,| that| to|:)\s+(?P<text>[^\n]+)", re.IGNORECASE), 0.9),
    (re.compile(r"(?P<text>[^\n.!?]+?)(?:을|를|은|는|라고|다고)?\s*기억해"), 0.9),
    (re.compile(r"\bfrom now on,?\s+(?P<text>[^\n]+)", re.IGNORECASE), 0.75),
    (re.compile(r"(?:앞으로는?|항상)\s+(?P<text>[^\n]+)"), 0.75),
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s")
_OF_PROJECT: Final = re.compile(
    r"\b(?:repo(?:sitory)?|project|build|tests?|package|lint|deploy|branch|release|ci)\b", re.IGNORECASE
)
_OF_USER: Final = re.compile(r"\b(?:always|never|prefer|use|avoid|i|my|me)\b", re.IGNORECASE)


class CandidateState(StrEnum):
    """What became of a candidate."""

    PENDING = "pending"
    SAVED = "saved"
    REJECTED = "rejected"


class MemoryCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that waits for the person. `source` says who came up with it."""

    id: str
    entry: MemoryEntry
    confidence: float
    source: str
    state: CandidateState = CandidateState.PENDING


class PendingFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file that keeps candidates, also those that were decided about, so that nobody is asked twice."""

    version: int = 1
    records: tuple[MemoryCandidate, ...] = ()


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Words of the person that sound as if they should be remembered."""

    text: str
    confidence: float


def found_in(words: str) -> Found | None:
    """The first thing in a prompt that asks to be remembered."""
    for cue, confidence in _CUES:
        match = cue.search(words)
        if match is not None:
            text = normalised(_SENTENCE_END.split(match["text"], maxsplit=1)[0])[:LONGEST_CANDIDATE].strip()
            return Found(text=text, confidence=confidence) if text else None
    return None


def kind_of(text: str) -> tuple[MemoryType, str]:
    """The type and the topic of a text that came without them, by its vocabulary."""
    if _OF_PROJECT.search(text):
        return MemoryType.PROJECT, "project"
    if _OF_USER.search(text):
        return MemoryType.USER, "preferences"
    first = next((word for word in text.split() if len(word) > 2), "")
    return MemoryType.REFERENCE, topic_slug(first)
