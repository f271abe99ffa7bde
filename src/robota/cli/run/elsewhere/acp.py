"""`robota acp`: run sessions for an editor that speaks the Agent Client Protocol, over standard streams."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Final

import msgspec

from robota.cli.run.elsewhere.shown_output import OutputFiles, print_output
from robota.clients.acp.agent import AcpAgent
from robota.clients.acp.connection import AcpConnection
from robota.clients.headless.output import Output
from robota.clients.terminal.signals import signals_to
from robota.commands.verb import Answer, Family, ShellVerb, ended
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option
from robota.config.launch_options import LaunchOptions
from robota.protocol.connection.lines import LineProblem
from robota.protocol.permission_mode import PermissionMode
from robota.serving.session_host import SessionHost
from robota.serving.standard_streams import own_standard_output, standard_input
from robota.transport.lines import read_lines

CLIENT: Final = "robota acp"


class ServingEditor(msgspec.Struct, frozen=True, kw_only=True):
    """What all sessions of the editor start with; the settings have the rest."""

    provider: Annotated[str | None, Option("provider profile to use", "NAME")] = None
    model: Annotated[str | None, Option("model to use instead of the profile's", "MODEL")] = None
    permission_mode: Annotated[PermissionMode | None, Option("what may run without asking", "MODE")] = None
    allowed_tools: Annotated[tuple[str, ...], Option("calls that may run without asking", "RULES")] = ()
    disallowed_tools: Annotated[tuple[str, ...], Option("calls that never run", "RULES")] = ()
    show_output: Annotated[
        str | None, Option("print the output of a command, in a terminal that the editor has made for it", "FILE")
    ] = None


def serve(host: VerbHost, args: ServingEditor) -> Answer:
    """Serve the editor until it closes the standard input."""
    given = msgspec.structs.asdict(args)
    output = given.pop("show_output")
    if output is not None:
        return ended(print_output(Path(output)))
    return ended(asyncio.run(_serve(LaunchOptions(**given))))


async def _serve(launch: LaunchOptions) -> int:
    output = Output(own_standard_output())
    connection = AcpConnection(_lines(await standard_input()), output)
    sessions = SessionHost(os.environ, lambda notice: print(notice, file=sys.stderr), launch, CLIENT)
    outputs = OutputFiles()
    serving = asyncio.create_task(AcpAgent(sessions, connection, outputs.open).run())
    with signals_to(lambda number: _stop(serving)):
        try:
            await serving
        except asyncio.CancelledError:
            pass  # a signal
        finally:
            await sessions.close_all()
            outputs.close()
    return 0


def _stop(serving: "asyncio.Task[None]") -> None:
    """End serving because of a signal."""
    serving.cancel()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes | str]:
    async for line in read_lines(reader):
        yield line.message if isinstance(line, LineProblem) else line


FAMILY = Family(
    name="acp",
    about="Run sessions for an editor: the Agent Client Protocol over standard streams.",
    main=ShellVerb("acp", "", ServingEditor, serve, reason="it is for editors"),
)
