"""Redact keys and passwords with asterisks in text that is stored or shown, whole or as a stream.

Each byte of a secret becomes one asterisk, so offsets into the text stay valid, JSON stays valid, and a file can be
redacted in place. A stream holds back text that may still turn out to be a secret, so nothing has to be retracted: the
joined pieces equal the result for the whole text.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import cache, cached_property
from mmap import mmap
from pathlib import Path
from typing import Final, assert_never

import msgspec

from robota.secrets.key_shapes import LOOK_BACK, SHAPES, SUSPICION, is_tail_of_a_word

SHORTEST_SECRET: Final = 8
LONG_ENOUGH_WITHOUT_DIGIT: Final = 16
SHORTEST_WORD: Final = 4
COVERED: Final = "***"
NUMBER_CHARACTERS: Final = frozenset("0123456789.eE+-")
ESCAPED_IN_JSON: Final = frozenset(' "\\')

# Search for this many leading bytes of a known secret before comparing the rest. No secret is shorter.
HEAD: Final = SHORTEST_SECRET
# The first half of a JSON escape, which may continue a private key.
HALF_ESCAPE: Final = b"\\"
MAX_BEGINNING_LENGTH: Final = max(HEAD, *(len(shape.begins) for shape in SHAPES)) - 1

# Short enough that other threads are not kept waiting while one chunk is searched.
FILE_CHUNK: Final = 128 * 1024


class Redactor:
    """Redacts the given secrets, and everything that matches a well-known kind of key."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = _longest_first(secret.encode() for secret in secrets if _is_recognisable(secret))

    def add(self, secret: str) -> None:
        """Redact this secret too from now on."""
        if _is_recognisable(secret):
            self._secrets = _longest_first((*self._secrets, secret.encode()))
            self.__dict__.pop("_detector", None)  # rebuilt on next use

    def __call__(self, data: bytes) -> bytes:
        """The text or JSON with secrets redacted; the same object if it contains none."""
        if not key_shape_detector().is_suspicious(data) and not any(secret in data for secret in self._secrets):
            return data
        redacted = self.stream().feed(data, final=True)
        return data if redacted == data else redacted

    def stream(self) -> "StreamRedactor":
        """A redactor for one text that arrives in pieces."""
        return StreamRedactor(self._detector)

    def redact_file(self, path: Path) -> None:
        """Redact a file in place. A hundred megabytes take several seconds, so call this in a thread."""
        stream = self.stream()
        with path.open("r+b") as file:
            if file.seek(0, 2) == 0:
                return
            with mmap(file.fileno(), 0) as text:
                done = 0
                for start in range(0, len(text), FILE_CHUNK):
                    end = start + FILE_CHUNK
                    redacted = stream.feed(text[start:end], final=end >= len(text))
                    if text[done : done + len(redacted)] != redacted:
                        text[done : done + len(redacted)] = redacted
                    done += len(redacted)

    @cached_property
    def _detector(self) -> "SecretDetector | None":
        return known_secret_detector(self._secrets)


def _longest_first(secrets: Iterable[bytes]) -> tuple[bytes, ...]:
    return tuple(sorted(set(secrets), key=len, reverse=True))


def covered_values(message: str, secrets: Iterable[str]) -> str:
    """A short message with these values redacted: recognizable ones anywhere, others only as whole words.

    The shortest values are kept: as keys they protect nothing, and redacting them would make the message unreadable.
    """
    for secret in sorted(secrets, key=len, reverse=True):
        if _is_recognisable(secret):
            message = message.replace(secret, COVERED)
        elif len(secret) >= SHORTEST_WORD:
            message = re.sub(rf"(?<![\w-]){re.escape(secret)}(?![\w-])", COVERED, message)
    return message


