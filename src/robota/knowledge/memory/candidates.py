"""Candidates for memory that wait for approval: found in prompts, or proposed by the model."""

import re
from enum import StrEnum
from typing import Final

import msgspec

from robota.knowledge.memory.entry import MemoryEntry, MemoryType, normalised, topic_slug

MAX_CANDIDATE: Final = 240
# Where the settings allow saving without approval, it takes at least this confidence.
MIN_CONFIDENCE_TO_SAVE: Final = 0.85
_CUES: Final = (
    (re.compile(r"\bremember(?:,| that| to|:)\s+(?P<text>[^\n]+)", re.IGNORECASE), 0.9),
    (re.compile(r"(?P<text>[^\n.!?]+?)(?:을|를|은|는|라고|다고)?\s*기억해"), 0.9),
    (re.compile(r"\bfrom now on,?\s+(?P<text>[^\n]+)", re.IGNORECASE), 0.75),
    (re.compile(r"(?:앞으로는?|항상)\s+(?P<text>[^\n]+)"), 0.75),
)
# Files in a prompt, which the user attached and did not write.
_ATTACHED_FILE: Final = re.compile(r'<file path="[^"\n]*">\n.*?\n</file>', re.DOTALL)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s")
_OF_PROJECT: Final = re.compile(
    r"\b(?:repo(?:sitory)?|project|build|tests?|package|lint|deploy|branch|release|ci)\b", re.IGNORECASE
)
_OF_USER: Final = re.compile(r"\b(?:always|never|prefer|use|avoid|i|my|me)\b", re.IGNORECASE)


class CandidateState(StrEnum):
    """Whether a candidate waits, or how the user decided."""

    PENDING = "pending"
    SAVED = "saved"
    REJECTED = "rejected"


class MemoryCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that waits for approval. `source` is who proposed it: `prompt` or `model`."""

    id: str
    entry: MemoryEntry
    confidence: float
    source: str
    state: CandidateState = CandidateState.PENDING


class PendingFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file of candidates. Decided ones are kept, so that the same text is not proposed again."""

    version: int = 1
    records: tuple[MemoryCandidate, ...] = ()


class RememberRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A text that a prompt seems to ask to remember."""

    text: str
    confidence: float


def find_remember_request(prompt: str) -> RememberRequest | None:
    """The first request of a prompt to remember something; None if there is none."""
    words = _ATTACHED_FILE.sub("", prompt)
    for cue, confidence in _CUES:
        match = cue.search(words)
        if match is not None:
            text = normalised(_SENTENCE_END.split(match["text"], maxsplit=1)[0])[:MAX_CANDIDATE].strip()
            return RememberRequest(text=text, confidence=confidence) if text else None
    return None


def classify(text: str) -> tuple[MemoryType, str]:
    """Guess the type and the topic of a text from its words."""
    if _OF_PROJECT.search(text):
        return MemoryType.PROJECT, "project"
    if _OF_USER.search(text):
        return MemoryType.USER, "preferences"
    first = next((word for word in text.split() if len(word) > 2), "")
    return MemoryType.REFERENCE, topic_slug(first)
