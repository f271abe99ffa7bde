"""Run a shell command."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from robota.config.paths import home_directory
from robota.contracts.tool import (
    Alternative,
    Effect,
    HookNames,
    Prepared,
    Preview,
    Tool,
    ToolContext,
    ToolError,
    ToolGroup,
    ToolResult,
    ToolRole,
    Touches,
    titled,
)
from robota.protocol.views import TerminalView
from robota.tools.command.report import (
    MAX_CHARACTERS,
    NO_INPUT,
    SANDBOX_NOTE,
    how_it_ended,
    how_to_look,
    keep_output,
    may_be_the_sandbox,
    seems_to_have_asked,
    shortened,
    was_stopped_by_the_sandbox,
)
from robota.tools.presentation import description_beside
from robota.workspace.process.ending import StopReason
from robota.workspace.process.wrapped_command import SandboxAccess

if TYPE_CHECKING:
    from robota.workspace.process.background import BackgroundProcess
    from robota.workspace.process.foreground import CommandOutcome

DEFAULT_TIMEOUT_S = 120
MAX_TIMEOUT_S = 600

Seconds = Annotated[float, msgspec.Meta(gt=0, le=MAX_TIMEOUT_S)]


class ExecuteCommandParams(msgspec.Struct, frozen=True, kw_only=True):
    command: Annotated[str, msgspec.Meta(description="The command, as typed into bash.")]
    cwd: Annotated[
        str | None,
        msgspec.Meta(description="The directory to run it in. Default: the workspace."),
    ] = None
    timeout: Annotated[
        Seconds | None,
        msgspec.Meta(description=f"Time limit in seconds. Default {DEFAULT_TIMEOUT_S}, at most {MAX_TIMEOUT_S}."),
    ] = None
    on_timeout: Annotated[
        Literal["stop", "background"],
        msgspec.Meta(description="At the time limit: stop it (default), or let it go on in the background."),
    ] = "stop"
    without_sandbox: Annotated[
        bool,
        msgspec.Meta(description="Run it outside the sandbox, only after it failed inside. The user is asked."),
    ] = False
    opened: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description="Hosts (example.com) and directories (/srv/data) that it may use from the sandbox, only after "
            "it failed without them. The user is asked."
        ),
    ] = ()


async def prepare(params: ExecuteCommandParams, context: ToolContext) -> Prepared:
    """Show the command exactly as it will run."""
    preview = Preview(ask="command", text=params.command, view=TerminalView(command=params.command, output=""))
    return Prepared(preview=preview, run=lambda: _run(params, context))


async def _run(params: ExecuteCommandParams, context: ToolContext) -> ToolResult:
    if not params.command.strip() or "\0" in params.command:
        raise ToolError("The command is empty or contains a NUL byte, so nothing was run.")
    # Imported with the first command: many sessions run none.
    from robota.workspace.process.foreground import CommandOutcome

    timeout_s = params.timeout or DEFAULT_TIMEOUT_S
    processes = context.processes
    run = processes.run if params.on_timeout == "stop" else processes.run_or_hand_over
    cwd = context.files.directory(params.cwd) if params.cwd else context.cwd
    outcome = await run(
        params.command,
        cwd,
        timeout_s,
        context.show,
        unsandboxed=params.without_sandbox,
        access=_access(params),
        is_chain=_is_chain(params.command),
    )
    if isinstance(outcome, CommandOutcome):
        return await _ended(outcome, params, timeout_s, context)
    return _handed_over(outcome, timeout_s)


def _access(params: ExecuteCommandParams) -> SandboxAccess:
    """The additional sandbox access of this command. Everything except git's own data was approved by the user."""
    return SandboxAccess(
        git_data="git" in params.command and _writes_git_data(params.command),
        hosts=tuple(entry for entry in params.opened if not entry.startswith("/")),
        writable=tuple(Path(entry) for entry in params.opened if entry.startswith("/")),
    )


def _writes_git_data(command: str) -> bool:
    # Imported here because only git commands need it.
    from robota.workspace.git.writing_commands import writes_git_data

    return writes_git_data(command)


def _is_chain(command: str) -> bool:
    """Whether the command is a plain chain of several simple commands."""
    from robota.workspace.shell.reading import read_script
    from robota.workspace.shell.script import Plain

    script = read_script(command)
    return isinstance(script, Plain) and len(script.commands) > 1


