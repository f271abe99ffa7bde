"""`robota inbox`: the open questions of all sessions in one list, each answered in a window on its session."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Final

import msgspec

from robota.cli.questions import Cancelled, at_terminal, choose
from robota.cli.run.conversation import converse
from robota.cli.run.elsewhere.attach import AttachedSession, shown_elsewhere
from robota.commands.sessions.open_questions import NOTHING, listed_questions, open_questions
from robota.commands.verb import Answer, Family, ShellVerb, VerbFailed, ended
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option
from robota.config.paths import user_directory
from robota.protocol.asks.ask import ApprovalAsk, QuestionAsk
from robota.protocol.asks.seed import ask_of
from robota.protocol.commands import Command, Receipt
from robota.protocol.connection.known_session import SessionAsk
from robota.protocol.connection.message_processor import MessageProcessor
from robota.protocol.events import Event
from robota.protocol.message import Message
from robota.protocol.port import SessionPort
from robota.text.visible import single_line
from robota.transport.doors import DIRECTORY
from robota.transport.entering import enter
from robota.transport.remote_session import NotConnected
from robota.transport.running_sessions import look_at
from robota.workspace.agent_mark import mark_this_process
from robota.workspace.user_programs.run_robota import run_quietly

CLIENT: Final = "robota inbox"
TITLE: Final = "Open questions; choose one to answer it in a window on its session:"
LEAVE: Final = "leave"
MAX_QUESTION: Final = 60
MAX_TITLE: Final = 40


class Inbox(msgspec.Struct, frozen=True, kw_only=True):
    """How the questions are shown."""

    list: Annotated[bool, Option("only list them, with the command for each answer")] = False
    plain: Annotated[bool, Option("answer in the plain line-by-line interface")] = False


def inbox(host: VerbHost, args: Inbox) -> Answer:
    """List the questions; at a terminal, answer them until there are none or the user leaves."""
    asks = asyncio.run(open_questions(host.env, host.tell))
    if args.list or host.wants_all or not at_terminal():
        return listed_questions(asks)
    while asks:
        try:
            place = choose(TITLE, [*map(_row, asks), LEAVE])
        except Cancelled:
            return ended(0)
        if place == len(asks):
            return ended(0)
        try:
            asyncio.run(_answered_in_window(host, asks[place], plain=args.plain))
        except NotConnected as problem:
            print(f"{problem} Nothing was changed.")
        asks = asyncio.run(open_questions(host.env, host.tell))
    print(NOTHING)
    return ended(0)


def _row(each: SessionAsk) -> str:
    title = single_line(each.session.title, MAX_TITLE)
    return f"{_question(each.ask)}  ·  {title}  ·  {single_line(each.session.cwd, MAX_QUESTION)}"


def _question(message: Message) -> str:
    match asked := ask_of(message):
        case ApprovalAsk():
            return f"{single_line(asked.title, MAX_QUESTION)}?"
        case QuestionAsk():
            return single_line(asked.question, MAX_QUESTION)
        case _:
            return single_line(message.text or message.ask or "", MAX_QUESTION)


async def _answered_in_window(host: VerbHost, each: SessionAsk, *, plain: bool) -> None:
    """Show the session until its question is answered, here or elsewhere, or the user leaves. Raises `NotConnected`."""
    session_id, directory = each.session.session_id, user_directory(host.env) / DIRECTORY
    if each.session.process is None:
        _start_again(each)
    running = await look_at(directory, session_id)
    session, _ = await enter(directory, session_id, CLIENT)
    mark_this_process()
    try:
        await converse(UntilAnswered(AttachedSession(session)), shown_elsewhere(running), None, plain=plain)
    finally:
        await session.close()


def _start_again(each: SessionAsk) -> None:
    """Continue a session that was left with a question, without a terminal. Raises `VerbFailed`."""
    arguments = ("--detach", "--resume", each.session.session_id, "--cwd", each.session.cwd)
    cwd = Path(each.session.cwd)
    if not cwd.is_dir():
        raise VerbFailed(f"Its directory {cwd} is gone. Nothing was started.")
    if run_quietly(arguments, os.environ, cwd):
        raise VerbFailed(f"The session {each.session.session_id} could not be continued.")


class UntilAnswered:
    """A session whose events end once the first question that they show is answered."""

    def __init__(self, session: SessionPort) -> None:
        self._session = session

    async def submit(self, command: Command) -> Receipt:
        return await self._session.submit(command)

    async def events(self) -> AsyncIterator[Event]:
        processor, asked = MessageProcessor(), None
        async for event in self._session.events():
            for _ in processor.process(event):
                pass
            yield event
            pending = processor.store.pending
            if asked is None and pending is not None and ask_of(pending.message) is not None:
                asked = pending.ts
            elif asked is not None and (pending is None or pending.ts != asked):
                return


FAMILY: Final = Family(
    name="inbox",
    about="Answer the open questions of all sessions, or list them.",
    description="answer the open questions of all sessions, or list them",
    main=ShellVerb("inbox", "", Inbox, inbox, reason="a conversation has /inbox, which opens it"),
)
