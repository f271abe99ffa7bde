"""The difference between two texts, as a view for users and as unified text for the ask."""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import msgspec

from robota.protocol.unified_diff import unified
from robota.protocol.views import DiffHunk, DiffLine, DiffView
from robota.workspace.text.line_index import LineIndex
from robota.workspace.text.source import TextSpan, common_prefix, common_suffix

CONTEXT_LINES = 3

# Above this limit an exact comparison takes seconds; a single large replacement is also correct.
MAX_WORK = 500_000

# A diff is shown, logged and sent as a whole, so its size is limited; no reader needs more.
MAX_SHOWN_CHARACTERS = 1_000_000


class Opcode(NamedTuple):
    """A run of lines that are equal, replaced, removed or added, as `difflib` describes it."""

    tag: str
    old_start: int
    old_end: int
    new_start: int
    new_end: int

    @property
    def is_equal(self) -> bool:
        return self.tag == "equal"

    def first(self, count: int) -> "Opcode":
        """The first lines of an equal run."""
        return self._replace(
            old_end=min(self.old_end, self.old_start + count), new_end=min(self.new_end, self.new_start + count)
        )

    def last(self, count: int) -> "Opcode":
        """The last lines of an equal run."""
        return self._replace(
            old_start=max(self.old_start, self.old_end - count), new_start=max(self.new_start, self.new_end - count)
        )


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A change as a view and as unified text.

    `unseen` is the number of changed lines that are omitted from a very large diff; the totals in the view include
    them.
    """

    view: DiffView
    unified: str
    unseen: int = 0


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring changes with a few lines around them, and the number of lines above, old and new.

    `unseen` counts the removed and added lines that did not fit.
    """

    old_above: int
    new_above: int
    before: list[str]
    after: list[str]
    unseen: tuple[int, int] = (0, 0)


def difference(path: str, old: str | None, new: str) -> Difference:
    """How `new` differs from `old`, which is None for a new file."""
    before = old or ""
    head = common_prefix(before, new)
    tail = common_suffix(before, new, min(len(before), len(new)) - head)
    change = TextSpan(start=head, end=len(before) - tail, new=new[head : len(new) - tail])
    return difference_by(path, before, LineIndex(before), [change], is_new=old is None)


def difference_by(
    path: str, text: str, index: LineIndex, spans: Sequence[TextSpan], *, is_new: bool = False
) -> Difference:
    """The diff of replacing some spans of `text`. Only the lines around them are compared."""
    regions = list(_regions(text, index, sorted(spans, key=lambda span: span.start)))
    hunks = [_hunk(group, region) for region in regions for group in _groups(_opcodes(region.before, region.after))]
    kinds = [line.kind for hunk in hunks for line in hunk.lines]
    unseen_old, unseen_new = (sum(region.unseen[side] for region in regions) for side in (0, 1))
    unseen = unseen_old + unseen_new
    if unseen:
        hunks.append(_remark_on_unseen(unseen_old, unseen_new))
    view = DiffView(
        path=path,
        added=kinds.count("add") + unseen_new,
        removed=kinds.count("remove") + unseen_old,
        hunks=tuple(hunks),
        is_new=is_new,
    )
    return Difference(view=view, unified="".join(map(unified, hunks)), unseen=unseen)


def _remark_on_unseen(old: int, new: int) -> DiffHunk:
    note = f"[… {old:,} more removed and {new:,} more added lines are not shown …]"
    return DiffHunk(old_start=0, old_count=0, new_start=0, new_count=0, lines=(DiffLine(kind="context", text=note),))


def _regions(text: str, index: LineIndex, spans: list[TextSpan]) -> Iterator[Region]:
    """The parts of the text around the spans, before and after the change, until there are too many characters."""
    added = 0  # lines, by the regions above
    room = MAX_SHOWN_CHARACTERS
    for start, end, inside in _neighbourhoods(text, spans):
        old, new = text[start:end], _replaced(text, start, end, inside)
        shown_old, shown_new = _beginning(old, room), _beginning(new, room)
        room -= max(len(shown_old), len(shown_new))
        region = Region(
            old_above=index.line_at(start),
            new_above=index.line_at(start) + added,
            before=_lines(shown_old),
            after=_lines(shown_new),
            unseen=_changed_lines(old[len(shown_old) :], new[len(shown_new) :]),
        )
        yield region
        added += len(region.after) - len(region.before)


def _replaced(text: str, start: int, end: int, spans: list[TextSpan]) -> str:
    """A part of the text with the spans inside it replaced."""
    pieces: list[str] = []
    position = start
    for span in spans:
        pieces += [text[position : span.start], span.new]
        position = span.end
    return "".join([*pieces, text[position:end]])


def _beginning(text: str, room: int) -> str:
    """As many whole lines as fit, or a part of the first line if even that is too long."""
    if len(text) <= room:
        return text
    return text[: text.rfind("\n", 0, room) + 1 or room]


