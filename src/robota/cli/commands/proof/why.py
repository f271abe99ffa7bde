"""`robota why`: find the call that wrote a line of a file, its prompt, and who approved it."""

import asyncio
import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from robota.app.intents import place_of_intents, trace_killed_sessions
from robota.app.proof import origins_of_lines
from robota.cli.command_parser import CommandParser
from robota.cli.output import print_json
from robota.config.errors import ConfigError
from robota.config.launch_options import workspace_root
from robota.log.store import PROJECT_DIRECTORY, SESSIONS
from robota.proof.calls.call_story import Approver, CallStory
from robota.proof.edits.line_origins import LineOrigin, stretches
from robota.proof.lines.line_hashes import lines_of
from robota.text.visible import single_line, visible
from robota.workspace.git.git_directories import find_git_directories
from robota.workspace.git.run import GitError, open_git

ANSWERED: Final = 0
NOT_ANSWERED: Final = 1
MAX_FILE_BYTES: Final = 20 * 1024 * 1024
SHOWN: Final = 300
LINES_SHOWN: Final = 3
PLACE: Final = re.compile(r"(?P<file>.+?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?", re.DOTALL)
CUT_OFF: Final = "the call was stopped while it ran; what others wrote until this was noticed may be among these lines"
NO_AGENT: Final = "no agent wrote this, according to the logs here"


class NoAnswer(Exception):
    """There is no answer. The message says why, for the user."""


def main(argv: Sequence[str]) -> int:
    """Run `robota why …`; the arguments begin after `why`."""
    options = parser().read(argv)
    try:
        root = _project(workspace_root(options.cwd))
        trace_killed_sessions(place_of_intents(root), os.environ)
        path, first, last = _place(options.place, options.cwd, root)
        data = _content(root, path, options.commit, os.environ)
        texts = lines_of(data)
        if not texts:
            raise NoAnswer(f"{single_line(path)} is empty or not text, so it has no lines to explain")
        wanted = _wanted(path, len(texts), first, last)
        origins = origins_of_lines(root, os.environ, path, data, wanted, _tell)
    except (ConfigError, NoAnswer) as error:
        print(f"robota: {str(error).rstrip('.')}.", file=sys.stderr)
        return NOT_ANSWERED
    found = stretches(origins, wanted)
    if options.json:
        print_json({"file": path, "commit": options.commit, "lines": [_json(*each, texts) for each in found]})
        return ANSWERED
    for start, end, origin in found:
        _print(path, start, end, origin, texts)
    return ANSWERED


def parser() -> CommandParser:
    """The argument parser of `robota why`."""
    about = "Show which tool call wrote a line, the prompt and approval behind it, and what it cost."
    parser = CommandParser(prog="robota why", description=about)
    parser.add_argument(
        "place", metavar="FILE[:LINE[-LINE]]", help="a file of the project, optionally a line or a range of lines"
    )
    parser.add_argument("--commit", metavar="REV", help="use the file as of this commit")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the project (default: here)")
    return parser


def _project(cwd: Path) -> Path:
    """The nearest directory with sessions, up to the root of the repository; else the current one."""
    for directory in (cwd, *cwd.parents):
        if (directory / PROJECT_DIRECTORY / SESSIONS).is_dir():
            return directory
        if (directory / ".git").is_dir() or find_git_directories(directory) is not None:
            break  # a submodule belongs to the enclosing project
    return cwd


def _tell(text: str) -> None:
    print(f"robota: {single_line(text, 1000)}", file=sys.stderr)


def _place(text: str, cwd: Path, root: Path) -> tuple[str, int | None, int | None]:
    """The path in the project, and the first and last line. An existing file named like `x:1` is taken as a file."""
    is_file = os.path.lexists(cwd / text)
    found = PLACE.fullmatch(text)
    if is_file or found is None:
        return _below(text, cwd, root), None, None
    first = int(found["first"]) if found["first"] else None
    last = int(found["last"]) if found["last"] else first
    if first is not None and last is not None and (first < 1 or last < first):
        raise NoAnswer(f"{single_line(text)}: line numbers start at 1, and the last must not be before the first")
    return _below(found["file"], cwd, root), first, last


def _below(name: str, cwd: Path, root: Path) -> str:
    place = Path(os.path.normpath(cwd.resolve() / name))
    if not place.is_relative_to(root) or place == root:
        raise NoAnswer(f"{single_line(name)} is not in {root}. Name a file of the project, or use --cwd")
    return str(place.relative_to(root))


def _content(root: Path, path: str, commit: str | None, env: Mapping[str, str]) -> bytes:
    if commit is not None:
        return asyncio.run(_committed(root, path, commit, env))
    place = root / path
    try:
        if not place.is_file():
            raise NoAnswer(f"There is no file {single_line(path)} in {root}. To look at a deleted file: --commit REV")
        if place.stat().st_size > MAX_FILE_BYTES:
            raise NoAnswer(f"{single_line(path)} is larger than {MAX_FILE_BYTES:,} bytes, which is too much to compare")
        return place.read_bytes()
    except OSError as error:
        raise NoAnswer(f"{single_line(path)} cannot be read: {error.strerror}") from error


