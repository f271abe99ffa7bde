"""`robota answer`: answer the question that a session waits for, and continue it in print mode."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.cli.command_line import OUTPUT_FORMATS, PERMISSION_MODES, CommandLine
from robota.cli.command_parser import CommandParser
from robota.cli.run.prompt import run_resumed
from robota.protocol.asks.answer import Answer, Approve, Reject, Say
from robota.protocol.asks.ask import QuestionAsk
from robota.protocol.asks.kinds import APPROVAL_ASKS
from robota.protocol.asks.seed import ask_of
from robota.protocol.codec import decode_command
from robota.protocol.commands import AskResponse, UnknownCommand
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode

if TYPE_CHECKING:
    from robota.app.session import OpenSession

EXIT_USAGE: Final = 2
YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"n", "no"})


def main(argv: Sequence[str]) -> int:
    """Run `robota answer …`."""
    options = parser().read(argv)
    given: AskResponse | None = None
    if options.json is not None:
        try:
            given = response_in(options.json)
        except ValueError as error:
            print(f"robota: --json is not a valid answer: {error}. Nothing was changed.", file=sys.stderr)
            return EXIT_USAGE
    elif not options.words:
        print("robota: Give an answer: yes, no, text, or --json. `robota state` lists the answers.", file=sys.stderr)
        return EXIT_USAGE
    arguments = CommandLine(
        print=True,
        resume=options.session,
        cwd=Path(options.cwd or "."),
        output_format=options.output_format,
        include_partial_messages=options.include_partial_messages,
        verbose=options.verbose,
        model=options.model,
        permission_mode=None if options.permission_mode is None else PermissionMode(options.permission_mode),
        max_turns=options.max_turns,
        yes=options.yes,
    )
    words = " ".join(options.words)

    def opening(opened: "OpenSession") -> AskResponse:
        session = None if opened.resumed is None else opened.resumed.session
        waiting = None if session is None or session.root is None else session.root.waiting_ask
        if given is None and waiting is None and session is not None and session.subtask_ask is not None:
            return AskResponse(answer=for_parent(words, session.subtask_ask))
        return given or AskResponse(answer=answer_in(words, waiting), ts=None if waiting is None else waiting.ts)

    return run_resumed(arguments, opening)


def parser() -> CommandParser:
    """The argument parser of `robota answer`."""
    parser = CommandParser(
        prog="robota answer",
        description="Answer the question a session is waiting on, and continue it as print mode does.",
    )
    parser.add_argument("session", metavar="SESSION", help="session id, id prefix or name")
    parser.add_argument("words", nargs="*", metavar="yes|no|WORDS", help="the answer; after no, the reason")
    parser.add_argument("--json", metavar="JSON", help="the answer as JSON, in the form that `robota state` prints")
    parser.add_argument("--output-format", choices=OUTPUT_FORMATS, default="text", metavar="FORMAT")
    parser.add_argument("--include-partial-messages", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="print everything that happens to stderr")
    parser.add_argument("--model", metavar="MODEL")
    parser.add_argument("--permission-mode", choices=PERMISSION_MODES, metavar="MODE")
    parser.add_argument("--max-turns", type=int, metavar="N")
    parser.add_argument("--cwd", metavar="DIR", help="the workspace (default: here)")
    parser.add_argument("-y", "--yes", action="store_true", help="also continue a session imported from elsewhere")
    return parser


def answer_in(words: str, waiting: Message | None) -> Answer:
    """The answer in the words. For a question, all words are the answer, and a number selects a suggestion."""
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
    """Parse a complete `askResponse`, or only its answer. Raises ValueError."""
    try:
        value: Any = msgspec.json.decode(text)
        if isinstance(value, dict) and "type" not in value:
            value = {"type": "askResponse", **({"answer": value} if "kind" in value else value)}
        command = decode_command(msgspec.json.encode(value))
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error
    if isinstance(command, UnknownCommand):
        raise ValueError(command.problem)
    if not isinstance(command, AskResponse):
        raise ValueError("it is a different type of command")
    return command