def _changed_lines(old: str, new: str) -> tuple[int, int]:
    """The numbers of removed and added lines: compared one by one if the counts are equal, otherwise all lines."""
    counts = [text.count("\n") + (bool(text) and not text.endswith("\n")) for text in (old, new)]
    if counts[0] != counts[1]:
        return counts[0], counts[1]
    changed = old_at = new_at = 0
    for _ in range(counts[0]):
        old_end, new_end = old.find("\n", old_at) + 1 or len(old), new.find("\n", new_at) + 1 or len(new)
        changed += old[old_at:old_end] != new[new_at:new_end]
        old_at, new_at = old_end, new_end
    return changed, changed


def _neighbourhoods(text: str, spans: list[TextSpan]) -> Iterator[tuple[int, int, list[TextSpan]]]:
    """The ranges of `text` to show, each with the changes inside it. The changes must be in order."""
    start = end = 0
    inside: list[TextSpan] = []
    for span in spans:
        span_start, span_end = _surroundings(text, span)
        if inside and span_start > end:
            yield start, end, inside
            inside = []
        start = start if inside else span_start
        end = span_end
        inside.append(span)
    if inside:
        yield start, end, inside


def _surroundings(text: str, span: TextSpan) -> tuple[int, int]:
    start = text.rfind("\n", 0, span.start) + 1
    for _ in range(CONTEXT_LINES):
        start = text.rfind("\n", 0, max(0, start - 1)) + 1
    end = span.end
    for _ in range(CONTEXT_LINES + 1):
        end = text.find("\n", end) + 1 or len(text)
    return start, end


def _lines(text: str) -> list[str]:
    """Lines with their endings, split at `\\n` only, so that line numbers are those of an editor."""
    pieces = text.split("\n")
    lines = [piece + "\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _opcodes(before: list[str], after: list[str]) -> list[Opcode]:
    """The runs of equal and changed lines; one large replacement if an exact comparison would take too long."""
    if _comparison_cost(before, after) <= MAX_WORK:
        return [Opcode(*code) for code in SequenceMatcher(None, before, after).get_opcodes()]
    shortest = min(len(before), len(after))
    top = next((at for at in range(shortest) if before[at] != after[at]), shortest)
    room = shortest - top
    bottom = next((at for at in range(room) if before[-1 - at] != after[-1 - at]), room)
    old_end, new_end = len(before) - bottom, len(after) - bottom
    return [
        Opcode("equal", 0, top, 0, top),
        Opcode("replace", top, old_end, top, new_end),
        Opcode("equal", old_end, len(before), new_end, len(after)),
    ]


def _comparison_cost(before: list[str], after: list[str]) -> int:
    """Roughly how many pairs of equal lines the comparison examines in each search."""
    often = Counter(after)
    return len(after) + sum(often[line] for line in before)


def _groups(opcodes: list[Opcode]) -> Iterator[list[Opcode]]:
    """Changes with a few equal lines around them; changes far apart become separate groups."""
    group: list[Opcode] = []
    for code in opcodes:
        if code.is_equal and not group:
            group = [code.last(CONTEXT_LINES)]
        elif code.is_equal and code.old_end - code.old_start > 2 * CONTEXT_LINES:
            yield [*group, code.first(CONTEXT_LINES)]
            group = [code.last(CONTEXT_LINES)]
        else:
            group.append(code)
    if any(not code.is_equal for code in group):
        last = group[-1].first(CONTEXT_LINES) if group[-1].is_equal else group[-1]
        yield [*group[:-1], last]


def _hunk(group: list[Opcode], region: Region) -> DiffHunk:
    old_start, new_start = group[0].old_start, group[0].new_start
    old_end, new_end = group[-1].old_end, group[-1].new_end
    return DiffHunk(
        old_start=region.old_above + old_start + (old_end > old_start),
        old_count=old_end - old_start,
        new_start=region.new_above + new_start + (new_end > new_start),
        new_count=new_end - new_start,
        lines=tuple(line for code in group for line in _hunk_lines(code, region)),
    )


def _hunk_lines(code: Opcode, region: Region) -> Iterator[DiffLine]:
    first_old, first_new = region.old_above + 1, region.new_above + 1
    old_lines, new_lines = range(code.old_start, code.old_end), range(code.new_start, code.new_end)
    if code.is_equal:
        for old, new in zip(old_lines, new_lines, strict=True):
            text = _bare(region.before[old])
            yield DiffLine(kind="context", text=text, old_line=first_old + old, new_line=first_new + new)
        return
    for old in old_lines:
        yield DiffLine(kind="remove", text=_bare(region.before[old]), old_line=first_old + old)
    for new in new_lines:
        yield DiffLine(kind="add", text=_bare(region.after[new]), new_line=first_new + new)


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
