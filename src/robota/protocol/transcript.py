"""A conversation that is over, as a user reads it: what was said, and each call with what came of it."""

from typing import Any

from robota.protocol.wire import Value


class TranscriptEntry(Value, frozen=True, kw_only=True, tag_field="kind"):
    """The base of all entries; `ts` is when it was written, in milliseconds. `depth` is that of subtasks."""

    ts: int
    depth: int = 0


class Prompted(TranscriptEntry, frozen=True, kw_only=True, tag="prompt"):
    """What the user said; `images` is how many came with it."""

    text: str
    images: int = 0


class Replied(TranscriptEntry, frozen=True, kw_only=True, tag="reply"):
    """What the model said. `interrupted`: it was cut off."""

    text: str
    interrupted: bool = False


class Reasoned(TranscriptEntry, frozen=True, kw_only=True, tag="thought"):
    """What the model thought before it went on."""

    text: str


class Called(TranscriptEntry, frozen=True, kw_only=True, tag="call"):
    """A call, with what it ran with and what the model was told of it; `title` is the line that clients show of it.

    `status` is success, error, denied or interrupted; `diff` is what it changed, as a unified diff, if it was shown.
    """

    call_id: str
    title: str
    tool: str
    input: dict[str, Any]
    status: str
    output: str = ""
    diff: str | None = None
    duration_ms: int = 0
    answer: str | None = None


class Noted(TranscriptEntry, frozen=True, kw_only=True, tag="note"):
    """Something that happened and that nobody said: an error, a question with its answer, a shortened conversation."""

    text: str


Transcript = Prompted | Replied | Reasoned | Called | Noted


class TranscriptHead(Value, frozen=True, kw_only=True):
    """The heading of a transcript."""

    id: str
    title: str
    cwd: str = ""
    model: str = ""
    started_ms: int = 0
    ended_ms: int = 0
    turns: int = 0
    cost_usd: float | None = None
    origin: str = ""
