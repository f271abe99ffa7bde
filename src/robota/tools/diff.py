"""The difference between two texts, for people (a view) and for the ask (unified text)."""

from collections.abc import Iterator
from difflib import SequenceMatcher

import msgspec

from robota.protocol.views import DiffHunk, DiffLine, DiffView

CONTEXT_LINES = 3

# Above this many pairs of lines a careful comparison takes seconds; one big replacement is true as well.
MAX_PAIRS = 4_000_000

Opcode = tuple[str, int, int, int, int]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    view: DiffView
    unified: str


def difference(path: str, old: str | None, new: str) -> Difference:
    """How `new` differs from `old`; `old` is None if there was no file."""
    before, after = _lines(old or ""), _lines(new)
    hunks = tuple(_hunk(group, before, after) for group in _groups(_opcodes(before, after)))
    kinds = [line.kind for hunk in hunks for line in hunk.lines]
    view = DiffView(path=path, added=kinds.count("add"), removed=kinds.count("remove"), hunks=hunks, is_new=old is None)
    return Difference(view=view, unified="".join(_unified(hunk) for hunk in hunks))


def _lines(text: str) -> list[str]:
    """Lines with their endings, split at `\\n` only, so that line numbers are those of an editor."""
    pieces = text.split("\n")
    lines = [piece + "\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _opcodes(before: list[str], after: list[str]) -> list[Opcode]:
    """Like `SequenceMatcher.get_opcodes`, with equal beginning and end set aside first."""
    shortest = min(len(before), len(after))
    top = next((at for at in range(shortest) if before[at] != after[at]), shortest)
    room = shortest - top
    end = next((at for at in range(room) if before[-1 - at] != after[-1 - at]), room)
    old, new = before[top : len(before) - end], after[top : len(after) - end]
    if len(old) * len(new) > MAX_PAIRS:
        middle: list[Opcode] = [("replace", 0, len(old), 0, len(new))]
    else:
        middle = list(SequenceMatcher(None, old, new).get_opcodes())
    moved = [(tag, i1 + top, i2 + top, j1 + top, j2 + top) for tag, i1, i2, j1, j2 in middle]
    head: list[Opcode] = [("equal", 0, top, 0, top)] if top else []
    tail: list[Opcode] = [("equal", len(before) - end, len(before), len(after) - end, len(after))] if end else []
    return [*head, *moved, *tail]


def _groups(opcodes: list[Opcode]) -> Iterator[list[Opcode]]:
    """Changes with a few equal lines around them; changes far apart become separate groups."""
    group: list[Opcode] = []
    for tag, i1, i2, j1, j2 in opcodes:
        if tag != "equal":
            group.append((tag, i1, i2, j1, j2))
            continue
        lead = (tag, max(i1, i2 - CONTEXT_LINES), i2, max(j1, j2 - CONTEXT_LINES), j2)
        if not group:
            group = [lead]
        elif i2 - i1 <= 2 * CONTEXT_LINES:
            group.append((tag, i1, i2, j1, j2))
        else:
            yield [*group, (tag, i1, i1 + CONTEXT_LINES, j1, j1 + CONTEXT_LINES)]
            group = [lead]
    if any(tag != "equal" for tag, *_ in group):
        yield _with_short_end(group)


def _with_short_end(group: list[Opcode]) -> list[Opcode]:
    tag, i1, i2, j1, j2 = group[-1]
    if tag != "equal":
        return group
    return [*group[:-1], (tag, i1, min(i2, i1 + CONTEXT_LINES), j1, min(j2, j1 + CONTEXT_LINES))]


def _hunk(group: list[Opcode], before: list[str], after: list[str]) -> DiffHunk:
    _, old_start, _, new_start, _ = group[0]
    _, _, old_end, _, new_end = group[-1]
    return DiffHunk(
        old_start=old_start + 1 if old_end > old_start else old_start,
        old_count=old_end - old_start,
        new_start=new_start + 1 if new_end > new_start else new_start,
        new_count=new_end - new_start,
        lines=tuple(line for opcode in group for line in _hunk_lines(opcode, before, after)),
    )


def _hunk_lines(opcode: Opcode, before: list[str], after: list[str]) -> Iterator[DiffLine]:
    tag, i1, i2, j1, j2 = opcode
    if tag == "equal":
        for old, new in zip(range(i1, i2), range(j1, j2), strict=True):
            yield DiffLine(kind="context", text=_bare(before[old]), old_line=old + 1, new_line=new + 1)
        return
    for old in range(i1, i2):
        yield DiffLine(kind="remove", text=_bare(before[old]), old_line=old + 1)
    for new in range(j1, j2):
        yield DiffLine(kind="add", text=_bare(after[new]), new_line=new + 1)


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _unified(hunk: DiffHunk) -> str:
    marks = {"context": " ", "add": "+", "remove": "-"}
    header = f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@\n"
    return header + "".join(f"{marks[line.kind]}{line.text}\n" for line in hunk.lines)
