"""`robota [-p] …`: choose the client and run the session. A script gets a result on stdout in every case."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robota.cli.command_line import CommandLine, UsageError
from robota.cli.run.stdin import StdinProblem, piped_input

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any

    from robota.app.session import OpenSession
    from robota.clients.headless.options import CheckAnswer
    from robota.config.launch_options import Additions, LaunchOptions
    from robota.protocol.commands import AskResponse, NewTask
    from robota.protocol.slash_commands import NextStep, SessionWanted
    from robota.serving.door import Door
    from robota.serving.handing_over import HandedOver
    from robota.serving.left_running import LeftRunning

    Client = Callable[[OpenSession], Awaitable[int | NextStep | LeftRunning]]
    Opening = Callable[[OpenSession], AskResponse | NewTask]

FAILED, USAGE, CONFIGURATION = 1, 2, 3


def run(argv: Sequence[str], additions: "Additions | None" = None) -> int:
    """Run `robota` without a sub-command; returns the exit code. `additions` are those of an embedding program."""
    if _is_control(argv):
        return _run_control(argv)
    try:
        _refuse_misspelt(argv)
        arguments = _parsed(argv) if argv else CommandLine()
        if additions is not None:
            arguments = _with_additions(arguments, additions)
        if arguments.names_files:
            from robota.cli.run.file_options import with_file_options

            arguments = with_file_options(arguments)
        code = _run_maintenance(arguments)
        if code is not None:
            return code
        arguments, prompt = _with_prompt(arguments)
    except (UsageError, StdinProblem) as error:
        return _fail(_output_format(argv), USAGE, f"{error}\nTry: robota --help")
    code = None if arguments.print else _prepare_terminal(arguments)
    return _run_prompt(arguments, prompt) if code is None else code


def _run_prompt(arguments: CommandLine, prompt: str | None) -> int:
    if arguments.detach:
        from robota.cli.run.elsewhere.detached import run_detached

        return run_detached(lambda client: _run(arguments, client, attended=True), prompt)
    if not arguments.print and arguments.output_format == "text":
        from robota.cli.questions import at_terminal

        if at_terminal():
            return _run(arguments, _interactive_client(prompt, plain=arguments.plain), attended=True)
    if prompt is None:
        return (
            run_resumed(arguments, _resume_command)
            if arguments.continues or arguments.resume is not None
            else _explain()
        )
    return _run(arguments, _print_client(arguments, prompt), attended=False, may_lack_model=_is_slash_command(prompt))


def _is_control(argv: Sequence[str]) -> bool:
    if not any(word.startswith("--input-format") for word in argv):
        return False
    from robota.cli.run.control.flags import is_control

    return is_control(argv)


def _run_control(argv: Sequence[str]) -> int:
    """Run a session for a program that drives it as it would drive Claude Code."""
    from robota.cli.run.control.flags import read_flags
    from robota.cli.run.control.session import control_session
    from robota.cli.run.file_options import with_file_options

    try:
        flags = read_flags(argv)
        arguments = with_file_options(_parsed(flags.argv))
    except UsageError as error:
        return _fail(_output_format(argv), USAGE, f"{error}\nTry: robota --help")
    return _guarded(arguments, lambda needs_model: control_session(arguments, flags, _session, _warn))


def _with_additions(arguments: CommandLine, additions: "Additions") -> CommandLine:
    """The command line with what a program that embeds Robota adds to its sessions."""
    from msgspec.structs import replace

    return replace(arguments, additions=additions)


def _parsed(argv: Sequence[str]) -> CommandLine:
    from robota.cli.arguments import parse

    return parse(argv)


def _is_slash_command(prompt: str) -> bool:
    if not prompt.lstrip().startswith("/"):
        return False
    from robota.protocol.slash_commands import typed_command

    return typed_command(prompt) is not None


def _refuse_misspelt(argv: Sequence[str]) -> None:
    if not argv or argv[0].startswith("-"):
        return
    from robota.cli.did_you_mean import problem_with

    problem = problem_with(argv)
    if problem is not None:
        raise UsageError(problem)


def _with_prompt(arguments: CommandLine) -> tuple[CommandLine, str | None]:
    """The prompt: piped input first, then the arguments. None if there is neither. The arguments say who wrote it."""
    words = " ".join(arguments.prompt)
    piped = piped_input(sys.stdin, prompt_given=bool(words or arguments.input_text), warn=_warn)
    # For a slash command, piped input is the argument.
    is_command = _is_slash_command(words)
    parts = (words, arguments.input_text, piped) if is_command else (piped, arguments.input_text, words)
    prompt = "\n\n".join(part for part in parts if part.strip())
    if (piped or arguments.input_text) and not is_command:
        arguments = _written_by_anybody(arguments)
    if arguments.detach:
        from robota.cli.run.elsewhere.detached import check_detached

        check_detached(arguments, prompt)
    if not prompt and arguments.print and not arguments.continues and arguments.resume is None:
        named = f" {arguments.worktree!r} was taken as the name of the worktree." if arguments.worktree else ""
        raise UsageError(f"No prompt was given: pass it as an argument or on standard input.{named}")
    return arguments, prompt or None


def _written_by_anybody(arguments: CommandLine) -> CommandLine:
    """The arguments for a prompt that begins with a text from elsewhere, such as an issue."""
    from msgspec.structs import replace

    from robota.config.launch_options import PromptAuthor

    return replace(arguments, prompt_author=PromptAuthor.ANYBODY)


def _run(arguments: CommandLine, client: "Client", *, attended: bool, may_lack_model: bool = False) -> int:
    def work(needs_model: bool) -> "Coroutine[Any, Any, int | HandedOver]":
        return _session(arguments, client, attended=attended, needs_model=needs_model)

    return _guarded(arguments, work, may_lack_model=may_lack_model)


def _guarded(
    arguments: CommandLine,
    work: "Callable[[bool], Coroutine[Any, Any, int | HandedOver]]",
    *,
    may_lack_model: bool = False,
) -> int:
    """Do the work, and report whatever goes wrong in the format that was asked for."""
    ended = _worked(arguments, work, may_lack_model=may_lack_model)
    if isinstance(ended, int):
        return ended
    from robota.cli.run.elsewhere.detached import hand_over

    return hand_over(ended, arguments, lambda continued, client: _run(continued, client, attended=True))


def _worked(
    arguments: CommandLine, work: "Callable[[bool], Coroutine[Any, Any, int | HandedOver]]", *, may_lack_model: bool
) -> "int | HandedOver":
    import asyncio

    from robota.config.errors import ConfigError, NoProviderError
    from robota.log.errors import LogError
    from robota.workspace.problems import shortage_behind

    try:
        return asyncio.run(work(True))
    except NoProviderError as error:
        if may_lack_model:
            return asyncio.run(work(False))
        from robota.cli.configure.provider import ways_to_configure

        return _fail(arguments.output_format, CONFIGURATION, f"{error}\n{ways_to_configure()}")
    except (ConfigError, LogError) as error:
        return _fail(arguments.output_format, CONFIGURATION, str(error))
    except Exception as error:  # noqa: BLE001 - the last boundary: a script must get its result even from a bug of ours
        if arguments.verbose:
            sys.excepthook(*sys.exc_info())
        why = shortage_behind(error) or f"Robota failed: {type(error).__name__}: {error}"
        return _fail(arguments.output_format, FAILED, why)


def run_session(arguments: CommandLine, client: "Client") -> int:
    """Run a session, new or resumed, for a client that answers its asks."""
    return _run(arguments, client, attended=True)


def run_resumed(arguments: CommandLine, opening: "Opening") -> int:
    """Resume a session in print mode; `opening` makes the first command from its state."""
    return _run(arguments, _print_client(arguments, "", opening), attended=False)


def _resume_command(opened: "OpenSession") -> "AskResponse | NewTask":
    """The first command without a prompt: continue an interrupted task."""
    from robota.protocol.asks.answer import Approve
    from robota.protocol.commands import AskResponse, NewTask

    left = None if opened.resumed is None else opened.resumed.session.root
    return NewTask(text="") if left is None or left.is_complete else AskResponse(answer=Approve())


def _resume_answer(opened: "OpenSession", prompt: str) -> "AskResponse | None":
    """The prompt as the answer to the offer to resume, if there is a task to resume."""
    if opened.resumed is None or opened.resumed.session.root is None:
        return None
    from robota.protocol.asks.answer import Say
    from robota.protocol.commands import AskResponse

    return AskResponse(answer=Say(text=prompt))


async def _session(
    arguments: CommandLine,
    client: "Client",
    *,
    attended: bool,
    needs_model: bool = True,
    client_after_switch: "Client | None" = None,
) -> "int | HandedOver":
    """Run one session in the workspace, or in a worktree. Where it switches to another one, a client converses."""
    from msgspec.structs import replace

    provider = arguments.provider or arguments.configure_provider
    launch: LaunchOptions = replace(arguments, provider=provider, attended=attended, needs_model=needs_model)
    if arguments.continues or arguments.resume is not None:
        from robota.cli.run.resuming import resumed_session
        from robota.serving.switching import launch_again

        directory = await resumed_session(arguments, os.environ, _warn, attended=attended)
        launch = launch_again(launch, directory)
    if arguments.worktree is None:
        return await _run_sessions(launch, client, arguments, client_after_switch)
    from robota.app.worktree import in_worktree

    async with in_worktree(launch, arguments.worktree, os.environ, _warn) as there:
        ended = await _run_sessions(there.launch, client, arguments, client_after_switch)
        there.goes_on = not isinstance(ended, int)
        return ended


async def _run_sessions(
    launch: "LaunchOptions", client: "Client", arguments: CommandLine, client_after_switch: "Client | None"
) -> "int | HandedOver":
    """Run one session, and any sessions that the user switches to from it."""
    from robota.app.session import open_session
    from robota.workspace.agent_mark import mark_this_process

    mark_this_process()
    is_past_shown = launch.resumes is not None and _read_if_long(launch.resumes, launch.attended, plain=arguments.plain)
    opened = open_session(launch, os.environ)
    ended = await _in_session(opened, client, debug=arguments.debug, is_past_shown=is_past_shown)
    while not isinstance(ended, int):
        from robota.serving.handing_over import HandedOver

        if isinstance(ended, HandedOver):
            return ended
        from robota.serving.switching import open_wanted

        if ended.sets_up is not None or ended.decides_trust:
            from robota.cli.run.questions_between_sessions import after_questions

            ended = await after_questions(ended, launch.cwd, os.environ)
        left_id = opened.options.session_id
        opened = open_wanted(launch, ended, left_id, os.environ, _warn)
        # If the same session continues, its conversation is on screen already.
        is_same_session = opened.options.session_id == left_id
        client = client_after_switch or _interactive_client(None, plain=arguments.plain)
        ended = await _in_session(opened, client, debug=arguments.debug, is_past_shown=is_same_session)
    return ended


def _read_if_long(directory: Path, attended: bool, *, plain: bool) -> bool:
    """Read a long log first; whether the end of its conversation was shown meanwhile."""
    from robota.cli.run.long_log import read_long_log

    if not attended:
        return read_long_log(directory, os.environ, attended=False, draws=False)
    from robota.cli.run.conversation import can_draw

    return read_long_log(directory, os.environ, attended=True, draws=not plain and can_draw(os.environ))


async def _in_session(
    opened: "OpenSession", client: "Client", *, debug: bool, is_past_shown: bool
) -> "int | SessionWanted | HandedOver":
    from robota.serving.held_session import held

    if is_past_shown:
        opened = opened.with_past_shown()
    async with held(opened, os.environ, _warn, debug=debug) as door:
        left = await client(opened)
        is_left = left == 0 and (door is None or (door.wanted is None and not door.windows))
        ended = 0 if is_left else await _after_leaving(opened, left, door)
    if ended == 0 and opened.session.unsaved is not None:
        from robota.clients.headless.exit_codes import TASK_FAILED

        _warn(f"The end of the session is not saved. {opened.session.unsaved}")
        return TASK_FAILED
    return ended


async def _after_leaving(
    opened: "OpenSession", left: "int | NextStep | LeftRunning", door: "Door | None"
) -> "int | SessionWanted | HandedOver":
    """What comes next for a session whose client has left: other windows may show it, or it goes on without any."""
    from robota.cli.questions import at_terminal
    from robota.protocol.slash_commands import SessionDetached, SessionWanted
    from robota.serving.left_running import LeftRunning

    if isinstance(left, LeftRunning):
        from robota.serving.detached import stay, stay_at

        left = await (stay(opened, door) if left.socket is None else stay_at(left.socket, opened, door))
    elif left == 0 and not opened.is_closing and at_terminal():
        left = SessionDetached()  # other windows show it
    if isinstance(left, SessionDetached):
        from robota.serving.handing_over import ready_to_hand_over

        handed = await ready_to_hand_over(opened, _warn)
        if door is not None:
            door.announce_successor()
        return handed
    if door is not None and isinstance(left, SessionWanted) and left.session_id == opened.options.session_id:
        door.announce_successor()
    return door.wanted if left == 0 and door is not None and door.wanted is not None else left


def _print_client(arguments: CommandLine, prompt: str, opening: "Opening | None" = None) -> "Client":
    """A client that runs the prompt, or the first command of a resumed session, and prints the result."""
    from msgspec.structs import replace

    from robota.clients.headless.client import run_headless
    from robota.clients.headless.options import HeadlessOptions, OutputFormat

    options = HeadlessOptions(
        output_format=OutputFormat(arguments.output_format),
        include_partial_messages=arguments.include_partial_messages,
        verbose=arguments.verbose,
        quiet=arguments.quiet,
        check=None if arguments.answer_schema is None else _answer_check(arguments),
        leaves_asks=opening is not None,
    )

    def client(opened: "OpenSession") -> "Awaitable[int]":
        saving = replace(options, until_saved=opened.session.until_saved)
        if arguments.tool_names == "claude" and options.output_format in (OutputFormat.JSON, OutputFormat.STREAM_JSON):
            from robota.cli.run.tool_names import shown_as_in_claude_code

            saving = replace(saving, show_call=shown_as_in_claude_code(opened))
        is_command = _is_slash_command(prompt)
        first = None if is_command else _resume_answer(opened, prompt) if opening is None else opening(opened)
        if not is_command and options.output_format is not OutputFormat.STREAM_JSON:
            return run_headless(opened.session, prompt, saving, sys.stdout.buffer, sys.stderr, first)
        from robota.cli.run.tool_names import agents_of
        from robota.commands.session_commands import with_commands

        session = with_commands(opened, os.environ, "robota -p")
        listing = replace(saving, commands=lambda: session.commands, agents=lambda: agents_of(opened))
        return run_headless(session, prompt, listing, sys.stdout.buffer, sys.stderr, first)

    return client


def _answer_check(arguments: CommandLine) -> "CheckAnswer":
    from robota.cli.run.answer_schema import AnswerSchema

    assert arguments.answer_schema is not None
    return AnswerSchema(arguments.answer_schema).checked


def _interactive_client(prompt: str | None, *, plain: bool) -> "Client":
    """A client for a conversation at the terminal."""
    from robota.cli.run.conversation import converse_here

    return lambda opened: converse_here(opened, prompt, plain=plain)


def _run_maintenance(arguments: CommandLine) -> int | None:
    """Run options that change settings or check for updates; returns an exit code, or None to continue."""
    if arguments.check_update:
        from robota.cli.update.command import FAMILY
        from robota.cli.verb_command import run_family

        return run_family(FAMILY, ())
    changes_settings = (
        arguments.reset
        or arguments.configure
        or arguments.configure_provider is not None
        or arguments.set_current
        or (arguments.language is not None and not (arguments.prompt or arguments.print))
    )
    if not changes_settings:
        return None
    from robota.cli.configure.options import change_settings

    return change_settings(arguments, os.environ)


def _prepare_terminal(arguments: CommandLine) -> int | None:
    """At a terminal: set up a provider if there is none, ask about trust, mention a newer version."""
    from robota.cli.questions import at_terminal

    if not at_terminal():
        return None
    from robota.cli.run.first_run import lacks_provider, set_up_now
    from robota.cli.update.check import start_up_notice
    from robota.config.settings.load import load_settings

    root = arguments.cwd
    settings = load_settings(None, os.environ)
    if lacks_provider(settings):
        code = set_up_now(os.environ, root)
        if code is not None:
            return code
    if root.is_dir() and _needs_trust_question(root):
        from robota.cli.shell_host import ShellHost
        from robota.commands.trust.deciding import ask_if_needed

        ask_if_needed(ShellHost(root, os.environ, is_json=False))
    notice = None if arguments.disable_update_check else start_up_notice(os.environ, settings.values.update_check)
    if notice is not None:
        _warn(notice)
    return None


def _needs_trust_question(root: Path) -> bool:
    """Whether trust in the workspace may have to be asked; most workspaces have nothing that needs it."""
    from robota.config.settings.load import load_settings
    from robota.config.trust.decision import TrustState, is_trusted_by_user

    settings = load_settings(root, os.environ)
    trust = settings.trust
    if trust is not None and trust.state in (TrustState.UNTRUSTED, TrustState.CHANGED):
        return True
    from robota.app.extensions import has_programs

    return is_trusted_by_user(trust, os.environ) or has_programs(settings)


def _fail(output_format: str, code: int, message: str) -> int:
    """Report an error: to the user on stderr, to a script as its result."""
    from robota.clients.headless.formats import print_failure
    from robota.clients.headless.options import OutputFormat

    is_valid = output_format in set(OutputFormat)
    print_failure(
        message, OutputFormat(output_format) if is_valid else OutputFormat.TEXT, sys.stdout.buffer, sys.stderr
    )
    if output_format in (OutputFormat.JSON, OutputFormat.STREAM_JSON):
        _warn(message)
    return code


def _output_format(argv: Sequence[str]) -> str:
    """The output format in a command line that could not be parsed."""
    for index, word in enumerate(argv):
        if word.startswith("--output-format="):
            return word.partition("=")[2]
        if word == "--output-format" and index + 1 < len(argv):
            return argv[index + 1]
    return "text"


def _explain() -> int:
    print(
        "Robota, a coding agent for the terminal.\n\n"
        "  robota                              start a conversation, in a terminal\n"
        '  robota -p "fix the failing test"    run a task and print the answer\n'
        "  robota demo                         watch it work on a built-in model: no key, no network\n"
        "  robota --help                       all options"
    )
    return USAGE


def _warn(message: str) -> None:
    from robota.clients.terminal.line_writer import LineWriter

    LineWriter(sys.stderr).prose(f"robota: {message}", indent="  ")
