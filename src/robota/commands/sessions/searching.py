"""Searches stored sessions."""

import re
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from robota.clients.terminal.line import BOLD
from robota.clients.terminal.width import wants_colour, wrapped
from robota.commands.families.sessions import SearchSessions
from robota.commands.sessions.listing import age, session_json
from robota.commands.sessions.selection import own_directory, project_of, stored_sessions
from robota.commands.verb import Answer, RawOutput, told
from robota.commands.verb_host import VerbHost
from robota.config.errors import ConfigError
from robota.log.search.search import FOUND, FOUND_END, FoundPassage, FoundSession, SearchQuery, match_expression, search
from robota.text.visible import single_line
from robota.tools.registry import builtin_tools

MAX_TITLE: Final = 80
MAX_SNIPPET: Final = 300
SNIPPET_INDENT: Final = " " * 6
AGE: Final = re.compile(r"(\d{1,6})([mhdw])")
UNIT_MS: Final = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def search_sessions(host: VerbHost, args: SearchSessions) -> Answer:
    """The matching sessions; the exit code is 1 if there are none, like that of grep."""
    now_ms = time.time_ns() // 1_000_000
    words = " ".join(args.words)
    query = SearchQuery(
        words=words,
        since_ms=since_ms(args.since, now_ms) if args.since else 0,
        file=project_of(host) / args.file if args.file else None,
        tool=_tool_id(args.tool) if args.tool else None,
        model=args.model,
        limit=args.limit,
    )
    if not match_expression(words) and (words or not any((args.since, args.file, args.tool, args.model))):
        raise ConfigError("Search for what? Give words with letters or digits, --since, --file, --tool or --model.")
    with host.progress("indexing new log entries") as progress:
        matches = search(
            stored_sessions(host, everywhere=args.all), query, own_directory(host.env), host.tell, progress
        )
    lines = [line for match in matches for line in _lines(match, now_ms, host.width)]
    answer = told(
        "\n".join(_marked(lines, "", "")) or "No session matches.",
        [_match_json(match) for match in matches],
        ok=bool(matches),
    )
    if lines and wants_colour(sys.stdout, host.env) and host.opened is None:
        pieces = (f"{line}\n".encode() for line in _marked(lines, f"\x1b[{BOLD}m", "\x1b[0m"))
        return Answer(outcome=answer.outcome, data=answer.data, output=RawOutput(pieces))
    return answer


def since_ms(text: str, now_ms: int) -> int:
    """A date, a date with a time, or how long ago."""
    if AGE.fullmatch(text.strip().lower()):
        return now_ms - age_ms(text)
    try:
        return int(datetime.fromisoformat(text.strip()).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise ConfigError(f"{text!r} is not a time. Use a form such as 7d, 2026-10-31 or 2026-10-31T18:00.") from error


def age_ms(text: str) -> int:
    """Parse a duration such as `30d`; returns milliseconds."""
    duration = AGE.fullmatch(text.strip().lower())
    if duration is None:
        raise ConfigError(f"{text!r} is not a duration. Use a form such as 45m, 12h, 30d or 2w. Nothing was changed.")
    return int(duration[1]) * UNIT_MS[duration[2]]


def _tool_id(name: str) -> str:
    """The id of a tool, as in logs, for its label, as on screen and in rules."""
    labels = {tool.label.lower(): tool.name for tool in builtin_tools()}
    return labels.get(name.lower(), name)


def _lines(match: FoundSession, now_ms: int, width: int | None) -> Iterator[str]:
    """A session and its passages, with the markers of what matched."""
    session = match.session
    title = single_line(session.name or session.summary.title, MAX_TITLE)
    foreign = "" if session.is_own else " (not from here)"
    yield f"{session.id}  {age(session.modified_ms, now_ms)}  {title}{foreign}"
    for passage in match.texts:
        line = f"    {single_line(passage.tool or passage.kind)}: {_snippet(passage)}"
        yield from wrapped(line, width, SNIPPET_INDENT).split("\n")


def _snippet(passage: FoundPassage) -> str:
    """The snippet as one line, safe to print, with its markers."""
    pieces = re.split(f"([{FOUND}{FOUND_END}])", passage.snippet)
    safe = (single_line(" ".join(re.split(r"\s+", piece)), MAX_SNIPPET) for piece in pieces)
    return "".join(
        piece if piece in (FOUND, FOUND_END) else text for piece, text in zip(pieces, safe, strict=True)
    ).strip()


def _marked(lines: list[str], start: str, end: str) -> Iterator[str]:
    return (line.replace(FOUND, start).replace(FOUND_END, end) for line in lines)


def _match_json(match: FoundSession) -> dict[str, Any]:
    passages = [
        {"ts": passage.ts, "kind": passage.kind, "tool": passage.tool or None, **_snippet_json(passage)}
        for passage in match.texts
    ]
    return {**session_json(match.session), "matches": passages}


def _snippet_json(passage: FoundPassage) -> dict[str, Any]:
    """The snippet without markers, and the positions of the matches."""
    plain, positions, start = "", [], 0
    for piece in re.split(f"([{FOUND}{FOUND_END}])", passage.snippet):
        if piece == FOUND:
            start = len(plain)
        elif piece == FOUND_END:
            positions.append([start, len(plain)])
        else:
            plain += piece
    return {"snippet": plain, "found": positions}
