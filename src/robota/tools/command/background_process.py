"""Start, read, write to, stop and list commands that keep running in the background."""

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from robota.contracts.tool import (
    Effect,
    HookNames,
    Prepared,
    Preview,
    Tool,
    ToolContext,
    ToolError,
    ToolGroup,
    ToolResult,
    Touches,
    titled,
)
from robota.protocol.views import TableView, TerminalView, TextView
from robota.text.visible import printable_name, single_line
from robota.tools.command.report import (
    MAX_CHARACTERS,
    KeptOutput,
    NotKept,
    how_it_ended,
    how_to_look,
    keep_output,
    last_lines,
    offset_of_cut,
    shortened,
)
from robota.tools.presentation import SayTool, description_beside, tool_ask
from robota.workspace.process.wrapped_command import SandboxAccess

if TYPE_CHECKING:
    from robota.workspace.process.background import BackgroundProcess

MAX_WAIT_S = 120
DEFAULT_WAIT_S = 1.0
COMMAND_CHARACTERS = 200
SHOWN_LINES = 20

FORWARD_HINT = "If the user is to open it in a browser, forward it; they will be asked."
Action = Literal["start", "read", "send", "stop", "list", "forward"]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=MAX_WAIT_S)]
Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]
Lines = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class BackgroundProcessParams(msgspec.Struct, frozen=True, kw_only=True):
    action: Action
    command: Annotated[str | None, msgspec.Meta(description="start: the command.")] = None
    cwd: Annotated[str | None, msgspec.Meta(description="start: the directory. Default: the workspace.")] = None
    id: Annotated[str | None, msgspec.Meta(description="read, send, stop: the process, such as bg1.")] = None
    input: Annotated[str | None, msgspec.Meta(description="send: the text.")] = None
    end_input: Annotated[bool, msgspec.Meta(description="send: close its input.")] = False
    wait: Annotated[
        Seconds | None,
        msgspec.Meta(
            description=f"start, read, send: seconds to wait for output. Default {DEFAULT_WAIT_S:g}, for read 0."
        ),
    ] = None
    tail: Annotated[Lines | None, msgspec.Meta(description="read: how many last lines.")] = None
    port: Annotated[Port | None, msgspec.Meta(description="forward: the port it listens on.")] = None


async def prepare(params: BackgroundProcessParams, context: ToolContext) -> Prepared:
    """Describe what will be started, or done to which process."""
    return Prepared(preview=_preview(params), run=lambda: _run(params, context))


def _preview(params: BackgroundProcessParams) -> Preview:
    if params.action == "start":
        command = _command(params)
        return Preview(ask="command", text=command, view=TerminalView(command=command, output=""))
    if params.action == "forward":
        question = f"Forward port {params.port} of the sandbox to your machine?"
        return tool_ask(SayTool(tool="backgroundProcess", content=question, reason="forward"))
    what = f"{params.action} {params.id}" if params.id else params.action
    return tool_ask(
        SayTool(tool="backgroundProcess", content=printable_name(params.input or ""), reason=printable_name(what))
    )


def effects_of(params: BackgroundProcessParams) -> frozenset[Effect]:
    """Reading output only reads; stopping our own process is task control; everything else executes something."""
    if params.action in ("read", "list"):
        return frozenset({Effect.READ})
    return frozenset({Effect.TALK if params.action == "stop" else Effect.EXECUTE})


def touches(params: BackgroundProcessParams) -> Touches:
    """Only `start` has a command for policy to check. What is sent is input for a program, not shell code."""
    if params.action != "start":
        return Touches()
    return Touches(command=params.command, paths=(params.cwd,) if params.cwd else ())


async def _run(params: BackgroundProcessParams, context: ToolContext) -> ToolResult:
    match params.action:
        case "start":
            return await _start(params, context)
        case "read":
            return await _read(_process(params, context), params, context)
        case "send":
            return await _send(_process(params, context), params, context)
        case "stop":
            return await _stop(_process(params, context), context)
        case "list":
            return _list(context)
        case "forward":
            return await _forward(params, context)


