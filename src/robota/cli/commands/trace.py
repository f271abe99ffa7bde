"""`robota trace`: verify the trace of what agents changed, and export it."""

import asyncio
import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.app.intents import place_of_intents, trace_killed_sessions
from robota.cli.command_parser import CommandParser
from robota.cli.output import print_json
from robota.config.paths import user_directory
from robota.intents.trace_export import exported
from robota.intents.trace_file import TRACE, noted_newest, trace_lines
from robota.intents.trace_verification import VerifiedTrace, verify_trace
from robota.text.counted import counted
from robota.workspace.git.run import GitError, open_git

DONE: Final = 0
FAILED: Final = 1
NOTES: Final = "agent-trace"
IDENTITY: Final = ("user.name=robota", "user.email=robota@localhost")


def main(argv: Sequence[str]) -> int:
    """Run `robota trace …`; the arguments begin after `trace`."""
    options = parser().read(argv)
    trace_killed_sessions(place_of_intents(Path.cwd()), os.environ)
    try:
        if options.action == "export":
            return _export(options.intent)
        if options.action == "note":
            return asyncio.run(_note(options.revision))
        verified = verify_trace(trace_lines(_home()), noted_newest(_home(), user_directory(os.environ)))
    except FileNotFoundError:
        return _fail(_why_missing())
    except OSError as error:
        return _fail(f"{TRACE} cannot be read: {error.strerror}")
    except GitError as error:
        return _fail(f"No note was written: {error}")
    if options.action == "head":
        print(verified.head)
        return DONE
    if options.json:
        print_json({**msgspec.to_builtins(verified), "isIntact": not verified.findings})
    else:
        _print(verified)
    return FAILED if verified.findings else DONE


def parser() -> CommandParser:
    """The argument parser of `robota trace`."""
    parser = CommandParser(prog="robota trace", description=f"What agents changed here, as {TRACE} records it.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    verify = actions.add_parser("verify", help="report edited, dropped, moved or truncated records; exit code 1 if any")
    verify.add_argument("--json", action="store_true", help="print JSON")
    actions.add_parser("head", help="print the hash of the whole trace, for a commit trailer")
    export = actions.add_parser("export", help="print Agent Trace 0.1.0 records, one per line")
    export.add_argument("--intent", metavar="ID", help="only records of this intent")
    note = actions.add_parser("note", help=f"store the records of a commit as a git note (refs/notes/{NOTES})")
    note.add_argument("revision", nargs="?", default="HEAD", metavar="REV", help="the commit (default: HEAD)")
    return parser


def _export(intent: str | None) -> int:
    for record in exported(trace_lines(_home()), intent):
        sys.stdout.write(msgspec.json.encode(record).decode() + "\n")
    return DONE


async def _note(revision: str) -> int:
    """The records made at the parents of the commit, for files that it changed."""
    git = await open_git(Path.cwd(), os.environ)
    commit = await git.line("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    parents = (await git.line("rev-list", "--parents", "-n", "1", commit)).split()[1:]
    changed = await git.run("diff-tree", "--no-commit-id", "--name-only", "--root", "-r", "-m", "-z", commit)
    names = set(changed.split("\0"))
    records = await asyncio.to_thread(_records_of, parents, names)
    if not records:
        print(f"No record of the trace belongs to {commit[:12]}, so no note was added.")
        return DONE
    text = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
    named = msgspec.structs.replace(git, settings=(*git.settings, *IDENTITY))
    await named.run("notes", f"--ref={NOTES}", "add", "-f", "-F", "-", commit, stdin=text)
    print(
        f"{commit[:12]} has a note with {counted(len(records), 'record')}: git notes --ref={NOTES} show {commit[:12]}"
    )
    return DONE


def _records_of(parents: Sequence[str], names: Collection[str]) -> list[dict[str, Any]]:
    return [
        record
        for record in exported(trace_lines(_home()))
        if record.get("vcs", {}).get("revision") in parents and any(each["path"] in names for each in record["files"])
    ]


def _home() -> Path:
    """The directory with the trace for the current one."""
    here = Path.cwd()
    has_own = (here / TRACE).is_symlink() or (here / TRACE).exists()
    place = None if has_own else place_of_intents(here)
    return here if place is None else place.home


def _why_missing() -> str:
    if noted_newest(_home(), user_directory(os.environ)) is None:
        return f"{TRACE} does not exist: no agent has changed anything under an intent"
    return f"{TRACE} is missing, although this machine has written records to it"


def _print(verified: VerifiedTrace) -> None:
    for finding in verified.findings:
        print(f"line {finding.line}: {finding.fault}: {finding.text}")
    foreign = f", {counted(verified.foreign, 'line')} of other tools" if verified.foreign else ""
    merged = f", merged from {verified.merged + 1} lines of work" if verified.merged else ""
    intact = "is not as it was written" if verified.findings else "is as it was written"
    print(f"The trace {intact}: {counted(verified.records, 'record')}{foreign}{merged}.")


def _fail(message: str) -> int:
    print(f"robota: {message}. Nothing was changed.", file=sys.stderr)
    return FAILED
