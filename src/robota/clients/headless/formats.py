"""Which printer serves which output format."""

from robota.clients.headless.json_format import JsonPrinter
from robota.clients.headless.messages_format import MessagesPrinter
from robota.clients.headless.options import HeadlessOptions, OutputFormat
from robota.clients.headless.output import BinaryOutput, Output, OutputLost
from robota.clients.headless.printer import Printer
from robota.clients.headless.result import failure
from robota.clients.headless.stream_json import StreamJsonPrinter
from robota.clients.headless.text_format import TextPrinter
from robota.clients.terminal.line_writer import LineWriter
from robota.clients.terminal.text_output import TextOutput


def printer_for(options: HeadlessOptions, out: BinaryOutput, err: TextOutput) -> Printer:
    output = Output(out)
    diagnostics = LineWriter(err)
    partials = options.include_partial_messages
    match options.output_format:
        case OutputFormat.TEXT:
            return TextPrinter(output, diagnostics, verbose=options.verbose)
        case OutputFormat.JSON:
            return JsonPrinter(output, diagnostics)
        case OutputFormat.STREAM_JSON:
            return StreamJsonPrinter(output, partials=partials)
        case OutputFormat.MESSAGES:
            return MessagesPrinter(output, diagnostics, partials=partials)


def print_failure(message: str, output_format: OutputFormat, out: BinaryOutput, err: TextOutput) -> None:
    """Tell of a run that never had a session, in the format that was asked for.

    A lost standard output is no new failure: there is nobody left to tell.
    """
    printer = printer_for(HeadlessOptions(output_format=output_format), out, err)
    try:
        printer.finish(failure(message))
    except OutputLost:
        return