async def _start(params: BackgroundProcessParams, context: ToolContext) -> ToolResult:
    command = _command(params)
    cwd = context.cwd
    if params.cwd:
        from robota.tools.files.near_names import directory_for_model

        cwd = directory_for_model(params.cwd, context.files)
    process = context.processes.start_background(command, cwd, SandboxAccess(pinned=context.pinned))
    lead = f"Started as {process.id}. It is stopped at the latest when the session ends."
    return await _news(process, context, _wait(params, DEFAULT_WAIT_S), lead)


async def _read(process: "BackgroundProcess", params: BackgroundProcessParams, context: ToolContext) -> ToolResult:
    if params.tail is None:
        return await _news(process, context, _wait(params, 0))
    text = last_lines(process.last_text, params.tail)
    lines = [*_state(process), f"Last lines:\n{text}" if text else "No output."]
    if (text.count("\n") < params.tail and len(text) < process.total_bytes) or process.ending is not None:
        lines += await _how_to_see_all(process, context)
    return _result(process, lines, text)


async def _send(process: "BackgroundProcess", params: BackgroundProcessParams, context: ToolContext) -> ToolResult:
    if params.input is None and not params.end_input:
        raise ToolError("Nothing was sent. Give input, or end_input to close its input.")
    if process.ending is not None:
        raise ToolError(f"{process.id} has ended, so nothing was sent. Read it to see how.")
    from robota.workspace.process.background import InputNotSent

    text = "" if params.input is None else params.input if params.input.endswith("\n") else f"{params.input}\n"
    try:
        await process.send(text.encode("utf-8", "surrogateescape"), then_close=params.end_input)
    except InputNotSent as problem:
        raise ToolError(str(problem)) from problem
    return await _news(process, context, _wait(params, DEFAULT_WAIT_S), "Sent.")


async def _stop(process: "BackgroundProcess", context: ToolContext) -> ToolResult:
    if process.ending is None:
        await process.stop()
    return await _news(process, context, 0)


async def _forward(params: BackgroundProcessParams, context: ToolContext) -> ToolResult:
    ports = context.processes.ports
    if params.port is None:
        raise ToolError("Nothing was done. Give the port that the server listens on.")
    if ports is None:
        raise ToolError(
            "Nothing was done: no process of this session listens in an isolated network. Give the user the address "
            "as it is."
        )
    try:
        number = await ports.forward(params.port)
    except OSError as error:
        raise ToolError(f"The port could not be forwarded: {error.strerror}. Check that the server runs.") from error
    message = (
        f"http://127.0.0.1:{number} on the user's machine now forwards to port {params.port}, until the session ends."
    )
    running = [process for process in context.processes.background if process.ending is None]
    outputs = [f"Last lines of {process.id}:\n{last_lines(process.last_text, SHOWN_LINES)}" for process in running]
    return ToolResult(content="\n".join((message, *outputs)), view=TextView(text=message))


def _list(context: ToolContext) -> ToolResult:
    rows = tuple(
        (process.id, _short_state(process), f"{process.total_bytes:,} bytes", _one_line(process.command))
        for process in context.processes.background
    )
    if not rows:
        return ToolResult(content="There are no background processes.")
    view = TableView(columns=("id", "state", "output", "command"), rows=rows)
    return ToolResult(content="\n".join("  ".join(row) for row in rows), view=view)


async def _news(process: "BackgroundProcess", context: ToolContext, wait_s: float, lead: str = "") -> ToolResult:
    news = await process.new_output(wait_s)
    shown = shortened(news.head, news.tail, news.total_characters)
    lines = [*([lead] if lead else []), *_state(process)]
    lines.append(f"New output:\n{shown.text}" if shown.text else "No new output.")
    if shown.missing:
        kept = await _keep_whole(process, context)
        stored = process.output_file() if process.kept_as is None else context.kept(process.kept_as)
        lines.append(how_to_look(kept, shown, offset_of_cut(stored, news.head, shown, news.start)))
    elif process.ending is not None:
        lines += await _how_to_see_all(process, context)
    return await _with_new_ports(_result(process, lines, shown.text), process, context)


