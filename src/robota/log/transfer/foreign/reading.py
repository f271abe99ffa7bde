"""Detects the program that wrote a transcript, and imports it."""

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

# A transcript can be recognised by its first lines.
LINES_LOOKED_AT: Final = 50
READERS: Final = {CLAUDE_CODE: read_claude_code, CODEX: read_codex}


def source_of(path: Path) -> str:
    """The program that wrote a transcript. Raises `ImportRefused` if it is unknown."""
    try:
        for value in islice(ForeignLines(path), LINES_LOOKED_AT):
            if is_codex(value):
                return CODEX
            if is_claude_code(value):
                return CLAUDE_CODE
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror}. Nothing was changed.") from error
    raise ImportRefused(
        f"{path} is neither a Robota bundle nor a transcript of Claude Code or Codex. Nothing was changed."
    )


def take_in_transcript(draft: DraftSession, path: Path, source: str, session_id: str, root: Path, now_ms: int) -> str:
    """Import the transcript as a session. Returns a note for the user, or an empty text."""
    lines = ForeignLines(path)
    writer = ForeignWriter(draft, source, session_id, str(root), now_ms)
    READERS[source](lines, writer)
    if not writer.prompts:
        raise ImportRefused(f"There is no conversation in {path}. Nothing was changed.")
    return f"Left out, because unreadable: {counted(lines.unreadable, 'line')}." if lines.unreadable else ""
