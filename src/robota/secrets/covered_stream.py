"""Covering secrets in a text that comes piece by piece, the same as if it had come at once.

What could still become a secret is held back until that is decided. So what was let through never has to be taken back.
"""

import re
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from typing import Final

import msgspec

from robota.secrets.key_shapes import LOOK_BACK, SHAPES, SUSPICION, is_tail_of_a_word

# So much of a secret is enough to look at a place again. No secret is shorter.
HEAD: Final = 8
# The first half of an escape in JSON, which a private key may go on with.
HALF_ESCAPE: Final = b"\\"
LONGEST_BEGINNING: Final = max(HEAD, *(len(shape.begins) for shape in SHAPES)) - 1


class Undecided(Enum):
    """What begins here may become a secret, or a longer one, with what comes next."""

    UNDECIDED = 0


class Secret(msgspec.Struct, frozen=True):
    """What begins here is a secret up to `end`; where that is the end of the text, `rest` matches more of it."""

    end: int
    rest: re.Pattern[bytes] | None = None


Finding = Secret | Undecided | None
Text = bytes | bytearray
Judge = Callable[[Text, int, bool], Finding]


class Kinds(msgspec.Struct, frozen=True):
    """Some kinds of secrets: a quick look for any, how they begin, also unfinished, and the decision at one place."""

    suspected_in: Callable[[bytes], object]
    heads: re.Pattern[bytes]
    beginnings: frozenset[bytes]
    any_beginning: tuple[bytes, ...]
    judge: Judge
    stand_alone: bool

    def unfinished_at(self, text: Text, start: int) -> int:
        """Where an unfinished beginning at the end of the text starts; the end of the text if there is none."""
        if not text.endswith(self.any_beginning):
            return len(text)
        for place in range(max(start, len(text) - LONGEST_BEGINNING), len(text)):
            if bytes(text[place:]) in self.beginnings and not (self.stand_alone and is_tail_of_a_word(text, place)):
                return place
        return len(text)


def known_secrets(secrets: Sequence[bytes]) -> Kinds | None:
    """Secrets that are known; a longer one must stand first, because it may hold a shorter one."""
    if not secrets:
        return None

    def judge(text: Text, place: int, final: bool) -> Finding:
        for secret in secrets:
            if text.startswith(secret, place):
                return Secret(place + len(secret))
            if not final and len(text) - place < len(secret) and secret.startswith(bytes(text[place:])):
                return Undecided.UNDECIDED
        return None

    heads = sorted({secret[:HEAD] for secret in secrets})
    return _kinds(lambda data: any(head in data for head in heads), heads, judge, stand_alone=False)


@cache
def well_known_keys() -> Kinds:
    """Everything that has the shape of a well-known kind of key."""

    def judge(text: Text, place: int, final: bool) -> Finding:
        shape = next(shape for shape in SHAPES if text.startswith(shape.begins, place))
        if is_tail_of_a_word(text, place):
            return None
        if not final and shape.unfinished.match(text, place):
            return Undecided.UNDECIDED
        found = shape.whole.match(text, place)
        return Secret(found.end(), shape.rest) if found else None

    return _kinds(re.compile(SUSPICION).search, [shape.begins for shape in SHAPES], judge, stand_alone=True)


class CoveredStream:
    """One text that comes piece by piece. Joined, what `feed` and `finish` return is the covered text."""

    def __init__(self, secrets: Kinds | None) -> None:
        self._stages = [_Stage(kinds) for kinds in (secrets, well_known_keys()) if kinds is not None]
        self._is_busy = False

    @property
    def held(self) -> int:
        """How many characters were held back so far."""
        return sum(len(stage.held) for stage in self._stages)

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        """What can be let through now; the very same object if nothing speaks against that."""
        if not self._is_busy:
            for stage in self._stages:
                if stage.must_look_at(data):
                    break
            else:
                self._stages[-1].pass_by(data)
                return data
        for stage in self._stages:
            data = stage.feed(data, final)
        self._is_busy = any(stage.held or stage.rest is not None for stage in self._stages)
        return data

    def finish(self) -> bytes:
        """The text is complete: what was held back."""
        return self.feed(b"", final=True) if self._is_busy else b""

    def feed_text(self, text: str) -> str:
        """The same for text, without halves of surrogate pairs, which no client could be sent."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            return self.feed_text(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        covered = self.feed(data)
        return text if covered is data else covered.decode()


class _Stage:
    """Covers some kinds of secrets."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.held = b""
        self.rest: re.Pattern[bytes] | None = None
        self._before = b""

    def must_look_at(self, data: bytes) -> bool:
        """A quick look: no means that nothing in it is a secret or could become one."""
        if self.kinds.suspected_in(data):
            return True
        if not data.endswith(self.kinds.any_beginning):
            return False
        text = self._before + data
        return self.kinds.unfinished_at(text, len(self._before)) < len(text)

    def pass_by(self, data: bytes) -> None:
        """Remember what went through without being looked at here."""
        self._before = data[-LOOK_BACK:] if len(data) >= LOOK_BACK else (self._before + data)[-LOOK_BACK:]

    def feed(self, data: bytes, final: bool) -> bytes:
        # Covered in place, so that what follows a secret is no tail of a word.
        text = bytearray(self._before + self.held + data)
        start = len(self._before)
        end = self._decide(text, start, final)
        self.held = bytes(text[end:])
        self._before = bytes(text[max(end - LOOK_BACK, 0) : end])
        return bytes(text[start:end])

    def _decide(self, text: bytearray, place: int, final: bool) -> int:
        """Cover all that is decided, and say where that ends."""
        if self.rest is not None:
            place = self._cover(text, place, place, final)
        while self.rest is None and (found := self.kinds.heads.search(text, place)) is not None:
            start = found.start()
            finding = self.kinds.judge(text, start, final)
            if isinstance(finding, Undecided):
                return start
            if finding is None:
                place = start + 1
                continue
            self.rest = finding.rest
            place = self._cover(text, start, finding.end, final)
        if self.rest is not None:
            return place
        return len(text) if final else self.kinds.unfinished_at(text, place)

    def _cover(self, text: bytearray, start: int, end: int, final: bool) -> int:
        """Cover a secret, and as far as it goes on; `rest` is left set if even that may not be all of it."""
        if self.rest is not None:
            more = self.rest.match(text, end)
            end = more.end() if more else end
            if final or bytes(text[end:]) not in (b"", HALF_ESCAPE):
                self.rest = None
        text[start:end] = b"*" * (end - start)
        return end


def _kinds(
    suspected_in: Callable[[bytes], object], heads: Sequence[bytes], judge: Judge, *, stand_alone: bool
) -> Kinds:
    beginnings = {head[:length] for head in heads for length in range(1, len(head))}
    return Kinds(
        suspected_in=suspected_in,
        heads=re.compile(b"|".join(re.escape(head) for head in heads)),
        beginnings=frozenset(beginnings),
        any_beginning=tuple(beginnings),
        judge=judge,
        stand_alone=stand_alone,
    )
