"""The verbs of rewinding: what the prompts of a session changed, and restoring earlier states."""

import shlex
from typing import Annotated, Final

import msgspec

from robota.commands.arguments import written
from robota.commands.point_table import point_table
from robota.commands.verb import Answer, Failure, Family, Option, Positional, Verb, WrongArguments, shown, told
from robota.commands.verb_host import VerbHost
from robota.contracts.rewind import RewindError
from robota.log.errors import LogInUse
from robota.protocol.commands import RedoRewind, RewindRequest, RewindTo, UndoRewind
from robota.protocol.rewind import RewindScope
from robota.protocol.slash_commands import DiffShown, RewindShown

SHOWN: Final = 50
NUMBER: Final = "number of the prompt in the list"
IN_USE: Final = "this session is open in another process. Nothing was changed. Use /rewind there, or close it."
NOBODY: Final = "Not a terminal, so nobody can confirm. Nothing was changed. Use --yes or --dry-run"


class OfSession(msgspec.Struct, frozen=True, kw_only=True):
    """Which session is meant; in a conversation, its own."""

    session: Annotated[
        str | None,
        Option(
            "session id, id prefix, name or words (default: the newest with checkpoints)", "SESSION", only_in_shell=True
        ),
    ] = None


class ListPrompts(OfSession, frozen=True, kw_only=True):
    """How many prompts are listed."""

    last: Annotated[
        int | None, Option(f"only the newest N (default: {SHOWN}; with --json all)", "N", only_in_shell=True)
    ] = None


class DiffPrompts(OfSession, frozen=True, kw_only=True):
    """A prompt, or all."""

    number: Annotated[int | None, Positional("N", NUMBER)] = None


class Rewinding(OfSession, frozen=True, kw_only=True):
    """How a rewind is confirmed. `state` is the previewed state; nothing is changed in another one."""

    dry_run: Annotated[bool, Option("show the exact diff and change nothing")] = False
    yes: Annotated[bool, Option("do not ask for confirmation")] = False
    state: Annotated[str, Option(hidden=True)] = ""


class Restore(Rewinding, frozen=True, kw_only=True):
    """What is restored."""

    number: Annotated[int | None, Positional("N", NUMBER)] = None
    call: Annotated[str | None, Option("restore the state before this tool call instead", "CALL")] = None
    files: Annotated[bool, Option("restore only files", group="scope")] = False
    conversation: Annotated[bool, Option("restore only the conversation", group="scope")] = False
    only: Annotated[tuple[str, ...], Option("restore only this file or directory", "PATH", group="scope")] = ()


class RestoreCode(Rewinding, frozen=True, kw_only=True):
    """A prompt before which the files are restored."""

    number: Annotated[int, Positional("N", NUMBER)]


async def _list(host: VerbHost, wanted: ListPrompts) -> Answer:
    if wanted.last is not None and wanted.last < 1:
        raise WrongArguments(f"--last: '{wanted.last}' is not a number from 1.")
    newest = SHOWN if wanted.last is None and not host.wants_all else wanted.last
    with host.rewinding(wanted.session, is_written=False) as target:
        points = await target.service.points(newest)
    data = {"session": target.session_id, "prompts": points}
    if not points:
        return told("This session has no prompts.", data)
    older = points[0].number - 1
    notices = (f"{older:,} older prompts are not shown; --last N shows more.",) if older else ()
    return msgspec.structs.replace(shown(point_table(points), data), notices=notices)


async def _diff(host: VerbHost, wanted: DiffPrompts) -> Answer:
    with host.rewinding(wanted.session, is_written=False) as target:
        diff = await target.service.diff(wanted.number)
    data = {"session": target.session_id, "diff": diff}
    return Answer(outcome=DiffShown(diff=diff), data=data) if diff else told("Nothing has changed.", data)


async def _restore(host: VerbHost, wanted: Restore) -> Answer:
    scope = RewindScope.FILES if wanted.files else RewindScope.CONVERSATION if wanted.conversation else RewindScope.BOTH
    request = RewindTo(number=wanted.number, call_id=wanted.call, scope=scope, only=wanted.only, state=wanted.state)
    return await _rewind(host, "restore", wanted, request)


async def _code(host: VerbHost, wanted: RestoreCode) -> Answer:
    request = RewindTo(number=wanted.number, scope=RewindScope.FILES, state=wanted.state)
    return await _rewind(host, "code", wanted, request)


async def _undo(host: VerbHost, wanted: Rewinding) -> Answer:
    return await _rewind(host, "undo", wanted, UndoRewind(state=wanted.state))


async def _redo(host: VerbHost, wanted: Rewinding) -> Answer:
    return await _rewind(host, "redo", wanted, RedoRewind(state=wanted.state))


async def _rewind(host: VerbHost, verb: str, wanted: Rewinding, request: RewindRequest) -> Answer:
    """Show what would happen, and do it if the user confirms. In a conversation, the line in the answer confirms."""
    has_saved = False
    with host.rewinding(wanted.session, is_written=not wanted.dry_run) as target:
        if isinstance(request, RewindTo):
            request = msgspec.structs.replace(request, only=tuple(map(target.relative, request.only)))
        if wanted.dry_run or not wanted.yes:
            preview = await target.service.preview(request)
            if wanted.dry_run or preview.is_empty:
                return Answer(outcome=RewindShown(result=preview), data=preview)
            is_confirmed = host.ask(RewindShown(result=preview), default=False)
            if is_confirmed is None:
                line = f"/rewind {verb} {_confirmed(wanted, preview.state)}"
                return _unconfirmed(host, RewindShown(result=preview, line=line))
            if not is_confirmed:
                return told("Nothing was changed.", is_well=False)
            request = msgspec.structs.replace(request, state=preview.state)
            has_saved = preview.saved_new_work
        result = await target.service.carry_out(request)
    # Work that was in no checkpoint was saved by the preview.
    result = msgspec.structs.replace(result, saved_new_work=result.saved_new_work or has_saved)
    return Answer(outcome=RewindShown(result=result, is_done=True), data=result)


def _confirmed(wanted: Rewinding, state: str) -> str:
    """The arguments that confirm a preview, for exactly the previewed state."""
    return shlex.join(written(msgspec.structs.replace(wanted, yes=True, state=state)))


def _unconfirmed(host: VerbHost, preview: RewindShown) -> Answer:
    if host.session_id is None:
        raise RewindError(NOBODY)
    return Answer(outcome=preview)


def _explain(error: Exception) -> Failure:
    return Failure(IN_USE if isinstance(error, LogInUse) else f"{str(error).rstrip('.')}.")


FAMILY: Final = Family(
    name="rewind",
    about="Restore the files and the conversation of a session to an earlier point.",
    description="restore files and conversation to an earlier point",
    default="list",
    hint="[list | diff [N] | restore N | undo | redo]",
    problems=(RewindError,),
    explain=_explain,
    verbs=(
        Verb("list", "list the prompts of a session and what each changed", ListPrompts, _list),
        Verb("diff", "show what a prompt changed (default: all prompts)", DiffPrompts, _diff),
        Verb(
            "restore",
            "restore the state before a prompt or a tool call",
            Restore,
            _restore,
            hint="N|--call CALL [--files|--conversation|--only PATH|--dry-run]",
        ),
        Verb("code", "restore only the files", RestoreCode, _code, hint="N", only_in_conversation=True),
        Verb("undo", "undo the last restore", Rewinding, _undo, hint=""),
        Verb("redo", "redo what undo reverted", Rewinding, _redo, hint=""),
    ),
)
