"""Secrets recognized by the text before them: `DB_PASSWORD=…`, `Authorization: Bearer …`, `//me:…@host`.

Used only for data that leaves the machine: with this much guessing, an ordinary word is redacted now and then.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from robota.secrets.named_values import names_secret

# A name and its value in shell, YAML, JSON (also inside a string) or code; or a command-line option and its value.
NAMED: Final = re.compile(
    r"(?<![A-Za-z0-9_.-])(?P<dashes>--?)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]{0,80}+)"
    r"(?:(?:\\?[\"'])?[ \t]{0,4}(?::=|=>|[=:])[ \t]{0,4}|(?(dashes)[ \t]{1,4}|(?!)))"
    r"(?P<quote>\\?[\"'])?(?P<value>[^\s\"'\\,;(){}\[\]<>]++)(?![(\[])"
)
# Secrets recognized by a fixed text before them.
INTRODUCED: Final = (
    re.compile(r"(?i)\b(?:bearer|basic)[ \t]+(?P<value>[A-Za-z0-9._~+/=-]{8,}+)"),
    re.compile(r"(?<=://)[^/@\s:]*+:(?P<value>[^/@\s]++)@"),
    re.compile(r"(?<=://)(?P<value>[^/@\s:]++)@"),
    re.compile(r"\blogin[ \t\n]+\S+[ \t\n]+password[ \t\n]+(?P<value>\S+)"),
    re.compile(r"(?:\s-u|\s--user)[ =][\"']?[^\s:\"']+:(?P<value>[^\s\"']+)"),
    re.compile(r"\bhooks\.slack\.com/services/(?P<value>[A-Za-z0-9/]+)"),
    re.compile(r"\bdiscord(?:app)?\.com/api/webhooks/(?P<value>[A-Za-z0-9_/-]+)"),
)
# Shorter values do not count as secrets: the same letters occur in ordinary words.
SHORTEST_WITH_DIGIT: Final = 6
SHORTEST_PLAIN: Final = 8
CERTAINLY_LONG: Final = 16
MAX_DEPTH: Final = 200
# An identifier in code, or a reference to where the secret is stored.
MEMBER: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
WORD: Final = re.compile(r"[A-Za-z_]+")
REFERENCE: Final = ("$", "/", "./", "~", "%", "&")


def stated_secrets(value: Any, depth: int = 0) -> Iterator[str]:
    """The values in a text, or in the strings of a JSON value, whose context marks them as secret."""
    if isinstance(value, str):
        yield from _in_text(value)
    elif depth > MAX_DEPTH:
        return
    elif isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str) and names_secret(name) and _is_credible(inner, is_plain=True):
                yield inner
            yield from stated_secrets(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from stated_secrets(inner, depth + 1)


def _in_text(text: str) -> Iterator[str]:
    for match in NAMED.finditer(text):
        is_plain = match["quote"] is not None or match["name"].isupper()
        if names_secret(match["name"]) and _is_credible(match["value"], is_plain=is_plain):
            yield match["value"]
    for pattern in INTRODUCED:
        for match in pattern.finditer(text):
            if _is_credible(match["value"], is_plain=False):
                yield match["value"]


def _is_credible(value: str, *, is_plain: bool) -> bool:
    """Whether the value can be a secret. `is_plain`: it is certainly a literal value, not an identifier."""
    if value.startswith(REFERENCE) or not any(each.isalnum() for each in value) or any(map(str.isspace, value)):
        return False
    if is_plain:
        has_both = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        return len(value) >= (SHORTEST_WITH_DIGIT if has_both else SHORTEST_PLAIN)
    if MEMBER.fullmatch(value) or WORD.fullmatch(value):
        return False
    if any(map(str.isdigit, value)):
        return len(value) >= SHORTEST_WITH_DIGIT and any(map(str.isalpha, value))
    return len(value) >= CERTAINLY_LONG
