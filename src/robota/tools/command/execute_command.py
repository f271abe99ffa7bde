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
    NO_INPUT,
    PINNED_NOTE,
    SANDBOX_NOTES,
    KeptOutput,
    NotKept,
    ShownOutput,
    how_it_ended,
    how_to_look,
    keep_output,
    may_be_the_sandbox,
    offset_of_cut,
    refused_pinned_file,
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
# Limits for a command that nobody approved, by what they are called.
LIMITS_WITHOUT_APPROVAL = {StopReason.TOO_MUCH_DISK: "disk space", StopReason.TOO_MANY_FILES: "new files"}

Seconds = Annotated[float, msgspec.Meta(gt=0, le=MAX_TIMEOUT_S)]


class ExecuteCommandParams(msgspec.Struct, frozen=True, kw_only=True):
    command: str
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
        msgspec.Meta(description="At the time limit. Default: stop."),
    ] = "stop"
    without_sandbox: Annotated[
        bool,
        msgspec.Meta(description="Run it outside the sandbox, only after it failed inside. The user is asked."),
    ] = False
    opened: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description="Hosts (example.com) and directories (/srv/data) to allow, only after "
            "it failed without them. The user is asked."
        ),
    ] = ()


async def prepare(params: ExecuteCommandParams, context: ToolContext) -> Prepared:
    """Show the command exactly as it will run."""
    preview = Preview(ask="command", text=params.command, view=TerminalView(command=params.command, output=""))
    return Prepared(preview=preview, run=lambda: _run(params, context))


async def _run(params: ExecuteCommandParams, context: ToolContext) -> ToolResult:
    if not params.command.strip() or "\0" in params.command:
        raise ToolError(
            "The command is empty or contains a NUL byte, so nothing was run. Give a command as typed into bash."
        )
    # Imported with the first command: many sessions run none.
    from robota.workspace.process.foreground import CommandOutcome

    timeout_s = params.timeout or DEFAULT_TIMEOUT_S
    processes = context.processes
    # What nobody approved is looked at when it has ended, so it cannot go on in the background.
    is_unapproved = context.confined is not None
    stopping = processes.run if is_unapproved else processes.run_or_move
    run = stopping if is_unapproved or params.on_timeout == "stop" else processes.run_or_hand_over
    cwd = context.cwd
    if params.cwd:
        from robota.tools.files.near_names import directory_for_model

        cwd = directory_for_model(params.cwd, context.files)
    outcome = await run(
        params.command,
        cwd,
        timeout_s,
        context.show,
        unsandboxed=params.without_sandbox,
        access=_access(params, context),
        is_chain=_is_chain(params.command),
    )
    if isinstance(outcome, CommandOutcome):
        return await _ended(outcome, params, timeout_s, context)
    return _handed_over(outcome, timeout_s)


