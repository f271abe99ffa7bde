"""Finds the calls that wrote the lines of a file, with the index of edits."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from robota.proof.calls.call_story import CallStory
from robota.proof.edits.edit_index import EditLog
from robota.proof.lines.attribution import LineChange, attributed
from robota.proof.lines.line_hashes import LineHashes, hashes_of, lines_of, unpacked, weight

# Only the newest changes of a file that is changed very often are used.
MAX_EDITS: Final = 1_000
# Moved lines count only in a stretch with at least this many letters.
MOVED_WEIGHT: Final = 30
MAX_CANDIDATES: Final = 20
MAX_ASKED: Final = 400
COMMON: Final = 200
FIELDS: Final = (
    "edit.id, log, started, call, edit.path, old_path, old, new, added, is_whole, checkpoint, story, is_copy"
)


class LineOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """The call that wrote a line, and the file. `is_moved`: the line was found by its content in another file."""

    story: CallStory
    log: EditLog
    path: str
    is_moved: bool


class _IndexedEdit(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    log: EditLog
    started: int
    call: str
    path: str
    old_path: str
    old: str
    new: str
    added: bytes
    is_whole: bool
    checkpoint: str
    story: bytes


# Reads a file from a checkpoint of the session of a log; None if it is unknown.
FileThen = Callable[[EditLog, str, str], bytes | None]


class LineOrigins:
    """Finds origins in the index. `logs` are the result of `brought_up_to_date`."""

    def __init__(self, connection: sqlite3.Connection, logs: Mapping[int, EditLog], read_file_at: FileThen) -> None:
        self._connection = connection
        self._logs = logs
        self._file_reader = read_file_at
        self._versions: dict[str, LineHashes] = {}

    def of(self, path: str, data: bytes, wanted: Collection[int]) -> dict[int, LineOrigin]:
        """The origins of the wanted lines, counted from 0. Lines that no call wrote are left out."""
        texts = lines_of(data)
        lines, weights = hashes_of(texts), [weight(text) for text in texts]
        wanted = {line for line in wanted if line < len(lines)}
        edits = {edit.id: edit for edit in self._history(path)}
        origins = attributed(lines, weights, wanted, map(self._line_change, edits.values()))
        left = wanted - origins.keys()
        elsewhere = {edit.id: edit for edit in self._elsewhere(lines, left, edits)} if left else {}
        moved = attributed(lines, weights, left, map(self._line_change, elsewhere.values()), MOVED_WEIGHT)
        moved = self._not_there_before(path, lines, moved, elsewhere)
        return {line: self._origin((edits | elsewhere)[number], path) for line, number in {**origins, **moved}.items()}

    def _history(self, path: str) -> list[_IndexedEdit]:
        """The edits of a file, newest first, including those before a call renamed it."""
        history: list[_IndexedEdit] = []
        seen = {path}
        waiting: list[tuple[str, int | None]] = [(path, None)]
        while waiting:
            name, before = waiting.pop()
            for edit in self._edits("edit.path = ? ORDER BY started DESC LIMIT ?", (name, MAX_EDITS)):
                if before is None or edit.started < before:
                    history.append(edit)
                    if edit.old_path and edit.old_path not in seen:
                        seen.add(edit.old_path)
                        waiting.append((edit.old_path, edit.started))
        return sorted(history, key=lambda edit: -edit.started)

    def _elsewhere(
        self, lines: LineHashes, left: Collection[int], known: Mapping[int, _IndexedEdit]
    ) -> list[_IndexedEdit]:
        """The edits of other files that added most of the remaining lines, newest first."""
        asked = list(dict.fromkeys(lines[line] for line in sorted(left)))[:MAX_ASKED]
        counted: Counter[int] = Counter()
        for each in asked:
            rows = self._connection.execute("SELECT edit FROM line WHERE hash = ? LIMIT ?", (each, COMMON)).fetchall()
            if len(rows) < COMMON:
                counted.update(row[0] for row in rows if row[0] not in known)
        numbers = [number for number, _ in counted.most_common(MAX_CANDIDATES)]
        marks = ",".join("?" * len(numbers))
        return self._edits(f"edit.id IN ({marks}) ORDER BY started DESC", numbers) if numbers else []

    def _edits(self, condition: str, values: Sequence[Any]) -> list[_IndexedEdit]:
        asked = f"SELECT {FIELDS} FROM edit JOIN log ON log.id = edit.log WHERE {condition}"
        chosen: dict[tuple[int, str, str], tuple[tuple[bool, bool], _IndexedEdit]] = {}
        for *fields, is_copy in self._connection.execute(asked, values):
            log = self._logs.get(fields[1])
            if log is None:
                continue
            row_values = dict(zip(_IndexedEdit.__struct_fields__, fields, strict=True))
            edit = _IndexedEdit(**{**row_values, "log": log, "is_whole": bool(fields[9])})
            # A forked session repeats the records of its origin, and a forged log may repeat anything.
            key, rank = (edit.started, edit.call, edit.path), (log.is_own, not is_copy)
            if key not in chosen or rank > chosen[key][0]:
                chosen[key] = rank, edit
        return [edit for _, edit in chosen.values()]

    def _line_change(self, edit: _IndexedEdit) -> LineChange:
        return LineChange(
            number=edit.id,
            old=self._version(edit.old),
            new=self._version(edit.new),
            added=frozenset(unpacked(edit.added)),
            is_whole=edit.is_whole,
        )

    def _version(self, key: str) -> LineHashes:
        if key not in self._versions:
            row = self._connection.execute("SELECT lines FROM version WHERE key = ?", (key,)).fetchone()
            self._versions[key] = unpacked(row[0]) if row is not None else ()
        return self._versions[key]

    def _not_there_before(
        self, path: str, lines: LineHashes, moved: Mapping[int, int], edits: Mapping[int, _IndexedEdit]
    ) -> dict[int, int]:
        """Drop lines that were in this file before a call wrote them elsewhere: that call copied them from here."""
        new_here: dict[int, int] = {}
        for number in set(moved.values()):
            edit = edits[number]
            then = self._file_reader(edit.log, edit.checkpoint, path) if edit.checkpoint and edit.path != path else None
            old = set(hashes_of(lines_of(then or b"")))
            new_here |= {line: each for line, each in moved.items() if each == number and lines[line] not in old}
        return new_here

    def _origin(self, edit: _IndexedEdit, path: str) -> LineOrigin:
        return LineOrigin(story=_story(edit.story), log=edit.log, path=edit.path, is_moved=edit.path != path)


def _story(data: bytes) -> CallStory:
    try:
        return msgspec.msgpack.decode(data, type=CallStory)
    except msgspec.DecodeError:
        return CallStory(call_id="", tool="")


def stretches(origins: Mapping[int, LineOrigin], lines: Iterable[int]) -> list[tuple[int, int, LineOrigin | None]]:
    """Group lines into stretches of the same origin: first line, last line, origin."""
    grouped: list[tuple[int, int, LineOrigin | None]] = []
    for line in sorted(lines):
        origin = origins.get(line)
        if grouped and grouped[-1][1] == line - 1 and _same(grouped[-1][2], origin):
            grouped[-1] = (grouped[-1][0], line, grouped[-1][2])
        else:
            grouped.append((line, line, origin))
    return grouped


def _same(one: LineOrigin | None, other: LineOrigin | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.log.path, one.story.started_ms, one.story.call_id) == (
        other.log.path,
        other.story.started_ms,
        other.story.call_id,
    )
