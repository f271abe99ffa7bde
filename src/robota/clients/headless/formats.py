"""The interface of printers, and the printer for each output format."""

from typing import Final, Protocol, assert_never

from robota.clients.headless.options import HeadlessOptions, OutputFormat
from robota.clients.headless.output import BinaryOutput, Output, OutputLost
from robota.clients.headless.result import Result, failure
from robota.clients.terminal.line import Handlers, TextOutput
from robota.clients.terminal.line_writer import LineWriter
from robota.protocol.events import Notice, Sandbox

LINES_OF_JSON: Final = (OutputFormat.STREAM_JSON, OutputFormat.MESSAGES, OutputFormat.CODEX)


class Printer(Protocol):
    """Prints a run. It is called only for the events it has handlers for; an event without one costs nothing."""

    @property
    def handlers(self) -> Handlers: ...

    def finish(self, result: Result) -> None:
        """Print the result. Called once, after the last event."""
        ...


class JsonPrinter:
    """`--output-format json`: one object at the end."""

    def __init__(self, output: Output, diagnostics: LineWriter) -> None:
        self._output = output
        self._diagnostics = diagnostics

    @property
    def handlers(self) -> Handlers:
        return {Notice: self._diagnostics.warning, Sandbox: self._diagnostics.sandbox}

    def finish(self, result: Result) -> None:
        self._output.json_line(result)


def printer_for(options: HeadlessOptions, out: BinaryOutput, err: TextOutput) -> Printer:
    """The printer for the chosen format, with progress and a summary at a terminal."""
    diagnostics = LineWriter(err)
    printer = _printer_of_format(options, Output(out), diagnostics)
    is_text = options.output_format is OutputFormat.TEXT
    if options.quiet or not err.isatty() or (out.isatty() and options.output_format in LINES_OF_JSON):
        return printer
    from robota.clients.headless.live import LivePrinter

    streams = is_text and out.isatty() and not options.verbose and options.check is None
    return LivePrinter(printer, diagnostics, Output(out) if streams else None, has_progress=not options.verbose)


def _printer_of_format(options: HeadlessOptions, output: Output, diagnostics: LineWriter) -> Printer:
    """The printer for the format; the other formats are not imported."""
    partials = options.include_partial_messages
    match options.output_format:
        case OutputFormat.TEXT:
            from robota.clients.headless.text_format import TextPrinter

            return TextPrinter(output, diagnostics, verbose=options.verbose)
        case OutputFormat.JSON:
            return JsonPrinter(output, diagnostics)
        case OutputFormat.STREAM_JSON:
            from robota.clients.headless.stream_json import StreamJsonPrinter

            return StreamJsonPrinter(output, options)
        case OutputFormat.MESSAGES:
            from robota.clients.headless.messages_format import MessagesPrinter

            return MessagesPrinter(output, diagnostics, partials=partials)
        case OutputFormat.CODEX:
            from robota.clients.headless.codex_format import CodexPrinter

            return CodexPrinter(output)
        case never:
            assert_never(never)


def print_failure(message: str, output_format: OutputFormat, out: BinaryOutput, err: TextOutput) -> None:
    """Report a run that never had a session, in the requested format.

    A closed standard output is ignored: nobody is left to read the report.
    """
    printer = printer_for(HeadlessOptions(output_format=output_format, quiet=True), out, err)
    try:
        printer.finish(failure(message))
    except OutputLost:
        return
