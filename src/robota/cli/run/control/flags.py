"""The command line that Claude's SDKs write, as options of `robota`.

An unsupported option does not end the run, unless it would be unsafe to continue without it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from robota.cli.command_line import CommandLine, UsageError
from robota.cli.run.file_options import json_option
from robota.clients.control.effort import effort_for
from robota.config.arguments import declared
from robota.protocol.permission_mode import PermissionMode

CONTROL: Final = "stream-json"
# Handled by the control client itself, or without a meaning here; the names of those that take a value.
TAKEN: Final = frozenset(
    {
        "--input-format",
        "--output-format",
        "--verbose",
        "--replay-user-messages",
        "--print",
        "-p",
        # The permission mode bypassPermissions needs no second option.
        "--allow-dangerously-skip-permissions",
    }
)
NOTHING_IF_EMPTY: Final = frozenset({"--system-prompt", "--append-system-prompt", "--resume", "--model", "--agent"})
PROJECT_SOURCES: Final = frozenset({"project", "local"})
# Without these, the run would do what the program has forbidden.
REFUSED: Final = {
    "--managed-settings": "rules that nothing may override are in the managed settings file of this machine; "
    "rules for one run are given with --settings",
}
NOTICES: Final = {
    "--no-session-persistence": "The session is recorded all the same, because undo needs it; to delete it: "
    "robota sessions delete",
    "--task-budget": "There is no limit of tokens for a task; --max-turns and --max-budget-usd limit it.",
}
NO_PROMPT_TOOL: Final = (
    "No MCP tool decides about permissions: what would need approval is denied. A callback of the program can decide."
)
NO_MEANING: Final = "The option {name} has no meaning for Robota and was ignored."
EFFORTS: Final = {"xhigh": "high", "max": "high"}
AS_DEFAULT: Final = frozenset({"auto", "dontAsk"})


class ClaudeFlags(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line of an SDK says beyond the options of `robota`.

    `argv` are these options. `tools` are the only built-in ones that are offered, None for all. `resumes_at` is the
    message at which the session is resumed; empty for its end. With `mirrors`, the program keeps a copy of the session.
    """

    argv: tuple[str, ...]
    asks_program: bool = False
    replays_prompts: bool = False
    never_asks: bool = False
    sdk_servers: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    reads_project: bool = True
    resumes_at: str = ""
    mirrors: bool = False
    notices: tuple[str, ...] = ()


def is_control(argv: Sequence[str]) -> bool:
    """Whether a program wants to drive the session with lines on standard input."""
    return any(
        word == f"--input-format={CONTROL}" or (word == "--input-format" and argv[index + 1 : index + 2] == [CONTROL])
        for index, word in enumerate(argv)
    )


def read_flags(argv: Sequence[str]) -> ClaudeFlags:
    """Read the command line of an SDK. Raises `UsageError`."""
    options = _known_options()
    flags = ClaudeFlags(argv=("--output-format=stream-json",))
    for name, value in _options(argv, options):
        _refuse_unsafe(name, value)
        flags = _with_own(flags, name, value) or _with_option(flags, name, value, name in options)
    return flags


def _refuse_unsafe(name: str, value: str | None) -> None:
    if name in REFUSED and value:
        raise UsageError(f"{name} is not supported: {REFUSED[name]}. Nothing was started.")
    if name == "--output-format" and value != CONTROL:
        raise UsageError("--input-format stream-json needs --output-format stream-json.")
    if not name.startswith("-"):
        raise UsageError(f"With --input-format stream-json, prompts are lines on standard input; {name!r} is none.")


def _with_own(flags: ClaudeFlags, name: str, value: str | None) -> ClaudeFlags | None:
    """The flags with an option that means something else here, or only to SDKs; None if this is another one."""
    read = READERS.get(name)
    if read is None:
        return flags if name in TAKEN else None
    return read(flags, value or "")


def _tools(flags: ClaudeFlags, value: str) -> ClaudeFlags:
    tools = None if value == "default" else tuple(each.strip() for each in value.split(",") if each.strip())
    return msgspec.structs.replace(flags, tools=tools)


def _setting_sources(flags: ClaudeFlags, value: str) -> ClaudeFlags:
    given = {each.strip() for each in value.split(",")}
    return msgspec.structs.replace(flags, reads_project=not given.isdisjoint(PROJECT_SOURCES))


