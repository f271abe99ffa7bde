"""The verb `why`: find the call that wrote a line of a file, its prompt, and who approved it."""

import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from robota.app.intents import intent_directories, trace_killed_sessions
from robota.app.proof import origins_of_lines
from robota.commands.verb import Answer, Failure, Family, ReadingVerb, VerbFailed, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.log.store import PROJECT_DIRECTORY, SESSIONS
from robota.proof.calls.call_story import Approver, CallStory
from robota.proof.edits.line_origins import LineOrigin, stretches
from robota.proof.lines.line_hashes import lines_of
from robota.text.visible import single_line, visible
from robota.workspace.git.git_directories import find_git_directories
from robota.workspace.git.run import GitError, open_git

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
MAX_TEXT: Final = 300
MAX_LINES: Final = 3
LINES: Final = re.compile(r"(?P<file>.+?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?", re.DOTALL)
CUT_OFF: Final = "the call was stopped while it ran; what others wrote until this was noticed may be among these lines"
NO_AGENT: Final = "no agent wrote this, according to the logs here"


class Explain(msgspec.Struct, frozen=True, kw_only=True):
    """The lines to explain."""

    lines: Annotated[
        str, Positional("FILE[:LINE[-LINE]]", "a file of the project, optionally a line or a range of lines")
    ]
    commit: Annotated[str | None, Option("use the file as of this commit", "REV")] = None


async def _explain_lines(host: VerbHost, args: Explain) -> Answer:
    """Which call wrote each line, its prompt, and who approved it."""
    root = _project(host.root)
    await asyncio.to_thread(trace_killed_sessions, intent_directories(root), host.env)
    path, first, last = _range(args.lines, host.cwd, root)
    data = await _content(root, path, args.commit, host.env)
    texts = lines_of(data)
    if not texts:
        raise VerbFailed(f"{single_line(path)} is empty or not text, so it has no lines to explain.")
    numbers = _numbers(path, len(texts), first, last)
    origins = await asyncio.to_thread(origins_of_lines, root, host.env, path, data, numbers, host.tell)
    parts = stretches(origins, numbers)
    lines = [line for start, end, origin in parts for line in _lines(path, start, end, origin, texts)]
    answer = {"file": path, "commit": args.commit, "lines": [_json(*part, texts) for part in parts]}
    return told("\n".join(lines), answer)


def _explain(error: Exception) -> Failure:
    return Failure(f"{str(error).rstrip('.')}.")


FAMILY: Final = Family(
    name="why",
    about="Show which tool call wrote a line, the prompt and approval behind it, and what it cost.",
    description="show which prompt, call and approval produced a line",
    main=ReadingVerb("why", "show which prompt, call and approval produced a line", Explain, _explain_lines),
    explain=_explain,
)


def _project(cwd: Path) -> Path:
    """The nearest directory with sessions, up to the root of the repository; else the current one."""
    for directory in (cwd, *cwd.parents):
        if (directory / PROJECT_DIRECTORY / SESSIONS).is_dir():
            return directory
        if (directory / ".git").is_dir() or find_git_directories(directory) is not None:
            break  # a submodule belongs to the enclosing project
    return cwd


def _range(text: str, cwd: Path, root: Path) -> tuple[str, int | None, int | None]:
    """The path in the project, and the first and last line. An existing file named like `x:1` is taken as a file."""
    is_file = os.path.lexists(cwd / text)
    named = LINES.fullmatch(text)
    if is_file or named is None:
        return _below(text, cwd, root), None, None
    first = int(named["first"]) if named["first"] else None
    last = int(named["last"]) if named["last"] else first
    if first is not None and last is not None and (first < 1 or last < first):
        raise VerbFailed(f"{single_line(text)}: line numbers start at 1, and the last must not be before the first.")
    return _below(named["file"], cwd, root), first, last


def _below(name: str, cwd: Path, root: Path) -> str:
    file = Path(os.path.normpath(cwd.resolve() / name))
    if not file.is_relative_to(root) or file == root:
        raise VerbFailed(f"{single_line(name)} is not in {root}. Name a file of the project, or use --cwd.")
    return str(file.relative_to(root))


