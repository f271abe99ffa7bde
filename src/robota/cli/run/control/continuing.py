"""The session that a program continues: at one of its messages, or from the copy in the program's session store."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.app.session import OpenSession
from robota.cli.command_line import CommandLine
from robota.cli.run.control.flags import ClaudeFlags
from robota.cli.run.resuming import Unattended
from robota.clients.headless.result import reply_uuid
from robota.config.launch_options import workspace_root
from robota.config.paths import home_directory, user_directory
from robota.log.chain.writer import wall_clock_ms
from robota.log.errors import LogError
from robota.log.replay.reply_place import newest_reply, place_of_reply
from robota.log.snapshot_keeper import rewind_index_path
from robota.log.store import is_valid_session_id, session_directory
from robota.protocol.commands import Refused, RewindTo
from robota.protocol.port import SessionPort
from robota.protocol.rewind import RewindScope
from robota.serving.resuming import CopyOfSession, Named, copy_of_session, session_to_resume

Warn = Callable[[str], None]
# Claude Code names the directory of a project by its path, and keeps it this short.
MAX_PROJECT: Final = 200
DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


class Continued(msgspec.Struct, frozen=True, kw_only=True):
    """The command line that continues the session, and the number of the prompt before which to go back first."""

    arguments: CommandLine
    back_before: int | None = None


class NoSuchPlace(LogError):
    """The session cannot be resumed at this message."""


async def continued(arguments: CommandLine, flags: ClaudeFlags, env: Mapping[str, str], warn: Warn) -> Continued:
    """Find the session and the place in it. Raises `LogError`."""
    if not arguments.resume:
        return Continued(arguments=arguments)
    _take_from_store(arguments, env, warn)
    if not flags.resumes_at:
        return Continued(arguments=arguments)
    root, user = workspace_root(arguments.cwd), user_directory(env)
    directory = await session_to_resume(arguments.cwd, Named(arguments.resume), Unattended(), env, warn)
    assert directory is not None, "a named session is found or refused"

    def is_wanted(reply_id: str) -> bool:
        return reply_uuid(directory.name, reply_id) == flags.resumes_at

    place = place_of_reply(directory, is_wanted, rewind_index_path(user, directory))
    if place is None:
        raise NoSuchPlace(f"The session {directory.name} has no message {flags.resumes_at}. Nothing was started.")
    if arguments.fork_session:
        copied = CopyOfSession(session_id=arguments.session_id, name=arguments.name, end=place.seq)
        copy = copy_of_session(directory, copied, root, user, env)
        changed = msgspec.structs.replace(arguments, resume=copy.name, fork_session=False, session_id=None)
        return Continued(arguments=changed)
    if place.is_newest:
        return Continued(arguments=arguments)
    if place.next_prompt is None:
        raise NoSuchPlace(
            f"The message {flags.resumes_at} is inside a turn, which only a copy of the session can end with. Nothing "
            "was started. Add --fork-session."
        )
    return Continued(arguments=arguments, back_before=place.next_prompt)


async def go_back(session: SessionPort, number: int) -> None:
    """Rewind the conversation to before a prompt; the files stay as they are. Raises `LogError`."""
    receipt = await session.submit(RewindTo(number=number, scope=RewindScope.CONVERSATION))
    if isinstance(receipt, Refused):
        raise NoSuchPlace(f"{receipt.message} The session was not resumed there.")


def transcript_path(opened: OpenSession, env: Mapping[str, str]) -> str:
    """Where Claude Code would keep the transcript of the session: SDKs read the key of their store from it."""
    return str(_projects(env) / _project_key(opened.options.cwd) / f"{opened.options.session_id}.jsonl")


def last_line(opened: OpenSession, env: Mapping[str, str]) -> str | None:
    """The id of the last line of the transcript so far; None for a new session."""
    if opened.resumed is None:
        return None
    newest = newest_reply(opened.log.path.parent)
    if newest:
        return reply_uuid(opened.options.session_id, newest)
    lines = _entries(Path(transcript_path(opened, env)))
    return next((uuid for uuid in reversed([line.get("uuid") for line in lines]) if isinstance(uuid, str)), None)


def _take_from_store(arguments: CommandLine, env: Mapping[str, str], warn: Warn) -> None:
    """Make the session from the copy that the SDK has taken from its store, if this machine does not have it."""
    root, session_id = workspace_root(arguments.cwd), arguments.resume or ""
    copy = _projects(env) / _project_key(root) / f"{session_id}.jsonl"
    if "CLAUDE_CONFIG_DIR" not in env or not is_valid_session_id(session_id) or not copy.is_file():
        return
    directory = session_directory(root, session_id)
    if directory.exists():
        newest = newest_reply(directory)
        known = {line.get("uuid") for line in _entries(copy)}
        if newest and reply_uuid(session_id, newest) not in known:
            warn("The session on this machine goes on after its copy in the store; the one on this machine is used.")
        return
    from robota.log.transfer.draft import DraftSession
    from robota.log.transfer.foreign.reading import source_of, take_in_transcript
    from robota.secrets.named_values import secret_variables
    from robota.secrets.redaction import Redactor

    source = source_of(copy)
    with DraftSession(root, user_directory(env), session_id, Redactor(secret_variables(env))) as draft:
        note = take_in_transcript(draft, copy, source, session_id, root, wall_clock_ms())
        draft.finish()
    if note:
        warn(note)


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            entry = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield entry


def _projects(env: Mapping[str, str]) -> Path:
    given = env.get("CLAUDE_CONFIG_DIR")
    return (Path(given) if given else home_directory(env) / ".claude") / "projects"


def _project_key(directory: Path) -> str:
    name = os.path.realpath(directory)
    key = re.sub(r"[^a-zA-Z0-9]", "-", name)
    return key if len(key) <= MAX_PROJECT else f"{key[:MAX_PROJECT]}-{_hash(name)}"


def _hash(text: str) -> str:
    """The hash by which Claude Code tells long paths apart: of 32 bits, to base 36."""
    number = 0
    for character in text:
        number = ((number << 5) - number + ord(character)) & 0xFFFFFFFF
    number = abs(number - (1 << 32) if number >= 1 << 31 else number)
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return digits or "0"
