"""`robota serve`: run a session for a client in another process, over standard streams or at a socket."""

import os
from typing import Annotated, Final

import msgspec

from robota.app.session import OpenSession
from robota.cli.command_line import CommandLine, UsageError
from robota.cli.run.file_options import with_file_options
from robota.cli.run.prompt import run_session
from robota.commands.verb import Answer, Family, ShellVerb, WrongArguments, ended
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Count, Money, Option
from robota.config.launch_options import PromptAuthor
from robota.protocol.connection.lines import EventForm
from robota.protocol.permission_mode import PermissionMode
from robota.serving.left_running import LeftRunning
from robota.serving.stdio import AtEnd, StdioOptions, serve_stdio

# Options of the served connection; all others are options of the session, as `robota` itself has them.
OWN_OPTIONS: Final = frozenset({"stdio", "socket", "events", "at_end"})


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """How the session is served, and how it starts."""

    stdio: Annotated[bool, Option("over standard input and output, one JSON object per line")] = False
    socket: Annotated[str | None, Option("at a Unix socket that is made there, for several clients", "PATH")] = None
    events: Annotated[
        EventForm | None,
        Option("send events at once, as whole rows or as deltas (default: the first line of the client decides)"),
    ] = None
    at_end: Annotated[AtEnd, Option("when the input ends: finish what is running, or pause it", "WHAT")] = AtEnd.FINISH
    continues: Annotated[
        bool, Option("continue the most recent session in this directory", also=("-c",), name="--continue")
    ] = False
    resume: Annotated[str | None, Option("resume a session by id, id prefix or name", "SESSION", ("-r",))] = None
    yes: Annotated[bool, Option("also resume a session imported from elsewhere", also=("-y",))] = False
    session_id: Annotated[str | None, Option("id of the new session", "ID")] = None
    name: Annotated[str | None, Option("name of the session", "NAME", ("-n",))] = None
    provider: Annotated[str | None, Option("provider profile to use", "NAME")] = None
    model: Annotated[str | None, Option("model to use instead of the profile's", "MODEL")] = None
    mode: Annotated[str | None, Option("start in this mode", "SLUG")] = None
    permission_mode: Annotated[PermissionMode | None, Option("what may run without asking", "MODE")] = None
    allowed_tools: Annotated[tuple[str, ...], Option("calls that may run without asking", "RULES")] = ()
    disallowed_tools: Annotated[tuple[str, ...], Option("calls that never run", "RULES")] = ()
    max_turns: Annotated[Count | None, Option("stop after N requests to the model", "N")] = None
    max_cost: Annotated[Money | None, Option("stop once the task has cost this much", "USD")] = None
    system_prompt: Annotated[str | None, Option("replace the system prompt", "TEXT")] = None
    append_system_prompt: Annotated[str | None, Option("append to the system prompt", "TEXT")] = None
    settings_source: Annotated[
        str | None,
        Option("settings for this session; they override the settings files", "FILE|JSON", name="--settings"),
    ] = None
    prompt_author: Annotated[
        PromptAuthor, Option("who writes the prompts: user, or anybody, whose text grants nothing", "WHO")
    ] = PromptAuthor.USER
    debug: Annotated[bool, Option("log each event and state to ~/.robota/debug.log", also=("-d",))] = False


def serve(host: VerbHost, args: Serving) -> Answer:
    """Serve the session until its client leaves."""
    if args.stdio is (args.socket is not None):
        raise WrongArguments("Say where the session is served: either --stdio or --socket PATH.")
    if args.socket is not None and (args.events is not None or args.at_end is not AtEnd.FINISH):
        raise WrongArguments("--events and --at-end are about the one client of --stdio; clients at a socket choose.")
    if args.continues and args.resume is not None:
        raise WrongArguments("--continue and --resume name different sessions. Use one of them.")
    options = StdioOptions(form=args.events, at_end=args.at_end)

    socket = None if args.socket is None else host.path(args.socket).absolute()

    async def client(opened: OpenSession) -> int | LeftRunning:
        if socket is not None:
            return LeftRunning(socket)
        await serve_stdio(opened, os.environ, options)
        return 0

    given = {name: value for name, value in msgspec.structs.asdict(args).items() if name not in OWN_OPTIONS}
    try:
        line = with_file_options(CommandLine(cwd=host.cwd, **given))
    except UsageError as error:
        raise WrongArguments(str(error)) from error
    return ended(run_session(line, client))


FAMILY: Final = Family(
    name="serve",
    about="Run a session for another program: the protocol as lines of JSON.",
    main=ShellVerb("serve", "", Serving, serve, reason="it is for programs that show a session"),
)
