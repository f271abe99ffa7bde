"""The context window: show it, condense it, undo that, and pin turns."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import msgspec

from robota.commands.command import Run, SlashCommand, shown_text, wrong_arguments
from robota.commands.effect import Effect, MakesChanges, Prompts, changes
from robota.commands.host import CommandHost
from robota.commands.sessions.selection import named_session, noted_end
from robota.commands.verb import (
    FAILED,
    Answer,
    Family,
    NoArguments,
    ReadingConversationVerb,
    ReadingVerb,
    SessionRefused,
    ShellVerb,
    always,
    told,
)
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.paths import user_directory
from robota.contracts.tool import ToolRole, names_with_role
from robota.engine.context.recorded_context import recorded_context, tokens_in_use
from robota.engine.context.reducer import CannotRestore, chosen_reduction, require_room
from robota.engine.session.session import Session
from robota.log.artifacts import ARTIFACTS_NAME, read_artifact
from robota.log.chain.head import head_path
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.writer import SessionLog, wall_clock_ms
from robota.log.errors import SessionNotFound
from robota.log.kinds.conversation import RestoreRecord
from robota.log.replay.reading import LogReading, context_without
from robota.log.replay.requests import RecordedRequest, newest_request
from robota.log.replay.task import TaskFold
from robota.log.snapshot_keeper import snapshot_path
from robota.log.store import fallback_directory, list_sessions
from robota.protocol.commands import CondenseContext, PinTurn, Refused, RestoreContext
from robota.protocol.events import ContextUpdate
from robota.protocol.slash_commands import (
    CommandOutcome,
    CommandStarted,
    ContextShown,
    PreviewShown,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.tools.registry import builtin_tools

SESSION: Final = "session id, id prefix, name or words (default: the newest)"
COMPACT: Final = SlashCommandInfo(
    name="compact",
    argument_hint="[WORDS]",
    description="condense the conversation now, optionally with guidance",
    subcommands=(
        SubcommandInfo(name="preview", description="show what would be kept, summarised and dropped"),
        SubcommandInfo(name="undo", argument_hint="[ID]", description="undo the newest condensation, or this one"),
    ),
    needs_model=True,
)
PIN: Final = SlashCommandInfo(
    name="pin", argument_hint="TURN", description="keep a turn verbatim; /context shows turn numbers"
)
PINNING: Final = changes("robota --resume SESSION, and type it there")
UNPIN: Final = SlashCommandInfo(name="unpin", argument_hint="TURN", description="allow a turn to be condensed again")


class ShowContext(msgspec.Struct, frozen=True, kw_only=True):
    """Whose context window is shown, and how much of it."""

    session: Annotated[str | None, Positional("SESSION", SESSION)] = None
    all: Annotated[bool, Option("name everything, not only the largest")] = False


class RestoreStoredContext(msgspec.Struct, frozen=True, kw_only=True):
    """Which content is restored."""

    session: Annotated[str | None, Positional("SESSION", SESSION)] = None
    id: Annotated[str | None, Option("what to undo, as `--json` names it (default: the newest)", "ID")] = None


async def _show(host: VerbHost, args: ShowContext) -> Answer:
    if host.opened is None or args.session is not None:
        update = _stored_context(host, args.session)
        return Answer(outcome=ContextShown(update=update, is_whole=args.all), data=update)
    current = await host.opened.session.context.update()
    if isinstance(current, Refused):
        raise SessionRefused(current)
    return Answer(outcome=ContextShown(update=current, is_whole=args.all), data=current)


async def _show_all(host: VerbHost, _: NoArguments) -> Answer:
    return await _show(host, ShowContext(all=True))


def _stored_context(host: VerbHost, session: str | None) -> ContextUpdate:
    """What fills the context window at the end of a stored session."""
    directory = _session_directory(host, session)
    log = directory / LOG_NAME
    with host.progress("reading the log", log) as progress:
        user = user_directory(host.env)
        reading = LogReading(snapshot_path(user, directory), noted_end(host.env, directory), progress=progress)
        reading.read(log)
    return recorded_context(*_newest_request(directory, reading.session().current), _file_readers())


async def _restore(host: VerbHost, args: RestoreStoredContext) -> Answer:
    """Log that a condensation, a truncation or a cut is undone."""
    directory = _session_directory(host, args.session)
    # A session from another machine must not look like one of this machine afterwards.
    is_own = noted_end(host.env, directory) is not None
    reading = LogReading()
    log, _ = SessionLog.open(
        directory,
        wall_clock_ms,
        Redactor(secret_variables(host.env)),
        head_file=head_path(user_directory(host.env), directory) if is_own else None,
        read=reading.read,
    )
    try:
        task, request = _newest_request(directory, reading.session().current)
        chosen = chosen_reduction(args.id, task.context.undoable)
        context = context_without(directory / LOG_NAME, task.task_id, chosen)
        before, after = tokens_in_use(task, request), tokens_in_use(task, request, context)
        require_room(after, request.context_window or math.inf)
        log.append(RestoreRecord(task_id=task.task_id, id=chosen))
        await log.sync()
    finally:
        log.close()
    data = {"session": directory.name, "id": chosen, "prevContextTokens": before, "newContextTokens": after}
    return told(f"{chosen} was undone: the model gets about {after:,} tokens instead of {before:,}.", data)


def _file_readers() -> frozenset[str]:
    return names_with_role(builtin_tools(), ToolRole.FILE_READER)


def _session_directory(host: VerbHost, session: str | None) -> Path:
    if session is not None:
        return named_session(host, session).directory
    root, user = host.root, user_directory(host.env)
    # A repository can contain logs; those written on this machine are recorded outside it.
    own = (
        each.directory
        for each in list_sessions(root, fallback_directory(user, root))
        if noted_end(host.env, each.directory)
    )
    newest = next(own, None)
    if newest is None:
        raise SessionNotFound(f"There is no session of this machine in {root}. Use --cwd to name another directory.")
    return newest


def _newest_request(directory: Path, task: TaskFold | None) -> tuple[TaskFold, RecordedRequest]:
    """The current task at the end of the session, and the content of its last request."""
    artifacts = directory / ARTIFACTS_NAME
    request = (
        None
        if task is None
        else newest_request(directory / LOG_NAME, task.task_id, lambda name: read_artifact(artifacts, name))
    )
    if task is None or request is None:
        raise SessionNotFound(f"Nothing was sent to a model in the session {directory.name}, so its context is empty.")
    return task, request


FAMILY: Final = Family(
    name="context",
    about="What fills the context window of the model at the end of a session. "
    "`robota context restore` brings back what was condensed.",
    description="show what fills the context window",
    main=ReadingVerb("context", "show what fills the context window of a session", ShowContext, _show),
    verbs=(
        ReadingConversationVerb("all", "name everything, not only the largest", NoArguments, _show_all),
        ShellVerb(
            "restore",
            "Restore to the context what was condensed or removed.",
            RestoreStoredContext,
            _restore,
            reason="in a conversation, /compact undo does it",
        ),
    ),
    hint="[all]",
    problems=(CannotRestore,),
    explain=always(FAILED),
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/compact`, `/pin` and `/unpin`."""
    session = host.session

    async def compact(arguments: str) -> CommandOutcome | Refused:
        word, _, rest = arguments.partition(" ")
        if arguments == "preview":
            preview = await session.context.preview()
            return preview if isinstance(preview, Refused) else PreviewShown(preview=preview)
        if word == "undo" and " " not in rest.strip():
            receipt = await session.submit(RestoreContext(id=rest.strip() or None))
            return (
                receipt if isinstance(receipt, Refused) else shown_text("The removed content is back in the context.")
            )
        receipt = await session.submit(CondenseContext(text=arguments or None))
        if isinstance(receipt, Refused):
            return receipt
        if receipt.outcome is not None:
            return receipt.outcome
        if receipt.is_deferred:
            return shown_text("The conversation will be condensed before the next request.")
        return CommandStarted()

    yield SlashCommand(info=COMPACT, run=compact, effect=_compact_effect)
    yield SlashCommand(info=PIN, run=_pinning(session, PIN, is_pinned=True), effect=PINNING)
    yield SlashCommand(info=UNPIN, run=_pinning(session, UNPIN, is_pinned=False), effect=PINNING)


def _compact_effect(arguments: str) -> Effect:
    is_undo = arguments.partition(" ")[0] == "undo"
    return MakesChanges("robota context restore SESSION") if is_undo else Prompts()


def _pinning(session: Session, info: SlashCommandInfo, *, is_pinned: bool) -> Run:
    async def pin(arguments: str) -> CommandOutcome | Refused:
        if not (arguments.isascii() and arguments.isdecimal()):
            return wrong_arguments(info, "Give a turn number.")
        receipt = await session.submit(PinTurn(turn=int(arguments), is_pinned=is_pinned))
        if isinstance(receipt, Refused):
            return receipt
        return shown_text(f"Turn {arguments} {'is pinned' if is_pinned else 'may be condensed again'}.")

    return pin
