"""Resume a session with a long log: show its end first, then read the rest."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from robota.cli.reading_progress import ReadingProgress
from robota.config.paths import user_directory
from robota.log.catalogue.live import is_held
from robota.log.chain.head import head_path, noted_head
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import LogError
from robota.log.replay.reading import LogReading
from robota.log.replay.rows.past_calls import past_calls
from robota.log.replay.tail import LogTail, tail_of
from robota.log.snapshot_keeper import snapshot_path

# Reading less than this takes no noticeable time.
LONG: Final = 16 * 1024 * 1024
UNKNOWN_OLDER: Final = 1


def read_long_log(directory: Path, env: Mapping[str, str], *, attended: bool, draws: bool) -> bool:
    """Write the snapshot of a long log that has none, so that it can be resumed quickly the next time.

    The user sees the end of the conversation meanwhile; returns whether it was shown. Problems of the log are reported
    when it is opened.
    """
    user, log = user_directory(env), directory / LOG_NAME
    # A user who sees the end of the conversation would begin to type, so progress is shown at once.
    progress = ReadingProgress("Reading its log", log.stat().st_size if log.is_file() else 0, after_s=0)
    noted = noted_head(head_path(user, directory))
    reading = LogReading(snapshot_path(user, directory), noted, progress=lambda at: _go_on(progress, at))
    try:
        if not log.is_file() or not reading.takes_more_than(LONG, log) or is_held(log):
            return False
        is_shown = attended and _show(tail_of(log), env, draws=draws)
        progress(0)
        reading.read(log)
    except (LogError, OSError):
        return False
    finally:
        progress.end()
    return is_shown


def _go_on(progress: ReadingProgress, position: int) -> None:
    """Show the progress, and check for Ctrl+C, which only cancels the asyncio task and is not noticed otherwise."""
    progress(position)
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _show(tail: LogTail, env: Mapping[str, str], *, draws: bool) -> bool:
    """Print the end of the conversation as the client would; returns False if there is none."""
    root = tail.session.root
    if root is None or not root.messages:
        return False
    from robota.clients.render.past_rows import PastConversation

    older = 0 if tail.is_whole else UNKNOWN_OLDER
    past = PastConversation(rows=root.messages, calls=past_calls(root.messages, root.calls), older=older)
    if draws:
        from robota.clients.tui.palettes import theme_for
        from robota.clients.tui.scrollback import Scrollback

        width = os.get_terminal_size(sys.stdout.fileno()).columns
        scrollback = Scrollback(theme_for(env), lambda: width)
        scrollback.show_past(past)
        sys.stdout.write("\n".join([*scrollback.take_rows(), ""]))
    else:
        from robota.clients.render.past_rows import past_lines
        from robota.clients.terminal.line_writer import LineWriter

        lines = LineWriter(sys.stdout)
        for line in past_lines(past, bullet=lines.bullet):
            lines.show(line)
    sys.stdout.flush()
    return True
