"""`robota sessions show`: print a conversation as text, paged on a terminal."""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from shutil import get_terminal_size

from robota.cli.commands.sessions.conversation import entries_of, head_of, last_entries_of
from robota.cli.commands.sessions.selection import named_or_newest_session
from robota.cli.output import print_json
from robota.cli.questions import Cancelled, ask, at_terminal
from robota.clients.render.transcript_lines import transcript_lines
from robota.clients.terminal.line import BOLD, DIM, Line
from robota.clients.terminal.width import columns_of, wants_colour
from robota.protocol.transcript import Transcript, TranscriptHead
from robota.text.visible import single_line, without_surrogates


def run(options: argparse.Namespace) -> int:
    """Print the conversation of one session."""
    session = named_or_newest_session(options)
    head = head_of(session)
    entries = entries_of(session) if options.last is None else iter(last_entries_of(session, options.last))
    if options.json:
        print_json({"head": head, "entries": list(entries)})
        return 0
    lines = chain(_heading(head), _lines(entries, whole_output=options.output))
    if at_terminal() and not options.no_pager:
        _print_in_pages(lines)
    else:
        for line in lines:
            print_line(line)
    return 0


def _heading(head: TranscriptHead) -> Iterator[Line]:
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(head.started_ms / 1000))
    yield Line(single_line(head.title, 200), BOLD)
    yield Line(single_line(f"{head.id}  {started}  {head.model}  {head.cwd}", 400), DIM)


def _lines(entries: Iterable[Transcript], *, whole_output: bool) -> Iterator[Line]:
    for entry in entries:
        yield from transcript_lines(entry, whole_output=whole_output)


def _print_in_pages(lines: Iterable[Line]) -> None:
    """Stop after each screen until a key is pressed; q quits."""
    columns, rows = get_terminal_size()
    left = rows - 1
    for line in lines:
        needed = max(1, -(-columns_of(line.text) // columns))
        if needed > left and left < rows - 1:
            try:
                if ask("Enter continues, q quits").lower().startswith("q"):
                    return
            except Cancelled:
                return
            left = rows - 1
        print_line(line)
        left -= needed


def print_line(line: Line) -> None:
    """Print a line, in colour on a terminal."""
    text = without_surrogates(line.text)
    coloured = line.colour is not None and wants_colour(sys.stdout, os.environ)
    print(f"\x1b[{line.colour}m{text}\x1b[0m" if coloured else text)
