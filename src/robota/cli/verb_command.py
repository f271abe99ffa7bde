"""Runs a verb as a sub-command of `robota`, and prints its answer as text or JSON."""

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from robota.cli.output import in_columns, print_json, terminal_width
from robota.cli.shell_host import ShellHost
from robota.cli.verb_parser import parsed_arguments, read_options
from robota.commands.arguments import written
from robota.commands.verb import USAGE, Answer, Family, PagedOutput, RawOutput, RunsCommands, Verb, WrongArguments
from robota.protocol.slash_commands import CommandOutcome, CommandShown, ContextShown, DiffShown
from robota.protocol.views import PartsView, TableView, TextView, View
from robota.text.visible import visible

if TYPE_CHECKING:
    from robota.clients.terminal.line import Line


def run_family(family: Family, argv: Sequence[str]) -> int:
    """Run `robota FAMILY VERB …`; the arguments begin after the family."""
    options = read_options(family, argv)
    try:
        arguments = parsed_arguments(options.verb, options)
        allowed = arguments.allowed_tools if isinstance(arguments, RunsCommands) else ()
        is_json = getattr(options, "json", None) is True  # an option of that name can mean something else
        host = ShellHost(getattr(options, "cwd", Path()), os.environ, is_json=is_json, allowed=allowed)
        answer = _execute(options.verb, host, arguments)
        for notice in answer.notices:
            host.tell(notice)
        if is_json and (answer.data is not None or answer.output is None):
            print_json(answer.data() if callable(answer.data) else answer.data)
        elif answer.output is not None:
            _print_output(answer.output)
        else:
            _print(answer, arguments, host)
    except WrongArguments as problem:
        return _fail(str(problem), USAGE)
    except family.caught as error:
        failure = family.failure(error)
        return _fail(failure.message, failure.exit_code)
    return answer.exit_code


def _execute(verb: Verb[Any], host: ShellHost, arguments: msgspec.Struct) -> Answer:
    """Run a verb. A plain function needs no event loop, and can be stopped with Ctrl+C at once."""
    run = verb.load()
    if not iscoroutinefunction(run):
        answer = run(host, arguments)
    else:
        import asyncio

        answer = asyncio.run(run(host, arguments))
    assert isinstance(answer, Answer)
    return answer


def _print(answer: Answer, arguments: msgspec.Struct, host: ShellHost) -> None:
    """Print the answer. A user who can be asked has seen and declined what needs agreement."""
    pending = answer.pending if answer.pending and not host.can_ask else ()
    for each in pending:
        print(f"{each.about}\n")
    _print_outcome(answer.outcome)
    for each in pending[:1]:
        given = written(arguments)
        added = shlex.join(word for word in written(each.arguments) if word not in given)
        print(f"robota: Not a terminal. {each.purpose}: {added}", file=sys.stderr)


def _print_outcome(outcome: CommandOutcome) -> None:
    match outcome:
        case CommandShown(view=PartsView(parts=parts)):
            for part in parts:
                _print_view(part)
        case CommandShown(view=view):
            _print_view(view)
        case DiffShown(diff=diff):
            print(visible(diff), end="")
        case ContextShown():
            from robota.clients.render.command_text import conversation_lines

            for line in conversation_lines(outcome, terminal_width()):
                print(line.text)
        case _:
            from robota.clients.render.command_text import command_text

            print(command_text(outcome))


def _print_view(view: View) -> None:
    """Print a view. On a terminal, texts and the last column of a table are broken between words."""
    match view:
        case TableView(columns=columns, rows=rows):
            for line in in_columns([*([columns] if columns else []), *rows], terminal_width()):
                print(line)
        case TextView(text=text):
            for line in visible(text).split("\n"):
                _print_text(line)
        case _:
            from robota.clients.render.view_lines import view_text

            print(view_text(view))


def _print_text(line: str) -> None:
    width = terminal_width()
    if width is None or len(line) < width:
        print(line)
        return
    from robota.clients.terminal.width import wrapped

    indent = " " * (len(line) - len(line.lstrip()) + 2)
    print(wrapped(line, width, indent))


def _print_output(output: PagedOutput | RawOutput) -> None:
    if isinstance(output, RawOutput):
        for piece in output.pieces:
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        return
    from robota.cli.questions import at_terminal

    lines = _paged(output.lines) if output.stops and at_terminal() else output.lines
    for line in lines:
        _print_line(line)


def _print_line(line: "Line") -> None:
    from robota.clients.terminal.width import wants_colour
    from robota.text.visible import without_surrogates

    text = without_surrogates(line.text)
    is_coloured = line.colour and wants_colour(sys.stdout, os.environ)
    print(f"\x1b[{line.colour}m{text}\x1b[0m" if is_coloured else text, flush=True)


def _paged(lines: "Iterable[Line]") -> "Iterable[Line]":
    """Stop after each screen until a key is pressed; q quits."""
    from shutil import get_terminal_size

    from robota.cli.questions import Cancelled, ask
    from robota.clients.terminal.width import columns_of

    columns, rows = get_terminal_size()
    left = rows - 1
    for line in lines:
        needed = max(1, -(-columns_of(line.text) // columns))
        if needed > left and left < rows - 1:
            try:
                if ask("Enter continues, q quits").lower().startswith("q"):
                    return
            except Cancelled:
                return
            left = rows - 1
        yield line
        left -= needed


def _fail(message: str, code: int) -> int:
    print(f"robota: {message}", file=sys.stderr)
    return code
