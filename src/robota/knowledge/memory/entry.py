"""A memory entry, and its line in a Markdown file."""

import hashlib
import re
from datetime import date
from enum import StrEnum
from typing import Final

import msgspec

from robota.text.visible import visible

DEFAULT_TOPIC: Final = "general"
MAX_TOPIC: Final = 80
_NOT_IN_TOPIC: Final = re.compile(r"[^a-z0-9가-힣_-]+")
_ENTRY: Final = re.compile(
    r"[ \t]*[-*] \[(?P<date>\d{4}-\d\d-\d\d)\] \((?P<type>[a-z]+)/(?P<topic>[^\s()/]+)\) (?P<rest>\S.*)"
)
_METADATA: Final = re.compile(r"(?P<text>.*\S)[ \t]*<!-- (?P<metadata>[a-z]+: .*) -->")
_ORIGIN: Final = re.compile(r"(?P<session>[A-Za-z0-9._-]+)#(?P<message>\d{1,18})")
_METADATA_SEPARATOR: Final = "; "
# Some scripts and emoji need these invisible characters.
_JOINERS: Final = frozenset("\u200c\u200d\ufe0f")


class MemoryType(StrEnum):
    """What an entry is about."""

    USER = "user"
    FEEDBACK = "feedback"
    PROJECT = "project"
    REFERENCE = "reference"


class MemoryOrigin(msgspec.Struct, frozen=True):
    """The session and the message that an entry comes from."""

    session: str
    message: int

    def __str__(self) -> str:
        return f"{self.session}#{self.message}"


class MemoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to remember. It is stale if the command `check` fails, or if one of its `files` no longer exists."""

    date: str
    type: MemoryType
    topic: str
    text: str
    origin: MemoryOrigin | None = None
    files: tuple[str, ...] = ()
    check: str | None = None

    @property
    def id(self) -> str:
        """A hash of type, topic and text, independent of date and metadata."""
        content = f"{self.type}\0{self.topic}\0{self.text}".encode("utf-8", "surrogateescape")
        return f"mem_{hashlib.sha1(content, usedforsecurity=False).hexdigest()[:12]}"

    @property
    def prompt_text(self) -> str:
        """The entry for the model, without its metadata."""
        return f"- [{self.date}] ({self.type}/{self.topic}) {self.text}"

    @property
    def line(self) -> str:
        """The entry as a line of a file, with its metadata in a comment, without a line end."""
        metadata = [
            *([] if self.origin is None else [f"from: {self.origin}"]),
            *(f"file: {path}" for path in self.files),
            *([] if self.check is None else [f"run: {self.check}"]),
        ]
        return f"{self.prompt_text} <!-- {_METADATA_SEPARATOR.join(metadata)} -->" if metadata else self.prompt_text


class MemoryLine(msgspec.Struct, frozen=True):
    """A line of a memory file with its line end; `entry` is None if it is not an entry."""

    text: str
    entry: MemoryEntry | None = None


def memory_lines(document: str) -> tuple[MemoryLine, ...]:
    """Parse a memory file. Never raises; the texts of the lines, joined, are the document."""
    return tuple(MemoryLine(line, _entry_in(line.rstrip("\r\n"))) for line in document.splitlines(keepends=True))


def topic_slug(words: str) -> str:
    """A topic as a file name."""
    slug = _NOT_IN_TOPIC.sub("-", words.lower()).strip("-")[:MAX_TOPIC].strip("-")
    return slug or DEFAULT_TOPIC


def normalised(text: str) -> str:
    """A text on one line, with invisible characters spelled out and nothing that could be read as metadata."""
    return visible(" ".join(text.split()), _JOINERS).replace("<!--", "<! --")


def is_valid_check(command: str) -> bool:
    """Whether a command can be the check of an entry: one line, without comment delimiters."""
    return bool(command.strip()) and command.isprintable() and "-->" not in command and "<!--" not in command


def is_valid_file(path: str) -> bool:
    """Whether a path can be in the metadata of an entry."""
    return bool(path) and path.isprintable() and not any(mark in path for mark in ("-->", "<!--", ";"))


def _entry_in(line: str) -> MemoryEntry | None:
    match = _ENTRY.fullmatch(line)
    if match is None or match["type"] not in set(MemoryType) or not _is_date(match["date"]):
        return None
    entry = MemoryEntry(
        date=match["date"], type=MemoryType(match["type"]), topic=match["topic"], text=match["rest"].strip()
    )
    comment = _METADATA.fullmatch(entry.text)
    return entry if comment is None else _with_metadata(entry, comment["text"], comment["metadata"])


def _with_metadata(entry: MemoryEntry, text: str, metadata: str) -> MemoryEntry:
    """The entry with the metadata of its comment; any other comment is part of the text."""
    origin: MemoryOrigin | None = None
    files: list[str] = []
    check: str | None = None
    rest = metadata
    while rest and check is None:
        if rest.startswith("run: "):
            check, rest = rest.removeprefix("run: "), ""
            continue
        field, _, rest = rest.partition(_METADATA_SEPARATOR)
        name, _, value = field.partition(": ")
        match = _ORIGIN.fullmatch(value) if name == "from" and origin is None else None
        if match is not None:
            origin = MemoryOrigin(match["session"], int(match["message"]))
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
