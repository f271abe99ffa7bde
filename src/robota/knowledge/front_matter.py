"""Reads the front matter of a Markdown file: YAML between two lines of dashes, followed by the text."""

import re
from typing import Any, Final

import msgspec

from robota.config.yaml_document import YamlProblem, read_yaml

FENCE: Final = "---"
UNCLOSED: Final = "its front matter has no closing ---"
# Compiled on first use: parsed skills mostly come from the cache.
_BEGINS: Final = r"---[ \t\r]*\n"
_ENDS: Final = r"\n---[ \t\r]*(?:\n|\Z)"
# Far more than real front matter has; the parser takes quadratic time for nested brackets.
MAX_CHARACTERS: Final = 20_000
MAX_BRACKETS: Final = 200
MAX_LOOSE_FIELDS: Final = 100
# How people write booleans; YAML knows only some of them.
TRUE_WORDS: Final = frozenset({"true", "yes", "on", "1"})
FALSE_WORDS: Final = frozenset({"false", "no", "off", "0"})
# A plain value. YAML refuses one with a colon in it (`description: Use this: always`), but the text is what is meant.
_TEXT: Final = r"""[^-?:,\[\]{}#&*!|>'"%@`~\s](?:[^#\x85\u2028\u2029]|(?<=\S)#)*"""
# An item of a list in brackets that is plain text.
_ITEM: Final = r"""[^-?:,\[\]{}#&*!|>'"%@`~\s][^:#,\[\]{}\x85\u2028\u2029]*"""
_LINE: Final = r"([A-Za-z][\w-]*):[ \t]*(.*?)[ \t]*"
# An anchor or an alias: such fields cannot be parsed one by one.
_ANCHOR: Final = r"[\s\[,][&*][A-Za-z]"
_NOT_TEXT: Final = r"(?i:true|false|yes|no|on|off|null|~)|[-+.\d][\d._eE+:xob-]*"


class FrontMatter(msgspec.Struct, frozen=True, kw_only=True):
    """The fields and the text of a file. With a `problem` there are no fields, but the text is complete."""

    fields: dict[str, Any]
    text: str
    problem: str | None = None


def read_front_matter(document: str) -> FrontMatter:
    """Split a document into fields and text. Never raises: a file without front matter is all text."""
    document = document.removeprefix("\ufeff")
    split = _split(document)
    if split is None:
        is_unclosed = re.match(_BEGINS + r"[A-Za-z][\w-]*:", document) is not None
        return FrontMatter(fields={}, text=document, problem=UNCLOSED if is_unclosed else None)
    head, text = split
    if len(head) > MAX_CHARACTERS or head.count("[") + head.count("{") > MAX_BRACKETS:
        return FrontMatter(fields={}, text=text, problem="its front matter is too long or too deeply nested")
    fields = _plain_fields(head)
    if fields is not None:
        return FrontMatter(fields=fields, text=text)
    return _parsed(head, text)


def _split(document: str) -> tuple[str, str] | None:
    """The YAML between the dashes and the text after them; None if there is no front matter."""
    if not document.startswith(FENCE):
        return None
    begins = re.match(_BEGINS, document)
    ends = None if begins is None else re.compile(_ENDS).search(document, begins.end() - 1)
    if begins is None or ends is None:
        return None
    return document[begins.end() : ends.start() + 1].replace("\r\n", "\n"), document[ends.end() :]


def _plain_fields(head: str) -> dict[str, Any] | None:
    """The fields, if every line is a name and a plain value; else None. Much cheaper than loading a YAML parser."""
    fields: dict[str, Any] = {}
    for line in head.split("\n"):
        if not line.strip():
            continue
        field = re.fullmatch(_LINE, line)
        if field is None or field[1] in fields:
            return None
        value = _plain_value(field[2])
        if value is None:
            return None
        fields[field[1]] = value
    return fields


def _plain_value(value: str) -> str | list[str] | None:
    """A plain text, or a list of them in brackets; None if it takes a YAML parser."""
    if value.startswith("[") and value.endswith("]"):
        items = [item.strip() for item in value[1:-1].split(",")]
        return items if all(re.fullmatch(_ITEM, item) and not re.fullmatch(_NOT_TEXT, item) for item in items) else None
    return value if re.fullmatch(_TEXT, value) and not re.fullmatch(_NOT_TEXT, value) else None


def _loose_fields(head: str) -> dict[str, Any] | None:
    """Parse each field on its own, and use the raw text of those that are not valid YAML; None if that is impossible.

    People write `description: Use this: always` and `argument-hint: [file] [line]`.
    """
    entries = re.split(r"^(?=[A-Za-z][\w-]*:)", head, flags=re.MULTILINE)
    if entries[0].strip() or len(entries) > MAX_LOOSE_FIELDS or re.search(_ANCHOR, head):
        return None
    fields: dict[str, Any] = {}
    for entry in entries[1:]:
        name, _, value = entry.partition(":")
        fields[name] = _loose_value(name, entry, " ".join(value.split()))
    return fields


def _loose_value(name: str, entry: str, text: str) -> Any:
    try:
        read = read_yaml(entry)
    except YamlProblem:
        return text
    return read[name] if isinstance(read, dict) and list(read) == [name] else text


def _parsed(head: str, text: str) -> FrontMatter:
    try:
        fields = read_yaml(head)
    except YamlProblem as problem:
        loose = _loose_fields(head)
        message = None if loose is not None else f"its front matter cannot be read: {problem}"
        return FrontMatter(fields=loose or {}, text=text, problem=message)
    if fields is None:
        return FrontMatter(fields={}, text=text)
    if not isinstance(fields, dict):
        return FrontMatter(fields={}, text=text, problem="its front matter is no list of fields")
    return FrontMatter(fields={str(key): value for key, value in fields.items()}, text=text)
