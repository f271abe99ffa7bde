"""The front matter of a Markdown file: YAML between two lines of dashes, and the text behind it."""

import re
from typing import Any, Final

import msgspec

from robota.config.yaml_document import YamlProblem, read_yaml

FENCE: Final = "---"
# Compiled with the first file that needs them; what was read of skills is mostly kept from an earlier session.
_BEGINS: Final = r"---[ \t\r]*\n"
_ENDS: Final = r"\n---[ \t\r]*(?:\n|\Z)"
# Far more than any front matter has; the parser needs quadratic time for brackets in brackets.
MAX_CHARACTERS: Final = 20_000
MAX_BRACKETS: Final = 200
MAX_LOOSE_FIELDS: Final = 100
# A text as people write it behind a name. With a colon in it YAML would refuse the line, and everybody means the text.
_TEXT: Final = r"""[^-?:,\[\]{}#&*!|>'"%@`~\s](?:[^#\x85\u2028\u2029]|(?<=\S)#)*"""
# An item of a list in brackets that is nothing but text.
_ITEM: Final = r"""[^-?:,\[\]{}#&*!|>'"%@`~\s][^:#,\[\]{}\x85\u2028\u2029]*"""
_LINE: Final = r"([A-Za-z][\w-]*):[ \t]*(.*?)[ \t]*"
# What one field defines for others, which are then none by themselves.
_ANCHOR: Final = r"[\s\[,][&*][A-Za-z]"
_NOT_TEXT: Final = r"(?i:true|false|yes|no|on|off|null|~)|[-+.\d][\d._eE+:xob-]*"


class FrontMatter(msgspec.Struct, frozen=True, kw_only=True):
    """The fields and the text of a file. With a `problem` there are no fields, and nothing of the text is lost."""

    fields: dict[str, Any]
    text: str
    problem: str | None = None


def read_front_matter(document: str) -> FrontMatter:
    """Take a document apart. Never raises; a file without front matter is all text."""
    document = document.removeprefix("\ufeff")
    head, fence, text = _split(document)
    if fence is None:
        return FrontMatter(fields={}, text=document)
    if len(head) > MAX_CHARACTERS or head.count("[") + head.count("{") > MAX_BRACKETS:
        return FrontMatter(fields={}, text=text, problem="its front matter is too long or too deeply nested")
    fields = _plain_fields(head)
    if fields is not None:
        return FrontMatter(fields=fields, text=text)
    return _parsed(head, text)


def _split(document: str) -> tuple[str, str | None, str]:
    """What stands between the dashes, the second of them if there is one, and what comes behind."""
    if not document.startswith(FENCE):
        return "", None, document
    begins = re.match(_BEGINS, document)
    ends = None if begins is None else re.compile(_ENDS).search(document, begins.end() - 1)
    if begins is None or ends is None:
        return "", None, document
    return document[begins.end() : ends.start() + 1].replace("\r\n", "\n"), FENCE, document[ends.end() :]


def _plain_fields(head: str) -> dict[str, Any] | None:
    """The fields, if every line is a name and a plain text; starting a YAML parser costs more than all of this."""
    fields: dict[str, Any] = {}
    for line in head.split("\n"):
        if not line.strip():
            continue
        named = re.fullmatch(_LINE, line)
        if named is None or named[1] in fields:
            return None
        value = _plain_value(named[2])
        if value is None:
            return None
        fields[named[1]] = value
    return fields


def _plain_value(value: str) -> str | list[str] | None:
    """A plain text, or a list of such in brackets; None if it takes a parser to tell."""
    if value.startswith("[") and value.endswith("]"):
        items = [item.strip() for item in value[1:-1].split(",")]
        return items if all(re.fullmatch(_ITEM, item) and not re.fullmatch(_NOT_TEXT, item) for item in items) else None
    return value if re.fullmatch(_TEXT, value) and not re.fullmatch(_NOT_TEXT, value) else None


def _loose_fields(head: str) -> dict[str, Any] | None:
    """Each field by itself, as text where it is no YAML; None if that, too, cannot be told apart.

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
        said = None if loose is not None else f"its front matter cannot be read: {problem}"
        return FrontMatter(fields=loose or {}, text=text, problem=said)
    if fields is None:
        return FrontMatter(fields={}, text=text)
    if not isinstance(fields, dict):
        return FrontMatter(fields={}, text=text, problem="its front matter is no list of fields")
    return FrontMatter(fields={str(key): value for key, value in fields.items()}, text=text)