async def _committed(root: Path, path: str, commit: str, env: Mapping[str, str]) -> bytes:
    if commit.startswith("-") or ":" in commit:
        raise NoAnswer(f"{single_line(commit)} is not a commit")
    try:
        git = await open_git(root, env)
        return os.fsencode(await git.run("cat-file", "blob", f"{commit}:./{path}"))
    except GitError as error:
        words = single_line(str(error).removeprefix("fatal: "), SHOWN)
        raise NoAnswer(f"{single_line(path)} cannot be read from the commit {single_line(commit)}: {words}") from error


def _wanted(path: str, count: int, first: int | None, last: int | None) -> range:
    if first is None or last is None:
        return range(count)
    if last > count:
        raise NoAnswer(f"{single_line(path)} has {count} lines, not {last}")
    return range(first - 1, last)


def _print(path: str, start: int, end: int, origin: LineOrigin | None, texts: Sequence[bytes]) -> None:
    place = f"{single_line(path, 1000)}:{start + 1}" + (f"-{end + 1}" if end > start else "")
    if origin is None:
        print(f"{place}  {NO_AGENT}")
        return
    print(place)
    for text in texts[start : min(end + 1, start + LINES_SHOWN)]:
        print(f"  | {visible(text.decode('utf-8', 'replace'))[:SHOWN]}")
    if end - start >= LINES_SHOWN:
        print("  | …")
    for name, detail in _details(origin):
        print(f"  {name:<9} {detail}")


def _details(origin: LineOrigin) -> list[tuple[str, str]]:
    story = origin.story
    when = datetime.fromtimestamp(story.started_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    where = f", into {single_line(origin.path)}" if origin.is_moved else ""
    mark = "" if origin.log.is_own else "  (not written on this machine; someone else may have created it)"
    rows = [
        ("written", f"{when} by {single_line(story.tool)} {_argument(story)}{where}".rstrip()),
        ("cut off", CUT_OFF if story.status == "interrupted" else ""),
        ("model", single_line(story.model)),
        ("it said", single_line(_last_sentence(story.said), SHOWN)),
        ("prompt", single_line(story.prompt, SHOWN)),
        ("intent", single_line(story.intent)),
        ("allowed", _allowed(story)),
        ("cost", _cost(story)),
        ("session", f"{origin.log.session_id}{mark}"),
    ]
    return [(name, detail) for name, detail in rows if detail]


def _argument(story: CallStory) -> str:
    value = next((each for each in story.input.values() if isinstance(each, str)), "")
    return single_line(value, 100)


def _last_sentence(text: str) -> str:
    """The text right before the call."""
    parts = [part.strip() for part in re.split(r"(?<=[.!?:])\s+|\n+", text) if part.strip()]
    return parts[-1] if parts else ""


def _allowed(story: CallStory) -> str:
    reason = single_line(story.reason, SHOWN)
    match story.approver:
        case Approver.PERSON:
            looked = "" if story.looked_ms is None else f", after {story.looked_ms / 1000:.1f} s"
            said = f", saying: {single_line(story.answer_text, SHOWN)}" if story.answer_text else ""
            return f"by the user{looked}{said}"
        case Approver.RULE:
            return f"by the rule {single_line(story.rule)}"
        case Approver.HOOK:
            return f"by a hook: {reason}"
        case Approver.MODE:
            return f"by the permission mode {single_line(story.permission_mode)}: {reason}"
        case Approver.NOBODY:
            return "unknown: the log does not say"


def _cost(story: CallStory) -> str:
    price = "unknown" if story.cost is None else f"${story.cost:.4f}"
    return f"{price} for the request ({story.tokens_in:,} tokens in, {story.tokens_out:,} out)"


def _json(start: int, end: int, origin: LineOrigin | None, texts: Sequence[bytes]) -> dict[str, Any]:
    lines = {"first": start + 1, "last": end + 1}
    if origin is None:
        return {**lines, "agent": None}
    story = origin.story
    text = [line.decode("utf-8", "replace") for line in texts[start : end + 1]]
    return {
        **lines,
        "text": text,
        "agent": {
            "session": origin.log.session_id,
            "isOwn": origin.log.is_own,
            "path": origin.path,
            "isMoved": origin.is_moved,
            "call": {
                "id": story.call_id,
                "tool": story.tool,
                "input": story.input,
                "at": story.started_ms,
                "status": story.status,
            },
            "model": story.model,
            "said": _last_sentence(story.said),
            "prompt": story.prompt,
            "intent": story.intent or None,
            "approval": {
                "by": story.approver,
                "reason": story.reason,
                "rule": story.rule or None,
                "permissionMode": story.permission_mode,
                "lookedMs": story.looked_ms,
                "answer": story.answer or None,
                "text": story.answer_text or None,
            },
            "cost": {"usd": story.cost, "tokensIn": story.tokens_in, "tokensOut": story.tokens_out},
        },
    }
