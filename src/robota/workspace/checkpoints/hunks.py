"""Taking back single changes of a file: it becomes as it is now, but with some hunks of a diff undone."""

from collections.abc import Collection, Sequence

from robota.protocol.unified_diff import files_in
from robota.protocol.views import DiffHunk
from robota.workspace.checkpoints.checkpoint_change import CheckpointChange, CheckpointFile
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import OpenStore


def with_hunks_taken_back(opened: OpenStore, target: str, selection: Sequence[str], hunks: Collection[int]) -> str:
    """A checkpoint like the workspace now, but without these hunks of one file's diff from the target.

    Raises `CheckpointError` if the diff has no such hunks.
    """
    now = opened.capture(selection).id
    changed = next((each for each in opened.changes(target, now) if [each.path] == list(selection)), None)
    # One character for each byte: the file may be in any encoding.
    diff = b"" if changed is None else opened.diff(target, now, [changed.path])
    found = [hunk for file in files_in(diff.decode("latin-1")) for hunk in file.hunks]
    if changed is None or not all(0 <= index < len(found) for index in hunks):
        raise CheckpointError("The file has changed: there are no such changes in it now. Nothing was restored")
    if changed.after is None or len(set(hunks)) == len(found):
        return target
    content = without_hunks(
        (opened.content(changed.after) or b"").decode("latin-1"),
        (opened.content(changed.before) or b"").decode("latin-1"),
        [hunk for index, hunk in enumerate(found) if index in hunks],
    )
    name = opened.git.run("hash-object", "-w", "--no-filters", "--stdin", stdin=content.encode("latin-1")).decode()
    mixed = CheckpointFile(mode=changed.after.mode, content=name.strip())
    return opened.with_changes(now, [CheckpointChange(path=changed.path, before=changed.after, after=mixed)], now)


def without_hunks(now: str, before: str, hunks: Sequence[DiffHunk]) -> str:
    """The text `now`, where these hunks of its diff are as they were `before`."""
    lines, ends = _lines(now)
    for hunk in reversed(hunks):
        # A hunk that only removes names the line that it comes after.
        start = hunk.new_start - 1 if hunk.new_count else hunk.new_start
        if start + hunk.new_count == len(lines):
            ends = _lines(before)[1]
        lines[start : start + hunk.new_count] = [line.text for line in hunk.lines if line.kind != "add"]
    return "\n".join(lines) + ("\n" if lines and ends else "")


def _lines(text: str) -> tuple[list[str], bool]:
    """The lines, and whether the last one has an end."""
    lines = text.split("\n")
    return (lines[:-1], True) if not lines[-1] else (lines, False)
