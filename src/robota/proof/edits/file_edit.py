"""The change of one file by one call as hashed lines, from the diff in a row or from checkpoints."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from robota.proof.calls.call_story import CallChanges, ShownChange
from robota.proof.lines.alignment import aligned
from robota.proof.lines.line_hashes import LineHashes, hashes_of, line_hash, lines_of, weight
from robota.workspace.checkpoints.checkpoint_change import CheckpointChange

# A command that installs packages changes more and longer files than are worth indexing.
MAX_FILES: Final = 300
MAX_LINES: Final = 50_000
MAX_FINDABLE: Final = 5_000
# A line with fewer letters equals many others by chance.
FINDABLE_WEIGHT: Final = 4
LEAST_KEPT_OF_RENAMED: Final = 0.5
HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
# The separator between the diffs of several files.
NEXT_FILE: Final = re.compile(r"\*\*\* (?P<what>[a-z]+): (?P<path>.+)")


class FileEdit(msgspec.Struct, frozen=True, kw_only=True):
    """`old_path` is where the file was before, if a call moved it. `findable` are lines that identify it.

    See `LineChange` for the rest.
    """

    path: str
    old: LineHashes
    new: LineHashes
    added: tuple[int, ...]
    is_whole: bool
    findable: tuple[int, ...] = ()
    old_path: str = ""


class CheckpointReader(Protocol):
    """The part of an open checkpoint store that is needed here."""

    def completed(self, checkpoint: str) -> str: ...

    def changes(self, before: str, after: str) -> tuple[CheckpointChange, ...]: ...

    def contents(self, names: Sequence[str]) -> Mapping[str, bytes]: ...


def edits_shown(changes: CallChanges) -> list[FileEdit]:
    """The edits from the diffs in the rows of a call. They cover parts of files."""
    return [edit for shown in changes.shown for path, diff in _by_file(shown) if (edit := _fragment(path, diff))]


def edits_saved(changes: CallChanges, store: CheckpointReader) -> list[FileEdit]:
    """The edits from the checkpoints around a call. They cover whole files. Raises `CheckpointError`."""
    changed = store.changes(store.completed(changes.before), store.completed(changes.after))
    named = set(changes.paths)
    meant = [each for each in changed if not named or each.path in named][:MAX_FILES]
    states = [state for each in meant for state in (each.before, each.after) if state is not None and not state.is_link]
    contents = store.contents(sorted({state.content for state in states}))
    lines = {name: lines_of(data) for name, data in contents.items()}
    written = _written(changes)
    return list(_whole_edits(meant, lines, written))


def _whole_edits(
    changes: Sequence[CheckpointChange], lines: Mapping[str, list[bytes]], written: Counter[int] | None
) -> Iterator[FileEdit]:
    removed = {
        each.path: hashes_of(lines.get(each.before.content, ()))
        for each in changes
        if each.before is not None and each.after is None
    }
    for each in changes:
        if each.after is None or not (texts := lines.get(each.after.content)) or len(texts) > MAX_LINES:
            continue
        new = hashes_of(texts)
        old_path, old = "", hashes_of(lines.get(each.before.content, ())) if each.before is not None else ()
        if each.before is None:
            old_path, old = _moved_from(new, removed)
        added = [place for place, there in enumerate(aligned(new, old)) if there is None]
        if written is not None:
            added = _only_written(added, new, written)
        yield FileEdit(
            path=each.path,
            old_path=old_path,
            old=old,
            new=new,
            added=tuple(added),
            is_whole=True,
            findable=_findable(texts[place] for place in added),
        )


def _moved_from(new: LineHashes, removed: Mapping[str, LineHashes]) -> tuple[str, LineHashes]:
    """The old path of a renamed file: a removed file with mostly the same lines."""
    best, most = "", LEAST_KEPT_OF_RENAMED
    for path, old in removed.items():
        shared = (Counter(new) & Counter(old)).total() / max(len(new), len(old), 1)
        if shared >= most:
            best, most = path, shared
    return best, removed.get(best, ())


def _written(changes: CallChanges) -> Counter[int] | None:
    """The lines that a call announced in its row; None if there is no row or it does not show all lines."""
    if not changes.shown or not changes.paths:
        return None
    announced: Counter[int] = Counter()
    for shown in changes.shown:
        for _, diff in _by_file(shown):
            for mark, line in _hunk_lines(diff):
                announced.update([line_hash(line)] if mark == "+" else ())
    return announced


def _only_written(added: Sequence[int], new: LineHashes, written: Counter[int]) -> list[int]:
    """The edit without lines that others wrote into the file before the next checkpoint."""
    left = written.copy()
    own_places: list[int] = []
    for place in added:
        if left[new[place]] > 0:
            left[new[place]] -= 1
            own_places.append(place)
    return own_places


def _by_file(shown: ShownChange) -> Iterator[tuple[str, list[str]]]:
    path, lines = shown.path, list[str]()
    is_inside = False
    for line in shown.diff.split("\n"):
        is_inside = is_inside or HUNK.match(line) is not None
        heading = NEXT_FILE.fullmatch(line)
        if heading is not None:
            if lines:
                yield path, lines
            path, lines, is_inside = heading["path"], [], False
        elif is_inside:
            lines.append(line)
    if lines:
        yield path, lines


def _hunk_lines(diff: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for line in diff:
        if line[:1] in (" ", "+", "-"):
            yield line[0], line[1:].rstrip().encode("utf-8", "surrogateescape")


def _fragment(path: str, diff: Sequence[str]) -> FileEdit | None:
    old: list[int] = []
    new: list[int] = []
    added: list[int] = []
    texts: list[bytes] = []
    for mark, line in _hunk_lines(diff):
        number = line_hash(line)
        if mark == "+":
            added.append(len(new))
            texts.append(line)
        if mark != "+":
            old.append(number)
        if mark != "-":
            new.append(number)
    if not added or len(new) > MAX_LINES:
        return None
    return FileEdit(
        path=path, old=tuple(old), new=tuple(new), added=tuple(added), is_whole=False, findable=_findable(texts)
    )


def _findable(lines: Iterable[bytes]) -> tuple[int, ...]:
    hashes = dict.fromkeys(line_hash(line) for line in lines if weight(line) >= FINDABLE_WEIGHT)
    return tuple(hashes)[:MAX_FINDABLE]
