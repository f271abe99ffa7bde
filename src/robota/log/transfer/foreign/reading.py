"""Which program a transcript is of, and taking it in."""

from itertools import islice
from pathlib import Path
from typing import Final

from robota.log.errors import ImportRefused
from robota.log.transfer.draft import DraftSession
from robota.log.transfer.foreign.claude_code import SOURCE as CLAUDE_CODE
from robota.log.transfer.foreign.claude_code import is_claude_code, read_claude_code
from robota.log.transfer.foreign.codex import SOURCE as CODEX
from robota.log.transfer.foreign.codex import is_codex, read_codex
from robota.log.transfer.foreign.lines import ForeignLines
from robota.log.transfer.foreign.writing import ForeignWriter
from robota.text.counted import counted

# A transcript says within its first lines what it is.
LINES_LOOKED_AT: Final = 50
READERS: Final = {CLAUDE_CODE: read_claude_code, CODEX: read_codex}


def source_of(path: Path) -> str:
    """The program whose transcript a file is. Raises `ImportRefused` if it is of none that is known."""
    try:
        for value in islice(ForeignLines(path), LINES_LOOKED_AT):
            if is_codex(value):
                return CODEX
            if is_claude_code(value):
                return CLAUDE_CODE
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror}. Nothing was changed.") from error
    raise ImportRefused(
        f"{path} is no bundle of robota and no transcript of Claude Code or Codex. Nothing was changed."
    )


def take_in_transcript(draft: DraftSession, path: Path, source: str, session_id: str, root: Path, now_ms: int) -> str:
    """Write the transcript down as a session. Returns what a person should know of it, or nothing."""
    lines = ForeignLines(path)
    writer = ForeignWriter(draft, source, session_id, str(root), now_ms)
    READERS[source](lines, writer)
    if not writer.prompts:
        raise ImportRefused(f"There is no conversation in {path}. Nothing was changed.")
    return f"Left out, because unreadable: {counted(lines.unreadable, 'line')}." if lines.unreadable else ""
