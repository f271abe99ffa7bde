"""Applies a diff of SEARCH/REPLACE blocks to a file without writing it."""

from collections.abc import Sequence

from robota.contracts.tool import ToolError
from robota.contracts.workspace import Files
from robota.tools.editing.block_placement import Placed, Unplaced, place_blocks
from robota.tools.editing.change import FileChange, changed_file, checked_new_text
from robota.tools.editing.diff_blocks import BadDiff, read_blocks
from robota.tools.editing.matching import SearchedLines
from robota.workspace.problems import Missing, NotADirectory
from robota.workspace.text.source import read_source


def changed_by_diff(files: Files, path: str, diff: str) -> FileChange:
    """The file with all blocks applied. Raises a `ToolError` that reports every block that cannot be applied."""
    try:
        blocks = read_blocks(diff)
    except BadDiff as error:
        raise ToolError(str(error)) from error
    try:
        source = read_source(files, path)
    except (Missing, NotADirectory) as error:
        from robota.tools.files.near_names import with_near_names

        raise with_near_names(error, path, files) from error
    lines = SearchedLines(source)
    placed, unplaced = place_blocks(lines, blocks)
    if unplaced:
        raise ToolError(_failure(path, source.lines, len(blocks), unplaced))
    spans = [source.trimmed(source.span_of(edit)) for block in placed for edit in block.edits]
    if not any(spans):
        raise ToolError(
            f"The diff changes nothing: {path!r} already has this content. Nothing was changed. Continue with the next "
            "step."
        )
    remark = " ".join(filter(None, (_remark(placed), checked_new_text(source, spans))))
    return changed_file(path, source, spans, remark)


def _remark(placed: Sequence[Placed]) -> str:
    applied = f"All {len(placed)} blocks were applied." if len(placed) > 1 else ""
    loose = "; ".join(_loosely(block) for block in placed if block.passed_over)
    check = f"Not matched exactly, so check the result: {loose}." if loose else ""
    return " ".join(filter(None, (applied, check)))


def _loosely(block: Placed) -> str:
    return f"block {block.number} at line {block.start + 1}: {block.passed_over}"


def _failure(path: str, lines: Sequence[str], count: int, unplaced: Sequence[Unplaced]) -> str:
    reports = [_report(each, lines) for each in unplaced]
    if count == 1:
        begin, end = (
            f"The block cannot be applied to {path!r}. Nothing was changed.",
            "Fix this and send the diff again.",
        )
    else:
        begin = (
            f"{len(unplaced)} of {count} blocks cannot be applied to {path!r}. Nothing was changed: a diff is applied "
            "as a whole or not at all, each block to the file as it was before the call."
        )
        end = "Fix this and send the whole diff again, including the other blocks."
    return "\n\n".join([begin, *reports, f"{end} If in doubt, read the file first."])


def _report(unplaced: Unplaced, lines: Sequence[str]) -> str:
    report = f"Block {unplaced.block.number}: {unplaced.reason}"
    if not unplaced.is_missing:
        return report
    # Imported here because only failed edits need the library for comparing texts.
    from robota.tools.editing.nearest_text import nearest_text

    return f"{report}\n{nearest_text(lines, unplaced.block.search)}"
