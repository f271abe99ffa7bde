"""The verbs of the trace: verify what agents changed, and export it."""

import asyncio
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from robota.app.intents import intent_directories, trace_killed_sessions
from robota.commands.verb import Answer, Failure, Family, NoArguments, RawOutput, ReadingVerb, Verb, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.paths import user_directory
from robota.intents.trace_export import exported
from robota.intents.trace_file import TRACE, noted_newest, trace_lines
from robota.intents.trace_verification import VerifiedTrace, verify_trace
from robota.text.counted import counted
from robota.workspace.git.run import GitError, open_git

NOTES: Final = "agent-trace"
IDENTITY: Final = ("user.name=robota", "user.email=robota@localhost")


class TraceMissing(Exception):
    """There is no trace. The message says why."""


class ExportTrace(msgspec.Struct, frozen=True):
    """Which records are exported."""

    intent: Annotated[str | None, Option("only records of this intent", "ID")] = None


class NoteCommit(msgspec.Struct, frozen=True):
    """A commit that gets a note."""

    revision: Annotated[str, Positional("REV", "the commit (default: HEAD)")] = "HEAD"


def _verify(host: VerbHost, _: NoArguments) -> Answer:
    verified = _verified(host)
    lines = [f"line {finding.line}: {finding.fault}: {finding.text}" for finding in verified.findings]
    foreign = f", {counted(verified.foreign, 'line')} of other tools" if verified.foreign else ""
    merged = f", merged from {verified.merged + 1} lines of work" if verified.merged else ""
    intact = "is not as it was written" if verified.findings else "is as it was written"
    lines.append(f"The trace {intact}: {counted(verified.records, 'record')}{foreign}{merged}.")
    data = {**msgspec.to_builtins(verified), "isIntact": not verified.findings}
    return told("\n".join(lines), data, ok=not verified.findings)


def _head(host: VerbHost, _: NoArguments) -> Answer:
    head = _verified(host).head
    return told(head, {"head": head})


def _verified(host: VerbHost) -> VerifiedTrace:
    return verify_trace(_lines(host), noted_newest(_home(host), user_directory(host.env)))


def _export(host: VerbHost, args: ExportTrace) -> Answer:
    records = list(exported(_lines(host), args.intent))
    lines = [msgspec.json.encode(record) + b"\n" for record in records]
    answer = told(b"".join(lines).decode().rstrip("\n"), records)
    return msgspec.structs.replace(answer, output=RawOutput(lines))


async def _note(host: VerbHost, args: NoteCommit) -> Answer:
    """Add the records made at the parents of the commit, for files that it changed, as a git note."""
    git = await open_git(host.root, host.env)
    commit = await git.line("rev-parse", "--verify", "--end-of-options", f"{args.revision}^{{commit}}")
    parents = (await git.line("rev-list", "--parents", "-n", "1", commit)).split()[1:]
    changed = await git.run("diff-tree", "--no-commit-id", "--name-only", "--root", "-r", "-m", "-z", commit)
    names = set(changed.split("\0"))
    lines = await asyncio.to_thread(_lines, host)
    records = await asyncio.to_thread(_records_of, lines, parents, names)
    data = {"commit": commit, "records": len(records)}
    if not records:
        return told(f"No record of the trace belongs to {commit[:12]}, so no note was added.", data)
    text = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
    named = msgspec.structs.replace(git, settings=(*git.settings, *IDENTITY))
    await named.run("notes", f"--ref={NOTES}", "add", "-f", "-F", "-", commit, stdin=text)
    return told(
        f"{commit[:12]} has a note with {counted(len(records), 'record')}: git notes --ref={NOTES} show {commit[:12]}",
        data,
    )


def _records_of(lines: Iterable[bytes], parents: Sequence[str], names: Collection[str]) -> list[dict[str, Any]]:
    return [
        record
        for record in exported(lines)
        if record.get("vcs", {}).get("revision") in parents and any(each["path"] in names for each in record["files"])
    ]


def _lines(host: VerbHost) -> Iterable[bytes]:
    """The trace, with what killed sessions changed. Raises `TraceMissing` or `OSError`."""
    trace_killed_sessions(intent_directories(host.root), host.env)
    home = _home(host)
    if os.path.lexists(home / TRACE):
        return trace_lines(home)
    if noted_newest(home, user_directory(host.env)) is None:
        raise TraceMissing(f"{TRACE} does not exist: no agent has changed anything under an intent")
    raise TraceMissing(f"{TRACE} is missing, although this machine has written records to it")


def _home(host: VerbHost) -> Path:
    """The directory with the trace of the workspace."""
    has_own = (host.root / TRACE).is_symlink() or (host.root / TRACE).exists()
    place = None if has_own else intent_directories(host.root)
    return host.root if place is None else place.home


def _explain(error: Exception) -> Failure:
    if isinstance(error, OSError):
        return Failure(f"{TRACE} cannot be read: {error.strerror}. Nothing was changed.")
    prefix = "No note was written: " if isinstance(error, GitError) else ""
    return Failure(f"{prefix}{error}. Nothing was changed.")


FAMILY: Final = Family(
    name="trace",
    about=f"What agents changed here, as {TRACE} records it.",
    description="verify and export the trace of changes made by agents",
    default="verify",
    problems=(TraceMissing, OSError, GitError),
    explain=_explain,
    verbs=(
        ReadingVerb(
            "verify", "report edited, dropped, moved or truncated records; exit code 1 if any", NoArguments, _verify
        ),
        ReadingVerb("head", "print the hash of the whole trace, for a commit trailer", NoArguments, _head),
        ReadingVerb("export", "print Agent Trace 0.1.0 records, one per line", ExportTrace, _export),
        Verb("note", f"store the records of a commit as a git note (refs/notes/{NOTES})", NoteCommit, _note),
    ),
)
