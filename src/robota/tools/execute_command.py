"""Run a shell command."""

from typing import Annotated

import msgspec

from robota.contracts.tool import Effect, Preview, Tool, ToolContext, ToolError, ToolResult, Touches
from robota.protocol.views import TerminalView
from robota.tools.description import description_beside
from robota.tools.refusal import problems_told_to_model
from robota.workspace.processes import CommandOutcome

DEFAULT_TIMEOUT_S = 120
MAX_TIMEOUT_S = 600
MAX_CHARACTERS = 30_000

Seconds = Annotated[float, msgspec.Meta(gt=0, le=MAX_TIMEOUT_S)]


class ExecuteCommandParams(msgspec.Struct, frozen=True, kw_only=True):
    command: Annotated[str, msgspec.Meta(description="The command, as one would type it into bash.")]
    cwd: Annotated[
        str | None,
        msgspec.Meta(description="The directory to run it in, relative to the workspace. Default: the workspace."),
    ] = None
    timeout: Annotated[
        Seconds | None,
        msgspec.Meta(description=f"Seconds until it is stopped. Default {DEFAULT_TIMEOUT_S}, at most {MAX_TIMEOUT_S}."),
    ] = None


async def run(params: ExecuteCommandParams, context: ToolContext) -> ToolResult:
    if not params.command.strip() or "\0" in params.command:
        raise ToolError("The command is empty or contains a NUL byte, so nothing was run.")
    timeout_s = params.timeout or DEFAULT_TIMEOUT_S
    with problems_told_to_model():
        cwd = context.files.directory(params.cwd) if params.cwd else context.cwd
        outcome = await context.processes.run(params.command, cwd, timeout_s, context.show)
    output = _for_model(outcome)
    ending = [_how_it_ended(outcome, timeout_s)]
    if outcome.left_behind:
        ending.append("Processes it had left running were stopped.")
    if outcome.total_characters > MAX_CHARACTERS:
        ending.append(_keep_whole(outcome, context))
    view = TerminalView(
        command=params.command,
        output=output,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        timed_out=outcome.timed_out,
    )
    content = "\n".join([*ending, f"Output:\n{output}" if output else "No output."])
    return ToolResult(content=content, view=view, is_error=outcome.timed_out)


async def preview(params: ExecuteCommandParams, context: ToolContext) -> Preview:
    return Preview(ask="command", text=params.command, view=TerminalView(command=params.command, output=""))


def touches(params: ExecuteCommandParams) -> Touches:
    return Touches(command=params.command, paths=(params.cwd,) if params.cwd else ())


def _how_it_ended(outcome: CommandOutcome, timeout_s: float) -> str:
    if outcome.timed_out:
        return f"Timed out: the command was stopped after {timeout_s:g} s."
    if outcome.signal is not None:
        return f"Ended by signal: {outcome.signal}"
    return f"Exit code: {outcome.exit_code}"


def _for_model(outcome: CommandOutcome) -> str:
    """The output, with the middle cut out of a long one."""
    everything_held = outcome.output_head + outcome.output_tail
    if outcome.total_characters <= MAX_CHARACTERS:
        return everything_held
    half = MAX_CHARACTERS // 2
    cut = outcome.total_characters - 2 * half
    return f"{everything_held[:half]}\n[… {cut:,} characters cut here …]\n{everything_held[-half:]}"


def _keep_whole(outcome: CommandOutcome, context: ToolContext) -> str:
    if outcome.output_file is None:
        # Either all of it is in memory, or the disk had no room and only both ends are left.
        data = (outcome.output_head + outcome.output_tail).encode()
        is_whole = len(outcome.output_head) + len(outcome.output_tail) == outcome.total_characters
        what = "The whole output" if is_whole else "Beginning and end of the output (there was no room for all of it)"
        return f"{what} was kept as {context.keep(data)}."
    size = outcome.output_file.stat().st_size
    what = "The whole output" if size == outcome.total_bytes else f"The first {size:,} bytes of the output"
    return f"{what} was kept as {context.keep_file(outcome.output_file)} ({outcome.total_bytes:,} bytes were printed)."


TOOL = Tool(
    name="execute_command",
    label="Bash",
    params=ExecuteCommandParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.EXECUTE}),
    run=run,
    touches=touches,
    preview=preview,
)
