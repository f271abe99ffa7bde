"""`robota bisect`: find the call of a session that broke a test."""

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.app.rewinding.bisect import Bisection, ForbiddenTest, bisect
from robota.app.rewinding.checkpoints import checkpoint_store
from robota.cli.command_parser import CommandParser
from robota.cli.commands.checkpointed_sessions import chosen_session, session_workspace
from robota.cli.output import print_json
from robota.cli.reading_progress import reading_progress
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.config.paths import user_directory
from robota.engine.rewind.bisect import SearchResult, Trial, WorkspaceState
from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import LogError
from robota.log.record import Record
from robota.log.replay.call_account import CallAccount, account_of
from robota.log.replay.rewind_index import read_rewind_history
from robota.log.replay.rewind_points import RewindHistory
from robota.log.snapshot_keeper import rewind_index_path
from robota.text.visible import single_line, visible
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import CheckpointStore

FOUND: Final = 0
NOT_FOUND: Final = 1
TIMEOUT_S: Final = 600.0
SHOWN: Final = 200
ANSWERS: Final = {"yesButtonClicked": "allowed", "noButtonClicked": "refused", "messageResponse": "answered"}


class BisectedCall(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The cause of the first bad state: a call and its prompt, or neither if no call of the session caused it."""

    call: CallAccount | None
    prompt_number: int | None
    prompt: str | None
    diff: str


def main(argv: Sequence[str]) -> int:
    """Run `robota bisect …`; the arguments begin after `bisect`."""
    options = parser().read(argv)
    try:
        root = workspace_root(options.cwd)
        session = chosen_session(root, options.session)
        directory, workspace = session.directory, session_workspace(session, root)
        log, index = directory / LOG_NAME, rewind_index_path(user_directory(os.environ), directory)
        with reading_progress("reading the log", log) as progress:
            history = read_rewind_history(log, index, progress=progress)
        bisection = Bisection(workspace=workspace, command=options.test, timeout_s=options.timeout, tell=_tell)
        result = asyncio.run(bisect(bisection, history, os.environ))
        settings = settings_for(LaunchOptions(cwd=root), root, os.environ).values.checkpoints
        store = checkpoint_store(settings, workspace, os.environ)
        found = [_account(suspect, log, history, store) for suspect in result.suspects]
    except (ConfigError, LogError, CheckpointError, ForbiddenTest) as error:
        print(f"robota: {str(error).rstrip('.')}.", file=sys.stderr)
        return NOT_FOUND
    except KeyboardInterrupt:
        print("robota: stopped. Nothing was changed.", file=sys.stderr)
        return NOT_FOUND
    if options.json:
        print_json({"session": directory.name, "suspects": found, "trials": result.trials})
    elif found:
        _print_found(found)
    else:
        print(_why_nothing(result))
    return FOUND if found else NOT_FOUND


def parser() -> CommandParser:
    """The argument parser of `robota bisect`."""
    about = "Find the tool call in a session that broke a test. Each state is tested in a separate directory."
    parser = CommandParser(prog="robota bisect", description=about)
    parser.add_argument(
        "session",
        nargs="?",
        metavar="SESSION",
        help="session id, id prefix, name or words (default: the newest with checkpoints)",
    )
    help_test = "shell command: exit code 0 means good, 125 skip, anything else bad"
    parser.add_argument("--test", required=True, metavar="CMD", help=help_test)
    parser.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT_S,
        metavar="SECONDS",
        help="time limit per run; exceeding it counts as bad",
    )
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _tell(state: WorkspaceState, trial: Trial | None) -> None:
    if trial is None:
        print(f"testing the files {_when(state)} ...", file=sys.stderr, end=" ", flush=True)
    else:
        print(trial, file=sys.stderr, flush=True)


def _when(state: WorkspaceState) -> str:
    """Describe the moment of the session at which the files were in this state."""
    if state.call_id is not None:
        return f"as the call {state.call_id} left them"
    if state.before == state.checkpoint:
        return "as they were before the session changed anything"
    return "as you or another program left them, outside any call"


def _account(suspect: WorkspaceState, log: Path, history: RewindHistory, store: CheckpointStore) -> BisectedCall:
    prompt = None if suspect.prompt is None else history.points[suspect.prompt - 1].prompt
    return BisectedCall(
        call=None if suspect.call_id is None else account_of(_records(log), suspect.call_id),
        prompt_number=suspect.prompt,
        prompt=prompt,
        diff=store.diff(suspect.before, suspect.checkpoint).decode("utf-8", "replace"),
    )


def _records(log: Path) -> Iterator[Record]:
    return (grown.record for grown in records_since(log, LogPosition()))


def _print_found(found: Sequence[BisectedCall]) -> None:
    if len(found) > 1:
        print("One of these broke it; the states between could not be tested.")
    for each in found:
        if each.call is None:
            print("No call of the session broke it: the files were changed by you or by another program.")
        else:
            _print_call(each.call)
            print(f"prompt    {each.prompt_number}: {single_line(each.prompt or '', SHOWN)}")
        print(visible(each.diff), end="")


def _print_call(call: CallAccount) -> None:
    shown = msgspec.json.encode(call.input).decode()
    print(f"call      {call.call_id}: {call.tool} {single_line(shown, SHOWN)}")
    rule = f" (rule {call.rule})" if call.rule else ""
    print(f"policy    {call.decision or 'unknown'}: {single_line(call.reason or '', SHOWN)}{rule}")
    if call.answer is not None:
        said = f": {single_line(call.answer_text, SHOWN)}" if call.answer_text else ""
        print(f"approval  {ANSWERS.get(call.answer, call.answer)} by the user{said}")


def _why_nothing(result: SearchResult) -> str:
    match list(result.trials.values()):
        case []:
            return "The session changed nothing, so there is nothing to search."
        case [Trial.GOOD, *_]:
            return "The test does not fail with the files as they are now. Nothing is broken."
        case _:
            return "The test fails already in the state before the first call, so no call of the session broke it."
