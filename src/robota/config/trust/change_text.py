"""The changes since the user agreed to a content, as diff lines with invisible characters escaped."""

from difflib import unified_diff
from typing import Final

from robota.config.trust.lock_file import ChangedPart
from robota.text.visible import single_line

MAX_DIFF_LENGTH: Final = 200
MAX_LINE_LENGTH: Final = 500


def change_lines(change: ChangedPart) -> list[str]:
    """The name of the part and its diff, shortened if it is long."""
    before, after = _lines(change.before), _lines(change.after)
    verb = "removed" if change.after is None else "new" if change.before is None else "changed"
    diff = list(unified_diff(before, after, lineterm="", n=2))[2:]
    lines = [f"  {single_line(line, MAX_LINE_LENGTH)}" for line in diff[:MAX_DIFF_LENGTH]]
    if len(diff) > MAX_DIFF_LENGTH:
        lines.append(f"  … and {len(diff) - MAX_DIFF_LENGTH} more lines")
    return [f"{single_line(change.name, 200)}: {verb}", *lines]


def _lines(data: bytes | None) -> list[str]:
    return [] if data is None else data.decode("utf-8", "backslashreplace").splitlines()
