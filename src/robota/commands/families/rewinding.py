"""The verbs of rewinding: what the prompts of a session changed, and restoring earlier states."""

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Final, TypeVar

import msgspec

from robota.commands.arguments import written
from robota.commands.verb import (
    Answer,
    ConversationVerb,
    Failure,
    Family,
    ReadingVerb,
    SessionRefused,
    Verb,
    WrongArguments,
    shown,
    told,
)
from robota.commands.verb_host import VerbHost
from robota.config.arguments import HiddenOption, Option, Positional, ShellOption
from robota.contracts.rewind import RewindError, RewindService
from robota.engine.session.rewinding import SessionRewind
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import LogInUse
from robota.protocol.commands import RedoRewind, Refused, RewindRequest, RewindTo, UndoRewind
from robota.protocol.rewind import PromptPoint, RewindResult, RewindScope
from robota.protocol.slash_commands import DiffShown, RewindShown
from robota.protocol.views import TableView
from robota.text.visible import single_line

SHOWN: Final = 50
COLUMNS: Final = ("N", "CALLS", "PROMPT", "FILES CHANGED")
MAX_TEXT: Final = 60
MAX_PROMPT: Final = 40  # leaves room for the files on a terminal of 80 columns
MAX_FILES: Final = 3
ABANDONED: Final = "(left) "
NUMBER: Final = "number of the prompt in the list"
IN_USE: Final = "this session is open in another process. Nothing was changed. Use /rewind there, or close it."
NOBODY: Final = "Not a terminal, so nobody can confirm. Nothing was changed. Use --yes or --dry-run"

T = TypeVar("T")


class OfSession(msgspec.Struct, frozen=True, kw_only=True):
    """The session; in a conversation, its own."""

    session: Annotated[
        str | None,
        ShellOption("session id, id prefix, name or words (default: the newest with checkpoints)", "SESSION"),
    ] = None


class ListPrompts(OfSession, frozen=True, kw_only=True):
    """How many prompts are listed."""

    last: Annotated[int | None, ShellOption(f"only the newest N (default: {SHOWN}; with --json all)", "N")] = None


class DiffPrompts(OfSession, frozen=True, kw_only=True):
    """A prompt, or all."""

    number: Annotated[int | None, Positional("N", NUMBER)] = None


class Rewinding(OfSession, frozen=True, kw_only=True):
    """How a rewind is confirmed. `state` is the previewed state; nothing is changed in another one."""

    dry_run: Annotated[bool, Option("show the exact diff and change nothing")] = False
    yes: Annotated[bool, Option("do not ask for confirmation")] = False
    state: Annotated[str, HiddenOption()] = ""


class Restore(Rewinding, frozen=True, kw_only=True):
    """Which state is restored."""

    number: Annotated[int | None, Positional("N", NUMBER)] = None
    call: Annotated[str | None, Option("restore the state before this tool call instead", "CALL")] = None
    files: Annotated[bool, Option("restore only files", group="scope")] = False
    conversation: Annotated[bool, Option("restore only the conversation", group="scope")] = False
    only: Annotated[tuple[str, ...], Option("restore only this file or directory", "PATH", group="scope")] = ()


class RestoreCode(Rewinding, frozen=True, kw_only=True):
    """A prompt before which the files are restored."""

    number: Annotated[int, Positional("N", NUMBER)]


class RewindTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A session. `relative` turns a path that the user typed into one of its workspace."""

    session_id: str
    service: RewindService
    relative: Callable[[str], str] = str


@contextmanager
def _target(host: VerbHost, session: str | None, *, is_written: bool) -> Iterator[RewindTarget]:
    """A session to look at or, with `is_written`, to rewind. In a conversation, it is always its own."""
    if host.opened is not None:
        service = OpenSessionRewind(host.opened.session.rewind)
        yield RewindTarget(session_id=host.opened.options.session_id, service=service)
        return
    from robota.app.rewinding.rewind import stored_rewinder
    from robota.commands.sessions.selection import session_with_checkpoints, session_workspace

    stored = session_with_checkpoints(host, session)
    directory, workspace = stored.directory, session_workspace(stored, host.root)
    checkpoints = host.settings.values.checkpoints
    with (
        host.progress("reading the log", directory / LOG_NAME) as progress,
        stored_rewinder(
            checkpoints, workspace, host.env, directory, is_written=is_written, progress=progress
        ) as rewinder,
    ):
        yield RewindTarget(
            session_id=directory.name,
            service=rewinder,
            relative=lambda path: os.path.relpath(host.cwd.resolve() / path, workspace),
        )


class OpenSessionRewind:
    """Rewinds the session of a conversation. Raises `SessionRefused`."""

    def __init__(self, rewind: SessionRewind) -> None:
        self._rewind = rewind

    async def points(self, newest: int | None = None) -> tuple[PromptPoint, ...]:
        return _accepted(await self._rewind.points())[-(newest or 0) :]

    async def diff(self, number: int | None) -> str:
        return _accepted(await self._rewind.diff(number))

    async def preview(self, order: RewindRequest) -> RewindResult:
        return _accepted(await self._rewind.preview(order))

    async def carry_out(self, order: RewindRequest) -> RewindResult:
        return _accepted(await self._rewind.go(order))


def _accepted(answer: T | Refused) -> T:
    if isinstance(answer, Refused):
        raise SessionRefused(answer)
    return answer


async def _list(host: VerbHost, args: ListPrompts) -> Answer:
    if args.last is not None and args.last < 1:
        raise WrongArguments(f"--last: '{args.last}' is not a number from 1.")
    newest = SHOWN if args.last is None and not host.wants_all else args.last
    with _target(host, args.session, is_written=False) as target:
        points = await target.service.points(newest)
    data = {"session": target.session_id, "prompts": points}
    if not points:
        return told("This session has no prompts.", data)
    older = points[0].number - 1
    notices = (f"{older:,} older prompts are not shown; --last N shows more.",) if older else ()
    return msgspec.structs.replace(shown(_point_table(points), data), notices=notices)


async def _diff(host: VerbHost, args: DiffPrompts) -> Answer:
    with _target(host, args.session, is_written=False) as target:
        diff = await target.service.diff(args.number)
    data = {"session": target.session_id, "diff": diff}
    return Answer(outcome=DiffShown(diff=diff), data=data) if diff else told("Nothing has changed.", data)


async def _restore(host: VerbHost, args: Restore) -> Answer:
    scope = RewindScope.FILES if args.files else RewindScope.CONVERSATION if args.conversation else RewindScope.BOTH
    request = RewindTo(number=args.number, call_id=args.call, scope=scope, only=args.only, state=args.state)
    return await _rewind(host, "restore", args, request)


async def _code(host: VerbHost, args: RestoreCode) -> Answer:
    request = RewindTo(number=args.number, scope=RewindScope.FILES, state=args.state)
    return await _rewind(host, "code", args, request)


async def _undo(host: VerbHost, args: Rewinding) -> Answer:
    return await _rewind(host, "undo", args, UndoRewind(state=args.state))


async def _redo(host: VerbHost, args: Rewinding) -> Answer:
    return await _rewind(host, "redo", args, RedoRewind(state=args.state))


async def _rewind(host: VerbHost, verb: str, args: Rewinding, request: RewindRequest) -> Answer:
    """Show what would happen, and do it if the user confirms. In a conversation, the line in the answer confirms."""
    has_saved = False
    with _target(host, args.session, is_written=not args.dry_run) as target:
        if isinstance(request, RewindTo):
            request = msgspec.structs.replace(request, only=tuple(map(target.relative, request.only)))
        if args.dry_run or not args.yes:
            preview = await target.service.preview(request)
            if args.dry_run or preview.is_empty:
                return Answer(outcome=RewindShown(result=preview), data=preview)
            is_confirmed = host.ask(RewindShown(result=preview), default=False)
            if is_confirmed is None:
                line = f"/rewind {verb} {_confirmed(args, preview.state)}"
                return _unconfirmed(host, RewindShown(result=preview, line=line))
            if not is_confirmed:
                return told("Nothing was changed.", ok=False)
            request = msgspec.structs.replace(request, state=preview.state)
            has_saved = preview.saved_new_work
        result = await target.service.carry_out(request)
    # Work that was in no checkpoint was saved by the preview.
    result = msgspec.structs.replace(result, saved_new_work=result.saved_new_work or has_saved)
    return Answer(outcome=RewindShown(result=result, is_done=True), data=result)


def _confirmed(args: Rewinding, state: str) -> str:
    """The arguments that confirm a preview, for exactly the previewed state."""
    return shlex.join(written(msgspec.structs.replace(args, yes=True, state=state)))


def _unconfirmed(host: VerbHost, preview: RewindShown) -> Answer:
    if host.opened is None:
        raise RewindError(NOBODY)
    return Answer(outcome=preview)


def _point_table(points: Sequence[PromptPoint]) -> TableView:
    """A row per prompt: number, calls, text and changed files. Prompts on an abandoned branch are marked."""
    return TableView(columns=COLUMNS, rows=tuple(map(_row, points)))


def _row(point: PromptPoint) -> tuple[str, ...]:
    mark = "" if point.is_live else ABANDONED
    prompt = mark + single_line(point.prompt, MAX_PROMPT)
    return (str(point.number), str(len(point.calls)), prompt, _files_cell(point))


def _files_cell(point: PromptPoint) -> str:
    if point.files is None:
        return "(checkpoints removed)"
    shown = ", ".join(single_line(path, MAX_TEXT) for path in point.files[:MAX_FILES])
    more = f" and {len(point.files) - MAX_FILES} more" if len(point.files) > MAX_FILES else ""
    return f"{shown}{more}{_not_captured(point)}".strip()


def _not_captured(point: PromptPoint) -> str:
    """The files that the checkpoints do not contain: the first ones with reasons, and how many more."""
    if not point.not_captured:
        return ""
    named = [
        f"{single_line(each.path, MAX_TEXT)}: {single_line(each.reason, MAX_TEXT)}"
        for each in point.left_out[:MAX_FILES]
    ]
    more = point.not_captured - len(named)
    counted = [f"{more} more" if named else str(more)] if more else []
    return f" (not captured: {'; '.join([*named, *counted])})"


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
        ReadingVerb("list", "list the prompts of a session and what each changed", ListPrompts, _list),
        ReadingVerb("diff", "show what a prompt changed (default: all prompts)", DiffPrompts, _diff),
        Verb(
            "restore",
            "restore the state before a prompt or a tool call",
            Restore,
            _restore,
            hint="N|--call CALL [--files|--conversation|--only PATH|--dry-run]",
        ),
        ConversationVerb("code", "restore only the files", RestoreCode, _code, hint="N"),
        Verb("undo", "undo the last restore", Rewinding, _undo, hint=""),
        Verb("redo", "redo what undo reverted", Rewinding, _redo, hint=""),
    ),
)