def _access(params: ExecuteCommandParams, context: ToolContext) -> SandboxAccess:
    """The additional sandbox access of this command. Everything except git's own data was approved by the user."""
    return SandboxAccess(
        confined=context.confined,
        pinned=context.pinned,
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
    shown = shortened(outcome.output_head, outcome.output_tail, outcome.total_characters)
    output, lines = shown.text, how_it_ended(ending, timeout_s)
    if seems_to_have_asked(ending, output):
        lines.append(f"It seems to have asked a question. {NO_INPUT}")
    was_confined = context.processes.is_sandboxed and not params.without_sandbox
    refused = (*outcome.refused_hosts, *outcome.missed_places)
    pinned = refused_pinned_file(output, (file.path for file in context.pinned))
    was_stopped = was_confined and not pinned and was_stopped_by_the_sandbox(ending, output, refused)
    if pinned:
        lines.append(PINNED_NOTE.format(pinned))
    if was_confined and not was_stopped and may_be_the_sandbox(ending, output):
        lines.append(SANDBOX_NOTES[context.is_attended])
    lines += (*refused, *outcome.left_out)
    rest = [await _how_to_see_the_rest(outcome, shown, context)] if shown.missing else []
    if outcome.output_file is not None:
        outcome.output_file.unlink(missing_ok=True)
    view = TerminalView(
        command=params.command,
        # The user has to know, too: the output may say that git did it.
        output="\n".join((output.removesuffix("\n"), *outcome.left_out)) if outcome.left_out else output,
        exit_code=ending.exit_code,
        signal=ending.signal,
        timed_out=ending.stopped_for is StopReason.TIME_OUT,
    )
    was_stopped = was_stopped or ending.stopped_for in LIMITS_WITHOUT_APPROVAL
    return ToolResult(
        content="\n".join([*lines, *_told_output("Output", output, rest)]),
        view=view,
        is_error=ending.stopped_for is not None,
        alternative=_second_try(params, outcome, output, context) if was_stopped else None,
    )


def _second_try(
    params: ExecuteCommandParams, outcome: "CommandOutcome", output: str, context: ToolContext
) -> Alternative:
    # Imported here because it is needed only after a failure.
    from robota.tools.command.second_try import FailedCommand, beyond_limits, second_try
    from robota.workspace.shell.started_parts import started_parts

    started, confined = outcome.started, context.confined
    failed = FailedCommand(
        arguments=msgspec.to_builtins(params),
        command=params.command,
        output=output,
        refused=(*outcome.refused_hosts, *outcome.missed_places),
        parts=None if started is None else started_parts(params.command, started),
        root=context.cwd,
        home=home_directory(os.environ),
        read_only=None if confined is None else confined.read_only,
    )
    limit = None if outcome.ending.stopped_for is None else LIMITS_WITHOUT_APPROVAL.get(outcome.ending.stopped_for)
    if limit is not None:
        return beyond_limits(failed, limit)
    return second_try(failed)


def _handed_over(process: "BackgroundProcess", timeout_s: float) -> ToolResult:
    text = process.output
    shown = shortened(text.head, text.tail, text.total)
    cut = offset_of_cut(process.output_file(), text.head, shown) if shown.missing else 0
    rest = [how_to_look(KeptOutput(name=process.id), shown, cut)] if shown.missing else []
    how = "The user moved it to the background" if process.was_moved else f"Still running after {timeout_s:g} s"
    lines = [
        f"{how}. It continues as background process {process.id}, without input; use "
        "background_process with this id to read or stop it. It is stopped at the latest when the session ends.",
        *_told_output("Output so far", shown.text, rest),
    ]
    return ToolResult(content="\n".join(lines), view=TerminalView(command=process.command, output=shown.text))


def _told_output(heading: str, output: str, rest: list[str]) -> list[str]:
    if not output:
        return [f"No {heading.lower()}."]
    return [f"{heading}:\n{output.removesuffix(chr(10)) if rest else output}", *rest]


async def _how_to_see_the_rest(outcome: "CommandOutcome", shown: ShownOutput, context: ToolContext) -> str:
    if outcome.output_file is not None:
        kept = await keep_output(outcome.output_file, outcome.total_bytes, context)
    else:
        kept = _keep_from_memory(outcome, context)
    if isinstance(kept, NotKept):
        return how_to_look(kept, shown)
    return how_to_look(kept, shown, offset_of_cut(context.kept(kept.name), outcome.output_head, shown))


def _keep_from_memory(outcome: "CommandOutcome", context: ToolContext) -> KeptOutput | NotKept:
    """Either all of it is in memory, or the disk had no room and only both ends are left."""
    name = context.keep((outcome.output_head + outcome.output_tail).encode())
    if name is None:
        return NotKept("The full output could not be saved, because the session log cannot be written.")
    is_whole = len(outcome.output_head) + len(outcome.output_tail) == outcome.total_characters
    return KeptOutput(name=name, lack="" if is_whole else "There was room only for its beginning and its end. ")


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
    confines=True,
    editable="command",
    hook_names=HookNames(arguments={"without_sandbox": "dangerouslyDisableSandbox"}, path="cwd", seconds="timeout"),
    sandbox_parameters=("without_sandbox", "opened"),
    title=titled("Bash", "command"),
)