async def _content(root: Path, path: str, commit: str | None, env: Mapping[str, str]) -> bytes:
    if commit is not None:
        return await _committed(root, path, commit, env)
    file = root / path
    try:
        if not file.is_file():
            raise VerbFailed(
                f"There is no file {single_line(path)} in {root}. To look at a deleted file: --commit REV."
            )
        if file.stat().st_size > MAX_FILE_BYTES:
            raise VerbFailed(
                f"{single_line(path)} is larger than {MAX_FILE_BYTES:,} bytes, which is too much to compare."
            )
        return file.read_bytes()
    except OSError as error:
        raise VerbFailed(f"{single_line(path)} cannot be read: {error.strerror}.") from error


async def _committed(root: Path, path: str, commit: str, env: Mapping[str, str]) -> bytes:
    if commit.startswith("-") or ":" in commit:
        raise VerbFailed(f"{single_line(commit)} is not a commit.")
    try:
        git = await open_git(root, env)
        return os.fsencode(await git.run("cat-file", "blob", f"{commit}:./{path}"))
    except GitError as error:
        words = single_line(str(error).removeprefix("fatal: "), MAX_TEXT)
        raise VerbFailed(
            f"{single_line(path)} cannot be read from the commit {single_line(commit)}: {words}."
        ) from error


def _numbers(path: str, count: int, first: int | None, last: int | None) -> range:
    if first is None or last is None:
        return range(count)
    if last > count:
        raise VerbFailed(f"{single_line(path)} has {count} lines, not {last}.")
    return range(first - 1, last)


def _lines(path: str, start: int, end: int, origin: LineOrigin | None, texts: Sequence[bytes]) -> Iterator[str]:
    numbers = f"{single_line(path, 1000)}:{start + 1}" + (f"-{end + 1}" if end > start else "")
    if origin is None:
        yield f"{numbers}  {NO_AGENT}"
        return
    yield numbers
    for text in texts[start : min(end + 1, start + MAX_LINES)]:
        yield f"  | {visible(text.decode('utf-8', 'replace'))[:MAX_TEXT]}"
    if end - start >= MAX_LINES:
        yield "  | …"
    for name, detail in _details(origin):
        yield f"  {name:<9} {detail}"


def _details(origin: LineOrigin) -> list[tuple[str, str]]:
    story = origin.story
    when = datetime.fromtimestamp(story.started_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    where = f", into {single_line(origin.path)}" if origin.is_moved else ""
    mark = "" if origin.log.is_own else "  (not written on this machine; someone else may have created it)"
    rows = [
        ("written", f"{when} by {single_line(story.tool)} {_argument(story)}{where}".rstrip()),
        ("cut off", CUT_OFF if story.status == "interrupted" else ""),
        ("model", single_line(story.model)),
        ("it said", single_line(_last_sentence(story.said), MAX_TEXT)),
        ("prompt", single_line(story.prompt, MAX_TEXT)),
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
    reason = single_line(story.reason, MAX_TEXT)
    match story.approver:
        case Approver.PERSON:
            looked = "" if story.looked_ms is None else f", after {story.looked_ms / 1000:.1f} s"
            answer = f", saying: {single_line(story.answer_text, MAX_TEXT)}" if story.answer_text else ""
            return f"by the user{_window(story)}{looked}{answer}"
        case Approver.RULE:
            return f"by the rule {single_line(story.rule)}"
        case Approver.HOOK:
            return f"by a hook: {reason}"
        case Approver.MODE:
            return f"by the permission mode {single_line(story.permission_mode)}: {reason}"
        case Approver.NOBODY:
            return "unknown: the log does not say"


def _window(story: CallStory) -> str:
    """From which client and terminal, if the log says."""
    by = story.answered_by
    if by is None:
        return ""
    terminal = f" at {single_line(by.terminal)}" if by.terminal else ""
    return f" in {single_line(by.client or by.program, MAX_TEXT)} (process {by.pid}{terminal})"


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
                "from": None if story.answered_by is None else msgspec.to_builtins(story.answered_by),
            },
            "cost": {"usd": story.cost, "tokensIn": story.tokens_in, "tokensOut": story.tokens_out},
        },
    }
