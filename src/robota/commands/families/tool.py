"""The verbs of tools: list them, and run one by hand, checked and logged as if a model had called it."""

import sys
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from robota.commands.verb import (
    FAILED,
    USAGE,
    Answer,
    Failure,
    Family,
    NoArguments,
    ReadingVerb,
    ShellVerb,
    VerbFailed,
    WrongArguments,
    raw,
    table,
)
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.contracts.tool import AnyTool
from robota.protocol.permission_mode import PermissionMode
from robota.tools.registry import builtin_tools, by_name, schema_of


class CallOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which calls are allowed."""

    permission_mode: Annotated[PermissionMode | None, Option(", ".join(PermissionMode), "MODE")] = None
    allowed_tools: Annotated[tuple[str, ...], Option("calls that are allowed", "RULES", ("--allowedTools",))] = ()
    disallowed_tools: Annotated[
        tuple[str, ...], Option("calls that are disallowed", "RULES", ("--disallowedTools",))
    ] = ()


class RunTool(CallOptions, frozen=True, kw_only=True):
    """A tool and its arguments."""

    tool: Annotated[str, Positional("NAME", "tool id or label, for example read_file or Read")]
    words: Annotated[str | None, Positional("JSON", "its arguments; @FILE reads a file, - reads standard input")] = None
    args: Annotated[str | None, Option("the arguments, as an option", "JSON")] = None


def _list(host: VerbHost, _: NoArguments) -> Answer:
    tools = builtin_tools()
    return table(("ID", "LABEL", "EFFECTS", "WHAT IT DOES"), map(_row, tools), list(map(_tool_json, tools)))


def _row(tool: AnyTool) -> tuple[str, ...]:
    first_sentence = tool.description().partition(". ")[0].partition("\n")[0]
    return (tool.name, tool.label, ", ".join(sorted(tool.effects)), first_sentence.rstrip("."))


def _tool_json(tool: AnyTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "label": tool.label,
        "aliases": tool.aliases,
        "effects": sorted(tool.effects),
        "description": tool.description(),
        "schema": schema_of(tool),
    }


def launch_for(host: VerbHost, args: CallOptions) -> LaunchOptions:
    """The options of a session that makes these calls."""
    return msgspec.structs.replace(
        host.launch,
        needs_model=True,
        permission_mode=args.permission_mode,
        allowed_tools=args.allowed_tools,
        disallowed_tools=args.disallowed_tools,
    )


async def _run(host: VerbHost, args: RunTool) -> Answer:
    from robota.app.tool_call import run_tool

    tools = by_name(builtin_tools())
    if args.tool not in tools:
        names = ", ".join(tool.name for tool in builtin_tools())
        raise WrongArguments(f"There is no tool {args.tool!r}. The tools are: {names}.")
    if args.words is not None and args.args is not None:
        raise WrongArguments("The arguments were given twice. Nothing was run.")
    launch = launch_for(host, args)
    executed = await run_tool(launch, host.env, tools[args.tool].name, _arguments(args.words or args.args or "{}"))
    if executed.status != "success" and not host.wants_all:
        raise VerbFailed(f"{executed.status}: {executed.reason or executed.result.content}")
    outcome = {
        "tool": executed.call.name,
        "status": executed.status,
        "content": executed.result.content,
        "is_error": executed.result.is_error,
        "view": executed.result.view,
        "reason": executed.reason,
    }
    return raw(executed.result.content, outcome, ok=executed.status == "success")


def _arguments(text: str) -> dict[str, Any]:
    try:
        if text == "-":
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8-sig")
        arguments = msgspec.json.decode(text)
    except OSError as error:
        raise WrongArguments(f"The arguments cannot be read from {text[1:]}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise WrongArguments(f"The arguments are not JSON: {error}. Nothing was run.") from error
    if not isinstance(arguments, dict):
        raise WrongArguments("The arguments must be a JSON object. Nothing was run.")
    return arguments


def _explain(error: Exception) -> Failure:
    return Failure(str(error), USAGE if isinstance(error, ConfigError) else FAILED)


FAMILY: Final = Family(
    name="tool",
    about="List the tools, or run one by hand: checked and logged as if a model had called it.",
    description="list the tools and what each can affect",
    default="list",
    explain=_explain,
    verbs=(
        ReadingVerb("list", "list the tools and what each can affect", NoArguments, _list),
        ShellVerb(
            "run",
            "run one tool; exit code 1 if it fails or is refused",
            RunTool,
            _run,
            reason="it has a session of its own; in a conversation, ask the agent, or type ! and a command",
        ),
    ),
)
