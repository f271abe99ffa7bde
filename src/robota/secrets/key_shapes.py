"""The patterns of well-known kinds of keys, including keys that are still being streamed."""

import re
from functools import cached_property
from typing import Final

LETTERS: Final = rb"[A-Za-z0-9]"
DASHED: Final = rb"[A-Za-z0-9_-]"
# In JSON a newline is the escape `\n`; a pattern must match both characters or neither.
PEM_BODY: Final = rb"(?:\\[nr]|[A-Za-z0-9+/=\s])"

# A key never starts inside a word: after a letter or digit, the same characters end an ordinary word, as in "task-".
WORD: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
ESCAPES: Final = frozenset((rb"\n", rb"\r", rb"\t", rb"\b", rb"\f"))
UNICODE_ESCAPE: Final = rb"\u"
# How many bytes before a position decide whether a word starts there.
LOOK_BACK: Final = 6


class Shape:
    """One kind of key: its prefix, what must follow to be certain of a match, and which characters may continue it.

    `unfinished` matches what may follow the prefix in a text that is still incomplete. It must be bounded in length,
    because a stream holds that text back from its readers.
    """

    def __init__(self, begins: bytes, certain: bytes, unfinished: bytes, goes_on: bytes = b"") -> None:
        self.begins = begins
        self._certain = certain
        self._unfinished = unfinished
        self._goes_on = goes_on

    @cached_property
    def certain(self) -> re.Pattern[bytes]:
        """Matches a certain key; `rest` matches its remaining characters."""
        return re.compile(re.escape(self.begins) + self._certain)

    def covered(self, match: re.Match[bytes]) -> int:
        """Where the secret itself starts: a match may include the name in front of it."""
        return match.start("secret") if "secret" in self.certain.groupindex else match.start()

    @cached_property
    def unfinished(self) -> re.Pattern[bytes]:
        return re.compile(re.escape(self.begins) + rb"(?:" + self._unfinished + rb")\Z")

    @cached_property
    def rest(self) -> re.Pattern[bytes] | None:
        """Matches the remaining characters of a certain key; None if keys of this kind have a fixed length."""
        return re.compile(self._goes_on + b"*") if self._goes_on else None


def _at_least(begins: bytes, character: bytes, least: int) -> Shape:
    return Shape(begins, character + b"{%d}" % least, character + b"{0,%d}" % (least - 1), goes_on=character)


def _exactly(begins: bytes, character: bytes, length: int) -> Shape:
    return Shape(begins, character + b"{%d}" % length, character + b"{0,%d}" % (length - 1))


def _amazon(begins: bytes) -> Shape:
    return Shape(begins, rb"[A-Z0-9]{16}(?![A-Za-z0-9])", rb"[A-Z0-9]{0,16}")


def _amazon_secret(name: bytes) -> Shape:
    """Forty ordinary characters, recognized only by the name before them, in files, JSON and environments."""
    quote, sign = rb"(?:\\?[\"'])?", rb"[ \t]{0,4}[=:][ \t]{0,4}"
    certain = quote + sign + quote + rb"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
    after_sign = sign + rb"(?:\\|" + quote + rb"[A-Za-z0-9/+]{0,40})"
    return Shape(name, certain, rb"\\|" + quote + rb"[ \t]{0,4}|" + quote + after_sign)


def _with_a_digit(begins: bytes, least: int) -> Shape:
    """Requires a digit: without one, it is probably a name, such as a package name."""
    certain = rb"(?=[A-Za-z_-]{0,200}[0-9])" + DASHED + b"{%d}" % least
    return Shape(begins, certain, DASHED + b"{0,%d}|[A-Za-z_-]{%d,200}" % (least - 1, least), goes_on=DASHED)


def _web_token() -> Shape:
    d = DASHED
    certain = d + rb"{10,1000}\.eyJ" + d + rb"{10,16000}\." + d + rb"{10}"
    unfinished = d + rb"{0,1000}(?:\.(?:e(?:y(?:J" + d + rb"{0,16000}(?:\." + d + rb"{0,9})?)?)?)?)?"
    return Shape(b"eyJ", certain, unfinished, goes_on=d)


AMAZON_SECRET_NAMES: Final = (b"secret_access_key", b"SECRET_ACCESS_KEY", b"SecretAccessKey", b"secretAccessKey")
SHAPES: Final = (
    _with_a_digit(b"sk-", 20),
    *(_at_least(begins, LETTERS, 16) for begins in (b"sk_live_", b"rk_live_", b"sk_test_", b"rk_test_")),
    *(_at_least(begins, LETTERS, 30) for begins in (b"ghp_", b"gho_", b"ghs_", b"ghu_", b"ghr_")),
    _at_least(b"github_pat_", rb"[A-Za-z0-9_]", 22),
    *(_at_least(begins, DASHED, 20) for begins in (b"glpat-", b"glptt-", b"gldt-")),
    _amazon(b"AKIA"),
    _amazon(b"ASIA"),
    _exactly(b"AIza", DASHED, 35),
    Shape(
        b"xox",
        rb"[abeprs]-[A-Za-z0-9-]{10}",
        rb"(?:[abeprs](?:-[A-Za-z0-9-]{0,9})?)?",
        goes_on=rb"[A-Za-z0-9-]",
    ),
    _at_least(b"xapp-", rb"[A-Za-z0-9-]", 20),
    *(_amazon_secret(begins) for begins in AMAZON_SECRET_NAMES),
    _exactly(b"npm_", LETTERS, 36),
    _at_least(b"pypi-", DASHED, 50),
    _at_least(b"hf_", LETTERS, 30),
    _at_least(b"gsk_", LETTERS, 20),
    _at_least(b"xai-", LETTERS, 20),
    _web_token(),
    Shape(
        b"-----BEGIN ",
        rb"(?:[A-Z]{1,15} ){0,3}PRIVATE KEY-----" + PEM_BODY,
        rb"[A-Z ]{0,60}-{0,5}\\?",
        goes_on=PEM_BODY,
    ),
)

# A quick search for any of the prefixes. It searches for their rarest characters and then looks behind, which takes a
# fifth of the time of searching for the first ones. "sk-" alone is too common at the end of words.
SUSPICION: Final = (
    rb"-(?:(?<=sk-)(?:[A-Za-z0-9_-]{20}|[A-Za-z0-9_-]{0,19}\Z)|(?<=glpat-)|(?<=glptt-)|(?<=gldt-)|(?<=xapp-)"
    rb"|(?<=pypi-)|(?<=xai-)|(?<=-----)BEGIN )"
    rb"|_(?:(?<=gh[oprsu]_)|(?<=[sr]k_live_)|(?<=[sr]k_test_)|(?<=github_pat_)|(?<=npm_)|(?<=hf_)|(?<=gsk_)|(?<=secret_)access_key"
    rb"|(?<=SECRET_)ACCESS_KEY)"
    rb"|I(?<=A[KS]I)A|z(?<=AIz)a|x(?<=xox)|J(?<=eyJ)|K(?<=ecretAccessK)ey"
)


def is_tail_of_a_word(text: bytes | bytearray, start: int) -> bool:
    """Whether `start` is in the middle of a word, so that a key is unlikely to begin there."""
    before = bytes(text[max(start - 2, 0) : start])
    if not before or before[-1] not in WORD or before in ESCAPES:
        return False
    return text[max(start - LOOK_BACK, 0) : start][:2] != UNICODE_ESCAPE