class StreamRedactor:
    """Redacts one text that arrives in pieces. The results of `feed` and `finish`, joined, are the redacted text."""

    def __init__(self, secrets: "SecretDetector | None") -> None:
        self._stages = [_Stage(detector) for detector in (secrets, key_shape_detector()) if detector is not None]
        self._is_holding = False

    @property
    def held(self) -> int:
        """The number of bytes that are held back."""
        return sum(len(stage.held) for stage in self._stages)

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        """The text that can be passed on now; the same object if nothing is held back or redacted."""
        if not self._is_holding:
            for stage in self._stages:
                if stage.must_search(data):
                    break
            else:
                self._stages[-1].skip(data)
                return data
        for stage in self._stages:
            data = stage.feed(data, final)
        self._is_holding = any(stage.held or stage.rest is not None for stage in self._stages)
        return data

    def finish(self) -> bytes:
        """End the text; returns what was held back."""
        return self.feed(b"", final=True)

    def feed_text(self, text: str) -> str:
        """Like `feed`, for `str`. Lone surrogates are replaced, because they cannot be sent to a client."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            return self.feed_text(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        redacted = self.feed(data)
        return text if redacted is data else redacted.decode()


class Undecided(Enum):
    """The next piece decides whether this is a secret, and how long it is."""

    UNDECIDED = "undecided"


class Secret(msgspec.Struct, frozen=True):
    """A secret from `start` to `end`. If the text ends there, `rest` matches its continuation in the next piece."""

    start: int
    end: int
    rest: re.Pattern[bytes] | None = None


Classification = Secret | Undecided | None
Text = bytes | bytearray
Classify = Callable[[Text, int, bool], Classification]


class SecretDetector(msgspec.Struct, frozen=True):
    """How to find some kinds of secrets in text.

    `is_suspicious` is a quick search with false positives but no false negatives. `heads` matches where a secret may
    begin, and `classify` decides at that position. `beginnings` are partial heads that a text may end with.
    `stand_alone` kinds never begin in the middle of a word.
    """

    is_suspicious: Callable[[bytes], object]
    heads: bytes
    beginnings: frozenset[bytes]
    any_beginning: tuple[bytes, ...]
    classify: Classify
    stand_alone: bool

    def unfinished_at(self, text: Text, start: int) -> int:
        """Where a partial head at the end of the text starts; the length of the text if there is none."""
        if not text.endswith(self.any_beginning):
            return len(text)
        for start_index in range(max(start, len(text) - MAX_BEGINNING_LENGTH), len(text)):
            if bytes(text[start_index:]) in self.beginnings and not (
                self.stand_alone and is_tail_of_a_word(text, start_index)
            ):
                return start_index
        return len(text)


def known_secret_detector(secrets: Sequence[bytes]) -> SecretDetector | None:
    """Finds these secrets. Longer ones must come first, because they may contain shorter ones."""
    if not secrets:
        return None

    def classify(text: Text, index: int, final: bool) -> Classification:
        for secret in secrets:
            if text.startswith(secret, index):
                return Secret(index, index + len(secret))
            if not final and secret.startswith(bytes(text[index : index + len(secret)])):
                return Undecided.UNDECIDED
        return None

    heads = sorted({secret[:HEAD] for secret in secrets})
    return _detector(lambda data: any(head in data for head in heads), heads, classify, stand_alone=False)


@cache
def key_shape_detector() -> SecretDetector:
    """Finds everything that matches a well-known kind of key."""

    def classify(text: Text, index: int, final: bool) -> Classification:
        shape = next(shape for shape in SHAPES if text.startswith(shape.begins, index))
        if is_tail_of_a_word(text, index):
            return None
        if not final and shape.unfinished.match(text, index):
            return Undecided.UNDECIDED
        match = shape.certain.match(text, index)
        return Secret(shape.covered(match), match.end(), shape.rest) if match else None

    return _detector(re.compile(SUSPICION).search, [shape.begins for shape in SHAPES], classify, stand_alone=True)


class _Stage:
    """Redacts what one detector finds, and keeps undecided text between pieces."""

    def __init__(self, detector: SecretDetector) -> None:
        self.detector = detector
        self.held = b""
        self.rest: re.Pattern[bytes] | None = None
        self._before = b""

    def must_search(self, data: bytes) -> bool:
        """Whether the piece may contain a secret or the beginning of one."""
        if self.detector.is_suspicious(data):
            return True
        if not data.endswith(self.detector.any_beginning):
            return False
        text = self._before + data
        return self.detector.unfinished_at(text, len(self._before)) < len(text)

    def skip(self, data: bytes) -> None:
        """Remember the end of a piece that was passed on without a search."""
        self._before = data[-LOOK_BACK:] if len(data) >= LOOK_BACK else (self._before + data)[-LOOK_BACK:]

    def feed(self, data: bytes, final: bool) -> bytes:
        """The decided part of the text so far, redacted."""
        # Redacted in place: after the asterisks, the text that follows a secret does not count as part of a word.
        text = bytearray(self._before + self.held + data)
        start = len(self._before)
        end = self._redact_decided(text, start, final)
        self.held = bytes(text[end:])
        self._before = bytes(text[max(end - LOOK_BACK, 0) : end])
        return bytes(text[start:end])

    def _redact_decided(self, text: bytearray, index: int, final: bool) -> int:
        """Redact the decided secrets; returns where the decided text ends."""
        if self.rest is not None:
            index = self._redact(text, index, index, final)
        while self.rest is None and (match := re.compile(self.detector.heads).search(text, index)) is not None:
            start = match.start()
            match self.detector.classify(text, start, final):
                case Undecided.UNDECIDED:
                    return start
                case None:
                    index = start + 1
                case Secret(covered, end, rest):
                    self.rest = rest
                    index = self._redact(text, covered, end, final)
                case unknown:
                    assert_never(unknown)
        if self.rest is not None:
            return index
        return len(text) if final else self.detector.unfinished_at(text, index)

    def _redact(self, text: bytearray, start: int, end: int, final: bool) -> int:
        """Redact a secret and its continuation in this piece; `rest` stays set if the next piece may continue it."""
        if self.rest is not None:
            if more := self.rest.match(text, end):
                end = more.end()
            if final or bytes(text[end:]) not in (b"", HALF_ESCAPE):
                self.rest = None
        text[start:end] = b"*" * (end - start)
        return end


def _detector(
    is_suspicious: Callable[[bytes], object], heads: Sequence[bytes], classify: Classify, *, stand_alone: bool
) -> SecretDetector:
    beginnings = {head[:length] for head in heads for length in range(1, len(head))}
    return SecretDetector(
        is_suspicious=is_suspicious,
        heads=b"|".join(re.escape(head) for head in heads),
        beginnings=frozenset(beginnings),
        any_beginning=tuple(beginnings),
        classify=classify,
        stand_alone=stand_alone,
    )


def _is_recognisable(secret: str) -> bool:
    """Whether it cannot be an ordinary word or number, which would then be redacted everywhere.

    Secrets that JSON would escape are left out too: they have no single form to search for.
    """
    if (
        len(secret) < SHORTEST_SECRET
        or NUMBER_CHARACTERS.issuperset(secret)
        or not secret.isascii()
        or not secret.isprintable()
    ):
        return False
    if not ESCAPED_IN_JSON.isdisjoint(secret):
        return False
    return len(secret) >= LONG_ENOUGH_WITHOUT_DIGIT or any(character.isdigit() for character in secret)
