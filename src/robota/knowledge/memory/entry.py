"""An entry of the memory, and the line of a Markdown file that it stands in."""

import hashlib
import re
from datetime import date
from enum import StrEnum
from typing import Final

import msgspec

from robota.text.visible import visible

DEFAULT_TOPIC: Final = "general"
LONGEST_TOPIC: Final = 80
_NOT_IN_A_TOPIC: Final = re.compile(r"[^a-z0-9가-힣_-]+")
_ENTRY: Final = re.compile(
    r"[ \t]*[-*] \[(?P<date>\d{4}-\d\d-\d\d)\] \((?P<type>[a-z]+)/(?P<topic>[^\s()/]+)\) (?P<rest>\S.*)"
)
_FACTS: Final = re.compile(r"(?P<text>.*\S)[ \t]*<!-- (?P<facts>[a-z]+: .*) -->")
_ORIGIN: Final = re.compile(r"(?P<session>[A-Za-z0-9._-]+)#(?P<message>\d{1,18})")
_BETWEEN_FACTS: Final = "; "
# Scripts and emoji need them.
_JOINERS: Final = frozenset("\u200c\u200d\ufe0f")


class MemoryType(StrEnum):
    """What an entry is about."""

    USER = "user"
    FEEDBACK = "feedback"
    PROJECT = "project"
    REFERENCE = "reference"


class MemoryOrigin(msgspec.Struct, frozen=True):
    """The session and the message in which something was said."""

    session: str
    message: int

    def __str__(self) -> str:
        return f"{self.session}#{self.message}"


class MemoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to remember. It is stale if `check`, a command, fails, or if one of the `files` it names is gone."""

    date: str
    type: MemoryType
    topic: str
    text: str
    origin: MemoryOrigin | None = None
    files: tuple[str, ...] = ()
    check: str | None = None

    @property
    def id(self) -> str:
        """The same for the same words under the same topic, however they are spaced."""
        words = f"{self.type}\0{self.topic}\0{self.text}".encode("utf-8", "surrogateescape")
        return f"mem_{hashlib.sha1(words, usedforsecurity=False).hexdigest()[:12]}"

    @property
    def prompt_text(self) -> str:
        """The entry as the model reads it: without its facts."""
        return f"- [{self.date}] ({self.type}/{self.topic}) {self.text}"

    @property
    def line(self) -> str:
        """The entry as it stands in a file, without a line end."""
        facts = [
            *([] if self.origin is None else [f"from: {self.origin}"]),
            *(f"file: {path}" for path in self.files),
            *([] if self.check is None else [f"run: {self.check}"]),
        ]
        return f"{self.prompt_text} <!-- {_BETWEEN_FACTS.join(facts)} -->" if facts else self.prompt_text


class MemoryLine(msgspec.Struct, frozen=True):
    """A line of a memory file with its line end; `entry` is None for all that people write besides entries."""

    text: str
    entry: MemoryEntry | None = None


def memory_lines(document: str) -> tuple[MemoryLine, ...]:
    """Take a file apart. Never raises; the texts of the lines, put together, are the document."""
    return tuple(MemoryLine(line, _entry_in(line.rstrip("\r\n"))) for line in document.splitlines(keepends=True))


def topic_slug(words: str) -> str:
    """A topic as it can name a file."""
    slug = _NOT_IN_A_TOPIC.sub("-", words.lower()).strip("-")[:LONGEST_TOPIC].strip("-")
    return slug or DEFAULT_TOPIC


def normalised(text: str) -> str:
    """A text on one line, with nothing unseen and nothing that could be taken for the facts of an entry."""
    return visible(" ".join(text.split()), _JOINERS).replace("<!--", "<! --")


def can_be_check(command: str) -> bool:
    """Whether a command can stand in an entry: on one line, and with nothing that begins or ends a comment."""
    return bool(command.strip()) and command.isprintable() and "-->" not in command and "<!--" not in command


def can_be_file(path: str) -> bool:
    """Whether a path can stand in an entry."""
    return bool(path) and path.isprintable() and not any(mark in path for mark in ("-->", "<!--", ";"))


def _entry_in(line: str) -> MemoryEntry | None:
    found = _ENTRY.fullmatch(line)
    if found is None or found["type"] not in set(MemoryType) or not _is_date(found["date"]):
        return None
    entry = MemoryEntry(
        date=found["date"], type=MemoryType(found["type"]), topic=found["topic"], text=found["rest"].strip()
    )
    commented = _FACTS.fullmatch(entry.text)
    return entry if commented is None else _with_facts(entry, commented["text"], commented["facts"])


def _with_facts(entry: MemoryEntry, text: str, facts: str) -> MemoryEntry:
    """The entry with what its comment says; a comment that says anything else is a part of the text."""
    origin: MemoryOrigin | None = None
    files: list[str] = []
    check: str | None = None
    rest = facts
    while rest and check is None:
        if rest.startswith("run: "):
            check, rest = rest.removeprefix("run: "), ""
            continue
        fact, _, rest = rest.partition(_BETWEEN_FACTS)
        name, _, value = fact.partition(": ")
        found = _ORIGIN.fullmatch(value) if name == "from" and origin is None else None
        if found is not None:
            origin = MemoryOrigin(found["session"], int(found["message"]))
        elif name == "file" and value:
            files.append(value)
        else:
            return entry
    return msgspec.structs.replace(entry, text=text, origin=origin, files=tuple(files), check=check)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
