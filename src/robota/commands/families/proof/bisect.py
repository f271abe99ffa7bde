"""The verb `bisect`: find the call of a session that broke a test."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec

from robota.app.rewinding.bisect import Bisection, ForbiddenTest, bisect
from robota.app.rewinding.checkpoints import checkpoint_store
from robota.commands.sessions.selection import session_with_checkpoints, session_workspace
from robota.commands.verb import Answer, Failure, Family, ShellVerb, VerbFailed, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.paths import user_directory
from robota.engine.rewind.bisect import SearchResult, Trial, WorkspaceState
from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.record import Record
from robota.log.replay.call_account import CallAccount, account_of
from robota.log.replay.rewind_points import RewindHistory, read_rewind_history
from robota.log.snapshot_keeper import rewind_index_path
from robota.text.visible import single_line, visible
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import CheckpointStore

MAX_TEXT: Final = 200
ANSWERS: Final = {"yesButtonClicked": "allowed", "noButtonClicked": "refused", "messageResponse": "answered"}


class BisectedCall(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The cause of the first bad state: a call and its prompt, or neither if no call of the session caused it."""

    call: CallAccount | None
    prompt_number: int | None
    prompt: str | None
    diff: str


class BisectSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session, and the test that one of its calls broke."""

    session: Annotated[
        str | None,
        Positional("SESSION", "session id, id prefix, name or words (default: the newest with checkpoints)"),
    ] = None
    test: Annotated[str, Option("shell command: exit code 0 means good, 125 skip, anything else bad", "CMD")]
    timeout: Annotated[float, Option("time limit per run; exceeding it counts as bad", "SECONDS")] = 600.0


async def bisect_session(host: VerbHost, args: BisectSession) -> Answer:
    """Find the tool call in a session that broke a test."""
    session = session_with_checkpoints(host, args.session)
    directory, workspace = session.directory, session_workspace(session, host.root)
    log, index = directory / LOG_NAME, rewind_index_path(user_directory(host.env), directory)
    with host.progress("reading the log", log) as progress:
        history = read_rewind_history(log, index, progress=progress)
    bisection = Bisection(workspace=workspace, command=args.test, timeout_s=args.timeout, tell=_print_trial)
    try:
        result = await bisect(bisection, history, host.env)
    except asyncio.CancelledError as stopped:
        raise VerbFailed("stopped. Nothing was changed.") from stopped
    store = checkpoint_store(host.settings.values.checkpoints, workspace, host.env)
    calls = [_account(suspect, log, history, store) for suspect in result.suspects]
    data = {"session": directory.name, "suspects": calls, "trials": result.trials}
    text = "\n".join(_lines(calls)).rstrip("\n") if calls else _why_nothing(result)
    return told(text, data, ok=bool(calls))


def _explain(error: Exception) -> Failure:
    return Failure(f"{str(error).rstrip('.')}.")


FAMILY: Final = Family(
    name="bisect",
    about="Find the tool call in a session that broke a test. Each state is tested in a separate directory.",
    main=ShellVerb(
        "bisect",
        "find the tool call in a session that broke a test",
        BisectSession,
        bisect_session,
        reason="it runs a test many times, and shows each result as it comes",
    ),
    problems=(CheckpointError, ForbiddenTest),
    explain=_explain,
)


def _print_trial(state: WorkspaceState, trial: Trial | None) -> None:
    if trial is None:
        sys.stderr.write(f"testing the files {_when(state)} ... ")
    else:
        sys.stderr.write(f"{trial}\n")
    sys.stderr.flush()


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


def _lines(calls: Sequence[BisectedCall]) -> Iterator[str]:
    if len(calls) > 1:
        yield "One of these broke it; the states between could not be tested."
    for each in calls:
        if each.call is None:
            yield "No call of the session broke it: the files were changed by you or by another program."
        else:
            yield from _call_lines(each.call)
            yield f"prompt    {each.prompt_number}: {single_line(each.prompt or '', MAX_TEXT)}"
        yield visible(each.diff).rstrip("\n")


def _call_lines(call: CallAccount) -> Iterator[str]:
    arguments = msgspec.json.encode(call.input).decode()
    yield f"call      {call.call_id}: {call.tool} {single_line(arguments, MAX_TEXT)}"
    rule = f" (rule {call.rule})" if call.rule else ""
    yield f"policy    {call.decision or 'unknown'}: {single_line(call.reason or '', MAX_TEXT)}{rule}"
    if call.answer is not None:
        answer = f": {single_line(call.answer_text, MAX_TEXT)}" if call.answer_text else ""
        yield f"approval  {ANSWERS.get(call.answer, call.answer)} by the user{answer}"


def _why_nothing(result: SearchResult) -> str:
    match list(result.trials.values()):
        case []:
            return "The session changed nothing, so there is nothing to search."
        case [Trial.GOOD, *_]:
            return "The test does not fail with the files as they are now. Nothing is broken."
        case _:
            return "The test fails already in the state before the first call, so no call of the session broke it."