def touches(params: ExecuteCommandParams) -> Touches:
    """The command, its directory, and whether it asks to leave the sandbox."""
    return Touches(
        command=params.command,
        paths=(params.cwd,) if params.cwd else (),
        outside_sandbox=params.without_sandbox,
        opened=params.opened,
    )


async def _ended(
    outcome: "CommandOutcome", params: ExecuteCommandParams, timeout_s: float, context: ToolContext
) -> ToolResult:
    ending = outcome.ending
    output = shortened(outcome.output_head, outcome.output_tail, outcome.total_characters)
    lines = how_it_ended(ending, timeout_s)
    if seems_to_have_asked(ending, output):
        lines.append(f"It seems to have asked a question. {NO_INPUT}")
    was_confined = context.processes.is_sandboxed and not params.without_sandbox
    refused = (*outcome.refused_hosts, *outcome.missed_places)
    was_stopped = was_confined and was_stopped_by_the_sandbox(ending, output, refused)
    if was_confined and not was_stopped and may_be_the_sandbox(ending, output):
        lines.append(SANDBOX_NOTE)
    lines += (*refused, *outcome.left_out)
    if outcome.total_characters > MAX_CHARACTERS:
        lines.append(await _keep_whole(outcome, context))
    elif outcome.output_file is not None:  # long only because of text that was overwritten, such as progress bars
        outcome.output_file.unlink(missing_ok=True)
    view = TerminalView(
        command=params.command,
        # The user has to know, too: the output may say that git did it.
        output="\n".join((output.removesuffix("\n"), *outcome.left_out)) if outcome.left_out else output,
        exit_code=ending.exit_code,
        signal=ending.signal,
        timed_out=ending.stopped_for is StopReason.TIME_OUT,
    )
    content = "\n".join([*lines, f"Output:\n{output}" if output else "No output."])
    return ToolResult(
        content=content,
        view=view,
        is_error=ending.stopped_for is not None,
        alternative=_second_try(params, outcome, output, context.cwd) if was_stopped else None,
    )


def _second_try(params: ExecuteCommandParams, outcome: "CommandOutcome", output: str, root: Path) -> Alternative:
    # Imported here because it is needed only after a failure.
    from robota.tools.command.second_try import FailedCommand, second_try
    from robota.workspace.shell.started_parts import started_parts

    started = outcome.started
    return second_try(
        FailedCommand(
            arguments=msgspec.to_builtins(params),
            command=params.command,
            output=output,
            refused=(*outcome.refused_hosts, *outcome.missed_places),
            parts=None if started is None else started_parts(params.command, started),
            root=root,
            home=home_directory(os.environ),
        )
    )


def _handed_over(process: "BackgroundProcess", timeout_s: float) -> ToolResult:
    text = process.output
    output = shortened(text.head, text.tail, text.total)
    lines = [
        f"Still running after {timeout_s:g} s. It continues as background process {process.id}, without input; use "
        "background_process with this id to read or stop it. It is stopped at the latest when the session ends.",
        f"Output so far:\n{output}" if output else "No output so far.",
    ]
    return ToolResult(content="\n".join(lines), view=TerminalView(command=process.command, output=output))


async def _keep_whole(outcome: "CommandOutcome", context: ToolContext) -> str:
    if outcome.output_file is not None:
        _, sentence = await keep_output(outcome.output_file, outcome.total_bytes, context)
        outcome.output_file.unlink(missing_ok=True)
        return sentence
    # Either all of it is in memory, or the disk had no room and only both ends are left.
    data = (outcome.output_head + outcome.output_tail).encode()
    is_whole = len(outcome.output_head) + len(outcome.output_tail) == outcome.total_characters
    what = "The full output" if is_whole else "The beginning and end of the output (there was no room for all of it)"
    name = context.keep(data)
    return f"{what} was saved as {name}. {how_to_look(name)}"


TOOL = Tool(
    name="execute_command",
    label="Bash",
    group=ToolGroup.COMMAND,
    role=ToolRole.SHELL,
    params=ExecuteCommandParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.EXECUTE}),
    touches=touches,
    prepare=prepare,
    editable="command",
    hook_names=HookNames(path="cwd", seconds="timeout"),
    sandbox_parameters=("without_sandbox", "opened"),
    title=titled("Bash", "command"),
)
