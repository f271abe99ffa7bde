"""`robota sessions search`."""

import argparse
import os
import re
import sys
import time
from datetime import datetime
from typing import Any, Final

from robota.cli.commands.sessions.listing import age, session_json
from robota.cli.commands.sessions.pruning import AGE, age_ms
from robota.cli.commands.sessions.selection import chosen_sessions, person_directory, tell
from robota.cli.output import print_json, prose_lines
from robota.cli.reading_progress import reading_progress
from robota.clients.terminal.line import BOLD
from robota.clients.terminal.width import wants_colour
from robota.config.errors import ConfigError
from robota.log.search.search import FOUND, FOUND_END, FoundPassage, FoundSession, SearchQuery, match_expression, search
from robota.text.visible import single_line
from robota.tools.registry import builtin_tools

TITLE_SHOWN: Final = 80
SNIPPET_SHOWN: Final = 300
SNIPPET_INDENT: Final = " " * 6
NOTHING: Final = 1


def run(options: argparse.Namespace) -> int:
    """Print the matching sessions; returns 1 if there are none, like grep."""
    now_ms = time.time_ns() // 1_000_000
    words = " ".join(options.words)
    query = SearchQuery(
        words=words,
        since_ms=since_ms(options.since, now_ms) if options.since else 0,
        file=options.cwd.resolve() / options.file if options.file else None,
        tool=_tool_id(options.tool) if options.tool else None,
        model=options.model,
        limit=options.limit,
    )
    if not match_expression(words) and (words or not any((options.since, options.file, options.tool, options.model))):
        raise ConfigError("Search for what? Give words with letters or digits, --since, --file, --tool or --model.")
    with reading_progress("indexing new log entries") as progress:
        found = search(chosen_sessions(options), query, person_directory(), tell, progress)
    if options.json:
        print_json([_found_json(each) for each in found])
    elif not found:
        print("No session matches.")
    else:
        for each in found:
            _print_found(each, now_ms)
    return 0 if found else NOTHING


def since_ms(text: str, now_ms: int) -> int:
    """A date, a date with a time, or how long ago."""
    if AGE.fullmatch(text.strip().lower()):
        return now_ms - age_ms(text)
    try:
        return int(datetime.fromisoformat(text.strip()).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise ConfigError(f"{text!r} is not a time. Use a form such as 7d, 2026-10-31 or 2026-10-31T18:00.") from error


def _tool_id(name: str) -> str:
    """The id of a tool, as in logs, for its label, as on screen and in rules."""
    labels = {tool.label.lower(): tool.name for tool in builtin_tools()}
    return labels.get(name.lower(), name)


def _print_found(found: FoundSession, now_ms: int) -> None:
    session = found.session
    title = single_line(session.name or session.summary.title, TITLE_SHOWN)
    foreign = "" if session.is_own else " (not from here)"
    print(f"{session.id}  {age(session.modified_ms, now_ms)}  {title}{foreign}")
    for text in found.texts:
        for line in prose_lines(f"    {single_line(text.tool or text.kind)}: {_shown(text)}", SNIPPET_INDENT):
            print(_highlighted(line))


def _shown(text: FoundPassage) -> str:
    """The snippet as one line, safe to print, with its markers."""
    pieces = re.split(f"([{FOUND}{FOUND_END}])", text.snippet)
    safe = (single_line(" ".join(re.split(r"\s+", piece)), SNIPPET_SHOWN) for piece in pieces)
    return "".join(
        piece if piece in (FOUND, FOUND_END) else shown for piece, shown in zip(pieces, safe, strict=True)
    ).strip()


def _highlighted(line: str) -> str:
    """The line with the matched words in bold on a terminal, and without markers elsewhere."""
    is_bold = wants_colour(sys.stdout, os.environ)
    return line.replace(FOUND, f"\x1b[{BOLD}m" if is_bold else "").replace(FOUND_END, "\x1b[0m" if is_bold else "")


def _found_json(found: FoundSession) -> dict[str, Any]:
    texts = [{"ts": text.ts, "kind": text.kind, "tool": text.tool or None, **_marked(text)} for text in found.texts]
    return {**session_json(found.session), "matches": texts}


def _marked(text: FoundPassage) -> dict[str, Any]:
    """The snippet without markers, and the positions of the matches."""
    plain, places, start = "", [], 0
    for piece in re.split(f"([{FOUND}{FOUND_END}])", text.snippet):
        if piece == FOUND:
            start = len(plain)
        elif piece == FOUND_END:
            places.append([start, len(plain)])
        else:
            plain += piece
    return {"snippet": plain, "found": places}
