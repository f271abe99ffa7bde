"""Refuses secrets and personal numbers as memory entries, because memory files are plain text."""

import re
from collections.abc import Callable
from typing import Final

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