def _mcp_config(flags: ClaudeFlags, value: str) -> ClaudeFlags:
    servers, rest = _split_servers(value)
    with_servers = msgspec.structs.replace(flags, sdk_servers=servers)
    return _with_words(with_servers, f"--mcp-config={rest}") if rest else with_servers


def _permission_mode(flags: ClaudeFlags, value: str) -> ClaudeFlags:
    if value not in AS_DEFAULT:
        return _with_words(flags, f"--permission-mode={value}")
    never_asks = msgspec.structs.replace(flags, never_asks=value == "dontAsk")
    return _with_words(never_asks, f"--permission-mode={PermissionMode.DEFAULT}")


def _permission_prompt_tool(flags: ClaudeFlags, value: str) -> ClaudeFlags:
    if value == "stdio":
        return msgspec.structs.replace(flags, asks_program=True)
    return _with_notice(flags, NO_PROMPT_TOOL)


def _thinking(flags: ClaudeFlags, value: str) -> ClaudeFlags:
    return _with_words(flags, "--effort=low") if value == "disabled" else flags


def _thinking_tokens(flags: ClaudeFlags, value: str) -> ClaudeFlags:
    return _with_words(flags, f"--effort={effort_for(int(value))}") if value.isdecimal() else flags


READERS: Final[Mapping[str, Callable[[ClaudeFlags, str], ClaudeFlags]]] = {
    "--replay-user-messages": lambda flags, value: msgspec.structs.replace(flags, replays_prompts=True),
    "--resume-session-at": lambda flags, value: msgspec.structs.replace(flags, resumes_at=value),
    "--session-mirror": lambda flags, value: msgspec.structs.replace(flags, mirrors=True),
    "--setting-sources": _setting_sources,
    "--permission-prompt-tool": _permission_prompt_tool,
    "--permission-mode": _permission_mode,
    "--tools": _tools,
    "--mcp-config": _mcp_config,
    "--effort": lambda flags, value: _with_words(flags, f"--effort={EFFORTS.get(value, value)}"),
    "--thinking": _thinking,
    "--max-thinking-tokens": _thinking_tokens,
}


def _with_option(flags: ClaudeFlags, name: str, value: str | None, is_known: bool) -> ClaudeFlags:
    if not is_known:
        return _with_notice(flags, NOTICES.get(name, NO_MEANING.format(name=name)))
    if name in NOTHING_IF_EMPTY and not value:
        return flags
    return _with_words(flags, name if value is None else f"{name}={value}")


def _with_notice(flags: ClaudeFlags, notice: str) -> ClaudeFlags:
    return msgspec.structs.replace(flags, notices=(*flags.notices, notice))


def _with_words(flags: ClaudeFlags, *words: str) -> ClaudeFlags:
    return msgspec.structs.replace(flags, argv=(*flags.argv, *words))


def _known_options() -> dict[str, bool]:
    """The options of `robota`, and whether each takes a value."""
    options = {flag: not each.is_flag for each in declared(CommandLine).options for flag in each.flags}
    return {**options, "--dangerously-skip-permissions": False}


def _options(argv: Sequence[str], known: dict[str, bool]) -> Iterator[tuple[str, str | None]]:
    """Each option with its value, written as one word or two. Where an SDK writes no prompt, other words are values."""
    words = list(argv)
    while words:
        name, has_value, value = words.pop(0).partition("=")
        if has_value or not name.startswith("-"):
            yield name, value if has_value else None
            continue
        takes_value = known.get(name, name not in TAKEN) or name in ("--input-format", "--output-format")
        if takes_value and words and (name in known or not words[0].startswith("--")):
            yield name, words.pop(0)
        else:
            yield name, None


def _split_servers(config: str) -> tuple[tuple[str, ...], str]:
    """The names of the MCP servers inside the program, and the configuration of all others; empty if there are none."""
    given = json_option(config, "--mcp-config")
    servers = given.get("mcpServers")
    if not isinstance(servers, dict):
        return (), config
    own = tuple(name for name, each in servers.items() if isinstance(each, dict) and each.get("type") == "sdk")
    others = {name: each for name, each in servers.items() if name not in own}
    return own, msgspec.json.encode({**given, "mcpServers": others}).decode() if others else ""
