"""Run a session for a program that drives it with Claude's control protocol, over standard streams."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from robota.app.session import OpenSession
from robota.cli.command_line import CommandLine
from robota.cli.run.control.continuing import Continued, continued, go_back, last_line, transcript_path
from robota.cli.run.control.flags import ClaudeFlags
from robota.cli.run.control.introduction import Introduction, introduced, introduction_in
from robota.cli.run.tool_names import agents_of, shown_as_in_claude_code
from robota.clients.control.client import ControlClient, ControlOptions
from robota.clients.control.connection import ControlConnection
from robota.clients.control.mirror import TranscriptMirror
from robota.clients.control.requests import Begun, ControlRequests, welcome
from robota.clients.headless.output import Output, OutputLost
from robota.clients.terminal.signals import signals_to
from robota.commands.session_commands import with_commands
from robota.config.launch_options import Additions, PromptAuthor
from robota.hooks.claude_format import arguments_from_hooks
from robota.protocol.connection.lines import LineProblem
from robota.protocol.slash_commands import SessionWanted
from robota.serving.standard_streams import standard_input
from robota.transport.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from robota.clients.control.permission import ReadInput
    from robota.clients.headless.options import CheckAnswer
    from robota.contracts.agent import AgentDefinition
    from robota.serving.handing_over import HandedOver

    Client = Callable[[OpenSession], Awaitable[int | SessionWanted]]

STDOUT_CLOSED = 141
# Set by SDKs that read the state of the session themselves.
READS_STATE = "CLAUDE_CODE_SDK_READS_SESSION_STATE"


class RunSession(Protocol):
    """Opens the session of a command line and runs a client in it."""

    async def __call__(
        self, arguments: CommandLine, client: "Client", *, attended: bool, client_after_switch: "Client"
    ) -> "int | HandedOver": ...


async def control_session(
    arguments: CommandLine, flags: ClaudeFlags, run_session: RunSession, warn: Callable[[str], None]
) -> "int | HandedOver":
    """Serve the program until it sends nothing more; returns the exit code."""
    for notice in flags.notices:
        warn(notice)
    output = Output(sys.stdout.buffer)
    connection = ControlConnection(_lines(await standard_input()), output)
    following = asyncio.create_task(connection.follow())
    await connection.until_begun()
    introduction = introduction_in(connection.initialize)
    servers = tuple(dict.fromkeys((*flags.sdk_servers, *introduction.sdk_mcp_servers)))
    arguments = introduced(arguments, introduction)
    continuing = Continued(arguments=arguments)
    asks = flags.asks_program and not flags.never_asks
    last: ControlClient | None = None
    begun: Begun | None = None

    async def client(opened: OpenSession) -> int | SessionWanted:
        nonlocal last, begun
        if last is None and continuing.back_before is not None:
            await go_back(opened.session, continuing.back_before)
        # Whatever a control request changes, the program wants; what a prompt says is refused by itself.
        session = with_commands(opened, os.environ, "control protocol", attended=True)
        options = ControlOptions(
            show_call=shown_as_in_claude_code(opened),
            read_input=_input_reader(opened),
            commands=lambda: session.commands,
            agents=lambda: agents_of(opened),
            asks_program=asks,
            include_partial_messages=arguments.include_partial_messages,
            replays_prompts=flags.replays_prompts,
            hides_state=os.environ.get(READS_STATE) == "1",
            check=_check(arguments),
            mirror=_mirror(opened, connection) if flags.mirrors else None,
        )
        last = control = ControlClient(session, connection, output, options, last)
        answer = welcome(session.commands, agents_of(opened), opened.options.model, None)
        begun = begun or Begun(welcome=answer, model=opened.options.model)
        connection.begin(ControlRequests(control, session, servers, begun).handle, answer)
        with signals_to(lambda number: control.stop()):
            return await control.run()

    try:
        continuing = await continued(arguments, flags, os.environ, warn)
        additions = await _additions(connection, servers, introduction, warn)
        launch = msgspec.structs.replace(
            continuing.arguments,
            additions=additions,
            prompt_author=PromptAuthor.ANYBODY,
            only_tools=flags.tools,
            reads_project=flags.reads_project,
        )
        return await run_session(launch, client, attended=asks, client_after_switch=client)
    except OutputLost:
        return STDOUT_CLOSED
    finally:
        following.cancel()


async def _additions(
    connection: ControlConnection, servers: Sequence[str], said: Introduction, warn: Callable[[str], None]
) -> Additions:
    """The tools and hooks that live in the program, and the agents that it defines."""
    agents = _agents(said, warn) if said.agents else ()
    if not said.hooks and not servers:
        return Additions(agents=agents)
    from robota.cli.run.control.program_parts import program_hooks, program_tools

    tools = await program_tools(connection, servers, warn)
    return Additions(tools=tools, hook_rules=program_hooks(connection, said.hooks, warn), agents=agents)


def _agents(said: Introduction, warn: Callable[[str], None]) -> "tuple[AgentDefinition, ...]":
    from robota.knowledge.agents.definition_file import agent_of_program

    agents = tuple(agent_of_program(name, given) for name, given in said.agents.items())
    for agent in agents:
        for problem in agent.ignored:
            warn(f"The agent {agent.name}: {problem}.")
    return agents


def _mirror(opened: OpenSession, connection: ControlConnection) -> TranscriptMirror:
    place = (transcript_path(opened, os.environ), opened.options.session_id, str(opened.options.cwd))
    return TranscriptMirror(connection, place, shown_as_in_claude_code(opened), last_line(opened, os.environ))


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes | str]:
    async for line in read_lines(reader):
        yield line.message if isinstance(line, LineProblem) else line


def _input_reader(opened: OpenSession) -> "ReadInput":
    def read(name: str, given: dict[str, Any]) -> dict[str, Any]:
        tool = next((each for each in opened.services.tools.all if each.name == name), None)
        return given if tool is None else arguments_from_hooks(tool, given, opened.options.cwd)

    return read


def _check(arguments: CommandLine) -> "CheckAnswer | None":
    if arguments.answer_schema is None:
        return None
    from robota.cli.run.answer_schema import AnswerSchema

    return AnswerSchema(arguments.answer_schema).checked
