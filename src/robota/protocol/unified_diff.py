"""Reads a unified diff, of git or in the row of a call, into the changes of each file. Other lines are skipped."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from robota.protocol.views import DiffHunk, DiffLine, DiffView

HUNK: Final = r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@"
KINDS: Final = {"+": "add", "-": "remove", " ": "context", "": "context"}
MARKS: Final = {"context": " ", "add": "+", "remove": "-"}
ESCAPE: Final = re.compile(rb"\\([0-3][0-7]{2}|.)")
ESCAPED: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
NOWHERE: Final = "/dev/null"
# In a row, the line before the changes of each file if there are several.
PART: Final = "*** "


class ReadFile(msgspec.Struct):
    """A file whose changes are being read."""

    path: str = ""
    is_new: bool = False
    note: str = ""
    hunks: list[DiffHunk] = []


def files_in(diff: str) -> tuple[DiffView, ...]:
    """The files of a diff, each with its hunks; one that is binary, or only got another name or mode, has none."""
    return tuple(map(_view, _read(diff.split("\n"))))


def paths_in(diff: str) -> tuple[str, ...]:
    """The path of each file of a diff of git, as it is."""
    return tuple(file.path for file in _read(diff.split("\n")))


def unified(hunk: DiffHunk) -> str:
    """A hunk of a unified diff."""
    header = f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@\n"
    return header + "".join(f"{MARKS[line.kind]}{line.text}\n" for line in hunk.lines)


def parts_in(diff: str) -> list[tuple[str, tuple[DiffHunk, ...]]]:
    """The hunks in the diff of a row: for each file what stands above them, which is nothing if there is only one."""
    parts: list[tuple[str, list[DiffHunk]]] = []
    lines = diff.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith(PART):
            parts.append((line.removeprefix(PART), []))
        elif (hunk := re.match(HUNK, line)) is not None:
            if not parts:
                parts.append(("", []))
            read, at = _hunk(hunk, lines, at)
            if not read.lines and at < len(lines) and lines[at].startswith(" "):  # a remark on what is not shown
                read = msgspec.structs.replace(read, lines=(DiffLine(kind="context", text=lines[at][1:]),))
            parts[-1][1].append(read)
    return [(head, tuple(hunks)) for head, hunks in parts]


def _read(lines: list[str]) -> Iterator[ReadFile]:
    file: ReadFile | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("diff --git "):
            if file is not None:
                yield file
            file = ReadFile(path=_named(line.rpartition(' "' if line.endswith('"') else " b/")[2]), hunks=[])
        elif file is None:
            continue
        elif (hunk := re.match(HUNK, line)) is not None:
            read, at = _hunk(hunk, lines, at)
            file.hunks.append(read)
        else:
            _take_head(file, line)
    if file is not None:
        yield file


def _take_head(file: ReadFile, line: str) -> None:
    """The lines between the name of a file and its first hunk."""
    if line.startswith("new file"):
        file.is_new = True
    elif line.startswith("+++ ") and line[4:] != NOWHERE:
        file.path = _named(line[4:])
    elif line.startswith("deleted file"):
        file.note = " (deleted)"
    elif line.startswith("rename from "):
        file.note = f" (was {_named(line.removeprefix('rename from '))})"
    elif line.startswith("Binary files "):
        file.note = " (binary)"


def _hunk(head: re.Match[str], lines: list[str], at: int) -> tuple[DiffHunk, int]:
    """The lines of a hunk: as many as its head says, so that no line of a file is taken for a head."""
    old, new = int(head[1]), int(head[3])
    old_left = int(head[2]) if head[2] is not None else 1
    new_left = int(head[4]) if head[4] is not None else 1
    counts = old_left, new_left
    diff_lines: list[DiffLine] = []
    while at < len(lines) and (old_left > 0 or new_left > 0 or lines[at].startswith("\\")):
        line = lines[at]
        at += 1
        kind = KINDS.get(line[:1])
        if kind is None:  # "\ No newline at end of file"
            continue
        is_old, is_new = kind != "add", kind != "remove"
        diff_lines.append(
            DiffLine(kind=kind, text=line[1:], old_line=old if is_old else None, new_line=new if is_new else None)
        )
        old, old_left = (old + 1, old_left - 1) if is_old else (old, old_left)
        new, new_left = (new + 1, new_left - 1) if is_new else (new, new_left)
    hunk = DiffHunk(
        old_start=int(head[1]),
        old_count=counts[0],
        new_start=int(head[3]),
        new_count=counts[1],
        lines=tuple(diff_lines),
    )
    return hunk, at


def _named(path: str) -> str:
    """A path as git writes it: in quotes, with escapes, if there are odd characters in it."""
    path = path.removesuffix("\t")
    if path.endswith('"'):
        path = ESCAPE.sub(_unescaped, path.removeprefix('"')[:-1].encode()).decode("utf-8", "replace")
    return path.removeprefix("b/")


def _unescaped(escape: re.Match[bytes]) -> bytes:
    """The byte that an escape stands for."""
    word = escape[1]
    return bytes((int(word, 8),)) if len(word) == 3 else ESCAPED.get(word, word)


def _view(file: ReadFile) -> DiffView:
    lines = [line.kind for hunk in file.hunks for line in hunk.lines]
    return DiffView(
        path=f"{file.path}{file.note}",
        added=lines.count("add"),
        removed=lines.count("remove"),
        hunks=tuple(file.hunks),
        is_new=file.is_new,
    )
