"""`robota answer`: answer the question that a session waits for, and continue it in print mode."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from robota.cli.command_line import CommandLine, OutputFormatName
from robota.cli.run.prompt import run_resumed
from robota.commands.verb import Answer as VerbAnswer
from robota.commands.verb import Family, ShellVerb, VerbFailed, WrongArguments, ended, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Count, Option, Positional
from robota.config.paths import user_directory
from robota.protocol.asks.answer import Answer, Approve, Reject, Say
from robota.protocol.asks.ask import QuestionAsk
from robota.protocol.asks.kinds import APPROVAL_ASKS
from robota.protocol.asks.seed import ask_of
from robota.protocol.codec import decode_command
from robota.protocol.commands import AskResponse, Refused, UnknownCommand
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.transport.doors import DIRECTORY, door_ids
from robota.transport.entering import enter
from robota.transport.running_sessions import NoSuchSession, find_running

if TYPE_CHECKING:
    from robota.app.session import OpenSession

# Options of `robota` itself that mean the same here.
SAME_OPTIONS: Final = (
    "output_format",
    "include_partial_messages",
    "verbose",
    "model",
    "permission_mode",
    "max_turns",
    "yes",
)
CLIENT: Final = "robota answer"
YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"n", "no"})


class SessionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The session, the answer, and options of the run that continues it."""

    session: Annotated[str, Positional("SESSION", "session id, id prefix or name")]
    words: Annotated[tuple[str, ...], Positional("yes|no|WORDS", "the answer; after no, the reason")] = ()
    json: Annotated[str | None, Option("the answer as JSON, in the form that `robota state` prints", "JSON")] = None
    output_format: Annotated[OutputFormatName, Option("text, json, stream-json, messages or codex", "FORMAT")] = "text"
    include_partial_messages: Annotated[bool, Option("also stream incomplete messages")] = False
    verbose: Annotated[bool, Option("print everything that happens to stderr")] = False
    model: Annotated[str | None, Option("model to use instead of the session's", "MODEL")] = None
    permission_mode: Annotated[PermissionMode | None, Option("what may run without asking", "MODE")] = None
    max_turns: Annotated[Count | None, Option("stop after N requests to the model", "N")] = None
    yes: Annotated[bool, Option("also continue a session imported from elsewhere", also=("-y",))] = False


def answer_session(host: VerbHost, args: SessionAnswer) -> VerbAnswer:
    """Give the answer, and continue the session."""
    given = None if args.json is None else response_in(args.json)
    if given is None and not args.words:
        raise WrongArguments("Give an answer: yes, no, text, or --json. `robota state` lists the answers.")
    words = " ".join(args.words)

    def opening(opened: "OpenSession") -> AskResponse:
        session = None if opened.resumed is None else opened.resumed.session
        waiting = None if session is None or session.root is None else session.root.waiting_ask
        if given is None and waiting is None and session is not None and session.subtask_ask is not None:
            return AskResponse(answer=for_parent(words, session.subtask_ask))
        ts = None if waiting is None else waiting.ts
        if given is not None:
            return given if given.ts is not None else msgspec.structs.replace(given, ts=ts)
        return AskResponse(answer=answer_in(words, waiting), ts=ts)

    live = asyncio.run(_answer_running(host, args.session, given, words))
    if live is not None:
        return live
    options = {name: getattr(args, name) for name in SAME_OPTIONS}
    return ended(run_resumed(CommandLine(print=True, resume=args.session, cwd=host.cwd, **options), opening))


async def _answer_running(host: VerbHost, name: str, given: AskResponse | None, words: str) -> VerbAnswer | None:
    """Answer a session that is running in another process; None if there is no such session."""
    directory = user_directory(host.env) / DIRECTORY
    if not door_ids(directory):
        return None
    try:
        running = await find_running(directory, name, host.cwd)
    except NoSuchSession:
        return None
    session, _ = await enter(directory, running.id, CLIENT)
    try:
        waiting = running.waiting
        ts = None if waiting is None else waiting.ts
        response = given or AskResponse(answer=answer_in(words, waiting), ts=ts)
        receipt = await session.submit(response)
    finally:
        await session.close()
    if isinstance(receipt, Refused):
        raise VerbFailed(f"The running session {running.id} did not take the answer: {receipt.message}")
    return told(f"The running session {running.id} has the answer.", {"sessionId": running.id, "answered": ts})


def answer_in(words: str, waiting: Message | None) -> Answer:
    """Interpret the words as an answer. For a question, all words are the answer, and a number selects a suggestion."""
    ask = None if waiting is None else ask_of(waiting)
    if isinstance(ask, QuestionAsk):
        number = int(words) if words.isascii() and words.isdecimal() else 0
        return Say(text=ask.suggestions[number - 1].answer if 1 <= number <= len(ask.suggestions) else words)
    first, _, rest = words.partition(" ")
    if words.lower() in YES:
        return Approve()
    if first.lower() in NO and (not rest or (waiting is not None and waiting.ask in APPROVAL_ASKS)):
        return Reject(text=rest)
    return Say(text=words)


def for_parent(words: str, subtask_ask: Message) -> Say:
    """The answer to a subtask that has ended, as words for its parent task. They approve nothing."""
    answer = answer_in(words, subtask_ask)
    return answer if isinstance(answer, Say) else Say(text=words)


def response_in(text: str) -> AskResponse:
    """Parse a complete `askResponse`, or only its answer. Raises `WrongArguments`."""
    try:
        value: Any = msgspec.json.decode(text)
        if isinstance(value, dict) and "type" not in value:
            value = {"type": "askResponse", **({"answer": value} if "kind" in value else value)}
        command = decode_command(msgspec.json.encode(value))
    except msgspec.DecodeError as error:
        raise _invalid(str(error)) from error
    if isinstance(command, UnknownCommand):
        raise _invalid(command.problem)
    if not isinstance(command, AskResponse):
        raise _invalid("it is a different type of command")
    return command


def _invalid(problem: str) -> WrongArguments:
    return WrongArguments(f"--json is not a valid answer: {problem}. Nothing was changed.")


FAMILY: Final = Family(
    name="answer",
    about="Answer the question a session is waiting on, and continue it as print mode does.",
    main=ShellVerb("answer", "", SessionAnswer, answer_session),
)