async def _with_new_ports(result: ToolResult, process: "BackgroundProcess", context: ToolContext) -> ToolResult:
    """Report ports that were opened since the last check."""
    ports = context.processes.ports
    opened = await ports.new_ports() if ports is not None and process.ending is None else ()
    if not opened:
        return result
    message = "".join(f"Port {port} is now open to commands of this session, as 127.0.0.1:{port}.\n" for port in opened)
    return msgspec.structs.replace(result, content=f"{message}{FORWARD_HINT}\n{result.content}")


def _result(process: "BackgroundProcess", lines: list[str], output: str) -> ToolResult:
    ending = process.ending
    view = TerminalView(
        command=process.command,
        output=output,
        exit_code=ending.exit_code if ending else None,
        signal=ending.signal if ending else None,
    )
    return ToolResult(content="\n".join(lines), view=view)


def _state(process: "BackgroundProcess") -> list[str]:
    """Whether the process is running, or how it ended."""
    if process.ending is not None:
        return [f"{process.id} has ended.", *how_it_ended(process.ending)]
    lines = [f"{process.id} has been running for {process.age_s:.0f} s."]
    if process.waits_for_input():
        lines.append("It is waiting for input." if process.has_input else "It is waiting for input and cannot get any.")
    return lines


async def _how_to_see_all(process: "BackgroundProcess", context: ToolContext) -> list[str]:
    """Where the output is that was shown piece by piece, if it is long."""
    if process.total_bytes <= MAX_CHARACTERS:
        return []
    from robota.contracts.rest_of_result import output_call

    kept = await _keep_whole(process, context)
    where = kept.reason if isinstance(kept, NotKept) else f"{kept.lack}To read it: {output_call(kept.name)}"
    return [f"[Its whole output has {process.total_bytes:,} bytes. {where}]"]


async def _keep_whole(process: "BackgroundProcess", context: ToolContext) -> KeptOutput | NotKept:
    """Its output as it can be read: by the id of the process or, once it has ended, as an artifact, stored once."""
    if process.ending is None or process.kept_as is not None:
        return KeptOutput(name=process.kept_as or process.id)
    file = process.output_file()
    if file is None:
        return NotKept("There was no room on the disk for the full output.")
    kept = await keep_output(file, process.total_bytes, context)
    if isinstance(kept, KeptOutput):
        process.output_moved(kept.name)
    return kept


def _process(params: BackgroundProcessParams, context: ToolContext) -> "BackgroundProcess":
    if params.id is None:
        raise ToolError(f"Nothing was done. Give the id of the background process to {params.action}, such as bg1.")
    process = context.processes.find_background(params.id)
    if process is None:
        ids = ", ".join(each.id for each in context.processes.background)
        rest = f"Use one of: {ids}." if ids else "None was started so far. Start one with action start."
        raise ToolError(f"There is no background process {params.id!r}. Nothing was done. {rest}")
    return process


def _command(params: BackgroundProcessParams) -> str:
    if params.command is None or not params.command.strip() or "\0" in params.command:
        raise ToolError("Nothing was run. Give the command to start, without NUL bytes.")
    return params.command


def _wait(params: BackgroundProcessParams, default_s: float) -> float:
    return default_s if params.wait is None else params.wait


def _short_state(process: "BackgroundProcess") -> str:
    if process.ending is None:
        return f"running for {process.age_s:.0f} s"
    return how_it_ended(process.ending)[0].rstrip(".")


def _one_line(command: str) -> str:
    return single_line(" ".join(command.split()), COMMAND_CHARACTERS)


TOOL = Tool(
    name="background_process",
    label="BackgroundProcess",
    group=ToolGroup.COMMAND,
    params=BackgroundProcessParams,
    description=description_beside(__file__),
    effects=frozenset(Effect) - {Effect.WRITE, Effect.NETWORK},
    narrowed=effects_of,
    touches=touches,
    prepare=prepare,
    editable="command",
    hook_names=HookNames(path="cwd", also_matched_as=("Bash",)),  # a hook for commands must not miss one
    title=titled("BackgroundProcess", "action", "command", "id", "port"),
)
